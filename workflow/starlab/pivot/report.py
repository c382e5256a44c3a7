"""The profile report: how many turns carry a signal, and which. As numbers, as a table, as a figure.

The number to compare is the share of states whose rewards are all alike: the paper finds 71 % of randomly drawn turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .candidates import Turn
from .profiling import Profile
from .selection import Statistics
from .verifiers import Verifier

PAPER_ZERO_SIGNAL = 0.71
"""Share of randomly drawn turns without a signal, over two of the paper's domains."""
BINS = 10
"""Bars of the histogram of means, over [0, 1]; a mean of 1 is in the last."""


def build(
    profile: Profile, turns: Sequence[Turn], verifiers: Mapping[str, Verifier], mean_below: float
) -> dict[str, Any]:
    """What each verifier says about the profiled states; shares and means are in [0, 1]."""
    found = {}
    for name, verifier in verifiers.items():
        statistics = profile.statistics(turns, verifier)
        rows = [(turn, statistics[turn.id]) for turn in turns]
        found[name] = {
            **summary([row for _, row in rows], mean_below),
            "histogram": histogram([row for _, row in rows]),
            "by_action": _grouped(rows, lambda turn: turn.candidate.action, mean_below),
            "by_level": _grouped(rows, lambda turn: turn.level, mean_below),
        }
    return {
        "states": len(turns),
        "samples": profile.turns // max(1, len(turns)),
        "turns": profile.turns,
        "tokens": profile.tokens,
        "mean_below": mean_below,
        "verifiers": found,
    }


def summary(rows: Sequence[Statistics], mean_below: float) -> dict[str, float]:
    """Shares of the states: without a signal, of those the ones that always fail or succeed, and kept by the filter."""
    silent = [row for row in rows if not row.has_signal]
    return {
        "states": len(rows),
        "mean": float(sum(row.mean for row in rows) / len(rows)),
        "zero_signal": len(silent) / len(rows),
        "always_zero": sum(row.mean == 0 for row in silent) / len(rows),
        "always_one": sum(row.mean == 1 for row in silent) / len(rows),
        "kept": sum(row.is_pivot(mean_below) for row in rows) / len(rows),
    }


def histogram(rows: Sequence[Statistics]) -> list[int]:
    """States by mean reward, in `BINS` bins of equal width."""
    counts = [0] * BINS
    for row in rows:
        counts[min(BINS - 1, int(row.mean * BINS))] += 1
    return counts


def _grouped(
    rows: Sequence[tuple[Turn, Statistics]], key: Callable[[Turn], str], mean_below: float
) -> dict[str, dict[str, float]]:
    names = sorted({key(turn) for turn, _ in rows})
    return {name: summary([row for turn, row in rows if key(turn) == name], mean_below) for name in names}


def as_markdown(report: Mapping[str, Any], title: str) -> str:
    """The report for readers: one table a verifier."""
    parts = [
        f"# {title}",
        f"{report['states']} turns of the demonstrations, {report['samples']} samples each."
        f" Kept: results differ and their mean is below {report['mean_below']}."
        f" The paper finds no signal in {PAPER_ZERO_SIGNAL:.0%} of all turns.",
    ]
    head = "| turns | states | no signal | always fail | always succeed | mean | kept |\n|---|---|---|---|---|---|---|"
    for name, found in report["verifiers"].items():
        rows = [_row("all", found)]
        rows += [_row(f"action: {key}", row) for key, row in found["by_action"].items()]
        rows += [_row(f"level: {key}", row) for key, row in found["by_level"].items()]
        parts += [f"## Verifier {name}", "\n".join([head, *rows])]
    return "\n\n".join(parts) + "\n"


def _row(name: str, row: Mapping[str, float]) -> str:
    shares = [f"{row[key]:.1%}" for key in ("zero_signal", "always_zero", "always_one")]
    return (
        "| " + " | ".join([name, str(int(row["states"])), *shares, f"{row['mean']:.2f}", f"{row['kept']:.1%}"]) + " |"
    )


def draw(report: Mapping[str, Any], title: str, path: Path) -> None:
    """The figure, as SVG with the same bytes for the same report: means of all states, and what is kept by action."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    style: dict[Any, Any] = {
        "svg.hashsalt": "starlab",
        "svg.fonttype": "path",
        "font.family": "DejaVu Sans",
        "font.size": 8,
    }
    verifiers = report["verifiers"]
    with plt.rc_context(style):
        figure, axes = plt.subplots(
            len(verifiers), 2, figsize=(9.0, 2.6 * len(verifiers) + 0.4), squeeze=False, layout="constrained"
        )
        for (name, found), (left, right) in zip(verifiers.items(), axes, strict=True):
            places = [(bin_ + 0.5) / BINS for bin_ in range(BINS)]
            left.bar(places, found["histogram"], width=0.9 / BINS, color="#0072B2")
            left.axvline(report["mean_below"], color="0.3", linestyle=":")
            left.set(xlim=(0, 1), xlabel="mean reward of a state (dotted: kept below)", ylabel="states")
            left.set_title(f"{name}: {found['zero_signal']:.0%} without signal (paper {PAPER_ZERO_SIGNAL:.0%})")
            actions = found["by_action"]
            rows = range(len(actions))
            right.barh(rows, [row["states"] for row in actions.values()], color="0.85", label="profiled")
            kept = [row["states"] * row["kept"] for row in actions.values()]
            right.barh(rows, kept, color="#D55E00", label="kept")
            right.set_yticks(rows, list(actions))
            right.invert_yaxis()
            right.set(xlabel="states", title=f"{found['kept']:.0%} kept")
            right.legend(frameon=False)
        figure.suptitle(title)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "starlab"})
        plt.close(figure)
