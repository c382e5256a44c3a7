"""What the algorithms choose, with the worked numbers of DAPO's dynamic sampling."""

from __future__ import annotations

from dataclasses import fields

import pytest
from starlab.errors import StarlabError
from starlab.rewards import RewardStatus, Scored
from starlab.rollout.episode import Episode, StopReason
from starlab.tasks import Grade, Status
from starlab.training.algorithms import ALGORITHMS, Dapo, Grpo, make
from starlab.training.groups import Group, Sample


def group(*rewards: float, length: int = 3) -> Group:
    episode = Episode("q", 0, [1], [2] * length, [1] * length, [0.0] * length, StopReason.ANSWERED, (), 1, "a")
    grade = Grade(Status.OK, {"success": 0.0})
    return Group(tuple(Sample(episode, grade, Scored(r, RewardStatus.SCORED)) for r in rewards))


def stream(*groups: Group):
    """A source of further groups, and a list of what was asked of it."""
    left, asked = list(groups), []

    def draw(round_, count):
        asked.append((round_, count))
        taken, left[:] = left[:count], left[count:]
        return taken

    return draw, asked


def test_grpo_takes_groups_as_they_come():
    groups = [group(0, 0), group(1, 0)]
    draw, asked = stream()
    selection = Grpo().select(groups, draw)
    assert selection.groups == tuple(groups)
    assert (selection.discarded, selection.rounds, selection.unfilled, asked) == (0, 0, 0, [])


@pytest.mark.parametrize(
    ("rewards", "kept"),
    [((1, 1, 1, 1), False), ((0, 0, 0, 0), False), ((1, 0, 0, 0), True), ((2.5, 2.5, 2.5, 2.25), True)],
)
def test_zero_spread_is_about_raw_rewards_of_any_range(rewards, kept):
    assert group(*rewards).has_spread is kept


def test_dapo_refills_from_the_stream():
    """Target 2 from [all 1, mixed, all 0, mixed]: four groups consumed, two trained."""
    first, mixed = group(1, 1, 1, 1), group(1, 0, 0, 0)
    zeros, last = group(0, 0, 0, 0), group(0, 1, 0, 0)
    draw, asked = stream(zeros, last)
    selection = Dapo(refills=4).select([first, mixed], draw)
    assert selection.groups == (mixed, last)
    assert (selection.discarded, selection.rounds, selection.unfilled) == (2, 2, 0)
    assert asked == [(0, 1), (1, 1)]


def test_dapo_drops_an_all_correct_group_of_unequal_lengths():
    """The raw filter: a length penalty would have given (1, 0.5)."""
    short, long = group(1, length=100), group(1, length=18432)
    both = Group(short.samples + long.samples)
    draw, _ = stream(group(1, 0))
    assert Dapo().select([both], draw).groups == (group(1, 0),)


def test_dapo_exhausted_trains_on_fewer_groups_not_on_diluted_ones():
    draw, asked = stream(*[group(0, 0)] * 9)
    selection = Dapo(refills=3).select([group(0, 0), group(1, 0), group(1, 1)], draw)
    assert [g.muted for g in selection.groups] == [False, True, True]
    assert (selection.unfilled, selection.rounds, len(asked)) == (2, 3, 3)
    assert selection.discarded == 2 + 6 - 2


def test_dapo_stops_when_no_prompt_is_left():
    draw, asked = stream()
    assert Dapo(refills=5).select([group(0, 0)], draw).unfilled == 1
    assert len(asked) == 1


def test_dapo_can_insist():
    draw, _ = stream(group(0, 0))
    with pytest.raises(StarlabError, match="after 1 rounds only 0 of 1 groups"):
        Dapo(refills=1, require_full=True).select([group(0, 0)], draw)


def test_grpo_and_dapo_differ_in_what_the_papers_say():
    grpo, dapo = Grpo(), Dapo()
    shared = {f.name for f in fields(grpo)} & {f.name for f in fields(dapo)}
    assert {name for name in shared if getattr(grpo, name) != getattr(dapo, name)} == {"loss_type"}
    assert {f.name for f in fields(dapo)} - shared == {"refills", "require_full"}
    for algorithm in (grpo, dapo):
        assert (algorithm.epsilon_low, algorithm.epsilon_high, algorithm.beta) == (0.2, 0.28, 0.0)


def test_names_and_settings_are_checked():
    assert make("dapo", {"refills": 2}) == Dapo(refills=2)
    with pytest.raises(StarlabError, match="did you mean 'grpo'"):
        make("grop", {})
    with pytest.raises(StarlabError, match="did you mean 'refills'"):
        make("dapo", {"refils": 2})
    with pytest.raises(StarlabError, match="unknown setting 'refills'"):
        make("grpo", {"refills": 2})
    assert set(ALGORITHMS) >= {"grpo", "dapo"}
