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


def verdicts(sds: dict[str, Array], levels: Array | None = None, worlds: int = 100) -> dict[str, float]:
    """Share of 95 % intervals that miss a true difference of 0 between pairs of cells of a scale, and the mean width
    over the mean by own seeds.

    `sds`: scale -> spread of each cell between seeds. `levels`: success of each cell, of episodes that succeed or fail;
    without them scores are normal.
    """
    rng = np.random.default_rng(11)
    missed: dict[str, list[bool]] = {scale: [] for scale in sds}
    widths, alone = [], []
    for _ in range(worlds):
        cells = {}
        for scale, spread in sds.items():
            shape = (len(spread), SEEDS, QUERIES)
            moves = rng.normal(0.0, 1.0, (*shape[:2], 1)) * spread[:, None, None] + rng.normal(0.0, 0.05, (1, SEEDS, 1))
            if levels is None:
                cells[scale] = moves + rng.normal(0.0, 0.1, (shape[0], 1, QUERIES)) + rng.normal(0.0, 0.35, shape)
            else:
                cells[scale] = (rng.random(shape) < levels[:, None, None] + moves).astype(float)
        noise = seed_noise.fit({scale: made.mean(axis=2) for scale, made in cells.items()}, 1 / QUERIES)
        for scale, made in cells.items():
            prior = statistics.Prior(2 * noise.variances[scale], noise.df, noise.residual_df[scale])
            for first in range(0, len(made), 2):
                difference = made[first] - made[first + 1]
                low, high = statistics.interval(statistics.spread(difference, ONE, prior), 0.95)
                missed[scale].append(not low <= 0.0 <= high)
                widths.append((high - low) / 2)
                alone.append(statistics.half_width(statistics.spread(difference, ONE), 0.95))
    shares = {scale: float(np.mean(values)) for scale, values in missed.items()}
    return {**shares, "width": float(np.sum(widths) / np.sum(alone))}


def test_the_moderated_interval_covers_nominally_and_is_much_narrower() -> None:
    found = verdicts({"m": np.full(20, 0.04)})
    assert found["m"] < 0.06
    assert found["width"] < 0.7


def test_a_scale_that_spreads_more_keeps_its_coverage() -> None:
    found = verdicts({"s": np.full(6, 0.08), "m": np.full(20, 0.04)})
    assert found["s"] < 0.075 and found["m"] < 0.065


def test_cells_that_spread_unlike_each_other_cost_little_coverage_on_average() -> None:
    sds = 0.04 * np.exp(np.random.default_rng(1).permutation(np.linspace(-0.8, 0.8, 20)))
    assert verdicts({"m": sds})["m"] < 0.075


def test_cells_of_one_half_among_cells_near_one_keep_their_coverage() -> None:
    levels = np.array([0.5] * 4 + [0.96] * 12)
    assert verdicts({"m": np.zeros(16)}, levels)["m"] < 0.065


def test_the_luck_of_episodes_counts_once() -> None:
    """Nothing but luck: the standard error over queries is what is left without it, close to nothing."""
    rng = np.random.default_rng(4)
    luck = rng.normal(0.0, 0.4, (300, SEEDS, QUERIES))
    spreads = [statistics.spread(one, ONE) for one in luck]
    assert np.mean([one.seed_se**2 for one in spreads]) == pytest.approx(0.16 / QUERIES / SEEDS, rel=0.15)
    assert np.mean([one.query_se for one in spreads]) < 0.5 * np.sqrt(0.16 / QUERIES / SEEDS)


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
