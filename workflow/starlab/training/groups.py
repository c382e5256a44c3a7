"""Episodes with their scores, grouped by prompt: what algorithms select from and losses are made of."""

from __future__ import annotations

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
