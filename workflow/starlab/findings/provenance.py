"""What a findings page was made from. It has no date, so that the same inputs give the same bytes."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from starlab.findings.collect import Results
from starlab.provenance import code_version, file_sha256

PACKAGES = (
    "starlab",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "seaborn",
    "torch",
    "transformers",
    "trl",
    "snakemake",
)


def card(results: Results, claims_sha256: str, paper_sha256: str) -> dict[str, Any]:
    """The provenance card: plain values, keys sorted where they come from the disk.

    code made the page, code_of_runs the runs. panels and query_sets: sha256 by name; models: sha256 of the weights by
    cell and seed.
    """
    folder = results.root / "data" / "queries"
    panels = results.runs[["panel", "sha256"]].drop_duplicates().sort_values("panel")
    return {
        "code": code_version(),
        "code_of_runs": sorted({values["code"] for values in results.versions.values() if "code" in values}),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "claims_sha256": claims_sha256,
        "paper_sha256": paper_sha256,
        "panels": {str(row.panel): str(row.sha256) for row in panels.itertuples()},
        "query_sets": {path.stem: file_sha256(path) for path in sorted(folder.glob("*.jsonl"))},
        "configs": sorted(
            {values["config_sha256"] for values in results.versions.values() if "config_sha256" in values}
        ),
        "models": {
            f"{cell}/seed{seed}": values["model_sha256"]
            for (cell, seed), values in sorted(results.versions.items())
            if "model_sha256" in values
        },
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
