"""What the matrix as a whole says about the noise between seeds, on draws whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from starlab.findings import statistics
from starlab.findings.collect import Tables
from starlab.findings.contrast import Component, Metric
from starlab.findings.seed_noise import Priors, balanced, fit
from starlab.findings.statistics import NO_PRIOR, Array, Prior, moderated
from synthetic import World, results_of

STEP = 1 / 1000
SUCCESS = Metric("test", "greedy", "success")
FOUR = ["m-sum-grpo-mixed1000-noise0", "m-macro-grpo-mixed1000-noise0", "m-success-grpo-mixed1000-noise0"]
FOUR += ["m-curriculum-grpo-mixed1000-noise0"]
PAIR = Component("sum − macro", ((FOUR[0], 1.0), (FOUR[1], -1.0)))


def cells(count: int, sds: Array | float, seeds: int = 3, shared: float = 0.0) -> Array:
    """Means of cells, shape (count, seeds), that spread by `sds` each and by `shared` together."""
    rng = np.random.default_rng(5)
    own = rng.normal(size=(count, seeds)) * np.broadcast_to(sds, count)[:, None]
    return rng.normal(0.5, 0.2, (count, 1)) + own + shared * rng.normal(size=(1, seeds))


def test_cells_that_spread_alike_are_taken_for_one_sample() -> None:
    prior = fit([cells(4000, 0.03)], STEP)
    assert math.sqrt(prior.variance) == pytest.approx(0.03, rel=0.03)
    assert prior.df > 50
    assert prior.most_df == 3999 * 2


def test_what_a_seed_does_to_a_whole_scale_is_left_out() -> None:
    means = cells(40, 0.03)
    moved = means + np.array([0.3, -0.2, 0.1])
    assert fit([moved], STEP).variance == pytest.approx(fit([means], STEP).variance)


def test_the_degrees_of_freedom_of_the_prior_are_found() -> None:
    """Variances drawn from the model itself, s0^2 d0 / chi2(d0), give back d0 and s0."""
    rng = np.random.default_rng(3)
    sds = np.sqrt(0.03**2 * 6 / rng.chisquare(6, 40_000))
    prior = fit([cells(40_000, sds)], step=1e-9)
    assert prior.df == pytest.approx(6, rel=0.15)
    assert math.sqrt(prior.variance) == pytest.approx(0.03, rel=0.05)


def test_few_cells_or_one_seed_say_nothing() -> None:
    assert fit([cells(3, 0.03)], STEP) == NO_PRIOR
    assert fit([cells(10, 0.03, seeds=1)], STEP) == NO_PRIOR
    assert fit([], STEP) == NO_PRIOR


def test_identical_cells_spread_by_the_resolution_of_the_panel() -> None:
    assert fit([np.full((6, 3), 0.5)], 0.01).variance == pytest.approx(0.01**2)


def test_the_moderated_variance_lies_between_its_own_and_the_others() -> None:
    variance, df = moderated(0.04, 2, Prior(0.01, 4.0, 100.0))
    assert variance == pytest.approx((4 * 0.01 + 2 * 0.04) / 6)  # worked by hand: 0.02
    assert df == 6
    assert moderated(0.04, 2, Prior(0.01, math.inf, 58.0)) == (0.01, 58.0)
    assert moderated(0.04, 2, Prior(0.01, 90.0, 58.0))[1] == 58.0
    assert moderated(0.04, 2, NO_PRIOR) == (0.04, 2.0)


def test_only_contrasts_within_scales_between_trained_cells_use_it() -> None:
    by_scale = ((FOUR[0], 1.0), (FOUR[1], -1.0), ("l" + FOUR[0][1:], -1.0), ("l" + FOUR[1][1:], 1.0))
    assert balanced(PAIR)
    assert balanced(Component("interaction", by_scale))
    assert not balanced(Component("across", ((FOUR[0], 1.0), ("l" + FOUR[0][1:], -1.0))))
    assert not balanced(Component("reference", ((FOUR[0], 1.0), ("sft-m", -1.0))))
    assert not balanced(Component("one cell", ((FOUR[0], 1.0),)))


def test_priors_come_from_the_cells_that_have_every_seed() -> None:
    world = World(dict.fromkeys([*FOUR, "sft-m"], (0.5, 0.5)), seed_sd=0.05)
    results = results_of(world, (0, 1, 2), [*FOUR, "sft-m"])
    prior = Priors(Tables(results), results).of(PAIR, SUCCESS)
    assert prior.variance > 0
    assert prior.most_df == 6
    short = results.queries[(results.queries["cell"] != FOUR[3]) | (results.queries["seed"] != 2)]
    lacking = type(results)(results.root, results.expected, results.seeds, results.runs, short, ())
    assert Priors(Tables(lacking), lacking).of(PAIR, SUCCESS).df == 0


def test_a_prior_narrows_the_interval_of_few_seeds_and_widens_that_of_lucky_ones() -> None:
    values = np.repeat(np.array([0.10, 0.14, 0.09])[:, None], 1000, axis=1)
    strata = ["all"] * 1000
    alone = statistics.spread(values, strata)
    helped = statistics.spread(values, strata, Prior(alone.seed_sd**2, 20.0, 60.0))
    warned = statistics.spread(values, strata, Prior(100 * alone.seed_sd**2, 20.0, 60.0))
    assert statistics.half_width(helped, 0.95) < 0.6 * statistics.half_width(alone, 0.95)
    assert statistics.half_width(warned, 0.95) > statistics.half_width(alone, 0.95)
