"""What the matrix as a whole says about the noise between seeds, on draws whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from starlab.findings import statistics
from starlab.findings.collect import Tables
from starlab.findings.contrast import Component, Metric
from starlab.findings.seed_noise import FEWEST_CELLS, MOST_DF, Priors, SeedNoise, balanced, complete, fit
from starlab.findings.statistics import NO_PRIOR, Array, Prior, moderated
from synthetic import World, results_of

STEP = 1 / 1000
SUCCESS = Metric("test", "greedy", "success")
CELLS = [f"{{}}-{reward}-grpo-mixed{size}-noise0" for size in (500, 1000) for reward in ("sum", "macro", "success")]
M, L = ([cell.format(scale) for cell in CELLS] for scale in "ml")
PAIR = Component("sum − macro", ((M[0], 1.0), (M[1], -1.0)))


def cells(count: int, sds: Array | float, seeds: int = 3) -> Array:
    """Means of cells, shape (count, seeds), that spread by `sds`."""
    rng = np.random.default_rng(5)
    own = rng.normal(size=(count, seeds)) * np.broadcast_to(sds, count)[:, None]
    return rng.normal(0.5, 0.2, (count, 1)) + own


def test_cells_that_spread_alike_are_taken_for_one_sample() -> None:
    noise = fit({"m": cells(4000, 0.03)}, STEP)
    assert math.sqrt(noise.variances["m"]) == pytest.approx(0.03, rel=0.02)
    assert noise.df == MOST_DF
    assert noise.residual_df == {"m": 3999 * 2}


def test_the_variance_of_few_cells_is_not_biased() -> None:
    """Taking the mean over cells out takes a part of the noise with it, a sixth of that of six cells."""
    rng = np.random.default_rng(2)
    found = [fit({"m": rng.normal(0.5, 0.03, (6, 3))}, STEP).variances["m"] for _ in range(1500)]
    assert np.mean(found) == pytest.approx(0.03**2, rel=0.04)


def test_each_scale_has_its_own_spread() -> None:
    noise = fit({"m": cells(2000, 0.03), "s": cells(2000, 0.06)}, STEP)
    assert math.sqrt(noise.variances["m"]) == pytest.approx(0.03, rel=0.03)
    assert math.sqrt(noise.variances["s"]) == pytest.approx(0.06, rel=0.03)
    assert noise.df == MOST_DF, "that scales differ is no sign that cells do"


def test_what_a_seed_does_to_a_whole_scale_is_left_out() -> None:
    means = cells(40, 0.03)
    moved = means + np.array([0.3, -0.2, 0.1])
    assert fit({"m": moved}, STEP).variances["m"] == pytest.approx(fit({"m": means}, STEP).variances["m"])


@pytest.mark.parametrize("truth", [3.0, 6.0])
def test_the_degrees_of_freedom_of_the_prior_are_found(truth: float) -> None:
    """Variances drawn from the model itself, s0^2 d0 / chi2(d0), give back d0."""
    rng = np.random.default_rng(3)
    sds = np.sqrt(0.03**2 * truth / rng.chisquare(truth, 40_000))
    assert fit({"m": cells(40_000, sds)}, step=1e-9).df == pytest.approx(truth, rel=0.1)


def test_few_cells_or_one_seed_say_nothing() -> None:
    assert fit({"m": cells(FEWEST_CELLS - 1, 0.03)}, STEP) == SeedNoise()
    assert fit({"m": cells(10, 0.03, seeds=1)}, STEP) == SeedNoise()
    assert fit({}, STEP) == SeedNoise()


def test_identical_cells_spread_by_the_resolution_of_the_panel_and_say_nothing_about_others() -> None:
    assert fit({"m": np.full((6, 3), 0.5)}, 0.01).variances["m"] == pytest.approx(0.01**2)
    live = cells(50, 0.03)
    still = np.full((50, 3), 0.5) + live.mean(axis=0) - live.mean()
    found = fit({"m": np.vstack([live, still])}, STEP).df
    assert found == pytest.approx(fit({"m": live}, STEP).df)


def test_the_largest_complete_table_is_used_where_runs_are_missing() -> None:
    three = [{0: 0.1, 1: 0.2, 2: 0.3}] * 5
    assert complete([*three, {0: 0.1, 1: 0.2}]).shape == (5, 3)
    assert complete([*three, *([{0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}] * 2)]).shape == (7, 3)
    assert complete([]).size == 0


def test_variances_of_a_contrast_add_by_scale() -> None:
    noise = SeedNoise({"m": 0.01, "l": 0.04}, 5.0, {"m": 40.0, "l": 10.0})
    weights = ((M[0], 1.0), (M[1], -1.0), (L[0], -1.0), (L[1], 1.0))
    prior = noise.prior(Component("interaction", weights))
    assert prior.variance == pytest.approx(2 * 0.01 + 2 * 0.04)
    assert prior.df == 5.0
    assert prior.most_df == pytest.approx(0.1**2 / (0.02**2 / 40 + 0.08**2 / 10))  # Satterthwaite: 15.4


def test_only_contrasts_within_scales_between_trained_cells_use_it() -> None:
    noise = SeedNoise({"m": 0.01, "l": 0.04}, 5.0, {"m": 40.0, "l": 10.0})
    assert balanced(PAIR) and noise.prior(PAIR).df == 5.0
    across = Component("across", ((M[0], 1.0), (L[0], -1.0)))
    assert not balanced(across) and noise.prior(across) == NO_PRIOR
    assert noise.prior(Component("reference", ((M[0], 1.0), ("sft-m", -1.0)))) == NO_PRIOR
    assert noise.prior(Component("unknown scale", (("s" + M[0][1:], 1.0), ("s" + M[1][1:], -1.0)))) == NO_PRIOR


def test_the_moderated_variance_lies_between_its_own_and_the_others() -> None:
    variance, df = moderated(0.04, 2, Prior(0.01, 4.0, 100.0))
    assert variance == pytest.approx((4 * 0.01 + 2 * 0.04) / 6)  # worked by hand: 0.02
    assert df == 6
    assert moderated(0.04, 2, Prior(0.01, 8.0, 5.0))[1] == 5.0
    assert moderated(0.04, 2, NO_PRIOR) == (0.04, 2.0)


def test_it_is_learned_from_the_runs_that_there_are() -> None:
    world = World(dict.fromkeys([*M, "sft-m"], (0.5, 0.5)), seed_sd=0.05, queries=100)
    results = results_of(world, (0, 1, 2), [*M, "sft-m"])
    noise = Priors(Tables(results), results).noise(SUCCESS)
    luck = 0.25 / 100
    assert 0.5 * (0.05**2 + luck) < noise.variances["m"] < 2 * (0.05**2 + luck)
    assert noise.residual_df == {"m": 10.0}
    started = replace(results, seeds=(0, 1, 2, 3))  # a seed more is wanted, and not run yet
    assert Priors(Tables(started), started).noise(SUCCESS) == noise


def test_a_prior_narrows_the_interval_of_few_seeds_and_widens_that_of_lucky_ones() -> None:
    values = np.repeat(np.array([0.10, 0.14, 0.09])[:, None], 1000, axis=1)
    strata = ["all"] * 1000
    alone = statistics.spread(values, strata)
    helped = statistics.spread(values, strata, Prior(alone.seed_sd**2, 8.0, 60.0))
    warned = statistics.spread(values, strata, Prior(100 * alone.seed_sd**2, 8.0, 60.0))
    assert statistics.half_width(helped, 0.95) < 0.6 * statistics.half_width(alone, 0.95)
    assert statistics.half_width(warned, 0.95) > statistics.half_width(alone, 0.95)


def test_the_luck_of_a_contrast_s_own_episodes_is_never_talked_away() -> None:
    """Other cells may be near 1, with little luck; a contrast of two cells near one half has its own."""
    rng = np.random.default_rng(0)
    values = (rng.random((3, 100)) < 0.5).astype(float) - (rng.random((3, 100)) < 0.5)
    values -= values.mean(axis=1, keepdims=True)  # three seeds that happen to agree
    found = statistics.spread(values, ["all"] * 100, Prior(1e-6, 8.0, 60.0))
    assert found.seed_se == pytest.approx(math.sqrt(0.5 / 100 / 3), rel=0.15)
