"""Intervals and tests for paired scores of a few seeds on one panel of queries.

The unit is a matrix of differences, shape (n_seeds, n_queries): row k is a contrast (a weighted sum of
cells) within seed k, column q the same query for every seed and cell. Its mean carries three kinds of noise:
seeds differ between runs; queries are a sample shared by all runs; and single episodes have luck. Pooling all
entries as independent would forget the first two.

**The interval.** Half-width squared = (t_df * seed_se)^2 + (t_{Q-1} * query_se)^2. seed_se is the standard
error over the K per-seed means, which holds the luck of episodes too; query_se is what is left over queries
once that luck is taken out (the variance components of a crossed design). Seeds get Student's t, because a
bootstrap of three seeds is too narrow: with their own K-1 degrees of freedom or, where a `Prior` says how
much seeds spread elsewhere in the matrix, with those of the moderated t (`seed_noise.py`).
`tests/findings/test_coverage.py` measures the coverage of all of these.

Scores are fractions (0 to 1) here; only texts speak of percentage points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """What other cells say about how far a seed moves a weighted sum of cells (Smyth 2004): it counts like `df` more
    degrees of freedom.

    variance: of one mean per seed, score units squared. df: 0 where nothing is known. most_df: the degrees of freedom
    that all cells have together, beyond which no test may claim to know the spread.
    """

    variance: float
    df: float
    most_df: float


NO_PRIOR = Prior(0.0, 0.0, math.inf)


@dataclass(frozen=True)
class Spread:
    """A mean of paired differences and where its noise comes from. All in score units (fractions).

    estimate: the mean. seed_means: shape (n_seeds,), one mean per seed. seed_sd: standard deviation of
    those, nan for one seed. seed_se: standard error over seeds, never below the resolution of the panel;
    seed_sd / sqrt(n_seeds), moved towards the prior where there is one. seed_df: its degrees of freedom.
    query_se: standard error over queries that more seeds cannot remove (queries that are hard for every seed;
    of one seed, all noise over queries).
    """

    estimate: float
    seed_means: tuple[float, ...]
    seed_sd: float
    seed_se: float
    seed_df: float
    query_se: float
    query_df: int
    n_queries: int

    @property
    def n_seeds(self) -> int:
        return len(self.seed_means)


def stratum_weights(strata: Sequence[str]) -> Array:
    """Weight of each query, shape (n_queries,), sum 1: every stratum counts the same, and every query within
    it.

    One stratum gives the plain mean; the knowledge panels use one stratum per family, as a mean over
    families does.
    """
    names, index, counts = np.unique(np.asarray(strata), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (len(names) * counts[index]), dtype=np.float64)


def spread(differences: Array, strata: Sequence[str], prior: Prior = NO_PRIOR) -> Spread:
    """Summarise `differences`, shape (n_seeds, n_queries), with `strata`, length n_queries, and `prior`, that of this
    weighted sum of cells. Raises ValueError when empty.

    No spread is taken to be smaller than one query: with Q queries a score moves in steps of 1/Q, so
    identical seeds (a base model decoded greedily, cells that all score zero) show the resolution of the
    panel, not a noise of zero.
    """
    n_seeds, n_queries = differences.shape
    if n_seeds < 1 or n_queries < 2:
        raise ValueError(f"need at least 1 seed and 2 queries, got {differences.shape}")
    weights = stratum_weights(strata)
    step = 1.0 / n_queries
    seed_means = differences @ weights
    query_means = differences.mean(axis=0)
    query_var, query_df = _query_variance(query_means, strata)
    if n_seeds > 1:
        seed_sd = float(seed_means.std(ddof=1))
        residuals = differences - query_means
        # mean square of what is left within a query: the luck of one seed's episodes, in seed_means and in query_var
        within = sum(_query_variance(row, strata)[0] for row in residuals) / (n_seeds - 1)
        seed_variance, seed_df = moderated(seed_sd**2, n_seeds - 1, prior)
        if prior.df:  # other cells may have less luck to show than this contrast, which is known well
            seed_variance = max(seed_variance, within)
        seed_se = max(math.sqrt(seed_variance), step) / math.sqrt(n_seeds)
        query_var = max(query_var - within / n_seeds, 0.0)
    else:
        seed_sd, seed_se, seed_df = math.nan, math.nan, 0.0
    return Spread(
        estimate=float(seed_means.mean()),
        seed_means=tuple(float(mean) for mean in seed_means),
        seed_sd=seed_sd,
        seed_se=seed_se,
        seed_df=seed_df,
        query_se=max(math.sqrt(query_var), step),
        query_df=query_df,
        n_queries=n_queries,
    )


def moderated(variance: float, df: int, prior: Prior) -> tuple[float, float]:
    """(variance, degrees of freedom) of the moderated t: (d0 s0^2 + d s^2) / (d0 + d), d0 + d (Smyth 2004, section 3).

    The degrees of freedom stay below those of all cells together, as in limma.
    """
    total = prior.df + df
    return (prior.df * prior.variance + df * variance) / total, max(min(total, prior.most_df), float(df))


def _query_variance(values: Array, strata: Sequence[str]) -> tuple[float, int]:
    """Variance of the stratified mean of `values`, shape (n_queries,), and its degrees of freedom."""
    names, index, counts = np.unique(np.asarray(strata), return_inverse=True, return_counts=True)
    if counts.min() < 2:  # a stratum of one query has no spread of its own: use that of the whole panel
        return float(np.sum(stratum_weights(strata) ** 2) * values.var(ddof=1)), len(values) - 1
    means = np.bincount(index, weights=values) / counts
    variances = np.bincount(index, weights=(values - means[index]) ** 2) / (counts - 1)
    return float(np.sum(variances / counts) / len(names) ** 2), len(values) - len(names)


def half_width(s: Spread, confidence: float) -> float:
    """Half of the two-sided interval, score units; inf for one seed, whose seed noise nobody knows."""
    if s.n_seeds < 2:
        return math.inf
    tail = (1.0 + confidence) / 2.0
    t_seed, t_query = stdtrit(s.seed_df, tail), stdtrit(s.query_df, tail)
    return float(math.hypot(t_seed * s.seed_se, t_query * s.query_se))


def interval(s: Spread, confidence: float) -> tuple[float, float]:
    """(low, high) of the two-sided interval of the module's docstring, score units."""
    half = half_width(s, confidence)
    return s.estimate - half, s.estimate + half


