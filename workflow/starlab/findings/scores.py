"""The score of each cell by itself: what figures and tables show beside the contrasts."""

from __future__ import annotations

from dataclasses import dataclass

from starlab.findings import statistics
from starlab.findings.collect import Results, Tables
from starlab.findings.contrast import Component, Metric
from starlab.findings.pairing import pair


@dataclass(frozen=True)
class CellScore:
    """mean, iqm over seeds and interval are fractions; interval is None with one seed. by_seed: (seed,
    score) pairs.
    """

    cell: str
    metric: Metric
    mean: float
    iqm: float
    interval: tuple[float, float] | None
    by_seed: tuple[tuple[int, float], ...]


def cell_score(tables: Tables, results: Results, cell: str, metric: Metric, confidence: float) -> CellScore | None:
    """The score of `cell`, with the interval that contrasts use; None when it was not run or has no such
    metric.
    """
    paired = pair(tables, results, Component(cell, ((cell, 1.0),)), metric)
    if isinstance(paired, str):
        return None
    spread = statistics.spread(paired.values, paired.strata)
    low, high = statistics.interval(spread, confidence) if spread.n_seeds > 1 else (spread.estimate, spread.estimate)
    return CellScore(
        cell=cell,
        metric=metric,
        mean=spread.estimate,
        iqm=statistics.iqm(spread.seed_means),
        interval=(max(low, 0.0), min(high, 1.0)) if spread.n_seeds > 1 else None,
        by_seed=tuple(zip(paired.seeds, spread.seed_means, strict=True)),
    )
