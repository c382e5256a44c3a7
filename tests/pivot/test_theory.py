"""Theorems 3.2 and 3.3 on worked numbers, and gradient ascent that arrives at the closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from theory import accepted_mass, natural_gradient_norm, tilted

REFERENCE = np.array([0.1, 0.1, 0.5, 0.3])
ACCEPTED = np.array([1.0, 1.0, 0.0, 0.0])


def test_the_natural_gradient_is_as_long_as_the_reward_s_standard_deviation():
    policy, rewards = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0, 1.0])
    assert natural_gradient_norm(policy, rewards) == pytest.approx(np.sqrt(0.21)) == pytest.approx(0.458258, abs=1e-6)


@settings(deadline=None)
@example([(0.875, 0.875)] * 3)
@given(st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(0.0, 1.0)), min_size=2, max_size=6))
def test_that_holds_for_any_policy_and_reward(pairs):
    policy, rewards = (np.array(column) for column in zip(*pairs, strict=True))
    policy = policy / policy.sum()
    deviation = np.sqrt(policy @ (rewards - policy @ rewards) ** 2)
    assert natural_gradient_norm(policy, rewards) == pytest.approx(deviation, abs=1e-6)


def test_no_variance_no_gradient():
    assert natural_gradient_norm(REFERENCE, np.ones(4)) == pytest.approx(0.0, abs=1e-12)


def test_the_speed_of_the_tilted_path_is_the_deviation_over_beta_squared():
    """gamma = (1 / beta^2) * std of the reward: the Fisher length of d log pi / d beta, by differences."""
    beta, step = 0.8, 1e-5
    policy = tilted(REFERENCE, ACCEPTED, beta)
    slope = np.log(tilted(REFERENCE, ACCEPTED, beta + step)) - np.log(tilted(REFERENCE, ACCEPTED, beta - step))
    speed = np.sqrt(policy @ (slope / (2 * step)) ** 2)
    assert speed == pytest.approx(natural_gradient_norm(policy, ACCEPTED) / beta**2, rel=1e-6)


def test_the_optimum_moves_mass_to_what_is_accepted_and_keeps_ratios():
    best = tilted(REFERENCE, ACCEPTED, 1.0)
    assert best == pytest.approx([0.20230, 0.20230, 0.37212, 0.22327], abs=1e-5)
    assert best[2] / best[3] == pytest.approx(5 / 3) and best[0] == best[1]


@pytest.mark.parametrize(("beta", "mass"), [(1.0, 0.40461), (0.5, 0.64879), (10.0, 0.21648)])
def test_the_mass_on_what_is_accepted(beta, mass):
    assert accepted_mass(0.2, beta) == pytest.approx(mass, abs=1e-5)
    assert tilted(REFERENCE, ACCEPTED, beta)[:2].sum() == pytest.approx(mass, abs=1e-5)


def test_certainties_do_not_move():
    assert accepted_mass(0.0, 1.0) == 0.0 and accepted_mass(1.0, 1.0) == 1.0


def test_gradient_ascent_on_the_penalised_objective_arrives_there():
    """E[r] - beta KL(pi || pi_0), the objective that a cell with `beta` trains on, in one state."""
    policy = REFERENCE
    for _ in range(2000):
        value = ACCEPTED - 0.5 * np.log(policy / REFERENCE)
        logits = np.log(policy) + 0.5 * policy * (value - policy @ value)  # d/d logits of the objective
        policy = np.exp(logits) / np.exp(logits).sum()
    assert policy == pytest.approx(tilted(REFERENCE, ACCEPTED, 0.5), abs=1e-6)
