"""From a results folder to findings.json, findings.md, overview.html and a figure for each finding, in one call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlab.errors import StarlabError
from starlab.findings import provenance
from starlab.findings.claims import load_claims
from starlab.findings.collect import Results, Tables, collect
from starlab.findings.contrast import Claims, Metric
from starlab.findings.paper import PAPER, Paper, load_paper
from starlab.findings.scores import CellScore, cell_score
from starlab.findings.seed_noise import Priors
from starlab.findings.verdicts import FindingResult, Judge
from starlab.provenance import file_sha256

MINIATURE = "about the mechanism in the miniature world, not about Qwen2.5"
DECODED = (
    Metric("test", "greedy", "success"),
    Metric("test", "sampled", "success"),
    Metric("test", "cool", "success"),
    Metric("unseen", "greedy", "success"),
    Metric("knowledge", "greedy", "success"),
    Metric("knowledge", "sampled", "success"),
)


@dataclass(frozen=True)
class Findings:
    """Everything that the reports show. scope: one phrase on what the verdicts are about; command: what
    reruns a target.
    """

    claims: Claims
    paper: Paper
    results: Results
    tables: Tables
    priors: Priors
    found: tuple[FindingResult, ...]
    provenance: dict[str, Any]
    scope: str
    command: str

    def score(self, cell: str, metric: Metric) -> CellScore | None:
        return cell_score(self.tables, self.results, cell, metric, 1.0 - self.claims.settings.alpha)

    def rerun(self, cell: str, seed: int) -> str:
        """The command that makes one run again."""
        return f"{self.command} -f {(self.results.path(cell, seed) / 'evaluation.json').as_posix()}"


def compute(
    results_dir: Path,
    claims_path: Path,
    expected_cells: Iterable[str],
    seeds: Sequence[int],
    scope: str = MINIATURE,
    command: str = "snakemake --cores all",
    scales: Mapping[str, str] | None = None,
) -> Findings:
    """Read and judge, write nothing. Raises StarlabError for faulty claims; missing runs are part of the
    answer. scales: what the experiment calls those of the claims.
    """
    claims = load_claims(claims_path, scales=scales)
    results = collect(results_dir, expected_cells, seeds)
    judge = Judge(results, Tables(results), claims)
    found = tuple(judge.finding(finding) for finding in claims.findings)
    card = provenance.card(results, claims.sha256, file_sha256(PAPER))
    paper = load_paper().renamed(scales or {})
    return Findings(claims, paper, results, judge.tables, judge.priors, found, card, scope, command)


def build_findings(
    results_dir: Path,
    claims_path: Path,
    out_dir: Path,
    expected_cells: Iterable[str],
    seeds: Sequence[int],
    *,
    scope: str = MINIATURE,
    command: str = "snakemake --cores all",
    scales: Mapping[str, str] | None = None,
) -> None:
    """Write <out_dir>/findings.json, findings.md, overview.html and figures/<finding>.svg and .png.

    expected_cells: the cells that this experiment trains (references follow from their scales). Same results, same
    bytes.
    """
    from starlab.findings import page, report  # matplotlib takes seconds to import

    findings = compute(results_dir, claims_path, expected_cells, seeds, scope, command, scales)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        draw_figures(findings, out_dir / "figures")
        text = json.dumps(report.as_json(findings), indent=1, ensure_ascii=False, allow_nan=False)
        (out_dir / "findings.json").write_text(text + "\n", encoding="utf-8")
        (out_dir / "findings.md").write_text(report.as_markdown(findings), encoding="utf-8")
        (out_dir / "overview.html").write_text(page.as_html(findings, out_dir / "figures"), encoding="utf-8")
    except OSError as error:
        raise StarlabError(
            f"{out_dir}: the findings cannot be written ({error.strerror}); runs are not affected"
        ) from error


def draw_figures(findings: Findings, folder: Path, formats: Sequence[str] = ("svg", "png")) -> None:
    """Write the figure of each finding into `folder`, and of what success cost if that can be told."""
    from starlab.findings import compute as costs
    from starlab.findings import figures

    for result in findings.found:
        scores = {
            (cell, metric): score
            for cell, metric in figures.wanted(result.finding)
            if (score := findings.score(cell, metric)) is not None
        }
        figures.save(figures.draw(result, scores, findings.paper), folder, result.finding.id, formats)
    costs.draw(findings, lambda figure: figures.save(figure, folder, "compute", formats))
