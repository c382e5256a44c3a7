"""One figure per finding: the paper's values, ours, and the contrasts with their intervals.

Bytes are the same on every run: fixed SVG ids, no dates, no random jitter. Colours are those of Okabe and
Ito, which readers with any colour vision can tell apart; markers differ as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from starlab.findings.contrast import FigureSpec, Finding, Kind, Metric, factors_of
from starlab.findings.paper import Paper
from starlab.findings.scores import CellScore
from starlab.findings.verdicts import ContrastResult, FindingResult, Verdict

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
VERDICT_COLOURS = {
    Verdict.SUPPORTED: "#009E73",
    Verdict.CONTRADICTED: "#D55E00",
    Verdict.UNDECIDED: "#555555",
    Verdict.NOT_RUN: "#BBBBBB",
}
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "starlab",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}
PANEL_NAMES = {
    "test": "travel test set",
    "unseen": "unseen travel database",
    "knowledge": "knowledge questions",
}
KEY_NAMES = {
    "success": "success",
    "cs_macro": "all commonsense checks passed",
    "hard_macro": "all hard checks passed",
}
NAMES = {"size": "training prompts", "noise": "tool failures in training (%)", "mix": "difficulty of prompts"}


def draw(result: FindingResult, scores: dict[tuple[str, Metric], CellScore], paper: Paper) -> Figure:
    """The figure of one finding. scores: (cell, metric) -> score, cells that were not run being absent."""
    spec = result.finding.figure
    rows = len(spec.metrics)
    bars = sum(1 + (len(c.components) if len(c.components) > 1 else 0) for c in result.contrasts)
    height = max(3.1 * rows + 0.9, 1.6 + 0.25 * bars)
    with plt.rc_context(STYLE), sns.axes_style("whitegrid", {"axes.edgecolor": "0.6", "grid.color": "0.9"}):
        figure = plt.figure(figsize=(11.0, height), layout="constrained")
        grid = figure.add_gridspec(rows, 3, width_ratios=(1.0, 1.0, 1.25))
        theirs = result.finding.system == Finding.system  # the other system's paper measures other benchmarks
        for row, metric in enumerate(spec.metrics):
            right = figure.add_subplot(grid[row, 1] if theirs else grid[row, :2])
            name = PANEL_NAMES[metric.panel]
            panels = [right]
            top = max(_levels(right, spec, metric, scores, None), 10.0)
            if theirs:
                panels.insert(0, left := figure.add_subplot(grid[row, 0]))
                top = max(_levels(left, spec, metric, {}, paper), top)
                left.set_title(f"Paper, {'seven QA sets' if metric.panel == 'knowledge' else 'TravelPlanner test'}")
            for axes in panels:
                axes.set_ylim(0, min(1.08 * top, 104.0))
            right.set_title(f"Here, {name}, {metric.decoding}")
            panels[0].set_ylabel(f"{KEY_NAMES.get(metric.key, metric.key)} (%)")
        _forest(figure.add_subplot(grid[:, 2]), result.contrasts, paper)
        _legend(figure, spec)
        figure.suptitle(f"{result.finding.id}  {result.finding.title}: {result.verdict}", fontsize=12)
    return figure


METADATA = {"svg": {"Date": None, "Creator": "starlab"}, "png": {"Software": "starlab"}}
"""What a file of each format says of itself: nothing that changes from run to run."""


def save(figure: Figure, folder: Path, name: str, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write <name>.<format> for each of `formats` with reproducible bytes and close the figure; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in formats]
    with plt.rc_context(STYLE):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the places are settled; laying out again for each format takes seconds
        for path in paths:
            figure.savefig(path, metadata=METADATA[path.suffix[1:]])
    plt.close(figure)
    return paths


def _places(spec: FigureSpec) -> tuple[list[str], list[str]]:
    """The x levels and the hue levels, in the order in which the claim names its cells; references come
    last.
    """
    factors = [factors_of(cell) for cell in spec.cells]
    levels = list(dict.fromkeys(f[spec.x] for f in factors))
    hues = list(dict.fromkeys(f[spec.hue] for f in factors)) if spec.hue else [""]
    return levels, sorted(hues, key=lambda hue: hue in ("base", "sft"))


def _levels(
    axes: Axes,
    spec: FigureSpec,
    metric: Metric,
    scores: dict[tuple[str, Metric], CellScore],
    paper: Paper | None,
) -> float:
    """One panel of scores: the paper's values, or (paper None) our seeds, mean and interval. Returns the
    highest value, in %.
    """
    levels, hues = _places(spec)
    highest = [0.0]
    for number, hue in enumerate(hues):
        colour, marker = _look(number, hue)
        gap = 0.62 / max(len(hues), 2)
        shift = (number - (len(hues) - 1) / 2.0) * gap
        line: list[tuple[float, float]] = []
        for place, level in enumerate(levels):
            cell = _cell_at(spec, level, hue)
            x = place + shift
            value = paper.score(cell, metric) if paper is not None and cell is not None else None
            score = scores.get((cell, metric)) if cell is not None else None
            if value is not None:
                line.append((x, 100 * value))
            elif score is not None:
                line.append((x, 100 * score.mean))
                highest += _seeds(axes, x, 0.35 * gap, score, colour)
            elif cell is not None:
                axes.annotate(
                    "not run" if paper is None else "no number", (x, 0), xytext=(0, 4), textcoords="offset points",
                    rotation=90, ha="center", va="bottom", fontsize=7, color="0.5",
                )  # fmt: skip
        if line:
            linestyle = "-" if spec.style == "lines" else "none"
            axes.plot(
                *zip(*line, strict=True), color=colour, linewidth=1.0, linestyle=linestyle,
                marker=marker, markersize=6, markeredgecolor=colour if marker == "x" else "white",
            )  # fmt: skip
            highest += [y for _, y in line]
    axes.set_xticks(range(len(levels)), levels)
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(NAMES.get(spec.x, spec.x))
    return max(highest)


def _look(number: int, hue: str) -> tuple[str, str]:
    """(colour, marker) of a level; references are grey crosses in every figure."""
    return ("#777777", "x") if hue in ("base", "sft") else (COLOURS[number], MARKERS[number])


def _seeds(axes: Axes, x: float, aside: float, score: CellScore, colour: str) -> list[float]:
    """Seeds as small dots `aside` of the interval bar at x; returns the heights drawn, in %."""
    dots = [100 * value for _, value in score.by_seed]
    axes.plot([x + aside] * len(dots), dots, ".", color=colour, markersize=4, alpha=0.8)
    ends = [100 * end for end in score.interval or ()]
    axes.plot([x] * len(ends), ends, color=colour, linewidth=1.2, alpha=0.5, solid_capstyle="butt")
    return dots + ends


def _cell_at(spec: FigureSpec, level: str, hue: str) -> str | None:
    for cell in spec.cells:
        factors = factors_of(cell)
        if factors[spec.x] == level and (not spec.hue or factors[spec.hue] == hue):
            return cell
    return None


def _legend(figure: Figure, spec: FigureSpec) -> None:
    _, hues = _places(spec)
    handles = []
    if spec.hue:
        for number, hue in enumerate(hues):
            colour, marker = _look(number, hue)
            label = hue.upper() if hue == "sft" or spec.hue == "algorithm" else hue
            handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", label=label))
    handles += [
        Line2D([], [], color="0.4", marker=".", markersize=4, linestyle="none", label="one seed"),
        Line2D([], [], color="0.4", linewidth=1.4, label="interval"),
        Line2D([], [], color="black", marker="d", markerfacecolor="white", linestyle="none", label="paper"),
        Line2D([], [], color="0.4", linestyle=":", label="margin"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def _forest(axes: Axes, contrasts: Sequence[ContrastResult], paper: Paper) -> None:
    """Every contrast with estimate, interval, seeds, margin, verdict and the paper's value; its parts, if
    any, below it.
    """
    labels: list[tuple[float, str, bool]] = []
    y = 0.0
    for result in contrasts:
        contrast = result.contrast
        parts = contrast.components
        labels.append((y, _wrap(f"{contrast.title}: {result.verdict}"), contrast.primary))
        top = y
        if len(parts) == 1:
            _contrast_line(axes, y, result, 0, paper)
        else:
            for number, part in enumerate(parts):
                y += 0.55
                labels.append((y, part.label, False))
                _contrast_line(axes, y, result, number, paper)
        limits = (-contrast.margin, contrast.margin) if contrast.kind is Kind.EQUIVALENCE else (contrast.threshold,)
        for limit in limits:
            axes.plot([100 * limit] * 2, [top - 0.35, y + 0.35], ":", color="0.3", linewidth=1.3)
        y += 1.0
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.yaxis.tick_right()
    axes.set_yticks([place for place, _, _ in labels], [label for _, label, _ in labels], fontsize=7)
    for text, (_, _, strong) in zip(axes.get_yticklabels(), labels, strict=True):
        text.set_fontweight("bold" if strong else "normal")
    axes.set_ylim(y - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("points; the claim says: right of the dotted margin")
    axes.set_title("Contrasts (bold: primary)")


def _contrast_line(axes: Axes, y: float, result: ContrastResult, number: int, paper: Paper) -> None:
    part = result.components[number]
    colour = VERDICT_COLOURS[result.verdict]
    if part.spread is not None:
        seeds = [100 * value for value in part.spread.seed_means]
        axes.plot(seeds, [y + 0.17] * len(seeds), ".", color=colour, markersize=3.5, alpha=0.8)
        if part.interval is not None:
            axes.plot(
                [100 * end for end in part.interval],
                [y, y],
                color=colour,
                linewidth=1.8,
                solid_capstyle="butt",
            )
        axes.plot([100 * part.estimate], [y], "o", color=colour, markersize=5, markeredgecolor="white")
    value = paper.component(part.component, result.metric)
    if value is not None:
        axes.plot([100 * value], [y], "d", color="black", markerfacecolor="white", markersize=5)


def _wrap(text: str, width: int = 32) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def wanted(finding: Finding) -> list[tuple[str, Metric]]:
    """The scores that `draw` needs: every cell of the figure on every metric of it."""
    return [(cell, metric) for metric in finding.figure.metrics for cell in finding.figure.cells]
