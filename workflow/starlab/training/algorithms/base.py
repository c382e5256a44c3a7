"""What an algorithm fixes. Every field that tells one algorithm from another is named here, with nothing left
to the defaults of TRL (whose default loss is "dapo")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...rollout.episode import Branching
from ..groups import Group

Draw = Callable[[int, int], list[Group]]
"""(round, count) -> that many groups on fresh prompts, drawn by a generator that belongs to the step."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The groups of a step, and what choosing them cost."""

    groups: tuple[Group, ...]
    discarded: int = 0
    """Groups that were generated and thrown away."""
    rounds: int = 0
    """Times that prompts were drawn again."""
    unfilled: int = 0
    """Places that stayed without a useful group; they hold muted groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm(ABC):
    """The policy-gradient loss and how a step's groups are chosen."""

    loss_type: str
    """How token losses are averaged (TRL's name): "grpo" per sequence, then over sequences; "dapo" over all
    tokens.
    """
    epsilon_low: float = 0.2
    """The probability ratio is clipped below at 1 - epsilon_low."""
    epsilon_high: float = 0.28
    """The probability ratio is clipped above at 1 + epsilon_high ("clip-higher")."""
    beta: float = 0.0
    """Weight of the KL term. 0: there is none, and no reference model is loaded."""
    scale_rewards: str = "group"
    """What advantages are divided by: the sample standard deviation (n - 1) of the group, plus 1e-4."""
    importance_sampling_level: str = "token"
    """The ratio is taken per token."""
    num_iterations: int = 1
    """Passes over a step's episodes."""
    attribution: str = "soft"
    """Advantage of a token that branches have in common: in each its own episode's ("soft"), or their mean ("hard")."""

    def branching(self, group: int) -> Branching | None:
        """How the `group` episodes of a prompt branch off each other; None: all start at the prompt."""
        return None

    def shaping(self, length: int, limit: int) -> float:
        """What is added to the reward of an episode of `length` tokens where `limit` are allowed. Groups are selected
        on rewards without it."""
        return 0.0

    @abstractmethod
    def select(self, groups: Sequence[Group], draw: Draw) -> Selection:
        """Choose the groups of a step, given those of its scheduled prompts; as many as were given."""
