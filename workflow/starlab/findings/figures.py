"""One figure per finding: the paper's values, ours, and the contrasts with their intervals.

Bytes are the same on every run: fixed SVG ids, no dates, no random jitter. Colours are those of Okabe and Ito, which readers
with any colour vision can tell apart; markers differ as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
STYLE = {
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
        for row, metric in enumerate(spec.metrics):
            left = figure.add_subplot(grid[row, 0])
            right = figure.add_subplot(grid[row, 1])
            name = PANEL_NAMES[metric.panel]
            _levels(left, spec, metric, {}, paper)
            _levels(right, spec, metric, scores, None)
            left.set_title(
                f"Paper, {'seven QA sets' if metric.panel == 'knowledge' else 'TravelPlanner test'}"
            )
            right.set_title(f"Here, {name}, {metric.decoding}")
            left.set_ylabel(f"{KEY_NAMES.get(metric.key, metric.key)} (%)")
        _forest(figure.add_subplot(grid[:, 2]), result.contrasts, paper)
        _legend(figure, spec)
        figure.suptitle(f"{result.finding.id}  {result.finding.title}: {result.verdict}", fontsize=12)
    return figure


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write <name>.svg and <name>.png with reproducible bytes and close the figure; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    with plt.rc_context(STYLE):
        figure.savefig(svg, metadata={"Date": None, "Creator": "starlab"})
        figure.savefig(png, metadata={"Software": "starlab"})
    plt.close(figure)
    return svg, png


def _places(spec: FigureSpec) -> tuple[list[str], list[str]]:
    """The x levels and the hue levels, in the order in which the claim names its cells; references come last."""
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
) -> None:
    """One panel of scores: the paper's single values, or our seeds as dots with mean and interval."""
    levels, hues = _places(spec)
    top = 0.0
    for number, hue in enumerate(hues):
        colour, marker = ("#777777", "x") if hue in ("base", "sft") else (COLOURS[number], MARKERS[number])
        shift = (number - (len(hues) - 1) / 2.0) * (0.62 / max(len(hues), 2))
        line: list[tuple[float, float]] = []
        for place, level in enumerate(levels):
            cell = _cell_at(spec, level, hue)
            if cell is None:
                continue
            x = place + shift
            if paper is not None:
                value = paper.score(cell, metric)
                if value is None:
                    continue
                axes.plot([x], [100 * value], marker=marker, color=colour, markersize=6, linestyle="none")
                line.append((x, 100 * value))
            else:
                score = scores.get((cell, metric))
                if score is None:
                    axes.annotate(
                        "not run",
                        (x, 0),
                        xytext=(0, 4),
                        textcoords="offset points",
                        rotation=90,
                        ha="center",
                        va="bottom",
                        fontsize=6,
                        color="0.6",
                    )
                    continue
                _seeds(axes, x, score, colour, marker)
                line.append((x, 100 * score.mean))
            top = max(top, line[-1][1])
        if spec.style == "lines" and len(line) > 1:
            axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.0, alpha=0.7)
    axes.set_xticks(range(len(levels)), levels)
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.set_ylim(0, max(10.0, axes.get_ylim()[1], top * 1.1))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(NAMES.get(spec.x, spec.x))
    if paper is not None and top == 0.0:
        axes.text(0.5, 0.5, "no numbers given", transform=axes.transAxes, ha="center", color="0.5")


def _seeds(axes: Axes, x: float, score: CellScore, colour: str, marker: str) -> None:
    """Seeds as small dots, the mean as a large marker, the interval as a bar."""
    if score.interval is not None:
        axes.plot(
            [x, x],
            [100 * end for end in score.interval],
            color=colour,
            linewidth=1.2,
            alpha=0.55,
            solid_capstyle="butt",
        )
    dots = [100 * value for _, value in score.by_seed]
    axes.plot([x] * len(dots), dots, ".", color=colour, markersize=4, alpha=0.7)
    axes.plot(
        [x],
        [100 * score.mean],
        marker=marker,
        color=colour,
        markersize=6,
        markeredgecolor="white",
        linestyle="none",
    )


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
            reference = hue in ("base", "sft")
            colour, marker = ("#777777", "x") if reference else (COLOURS[number], MARKERS[number])
            label = hue.upper() if reference or spec.hue == "algorithm" else hue
            handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", label=label))
    handles += [
        Line2D([], [], color="0.4", marker=".", markersize=4, linestyle="none", label="one seed"),
        Line2D([], [], color="0.4", linewidth=1.4, label="interval"),
        Line2D([], [], color="black", marker="d", markerfacecolor="white", linestyle="none", label="paper"),
        Line2D([], [], color="0.4", linestyle=":", label="margin"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def _forest(axes: Axes, contrasts: Sequence[ContrastResult], paper: Paper) -> None:
    """Every contrast on one line: estimate, interval, seeds, margin, and the paper's value. Parts of a contrast in grey below it."""
    labels: list[str] = []
    bold: list[bool] = []
    y = 0.0
    ticks = []
    for result in contrasts:
        contrast = result.contrast
        colour = VERDICT_COLOURS[result.verdict]
        lone = len(contrast.components) == 1
        labels.append(_wrap(contrast.title))
        bold.append(contrast.primary)
        ticks.append(y)
        limits = (
            (-contrast.margin, contrast.margin)
            if contrast.kind is Kind.EQUIVALENCE
            else (contrast.threshold,)
        )
        span = 0.4 if lone else 0.4 + 0.5 * len(contrast.components)
        for limit in limits:
            axes.plot([100 * limit] * 2, [y - 0.4, y + span], ":", color="0.4", linewidth=1.2)
        if lone:
            _contrast_line(axes, y, result, 0, colour, paper)
        else:
            axes.text(
                0.01,
                y,
                str(result.verdict),
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=7,
                color=colour,
            )
            for number in range(len(contrast.components)):
                y += 0.5
                labels.append(contrast.components[number].label)
                bold.append(False)
                ticks.append(y)
                _contrast_line(axes, y, result, number, colour, paper)
        y += 1.0
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_yticks(ticks, labels, fontsize=7)
    for text, strong in zip(axes.get_yticklabels(), bold, strict=True):
        text.set_fontweight("bold" if strong else "normal")
    axes.set_ylim(y - 0.4, -0.6)
    axes.yaxis.tick_right()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("percentage points (claimed direction: right of the margin)")
    axes.set_title("Contrasts (bold: primary)")


def _contrast_line(
    axes: Axes, y: float, result: ContrastResult, number: int, colour: str, paper: Paper
) -> None:
    part = result.components[number]
    if part.spread is not None:
        if part.interval is not None:
            axes.plot(
                [100 * end for end in part.interval],
                [y, y],
                color=colour,
                linewidth=1.8,
                solid_capstyle="butt",
            )
        seeds = [100 * value for value in part.spread.seed_means]
        axes.plot(seeds, [y] * len(seeds), ".", color=colour, markersize=4, alpha=0.7)
        axes.plot([100 * part.estimate], [y], "o", color=colour, markersize=5, markeredgecolor="white")
    else:
        axes.text(
            0.01, y, "not run", transform=axes.get_yaxis_transform(), va="center", fontsize=7, color="0.6"
        )
    value = paper.component(part.component, result.metric)
    if value is not None:
        axes.plot([100 * value], [y], "d", color="black", markerfacecolor="white", markersize=5)


def _wrap(text: str, width: int = 34) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def wanted(finding: Finding) -> list[tuple[str, Metric]]:
    """The scores that `draw` needs: every cell of the figure on every metric of it."""
    return [(cell, metric) for metric in finding.figure.metrics for cell in finding.figure.cells]
