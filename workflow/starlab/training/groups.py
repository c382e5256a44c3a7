"""Episodes with their scores, grouped by prompt: what algorithms select from and losses are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..rewards import Scored
from ..rollout.episode import Episode
from ..tasks import Grade


@dataclass(frozen=True, slots=True)
class Sample:
    """One graded episode."""

    episode: Episode
    grade: Grade
    scored: Scored


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one prompt. A muted group stays in every statistic and leaves the loss."""

    samples: tuple[Sample, ...]
    muted: bool = False

    @property
    def rewards(self) -> list[float]:
        """Raw rewards, before any shaping or normalisation."""
        return [sample.scored.value for sample in self.samples]

    @property
    def has_spread(self) -> bool:
        """Whether the raw rewards differ, so that normalised advantages are not all zero."""
        rewards = self.rewards
        return max(rewards) > min(rewards)

    def muted_copy(self) -> Group:
        return replace(self, muted=True)


def hard_advantages(episodes: Sequence[Episode], advantages: Sequence[float]) -> list[list[float]]:
    """Advantages by token: where a token is shared by several episodes of a branching rollout, the mean of theirs.

    `episodes` are one group with the advantage of each. Result i has one entry per completion token of episode i. A
    token is shared with those that inherited it, not with those that happened to say the same (ARPO, section 3.2).
    """
    by_index = {episode.index: episode for episode in episodes}
    owners: list[list[int]] = []  # the episode that each token was sampled for
    for episode in episodes:
        line = [episode.index] * len(episode.completion_ids)
        ancestor, end = episode, len(line)
        while ancestor.parent is not None:
            end = min(end, ancestor.inherited)
            ancestor = by_index[ancestor.parent]
            line[:end] = [ancestor.index] * end
        owners.append(line)
    shared: dict[tuple[int, int], list[float]] = {}
    for line, advantage in zip(owners, advantages, strict=True):
        for place in enumerate(line):
            shared.setdefault(place, []).append(advantage)
    means = {place: sum(values) / len(values) for place, values in shared.items()}
    return [[means[place] for place in enumerate(line)] for line in owners]
