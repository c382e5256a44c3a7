"""What success cost: single turns beside whole episodes, with and without what profiling cost before training.

Success is that of the validation panel, greedy, measured while a run trains (`progress.jsonl`); costs are the run's own
counts. A turn is one assistant turn that was sampled, the unit of the paper's "four times fewer".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from starlab.findings.build import Findings
from starlab.findings.collect import Results
from starlab.findings.contrast import CELL
from starlab.findings.tables import DASH, Table
from starlab.pivot.cells import ON_DEMONSTRATIONS, PIVOTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUCCESS = "validation/greedy/success"
END_TO_END = "grpo"
COSTS: Mapping[str, tuple[str, str]] = {
    "assistant turns": ("train_turns", "profile_turns"),
    "generated tokens": ("generated_tokens", "profile_tokens"),
    "wall seconds": ("train_seconds", "profile_seconds"),
    "processor seconds": ("train_processor_seconds", "profile_processor_seconds"),
}
"""What is counted -> its names in training and in profiling."""
READING = (
    "Costs of a run, mean over seeds: in training, and in profiling before it, which the cells of a scale and seed "
    "share. Success on the way is that of the validation panel, greedy. To compare what a success costs, each seed's "
    "target is the lower of the two best successes on the way; costs are where the curve first reaches it, between "
    "two measurements in proportion. The paper's ratio of turns (4.07) leaves profiling out."
)


@dataclass(frozen=True)
class Curve:
    """One run. points: rows of `progress.jsonl`; spent: the cost of the whole run by name."""

    cell: str
    seed: int
    points: tuple[Mapping[str, float], ...]
    spent: Mapping[str, float]

    @property
    def best(self) -> float:
        """The highest success on the way, a fraction."""
        return max(point[SUCCESS] for point in self.points)

    def cost(self, kind: str, target: float, profiling: bool) -> float | None:
        """What it had spent of `kind` when its success first was `target`; None if it never was."""
        before, after = COSTS[kind]
        reached = first_reach([(point[before], point[SUCCESS]) for point in self.points], target)
        return None if reached is None else reached + (self.spent[after] if profiling else 0.0)


def first_reach(points: Sequence[tuple[float, float]], target: float) -> float | None:
    """The x at which the line through `points` (x, y) first is at `target` or above; None if it never is."""
    previous: tuple[float, float] | None = None
    for x, y in points:
        if y >= target:
            if previous is None or y == previous[1]:
                return x
            return previous[0] + (x - previous[0]) * (target - previous[1]) / (y - previous[1])
        previous = x, y
    return None


def twin(cell: str) -> str:
    """The end-to-end cell that differs from `cell` in the algorithm alone."""
    match = CELL.fullmatch(cell)
    assert match is not None, "only cells have twins"
    return f"{cell[: match.start('algorithm')]}{END_TO_END}{cell[match.end('algorithm') :]}"


def algorithm(cell: str) -> str:
    """The algorithm that a cell's name spells; empty for references."""
    match = CELL.fullmatch(cell)
    return match["algorithm"] if match else ""


def shown(results: Results) -> tuple[str, ...]:
    """The cells that are compared: those on demonstrations, each group after its end-to-end twin."""
    cells = [cell for cell in results.expected if algorithm(cell) in ON_DEMONSTRATIONS]
    return tuple(dict.fromkeys(name for cell in cells for name in (twin(cell), cell) if name in results.expected))


def curves(results: Results) -> list[Curve]:
    """Every run of those cells whose costs can be read; one without is left out (it is listed as missing)."""
    runs = [(cell, seed) for cell in shown(results) for seed in results.seeds]
    found = [_curve(results.path(cell, seed), cell, seed) for cell, seed in runs]
    return [curve for curve in found if curve is not None]


def _curve(folder: Path, cell: str, seed: int) -> Curve | None:
    try:
        spent = json.loads((folder / "train.json").read_text(encoding="utf-8"))["compute"]
        path = folder / "progress.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        points = tuple(json.loads(line) for line in lines)
        return Curve(cell, seed, tuple(point for point in points if SUCCESS in point), spent)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cost_table(findings: Findings) -> Table:
    """One row a cell: its cost in training, then in profiling; mean over seeds."""
    found = curves(findings.results)
    rows = []
    for cell in dict.fromkeys(curve.cell for curve in found):
        runs = [curve.spent for curve in found if curve.cell == cell]
        row = [f"`{cell}`"]
        for training, profiling in COSTS.values():
            before = mean(run.get(profiling, 0.0) for run in runs)
            row.append(f"{mean(run[training] for run in runs):,.0f}" + (f" + {before:,.0f}" if before else ""))
        rows.append([*row, str(len(runs))])
    return ["cell", *COSTS, "seeds"], rows


def reach_table(findings: Findings) -> Table:
    """What a cell on pivots and its end-to-end twin need for the same success, seed by seed, and the ratio."""
    found = {(curve.cell, curve.seed): curve for curve in curves(findings.results) if curve.points}
    rows = []
    for (cell, seed), curve in found.items():
        other = found.get((twin(cell), seed))
        if algorithm(cell) not in PIVOTS or other is None:
            continue
        target = min(curve.best, other.best)
        row = [f"`{cell}`", str(seed), f"{100 * target:.1f}"]
        for kind in COSTS:
            theirs = other.cost(kind, target, profiling=False)
            row += [_ratio(theirs, curve.cost(kind, target, profiling=with_it)) for with_it in (False, True)]
        row[3:3] = [
            _count(other.cost("assistant turns", target, False)),
            _count(curve.cost("assistant turns", target, False)),
        ]
        rows.append(row)
    ratios = [f"{kind}, {how}" for kind in COSTS for how in ("ratio", "with profiling")]
    return ["cell", "seed", "success (%)", "turns, end to end", "turns, pivots", *ratios], rows


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def _ratio(end_to_end: float | None, pivots: float | None) -> str:
    return DASH if not end_to_end or not pivots else f"{end_to_end / pivots:.2f}"


def draw(findings: Findings, save: Callable[[Figure], object]) -> bool:
    """Success against each cost, one panel each; whether there was anything to draw. Dashed: profiling counted."""
    import seaborn as sns
    from matplotlib import pyplot as plt

    from starlab.findings.figures import COLOURS, STYLE

    found = [curve for curve in curves(findings.results) if curve.points]
    if not found:
        return False
    cells = list(dict.fromkeys(curve.cell for curve in found))
    with plt.rc_context(STYLE), sns.axes_style("whitegrid", {"axes.edgecolor": "0.6", "grid.color": "0.9"}):
        figure, axes = plt.subplots(1, len(COSTS), figsize=(12.0, 3.4), sharey=True, layout="constrained")
        for panel, (kind, (training, profiling)) in zip(axes, COSTS.items(), strict=True):
            for curve in found:
                colour = COLOURS[cells.index(curve.cell) % len(COLOURS)]
                label = curve.cell if curve.seed == found[0].seed and panel is axes[0] else None
                x = [point[training] for point in curve.points]
                y = [100 * point[SUCCESS] for point in curve.points]
                panel.plot(x, y, "-", color=colour, linewidth=1.2, marker=".", label=label)
                if before := curve.spent.get(profiling, 0.0):
                    panel.plot([value + before for value in x], y, "--", color=colour, linewidth=0.9)
            panel.set_xlabel(kind)
        axes[0].set_ylabel("success, validation, greedy (%)")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        figure.suptitle("What success costs (dashed: profiling counted; one line a seed)")
        save(figure)
    return True
