"""Seed counts for planning."""

from __future__ import annotations

import numpy as np
import pytest
from starlab.findings import statistics
from starlab.findings.claims import load_claims
from starlab.findings.contrast import Contrast
from starlab.findings.power import MOST_SEEDS, seeds_needed
from starlab.findings.verdicts import p_values

CLAIMS = load_claims()


def contrast(name: str) -> Contrast:
    return next(c for finding in CLAIMS.findings for c in finding.contrasts if c.id == name)


def spread(estimate: float, seed_sd: float, seeds: int = 3, queries: int = 100_000) -> statistics.Spread:
    """A contrast with this estimate and seed sd, on a panel so large that queries add no noise."""
    rows = np.linspace(-1.0, 1.0, seeds) if seeds > 1 else np.zeros(1)
    rows = rows / rows.std(ddof=1) * seed_sd if seeds > 1 else rows
    return statistics.spread(np.repeat((estimate + rows)[:, None], queries, axis=1), ["all"] * queries)


def need(name: str, estimate: float, seed_sd: float, seeds: int = 3, family: int = 1) -> int | None:
    return seeds_needed(contrast(name), [[spread(estimate, seed_sd, seeds)]], CLAIMS.settings, family).seeds


def test_a_plan_reaches_its_power() -> None:
    """True lead 6 points over the margin, paired sd 4: simulate the planned number of seeds and count
    verdicts.
    """
    planned = need("more_data_helps", 0.08, 0.04)
    assert planned is not None and 5 <= planned <= 9
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        values = np.repeat(rng.normal(0.08, 0.04, (planned, 1)), 2_000, axis=1)
        claim, _ = p_values(statistics.spread(values, ["all"] * 2_000), contrast("more_data_helps"))
        hits += claim <= CLAIMS.settings.alpha
    assert 0.70 <= hits / 300 <= 0.95


def test_more_noise_smaller_effects_and_larger_families_need_more_seeds() -> None:
    base = need("more_data_helps", 0.08, 0.04)
    assert base is not None
    for other in (need("more_data_helps", 0.08, 0.06), need("more_data_helps", 0.05, 0.04),
                  need("more_data_helps", 0.08, 0.04, family=3)):  # fmt: skip
        assert other is None or other > base


def test_a_contradiction_counts_as_a_verdict() -> None:
    assert need("more_data_helps", -0.08, 0.04) is not None


def test_an_equivalence_needs_more_seeds_near_its_margin() -> None:
    centre, edge = need("plateau", 0.0, 0.02), need("plateau", 0.035, 0.02)
    assert centre is not None and edge is not None and centre < edge


def test_on_the_margin_no_number_is_promised() -> None:
    plan = seeds_needed(contrast("more_data_helps"), [[spread(0.02, 0.04)]], CLAIMS.settings, 1)
    assert plan.seeds is None
    assert str(plan).startswith(f"more than {MOST_SEEDS}")


def test_one_seed_plans_with_the_assumed_spread() -> None:
    plan = seeds_needed(contrast("more_data_helps"), [[spread(0.30, 0.0, seeds=1)]], CLAIMS.settings, 1)
    assert plan.seeds is not None
    assert "assuming that seeds spread by 4 points" in plan.note


def test_a_small_panel_limits_what_seeds_can_do() -> None:
    rng = np.random.default_rng(3)
    hard = np.tile(rng.choice([-1.0, 1.0], 60, p=[0.45, 0.55]), (3, 1))  # the same for every seed
    assert statistics.spread(hard, ["all"] * 60).query_se == pytest.approx(0.129, abs=0.01)
    assert (
        seeds_needed(contrast("more_data_helps"), [[statistics.spread(hard, ["all"] * 60)]], CLAIMS.settings, 1).seeds
        is None
    )
