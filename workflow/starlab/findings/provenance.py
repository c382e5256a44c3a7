"""What a findings page was made from. It has no date, so that the same inputs give the same bytes."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from starlab.findings.collect import Results

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

    panels and query_sets: sha256 by name; models: sha256 of the weights by cell and seed.
    """
    folder = results.root / "data" / "queries"
    panels = results.runs[["panel", "sha256"]].drop_duplicates().sort_values("panel")
    return {
        "code": code_version(),
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


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_version() -> str:
    """The commit of the checkout this package lies in, with "+changes" when files differ from it; "unknown"
    outside one.
    """
    here = Path(__file__).resolve().parent
    try:
        commit = _git(here, "rev-parse", "HEAD").strip()
        changed = _git(here, "status", "--porcelain", "--untracked-files=no").strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
