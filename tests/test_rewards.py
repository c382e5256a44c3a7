"""The paper's rewards."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab import rewards
from starlab.errors import StarlabError
from starlab.rewards import SIGNAL, WINDOW, Progress, RewardStatus, Scored, adaptive_stage, score, switch_steps
from starlab.tasks import Grade, Status

HALF = {
    "cs_micro": 0.75,
    "cs_macro": 0.0,
    "hard_micro": 0.5,
    "hard_macro": 0.0,
    "success": 0.0,
    "delivered": 1.0,
}
FULL = dict.fromkeys(HALF, 1.0)


@pytest.mark.parametrize(("name", "half", "full"), [("sum", 1.25, 5.0), ("macro", 0.0, 3.0), ("success", 0.0, 1.0)])
def test_formula_and_range(name, half, full):
    reward = rewards.find(name)
    assert reward(HALF, Progress(0, 10)) == half
    assert reward(FULL, Progress(0, 10)) == full


def test_curriculum_switches_at_two_and_four_fifths():
    values = [rewards.find("curriculum")(FULL, Progress(step, 80)) for step in range(80)]
    assert values == [5.0] * 32 + [3.0] * 32 + [1.0] * 16
    # the paper: 155 steps, sum in epochs 1-2, macro in 3-4, success in 5 of 31 steps each
    values = [rewards.find("curriculum")(FULL, Progress(step, 155)) for step in range(155)]
    assert values == [5.0] * 62 + [3.0] * 62 + [1.0] * 31
    assert switch_steps(155) == (62, 124) and switch_steps(80) == (32, 64)


@pytest.mark.parametrize(("steps", "switches"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 3)), (7, (3, 6))])
def test_few_steps_switch_at_the_first_step_past_the_epoch(steps, switches):
    assert switch_steps(steps) == switches


shares = st.lists(st.integers(0, 8).map(lambda count: count / 8), max_size=40)


def test_adaptive_moves_from_dense_to_sparse_on_measured_signal():
    """A quarter of the groups differ in success for five steps, then a half: SUM until then, MACRO, SUCCESS."""
    signals = [0.0] * 7 + [0.25] * 5 + [0.25] * 3 + [0.5] * 5
    values = [rewards.find("adaptive")(FULL, Progress(step, 99, signals[:step])) for step in range(21)]
    assert values == [5.0] * 12 + [3.0] * 8 + [1.0]


def test_adaptive_stays_dense_without_signal_and_never_turns_back():
    assert adaptive_stage([0.0] * 80) == 0
    assert adaptive_stage([0.24] * 80) == 0
    assert adaptive_stage([1.0] * 10 + [0.0] * 70) == 2
    assert adaptive_stage([1.0] * (WINDOW - 1)) == 0
    assert adaptive_stage([1.0] * (2 * WINDOW - 1)) == 1, "a stage lasts a window at least"


@given(shares)
def test_the_adaptive_stage_depends_on_the_past_alone_and_only_rises(signals):
    stages = [adaptive_stage(signals[:step]) for step in range(len(signals) + 1)]
    assert stages == sorted(stages) and set(stages) <= {0, 1, 2}
    if stages[-1] == 0:
        assert all(sum(signals[i : i + WINDOW]) / WINDOW < SIGNAL[0] for i in range(len(signals) - WINDOW + 1))


@given(
    st.fixed_dictionaries({name: st.floats(0.0, 1.0) for name in HALF}), st.integers(0, 79), shares,
    st.sampled_from(sorted(rewards.REWARDS)),
)  # fmt: skip
def test_every_reward_stays_in_the_range_that_its_docstring_names(metrics, step, signals, name):
    reward = rewards.find(name)
    low, high = map(float, re.search(r"in \[(\d), (\d)\]", " ".join(reward.__doc__.split())).groups())
    assert reward.__doc__.startswith(f"{name.upper()}: ")
    assert low <= reward(metrics, Progress(step, 80, signals)) <= high


def test_a_format_error_scores_zero_whatever_was_delivered():
    grade = Grade(Status.OK, FULL)
    assert score(rewards.find("sum"), grade, False, Progress(0, 10)) == Scored(0.0, RewardStatus.FORMAT_ERROR)
    assert score(rewards.find("sum"), grade, True, Progress(0, 10)) == Scored(5.0, RewardStatus.SCORED)


def test_an_earned_zero_is_scored():
    grade = Grade(Status.OK, dict.fromkeys(HALF, 0.0))
    assert score(rewards.find("sum"), grade, True, Progress(0, 10)) == Scored(0.0, RewardStatus.SCORED)


@pytest.mark.parametrize("status", [Status.UNPARSEABLE, Status.UNDELIVERED])
def test_nothing_to_score_is_zero_with_its_own_status(status):
    scored = score(rewards.find("sum"), Grade(status, HALF), True, Progress(0, 10))
    assert scored == Scored(0.0, RewardStatus(status.value))


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(StarlabError, match="did you mean 'macro'"):
        rewards.find("macr")
