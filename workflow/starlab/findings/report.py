"""findings.json and findings.md: the same content, for machines and for readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from starlab.findings import compute, learning, tables
from starlab.findings.build import DECODED, Findings
from starlab.findings.seed_noise import SeedNoise
from starlab.findings.verdicts import ComponentResult, ContrastResult, FindingResult


def as_json(findings: Findings) -> dict[str, Any]:
    """Plain values; scores and differences are percentage points rounded to 3 decimals, None where there is
    none.
    """
    results = findings.results
    return {
        "scope": findings.scope,
        "verdicts": {result.finding.id: str(result.verdict) for result in findings.found},
        "findings": [_finding_json(findings, result) for result in findings.found],
        "compute": [_curve_json(curve) for curve in compute.curves(findings.results)],
        "learning": [_gain_json(gain) for gain in learning.gains(findings)],
        "levels": [_score_json(findings, cell) for cell in results.expected],
        "runs": {
            "expected_cells": list(results.expected),
            "seeds": list(results.seeds),
            "missing": [
                {
                    "cell": gap.cell,
                    "seed": gap.seed,
                    "reason": gap.reason,
                    "rerun": findings.rerun(gap.cell, gap.seed),
                }
                for gap in results.gaps
            ],
        },
        "statistics": {
            "alpha": findings.claims.settings.alpha,
            "power": findings.claims.settings.power,
            "interval": "t (within a scale: moderated t) over per-seed paired differences and t over queries, "
            "added in quadrature",
            "correction": "Holm over the primary contrasts of a finding",
            "seed_noise": {str(metric): _noise_json(findings.priors.noise(metric)) for metric in DECODED},
        },
        "provenance": findings.provenance,
    }


def _finding_json(findings: Findings, result: FindingResult) -> dict[str, Any]:
    finding = result.finding
    return {
        "id": finding.id,
        "title": finding.title,
        "text": finding.text,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "seeds_needed": result.plan.seeds if result.plan is not None else None,
        "seeds_note": result.plan.note if result.plan is not None else "",
        "figure": f"figures/{finding.id}.svg",
        "cells": list(finding.cells),
        "contrasts": [_contrast_json(findings, contrast) for contrast in result.contrasts],
    }


def _contrast_json(findings: Findings, result: ContrastResult) -> dict[str, Any]:
    contrast, part = result.contrast, result.deciding
    return {
        "id": contrast.id,
        "title": contrast.title,
        "kind": str(contrast.kind),
        "form": contrast.form or None,
        "metric": str(result.metric),
        "primary": contrast.primary,
        "margin": _rounded(contrast.margin),
        "margin_reason": contrast.reason,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "paper": _rounded(findings.paper.contrast(contrast, result.metric)),
        "paper_note": contrast.paper_note,
        **(_part_json(findings, result, part) if part is not None else {"estimate": None, "interval": None}),
        "p_adjusted": None if part is None else round(result.p_adjusted, 6),
        "seeds_needed": result.plan.seeds if result.plan is not None else None,
        "seeds_note": result.plan.note if result.plan is not None else "",
        "parts": [_part_json(findings, result, piece) for piece in result.components],
        "companions": [_contrast_json(findings, companion) for companion in result.companions],
    }


def _part_json(findings: Findings, result: ContrastResult, part: ComponentResult) -> dict[str, Any]:
    spread = part.spread
    return {
        "component": part.component.label,
        "weights": dict(part.component.weights),
        "component_paper": _rounded(findings.paper.component(part.component, result.metric)),
        "estimate": _rounded(spread.estimate) if spread is not None else None,
        "interval": _pair(part.interval),
        "interval_by_own_seeds": _pair(part.alone),
        "bootstrap": _pair(part.bootstrap),
        "seeds": list(part.seeds),
        "by_seed": [_rounded(value) for value in spread.seed_means] if spread is not None else [],
        "seed_sd": _rounded(spread.seed_sd) if spread is not None else None,
        "seed_se": _rounded(spread.seed_se) if spread is not None else None,
        "seed_df": round(spread.seed_df, 2) if spread is not None else None,
        "query_se": _rounded(spread.query_se) if spread is not None else None,
        "n_queries": spread.n_queries if spread is not None else 0,
        "missing": part.missing,
    }


def _score_json(findings: Findings, cell: str) -> dict[str, Any]:
    scores = {str(metric): findings.score(cell, metric) for metric in DECODED}
    return {
        "cell": cell,
        **{
            name: {
                "mean": _rounded(score.mean),
                "iqm": _rounded(score.iqm),
                "interval": _pair(score.interval),
                "by_seed": {str(seed): _rounded(value) for seed, value in score.by_seed},
            }
            for name, score in scores.items()
            if score is not None
        },
    }


def _gain_json(gain: learning.Gain) -> dict[str, Any]:
    return {
        "cell": gain.cell,
        "sft": gain.sft,
        "metric": str(gain.metric),
        "sft_metric": str(gain.baseline),
        "gain": _rounded(gain.estimate),
        "interval": _pair(gain.interval),
    }


def _curve_json(curve: compute.Curve) -> dict[str, Any]:
    points = [[point["train_turns"], _rounded(point[compute.SUCCESS])] for point in curve.points]
    return {"cell": curve.cell, "seed": curve.seed, **curve.spent, "success_by_turns": points}


def _noise_json(noise: SeedNoise) -> dict[str, Any]:
    sds = {scale: _rounded(math.sqrt(variance)) for scale, variance in noise.variances.items()}
    return {"sd_between_seeds": sds, "prior_df": round(noise.df, 2)}


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(100 * value, 3) + 0.0


def _pair(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [_rounded(end) for end in interval]


def as_markdown(findings: Findings) -> str:
    parts = [
        "# Findings",
        f"Verdicts {findings.scope}.",
        markdown_table(tables.summary_table(findings)),
        tables.READING,
    ]
    seeds = ", ".join(str(seed) for seed in findings.results.seeds)
    system = ""
    for result in findings.found:
        finding = result.finding
        if system and finding.system != system:
            parts.append(f"# {finding.system}")
        system = finding.system
        cells = ", ".join(f"`{cell}`" for cell in finding.cells)
        parts += [
            f"## {finding.id} {finding.title}: {result.verdict}",
            finding.text,
            f"**{result.verdict}**: {tables.finding_summary(result)}. Seeds: {seeds}.",
            f"![{finding.id}](figures/{finding.id}.png)",
            markdown_table(tables.contrast_table(findings, result)),
            markdown_table(tables.level_table(findings, finding.figure.cells)),
            f"Cells: {cells}.",
        ]
        if command := tables.rerun_text(findings, result):
            parts.append(f"One run again: `{command}`")
    if compute.shown(findings.results):
        parts += ["## What success costs", compute.READING, markdown_table(compute.cost_table(findings))]
        if any(curve.points for curve in compute.curves(findings.results)):
            parts += ["![compute](figures/compute.png)", markdown_table(compute.reach_table(findings))]
    parts += ["## Learning beside sharpening", learning.READING, markdown_table(learning.table(findings))]
    parts.append("## Runs that are missing")
    gaps = findings.results.gaps
    parts.append(markdown_table(tables.missing_table(findings)) if gaps else "None.")
    parts += ["## Provenance", markdown_table(tables.provenance_table(findings))]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: tables.Table) -> str:
    head, rows = table
    lines = [_markdown_row(head), _markdown_row(["---"] * len(head)), *(_markdown_row(row) for row in rows)]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
