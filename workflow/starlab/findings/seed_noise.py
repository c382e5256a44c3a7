"""How far a seed moves a score, learned from all cells of the matrix at once: the moderated t.

Three seeds tell little about their own spread: two degrees of freedom, for which Student's t asks for 4.3 standard
errors. But the cells of a matrix are trained alike, and there are dozens. Smyth (2004), "Linear models and empirical
Bayes methods for assessing differential expression in microarray experiments" (SAGMB 3, the method of limma), takes the
cells' variances as draws from a scaled inverse chi-square and moves each contrast's own variance towards it; how far is
fitted: if cells differ much in how they spread, the prior weighs little and nearly Student's t remains.

Scales may spread differently, so each has its own mean variance; how much cells differ within a scale is one
number for all. A seed also moves all cells of a scale together, since they start from one SFT model. That part
cancels in a contrast whose weights sum to zero within every scale, and is taken out of what is learned here. So the
prior serves such contrasts only; those across scales and those against references have their own spread alone.

What this assumes: apart from that common part, cells of a scale move independently, and none spreads several times
as far as the others. `MOST_DF` bounds what is lost where that is not so, and the reports have the interval by a
contrast's own seeds beside the one that decides.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma, psi

from starlab.findings.collect import Results, Tables, strata_of
from starlab.findings.contrast import REFERENCE, Component, Metric, factors_of
from starlab.findings.statistics import NO_PRIOR, Array, Prior, stratum_weights

FEWEST_CELLS = 6
"""Of a scale with fewer, the residuals are too tied to each other to tell one cell's spread from another's."""
MOST_DF = 8.0
"""The prior never counts for more: a contrast's own seeds keep a fifth of the say (with three of them)."""


@dataclass(frozen=True)
class SeedNoise:
    """variances: scale -> mean variance of a cell between seeds, score units squared. df: of the prior.
    residual_df: scale -> degrees of freedom that its cells have together.
    """

    variances: Mapping[str, float] = field(default_factory=dict)
    df: float = 0.0
    residual_df: Mapping[str, float] = field(default_factory=dict)

    def prior(self, component: Component) -> Prior:
        """What is known beforehand about the spread of `component` between seeds; NO_PRIOR where nothing is.

        Variances add by scale; their degrees of freedom combine by Satterthwaite's rule.
        """
        parts: dict[str, float] = defaultdict(float)
        for cell, weight in component.weights:
            scale = factors_of(cell)["scale"]
            if REFERENCE.fullmatch(cell) or scale not in self.variances:
                return NO_PRIOR
            parts[scale] += weight**2 * self.variances[scale]
        if not balanced(component):
            return NO_PRIOR
        total = sum(parts.values())
        most_df = total**2 / sum(part**2 / self.residual_df[scale] for scale, part in parts.items())
        return Prior(total, self.df, most_df)


class Priors:
    """The noise of every metric, learned once each."""

    def __init__(self, tables: Tables, results: Results) -> None:
        self._tables = tables
        self._results = results
        self._cache: dict[Metric, SeedNoise] = {}

    def of(self, component: Component, metric: Metric) -> Prior:
        """The prior of one contrast on one metric."""
        return self.noise(metric).prior(component)

    def noise(self, metric: Metric) -> SeedNoise:
        """What all cells say about a metric."""
        if metric not in self._cache:
            self._cache[metric] = self._learn(metric)
        return self._cache[metric]

    def _learn(self, metric: Metric) -> SeedNoise:
        scales: dict[str, list[dict[int, float]]] = defaultdict(list)
        steps = [0.0]
        for cell in self._results.expected:
            scores = None if REFERENCE.fullmatch(cell) else self._tables.scores(cell, metric)
            if scores is not None:
                strata = strata_of(metric.panel, [level for level, _ in scores.queries])
                means = scores.values @ stratum_weights(strata)
                scales[factors_of(cell)["scale"]].append(dict(zip(scores.seeds, map(float, means), strict=True)))
                steps.append(1.0 / len(strata))
        return fit({scale: complete(cells) for scale, cells in scales.items()}, max(steps))


def balanced(component: Component) -> bool:
    """Whether what a seed does to all cells of a scale cancels."""
    sums: dict[str, float] = defaultdict(float)
    for cell, weight in component.weights:
        sums[factors_of(cell)["scale"]] += weight
    return all(abs(total) < 1e-9 for total in sums.values())


def complete(cells: list[dict[int, float]]) -> Array:
    """The largest complete table of cells, each seed -> mean: shape (n_cells, n_seeds), by degrees of freedom.

    Runs may be missing; the seeds looked at are those that some cell has.
    """
    best = np.zeros((0, 0))
    for seeds in dict.fromkeys(tuple(sorted(cell)) for cell in cells):
        table = np.array([[cell[seed] for seed in seeds] for cell in cells if set(seeds) <= set(cell)])
        if (len(table) - 1) * (len(seeds) - 1) > (best.shape[0] - 1) * (best.shape[1] - 1) or not best.size:
            best = table
    return best


def fit(scales: Mapping[str, Array], step: float) -> SeedNoise:
    """The noise from the means of each scale's cells, arrays of shape (n_cells, n_seeds). Scales of too few cells or
    seeds are left out.

    The prior's degrees of freedom come from the moments of log s^2, as in limma's fitFDist (Smyth 2004, section
    6.2), within scales. `step`, the resolution of the panel, is the least that a cell can spread; cells that spread
    less (all seeds alike) say nothing about how much cells differ.
    """
    floor = max(step, 1e-6) ** 2
    variances: dict[str, float] = {}
    residual_df: dict[str, float] = {}
    squares, chance, freedom = 0.0, 0.0, 0
    for scale, means in scales.items():
        cells, seeds = means.shape
        if cells < FEWEST_CELLS or seeds < 2:
            continue
        residuals = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + means.mean()
        # (n - 1) / n of the cells' noise is left once the mean over cells is taken out
        found = (residuals**2).sum(axis=1) / (seeds - 1) * cells / (cells - 1)
        variances[scale] = float(np.maximum(found, floor).mean())
        residual_df[scale] = float((cells - 1) * (seeds - 1))
        half = (seeds - 1) / 2.0
        logs = np.log(found[found > floor]) - psi(half) + math.log(half)
        if len(logs) > 1:
            squares += float(((logs - logs.mean()) ** 2).sum())
            chance += (len(logs) - 1) * float(polygamma(1, half))
            freedom += len(logs) - 1
    if not variances:
        return SeedNoise()
    excess = (squares - chance) / freedom if freedom else 0.0
    df = min(2.0 * _inverse_trigamma(excess), MOST_DF) if excess > 0.0 else MOST_DF
    return SeedNoise(variances, df, residual_df)


def _inverse_trigamma(value: float) -> float:
    """The x > 0 at which trigamma is `value` > 0, which falls from infinity to 0."""
    return float(brentq(lambda x: float(polygamma(1, x)) - value, 1e-8, 1.0 + 2.0 / value))
