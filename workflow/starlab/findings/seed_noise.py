"""How far a seed moves a score, learned from all cells of the matrix at once: the moderated t.

Three seeds tell little about their own spread: two degrees of freedom, for which Student's t asks for 4.3 standard
errors. But the cells of a matrix are trained alike, and there are dozens. Smyth (2004), "Linear models and empirical
Bayes methods for assessing differential expression in microarray experiments" (SAGMB 3, the method of limma), takes the
cells' variances as draws from a scaled inverse chi-square and moves each contrast's own variance towards it; how far is
fitted: if cells differ much in how they spread, the prior weighs nothing and Student's t remains.

A seed also moves all cells of a scale together, since they start from one SFT model. That part cancels in a contrast
whose weights sum to zero within every scale, and is taken out of what is learned here. So the prior serves such
contrasts only; those across scales and those against references have their own spread alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma, psi

from starlab.findings.collect import Results, Tables, strata_of
from starlab.findings.contrast import REFERENCE, Component, Metric, factors_of
from starlab.findings.statistics import NO_PRIOR, Array, Prior, stratum_weights

FEWEST_CELLS = 4
"""Of a scale with fewer, the residuals are too tied to each other to tell one cell's spread from another's."""


class Priors:
    """The prior of every metric, made once each."""

    def __init__(self, tables: Tables, results: Results) -> None:
        self._tables = tables
        self._results = results
        self._cache: dict[Metric, Prior] = {}

    def of(self, component: Component, metric: Metric) -> Prior:
        """What is known beforehand about the spread of `component` between seeds; NO_PRIOR where nothing is."""
        if not balanced(component):
            return NO_PRIOR
        if metric not in self._cache:
            self._cache[metric] = self._learn(metric)
        return self._cache[metric].scaled([weight for _, weight in component.weights])

    def _learn(self, metric: Metric) -> Prior:
        """From the cells that have every seed; the others' seeds would not be comparable."""
        scales: dict[str, list[Array]] = defaultdict(list)
        steps = []
        for cell in self._results.expected:
            scores = None if REFERENCE.fullmatch(cell) else self._tables.scores(cell, metric)
            if scores is not None and set(self._results.seeds) <= set(scores.seeds):
                strata = strata_of(metric.panel, [level for level, _ in scores.queries])
                rows = [scores.seeds.index(seed) for seed in self._results.seeds]
                scales[factors_of(cell)["scale"]].append(scores.values[rows] @ stratum_weights(strata))
                steps.append(1.0 / len(strata))
        return fit([np.stack(means) for means in scales.values()], max(steps, default=0.0))


def balanced(component: Component) -> bool:
    """Whether what a seed does to all cells of a scale cancels, and only trained cells take part."""
    sums: dict[str, float] = defaultdict(float)
    for cell, weight in component.weights:
        if REFERENCE.fullmatch(cell):
            return False
        sums[factors_of(cell)["scale"]] += weight
    return all(abs(total) < 1e-9 for total in sums.values())


def fit(scales: Sequence[Array], step: float) -> Prior:
    """The prior from the means of each scale's cells, arrays of shape (n_cells, n_seeds); NO_PRIOR from too little.

    Moments of log s^2, as in limma's fitFDist (Smyth 2004, section 6.2). `step`, the resolution of the panel, is
    the least a cell can spread.
    """
    variances: list[float] = []
    most_df = 0
    seeds = 0
    for means in scales:
        cells, seeds = means.shape
        if cells < FEWEST_CELLS or seeds < 2:
            continue
        residuals = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0) + means.mean()
        # (n - 1) / n of the cells' noise is left once the mean over cells is taken out
        variances += list((residuals**2).sum(axis=1) / (seeds - 1) * cells / (cells - 1))
        most_df += (cells - 1) * (seeds - 1)
    if not variances:
        return NO_PRIOR
    half = (seeds - 1) / 2.0
    logs = np.log(np.maximum(variances, max(step, 1e-6) ** 2)) - psi(half) + math.log(half)
    excess = float(logs.var(ddof=1) - polygamma(1, half))
    if excess <= 0.0:  # they differ no more than chance makes them
        return Prior(float(np.mean(np.maximum(variances, step**2))), math.inf, float(most_df))
    prior_half = _inverse_trigamma(excess)
    return Prior(float(np.exp(logs.mean() + psi(prior_half) - math.log(prior_half))), 2.0 * prior_half, float(most_df))


def _inverse_trigamma(value: float) -> float:
    """The x > 0 at which trigamma is `value` > 0, which falls from infinity to 0."""
    return float(brentq(lambda x: float(polygamma(1, x)) - value, 1e-8, 1.0 + 2.0 / value))
