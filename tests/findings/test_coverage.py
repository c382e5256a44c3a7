"""The choice of interval, measured: how often it covers the truth with three seeds, beside the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from starlab.findings import seed_noise, statistics
from starlab.findings.statistics import Array
from synthetic import sigmoid

SEEDS, QUERIES = 3, 120
ONE = ["all"] * QUERIES


def worlds(seed_sd: float, count: int) -> tuple[Array, float]:
    """Differences of two cells, shape (count, SEEDS, QUERIES), and their true mean.

    Queries differ in difficulty, cells in the queries they find hard, seeds in level (`seed_sd`, logits),
    episodes in luck.
    """
    rng = np.random.default_rng(7)
    levels = (0.5, 0.0)
    difficulty = rng.normal(0, 1.5, (count, 1, QUERIES))
    scores, truth = [], []
    for level in levels:
        logits = (
            level + difficulty + rng.normal(0, 0.7, (count, 1, QUERIES)) + rng.normal(0, seed_sd, (count, SEEDS, 1))
        )
        scores.append((rng.random((count, SEEDS, QUERIES)) < sigmoid(logits)).astype(float))
        spread = np.sqrt(1.5**2 + 0.7**2 + seed_sd**2)
        truth.append(sigmoid(level + spread * rng.normal(size=400_000)).mean())
    return scores[0] - scores[1], float(truth[0] - truth[1])


@pytest.mark.parametrize("seed_sd", [0.0, 0.2, 0.8])
def test_the_interval_covers_at_least_nominally(seed_sd: float) -> None:
    differences, truth = worlds(seed_sd, 600)
    covered = [
        low <= truth <= high
        for low, high in (statistics.interval(statistics.spread(d, ONE), 0.95) for d in differences)
    ]
    assert np.mean(covered) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / len(covered))


@pytest.mark.parametrize("unlike", [0.0, 0.5])
def test_the_moderated_interval_covers_nominally_and_is_much_narrower(unlike: float) -> None:
    """12 cells of one mean; how much seeds move a cell varies between cells by exp(`unlike` x normal)."""
    rng = np.random.default_rng(11)
    covered, widths, own_widths = [], [], []
    for _ in range(300):
        sds = 0.04 * np.exp(rng.normal(0.0, unlike, (12, 1, 1)))
        cells = rng.normal(0.0, 1.0, (12, SEEDS, 1)) * sds + rng.normal(0.0, 0.05, (1, SEEDS, 1))
        cells = cells + rng.normal(0.0, 0.1, (12, 1, QUERIES)) + rng.normal(0.0, 0.35, (12, SEEDS, QUERIES))
        prior = seed_noise.fit([cells.mean(axis=2)], 1 / QUERIES).scaled([1.0, -1.0])
        for first in range(0, 12, 2):
            difference = cells[first] - cells[first + 1]
            low, high = statistics.interval(statistics.spread(difference, ONE, prior), 0.95)
            covered.append(low <= 0.0 <= high)
            widths.append(high - low)
            own_widths.append(2 * statistics.half_width(statistics.spread(difference, ONE), 0.95))
    assert np.mean(covered) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / len(covered))
    assert np.mean(widths) < 0.65 * np.mean(own_widths)


def test_the_bootstrap_is_too_narrow_with_three_seeds() -> None:
    differences, truth = worlds(0.8, 200)
    rng = np.random.default_rng(0)
    ends = [statistics.hierarchical_bootstrap(d, ONE, 0.95, 300, rng) for d in differences]
    assert np.mean([low <= truth <= high for low, high in ends]) < 0.90


def test_false_verdicts_are_as_rare_as_promised() -> None:
    """No true difference: either direction is declared in at most 5 % of the worlds (2.5 % each)."""
    differences, truth = worlds(0.4, 400)
    p = [statistics.p_above(statistics.spread(d - truth, ONE), 0.0) for d in differences]
    assert np.mean([min(value, 1 - value) <= 0.025 for value in p]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(p))
