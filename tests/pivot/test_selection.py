"""The filter, with worked numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.pivot.selection import statistics


@pytest.mark.parametrize(
    ("successes", "kept"),
    [(0, False), (1, True), (2, True), (3, True), (4, True), (5, False), (6, False), (7, False), (8, False)],
)
def test_of_eight_samples_one_to_four_successes_make_a_pivot(successes, kept):
    found = statistics([1.0] * successes + [0.0] * (8 - successes))
    assert found.is_pivot(0.6) == kept
    assert found.mean == Fraction(successes, 8)


def test_the_mean_has_to_be_strictly_below():
    """Three of five is 0.6, which is not below 0.6, whatever floats make of it."""
    assert not statistics([1.0, 1.0, 1.0, 0.0, 0.0]).is_pivot(0.6)
    assert not statistics([1 / 3, 1 / 3, 2 / 3, 0.0]).is_pivot(1 / 3)


def test_the_variance_is_the_population_s():
    assert statistics([1.0, 1.0] + [0.0] * 6).variance == Fraction(3, 16)  # 0.1875


def test_alike_rewards_carry_no_signal_at_any_level():
    for value in (0.0, 1 / 3, 0.7, 1.0):
        assert not statistics([value] * 8).has_signal


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=16), st.floats(0.01, 1.0))
def test_binary_rewards_need_a_success_a_failure_and_a_low_mean(outcomes, mean_below):
    found = statistics([float(outcome) for outcome in outcomes])
    assert found.variance == found.mean * (1 - found.mean)
    if found.is_pivot(mean_below):
        assert 0 < sum(outcomes) < len(outcomes)
