"""What the algorithms choose, with the worked numbers of DAPO's dynamic sampling."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.rewards import RewardStatus, Scored
from starlab.rollout.episode import Branching, Episode, StopReason
from starlab.tasks import Grade, Status
from starlab.training.algorithms import ALGORITHMS, Arpo, ArpoRandom, Dapo, Grpo, make
from starlab.training.algorithms.table import document
from starlab.training.collection import Collected
from starlab.training.groups import Group, Sample, hard_advantages


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


@pytest.mark.parametrize(
    ("length", "penalty"), [(100, 0), (16384, 0), (17408, -0.25), (18432, -0.5), (20480, -1), (20481, -1)]
)
def test_dapo_penalises_the_last_fifth_of_the_length(length, penalty):
    """L_max 20480, cache 4096: a right answer (1) of 18432 tokens scores 0.5."""
    assert Dapo().shaping(length, 20480) == pytest.approx(penalty)
    assert Dapo(overlong_share=0.0).shaping(length, 20480) == 0
    assert Grpo().shaping(length, 20480) == Arpo().shaping(length, 20480) == 0


def test_shaping_reaches_the_advantages_and_not_the_filter():
    """Lengths 100 and 18432, both right: shaped rewards (1, 0.5), and still no spread."""
    both = group(1, 1)
    collected = Collected((both,), {}, shaping=(0.0, Dapo().shaping(18432, 20480)))
    assert collected.rewards() == [1.0, 0.5]
    assert not both.has_spread


def branch(index, inherited=0, parent=None, length=4):
    """Episode `index` of a group; its first `inherited` tokens are its parent's."""
    return Episode(
        *("q", index, [1], [2] * length, [1] * length, [0.0] * length, StopReason.ANSWERED, (), 1, "a"),
        parent=parent, inherited=inherited,
    )  # fmt: skip


def test_hard_attribution_averages_over_those_that_share_a_prefix():
    """R = [1, 0, 0, 1] -> A = [1, -1, -1, 1]. Shared by {0, 1}: 0; by {0, 1, 2}: -1/3."""
    advantages = [1.0, -1.0, -1.0, 1.0]
    two = [branch(0), branch(1, 2, parent=0), branch(2), branch(3)]
    assert hard_advantages(two, advantages) == [[0, 0, 1, 1], [0, 0, -1, -1], [-1] * 4, [1] * 4]
    three = [branch(0), branch(1, 2, parent=0), branch(2, 2, parent=0), branch(3)]
    assert hard_advantages(three, advantages)[1] == pytest.approx([-1 / 3, -1 / 3, -1, -1])


def test_hard_attribution_follows_the_whole_line_of_descent():
    """2 branched off 1 behind token 3, which had branched off 0 behind token 1."""
    episodes = [branch(0), branch(1, 1, parent=0), branch(2, 3, parent=1)]
    lines = hard_advantages(episodes, [3.0, 0.0, -1.5])
    assert lines == [[0.5, 3, 3, 3], [0.5, -0.75, -0.75, 0], [0.5, -0.75, -0.75, -1.5]]


def test_tokens_that_are_equal_by_chance_are_not_shared():
    assert hard_advantages([branch(0), branch(1)], [1.0, -1.0]) == [[1] * 4, [-1] * 4]


def test_arpo_is_grpo_with_branches_and_a_token_mean():
    arpo, control = Arpo(), ArpoRandom()
    assert arpo.branching(8) == Branching(initial=4, probability=0.5, weight=0.2, probe=20, copies=1)
    assert control.branching(8) == Branching(initial=4, probability=0.5, weight=0.0, probe=20, copies=1)
    assert Arpo(initial_share=1.0).branching(8).initial == 8
    assert Grpo().branching(8) is Dapo().branching(8) is None
    usual = {f.name for f in fields(Grpo())}
    assert {name for name in usual if getattr(arpo, name) != getattr(Grpo(), name)} == {"loss_type"}
    differing = {f.name for f in fields(arpo) if getattr(arpo, f.name) != getattr(control, f.name)}
    assert differing == {"entropy_weight"}
    groups = [group(0, 0), group(1, 0)]
    assert arpo.select(groups, stream()[0]).groups == tuple(groups)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("arpo", {"initial_share": 0.0}, "initial_share"),
        ("arpo", {"probe_tokens": 0}, "probe_tokens"),
        ("arpo_random", {"entropy_weight": 0.1}, "the control has none"),
    ],
)
def test_settings_of_arpo_are_checked(name, settings, message):
    with pytest.raises(StarlabError, match=message):
        make(name, settings)


def test_the_page_about_algorithms_is_what_the_command_prints():
    page = Path(__file__).parents[2] / "docs" / "algorithms.md"
    assert page.read_text() == document(), "run `starlab algorithms > docs/algorithms.md`"


def test_grpo_and_dapo_differ_in_what_the_papers_say():
    grpo, dapo = Grpo(), Dapo()
    shared = {f.name for f in fields(grpo)} & {f.name for f in fields(dapo)}
    assert {name for name in shared if getattr(grpo, name) != getattr(dapo, name)} == {"loss_type"}
    assert {f.name for f in fields(dapo)} - shared == {"refills", "require_full", "overlong_share"}
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
