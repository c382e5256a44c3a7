"""The whole experiment on one page for the repository (docs/README.md): what `starlab summary` writes.

findings.md judges, and is written beside it; this page adds what the runs started from, what they learned and what
they cost, and says on which machine it was written. Every number on it comes from a file of the results folder or
from a card of a base model.
"""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from starlab.costs import benchmarks
from starlab.errors import StarlabError
from starlab.findings import report
from starlab.findings.build import Findings, draw_figures
from starlab.findings.contrast import REFERENCE, Metric, factors_of
from starlab.findings.learning import COOL, GREEDY, SAMPLED
from starlab.findings.report import markdown_table
from starlab.findings.tables import DASH, READING, Table, percent, provenance_table, summary_table

UNSEEN = Metric("unseen", "greedy", "success")
QUESTIONS = Metric("knowledge", "greedy", "success")
COLUMNS: Mapping[str, Metric] = {
    "travel greedy": GREEDY,
    "travel sampled": SAMPLED,
    "travel cool": COOL,
    "unseen greedy": UNSEEN,
    "questions greedy": QUESTIONS,
}


def write_summary(findings: Findings, bases: Mapping[str, Path], out: Path, command: str) -> Path:
    """Write `out`/README.md, findings.md and their figures, of the runs that there are; returns the path of the page.

    bases: folders of the base models by scale. command: what writes the page again. StarlabError if no run is there
    or the page cannot be written.
    """
    if findings.results.runs.empty:
        raise StarlabError(f"{findings.results.root}: no run has been measured yet; run `{findings.command}` first")
    try:
        draw_figures(findings, out / "figures", ("png",))
        (out / "findings.md").write_text(report.as_markdown(findings), encoding="utf-8")
        (out / "README.md").write_text(as_markdown(findings, bases, command), encoding="utf-8")
    except OSError as error:
        raise StarlabError(f"{out}: the summary cannot be written ({error.strerror})") from error
    return out / "README.md"


def as_markdown(findings: Findings, bases: Mapping[str, Path], command: str) -> str:
    results = findings.results
    seeds = ", ".join(map(str, results.seeds))
    parts = [
        "# Reference run",
        f"Written by `{command}` from the files that the workflow made. Seeds {seeds}; "
        f"{len(results.versions)} runs and references measured, {len(results.gaps)} missing (findings.md names them); "
        f"{machine()}. Verdicts {findings.scope}.",
        "## Verdicts",
        markdown_table(summary_table(findings)),
        f"{READING} Every contrast with its interval, and each missing run: [findings.md](findings.md).",
        *(f"![{result.finding.id}](figures/{result.finding.id}.png)" for result in findings.found),
        "## Skills of the base models",
        "Share of unseen dialogues answered exactly, in a database that was not trained on (the models' cards).",
        markdown_table(skill_table(bases)),
        "## What the runs start from, and what they learn",
        "Success, mean over seeds (in brackets: each seed). Cool is the same model at the lower temperature; the last "
        "column is greedy success over that of the SFT model of the scale, each seed by itself.",
        markdown_table(learning_table(findings)),
        "## What it cost",
        "Seconds on the clock by Snakemake's benchmark files, each job on one core (the processor seconds there are "
        "looked up every half minute and miss the end): means over jobs (cheapest to dearest), and their sum.",
        markdown_table(cost_table(results.root)),
        "## Made from",
        markdown_table(provenance_table(findings)),
    ]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """The processor of this machine and how many cores of it this process may use."""
    name = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    values = {key.strip(): value.strip() for key, value in pairs}
    flags = values.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2") if flag in flags), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores of {values.get('model name', name)}" + (f" ({widest})" if widest else "")


def skill_table(bases: Mapping[str, Path]) -> Table:
    """One row a skill, one column a scale; a dash where a base has no card or no such skill."""
    cards = {scale: _skills(folder) for scale, folder in bases.items()}
    names = dict.fromkeys(name for skills in cards.values() for name in skills)
    rows = [
        [name.replace("_", " "), *(f"{skills[name]:.2f}" if name in skills else DASH for skills in cards.values())]
        for name in names
    ]
    return ["skill", *cards], rows


def _skills(folder: Path) -> dict[str, float]:
    try:
        return dict(json.loads((folder / "card.json").read_text(encoding="utf-8"))["skills"])
    except (OSError, ValueError, KeyError):
        return {}


def learning_table(findings: Findings) -> Table:
    """The SFT model of each scale, then its cells, in the order of the matrix."""
    cells = [cell for cell in findings.results.expected if not REFERENCE.fullmatch(cell)]
    scales = dict.fromkeys(factors_of(cell)["scale"] for cell in cells)
    rows = []
    for scale in scales:
        sft = f"sft-{scale}"
        start = _by_seed(findings, sft, GREEDY)
        for cell in [sft, *(cell for cell in cells if factors_of(cell)["scale"] == scale)]:
            scores = [_by_seed(findings, cell, metric) for metric in COLUMNS.values()]
            if any(scores):
                times = [value / start[seed] for seed, value in scores[0].items() if start.get(seed)]
                rows.append([f"`{cell}`", *map(_score, scores), ", ".join(f"{ratio:.2f}" for ratio in times) or DASH])
    return ["", *COLUMNS, "times SFT greedy"], rows


def _by_seed(findings: Findings, cell: str, metric: Metric) -> dict[int, float]:
    score = findings.score(cell, metric)
    return dict(score.by_seed) if score else {}


def _score(by_seed: Mapping[int, float]) -> str:
    if not by_seed:
        return DASH
    each = f" ({', '.join(percent(value) for value in by_seed.values())})" if len(by_seed) > 1 else ""
    return percent(mean(by_seed.values())) + each


def cost_table(results: Path) -> Table:
    """One row a kind of job: its rule, and for trained cells scale and algorithm."""
    kinds: defaultdict[str, list[float]] = defaultdict(list)
    for place, seconds in benchmarks(results):
        kinds[_kind(place.parts)].append(seconds)
    rows = [
        [kind, str(len(jobs)), f"{mean(jobs):.0f} ({min(jobs):.0f}–{max(jobs):.0f})", f"{sum(jobs) / 60:.1f}"]
        for kind, jobs in sorted(kinds.items())
    ]
    total = sum(sum(jobs) for jobs in kinds.values()) / 60
    return ["job", "jobs", "seconds", "minutes in all"], [*rows, ["all", "", "", f"{total:.1f}"]]


def _kind(place: Sequence[str]) -> str:
    """`cells/m-sum-grpo-mixed1000-noise0/seed0` is a run of grpo at m, `sft/m/seed0` fine-tuning at m."""
    if place[0] == "cells":
        factors = factors_of(place[1])
        return f"run: {factors['scale']}, {factors['algorithm']}"
    return ": ".join(place[:2]) if len(place) > 2 else place[0]