def p_above(s: Spread, threshold: float) -> float:
    """One-sided p-value for "the true value exceeds `threshold`", in agreement with `interval`.

    It is the alpha at which the lower end of the 1 - 2 alpha interval touches the threshold; 1 for one seed.
    """
    if s.n_seeds < 2:
        return 1.0
    distance = s.estimate - threshold
    return _tail(s, distance) if distance > 0 else 1.0 - _tail(s, -distance)


def _tail(s: Spread, distance: float) -> float:
    """The one-sided alpha whose half-width equals `distance` >= 0. Bisection on log alpha, to 1e-12."""
    low, high = math.log(1e-12), math.log(0.5)
    for _ in range(50):
        middle = (low + high) / 2.0
        if half_width(s, 1.0 - 2.0 * math.exp(middle)) > distance:
            low = middle
        else:
            high = middle
    return math.exp(high)


def p_below(s: Spread, threshold: float) -> float:
    """One-sided p-value for "the true value lies under `threshold`"; 1 for one seed."""
    return 1.0 if s.n_seeds < 2 else 1.0 - p_above(s, threshold)


def p_equivalent(s: Spread, margin: float) -> float:
    """p-value of the two one-sided tests for |true value| < margin (TOST): the larger of the two."""
    return max(p_above(s, -margin), p_below(s, margin))


def p_not_equivalent(s: Spread, margin: float) -> float:
    """p-value for |true value| > margin: the smaller of the two sides, doubled for having looked at both."""
    return min(1.0, 2.0 * min(p_above(s, margin), p_below(s, -margin)))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjusted p-values, in the order given (each at most 1, monotone in p)."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)


def iqm(values: Sequence[float]) -> float:
    """Interquartile mean: mean of the middle half, quarter observations weighted in part (n = 3 keeps the
    median and half of each other).

    Equals `scipy.stats.trim_mean(values, 0.25)`, the definition of rliable, whenever 4 divides n.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        raise ValueError("the interquartile mean of no values")
    edges = np.arange(n + 1) / n
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None)
    return float(weights @ ordered / weights.sum())


def hierarchical_bootstrap(
    differences: Array, strata: Sequence[str], confidence: float, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval: seeds drawn with replacement, then queries within their stratum, the same ones
    for all seeds drawn.

    differences: shape (n_seeds, n_queries). Reported beside `interval` for comparison; it decides nothing,
    since with three seeds it is too narrow (see the module's docstring).
    """
    n_seeds = len(differences)
    drawn = rng.integers(0, n_seeds, size=(draws, n_seeds))
    shares = np.stack([(drawn == seed).mean(axis=1) for seed in range(n_seeds)], axis=1)  # (draws, n_seeds)
    query_means = shares @ differences  # (draws, n_queries)
    names = np.asarray(strata)
    strata_means = []
    for name in dict.fromkeys(strata):
        members = np.flatnonzero(names == name)
        picked = members[rng.integers(0, len(members), size=(draws, len(members)))]
        strata_means.append(np.take_along_axis(query_means, picked, axis=1).mean(axis=1))
    means = np.mean(strata_means, axis=0)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(low), float(high)
