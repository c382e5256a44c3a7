"""Intervals, tests and corrections against values known otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from starlab.findings import statistics
from starlab.findings.statistics import Array
from statsmodels.stats.multitest import multipletests


def paired(seed_means: list[float], n_queries: int = 400, noise: float = 0.3) -> Array:
    """Differences of shape (n_seeds, n_queries) whose rows have exactly these means."""
    rng = np.random.default_rng(0)
    rows = rng.normal(0.0, noise, (len(seed_means), n_queries))
    return rows - rows.mean(axis=1, keepdims=True) + np.array(seed_means)[:, None]


def spread_of(values: Array) -> statistics.Spread:
    return statistics.spread(values, ["all"] * values.shape[1])


def test_holm_agrees_with_statsmodels() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 1.0]
    assert statistics.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_holm_rejects_stepwise() -> None:
    assert statistics.holm([0.04, 0.01]) == pytest.approx((0.04, 0.02))
    assert statistics.holm([]) == ()


def test_iqm_is_the_trimmed_mean() -> None:
    values = [3.0, 100.0, 1.0, 2.0, 5.0, 4.0, 0.0, 6.0]
    assert statistics.iqm(values) == pytest.approx(stats.trim_mean(values, 0.25))
    assert statistics.iqm([0.2, 0.5, 0.9]) == pytest.approx((0.2 / 12 + 0.5 / 3 + 0.9 / 12) / 0.5)


def test_with_silent_queries_the_interval_is_student_t_over_seeds() -> None:
    means = [0.10, 0.14, 0.09]
    values = np.repeat(np.array(means)[:, None], 10_000, axis=1)
    low, high = statistics.interval(spread_of(values), 0.95)
    expected = stats.t.interval(0.95, 2, np.mean(means), stats.sem(means))  # scipy, seeds only
    assert (low, high) == pytest.approx(expected, abs=1e-5)


def test_p_value_and_interval_agree() -> None:
    s = spread_of(paired([0.08, 0.12, 0.05]))
    low, high = statistics.interval(s, 0.95)
    assert statistics.p_above(s, low) == pytest.approx(0.025, rel=1e-6)
    assert statistics.p_below(s, high) == pytest.approx(0.025, rel=1e-6)
    assert statistics.p_above(s, 0.0) + statistics.p_below(s, 0.0) == pytest.approx(1.0)


def test_one_seed_decides_nothing() -> None:
    s = spread_of(paired([0.5]))
    assert math.isinf(statistics.half_width(s, 0.95))
    assert statistics.p_above(s, 0.0) == statistics.p_below(s, 0.0) == statistics.p_equivalent(s, 0.9) == 1.0


def test_identical_seeds_are_not_taken_for_certainty() -> None:
    s = spread_of(np.zeros((3, 100)))
    assert s.seed_sd == 0.0
    assert statistics.half_width(s, 0.95) > 1.0 / 100


def test_strata_count_the_same() -> None:
    values = np.array([[1.0, 1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]])
    assert statistics.spread(values, ["a"] * 4 + ["b"] * 2).estimate == pytest.approx(0.5)
    assert statistics.stratum_weights(["a", "a", "b"]).tolist() == [0.25, 0.25, 0.5]


def test_pairing_narrows_the_interval() -> None:
    rng = np.random.default_rng(1)
    difficulty, luck = rng.normal(0, 0.4, (1, 200)), rng.normal(0, 0.05, (4, 1))
    first, second = (difficulty + luck + rng.normal(0, 0.1, (4, 200)) + level for level in (0.5, 0.4))
    apart = math.hypot(*(statistics.half_width(spread_of(side), 0.95) for side in (first, second)))
    assert statistics.half_width(spread_of(first - second), 0.95) < 0.5 * apart


def test_equivalence_needs_both_sides() -> None:
    near = spread_of(paired([0.00, 0.01, -0.01, 0.00, 0.005], noise=0.1))
    assert statistics.p_equivalent(near, 0.05) < 0.05 < statistics.p_equivalent(near, 0.002)
    far = spread_of(paired([0.20, 0.21, 0.19], noise=0.1))
    assert statistics.p_equivalent(far, 0.05) > 0.99
    assert statistics.p_not_equivalent(far, 0.05) < 0.05


def test_bootstrap_is_seeded_and_stratified() -> None:
    values = paired([0.1, 0.2, 0.0])
    strata = ["a"] * 200 + ["b"] * 200
    first, again, other = (
        statistics.hierarchical_bootstrap(values, strata, 0.95, 500, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first[0] < values.mean() < first[1]
