"""What training added to the SFT model, beside what a lower temperature alone would add."""

from __future__ import annotations

from dataclasses import dataclass

from starlab.findings import statistics
from starlab.findings.build import Findings
from starlab.findings.contrast import REFERENCE, Component, Metric, factors_of
from starlab.findings.pairing import pair
from starlab.findings.tables import DASH, Table, points, span

GREEDY = Metric("test", "greedy", "success")
SAMPLED = Metric("test", "sampled", "success")
COOL = Metric("test", "cool", "success")
COMPARISONS = ((GREEDY, GREEDY), (SAMPLED, SAMPLED), (SAMPLED, COOL))
READING = (
    "Success on the travel test set, trained cell minus the SFT model of its scale, paired by seed and query. Part of "
    "what RL adds when sampled is sharpening, which costs no training: the last column sets it against the SFT model "
    "sampled at a lower temperature. A gain in greedy success is not sharpening."
)


@dataclass(frozen=True)
class Gain:
    """A trained cell's lead over its SFT model; estimate and interval are fractions, None where they are not
    known.
    """

    cell: str
    sft: str
    metric: Metric
    baseline: Metric
    estimate: float | None
    interval: tuple[float, float] | None


def gains(findings: Findings) -> list[Gain]:
    """Every trained cell of the experiment in each of COMPARISONS, in the order of the matrix."""
    cells = [cell for cell in findings.results.expected if not REFERENCE.fullmatch(cell)]
    return [_gain(findings, cell, metric, baseline) for cell in cells for metric, baseline in COMPARISONS]


def _gain(findings: Findings, cell: str, metric: Metric, baseline: Metric) -> Gain:
    sft = f"sft-{factors_of(cell)['scale']}"
    component = Component(f"{cell} − {sft}", ((cell, 1.0), (sft, -1.0)))
    paired = pair(findings.tables, findings.results, component, metric, baseline)
    if isinstance(paired, str):
        return Gain(cell, sft, metric, baseline, None, None)
    spread = statistics.spread(paired.values, paired.strata)
    confidence = 1.0 - findings.claims.settings.alpha
    interval = statistics.interval(spread, confidence) if spread.n_seeds > 1 else None
    return Gain(cell, sft, metric, baseline, spread.estimate, interval)


def table(findings: Findings) -> Table:
    """One row per trained cell; each comparison as its estimate and interval."""
    found = gains(findings)
    rows = []
    for start in range(0, len(found), len(COMPARISONS)):
        row = found[start : start + len(COMPARISONS)]
        rows.append([f"`{row[0].cell}`", *(_text(gain) for gain in row)])
    return ["cell", "greedy − SFT greedy", "sampled − SFT sampled", "sampled − SFT cool"], rows


def _text(gain: Gain) -> str:
    if gain.estimate is None:
        return DASH
    return points(gain.estimate) if gain.interval is None else f"{points(gain.estimate)} ({span(gain.interval)})"
