"""Alarms on made-up records: what raises each, and what comes close and does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab.training.alarms import ALARMS, WINDOW, meaning, raised

GOOD = {"entropy": 1.0, "zero_spread": 0.5, "format_errors": 0.02, "success": 0.3, "reward": 1.0}


def record(*stretches: dict[str, float]):
    """A window of lines for each stretch, as in `GOOD` but for what it says."""
    rows = [GOOD | stretch for stretch in stretches for _ in range(WINDOW)]
    return [{"step": step, **row} for step, row in enumerate(rows, 1)]


@pytest.mark.parametrize(
    ("name", "stretches"),
    [
        ("entropy_floor", [{}, {"entropy": 0.09}]),
        ("zero_spread", [{"zero_spread": 0.91}]),
        ("format_errors", [{}, {"format_errors": 0.26}]),
        ("format_errors", [{"format_errors": 0.0}, {"format_errors": 0.26}]),
        ("reward_without_success", [{}, {"success": 0.24, "reward": 1.1}]),
    ],
)
def test_what_raises_an_alarm(name, stretches):
    assert raised(record(*stretches)) == {name: raised(record(*stretches))[name]}
    assert raised(record(*stretches))[name] <= WINDOW * len(stretches)
    assert raised(record(*stretches, {})) == raised(record(*stretches)), "the first step counts, also when it is over"


@pytest.mark.parametrize(
    "stretches",
    [
        [{}, {}],
        [{}, {"entropy": 0.11}],
        [{"entropy": 0.01}, {"entropy": 0.01}],  # low from the start on
        [{"zero_spread": 0.9}],
        [{}, {"format_errors": 0.25}],
        [{"format_errors": 0.5}, {"format_errors": 0.9}],  # many, but less than twice as many
        [{}, {"success": 0.26, "reward": 1.1}],
        [{}, {"success": 0.1, "reward": 0.9}],  # both fall
    ],
)
def test_what_does_not(stretches):
    assert raised(record(*stretches)) == {}


def test_the_switch_of_a_curriculum_is_no_alarm():
    assert raised(record({"reward": 3.0, "success": 0.3}, {"reward": 1.0, "success": 0.3})) == {}


@given(st.integers(0, WINDOW - 1))
def test_a_short_record_raises_nothing(length):
    bad = {"entropy": 0.0, "zero_spread": 1.0, "format_errors": 1.0, "success": 0.0, "reward": 9.0}
    assert raised(record(bad)[:length]) == {}


def test_every_alarm_says_what_it_means():
    assert all(meaning(name).endswith(".") and len(meaning(name)) > 20 for name in ALARMS)
