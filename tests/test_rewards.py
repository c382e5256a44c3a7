"""The paper's rewards."""

from __future__ import annotations

import pytest
from starlab import rewards
from starlab.errors import StarlabError
from starlab.rewards import RewardStatus, Scored, score
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
    assert reward(HALF, 0, 10) == half
    assert reward(FULL, 0, 10) == full


def test_curriculum_switches_at_two_and_four_fifths():
    values = [rewards.find("curriculum")(FULL, step, 80) for step in range(80)]
    assert values == [5.0] * 32 + [3.0] * 32 + [1.0] * 16
    # the paper: 155 steps, sum in epochs 1-2, macro in 3-4, success in 5 of 31 steps each
    values = [rewards.find("curriculum")(FULL, step, 155) for step in range(155)]
    assert values == [5.0] * 62 + [3.0] * 62 + [1.0] * 31


def test_a_format_error_scores_zero_whatever_was_delivered():
    grade = Grade(Status.OK, FULL)
    assert score(rewards.find("sum"), grade, False, 0, 10) == Scored(0.0, RewardStatus.FORMAT_ERROR)
    assert score(rewards.find("sum"), grade, True, 0, 10) == Scored(5.0, RewardStatus.SCORED)


@pytest.mark.parametrize("status", [Status.UNPARSEABLE, Status.UNDELIVERED])
def test_nothing_to_score_is_zero_with_its_own_status(status):
    scored = score(rewards.find("sum"), Grade(status, HALF), True, 0, 10)
    assert scored == Scored(0.0, RewardStatus(status.value))


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(StarlabError, match="did you mean 'macro'"):
        rewards.find("macr")
