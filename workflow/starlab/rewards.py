"""Trajectory rewards, exactly as in the paper (Agent-STAR section 4): all weights 1, no term for format or
length.

A reward is a function of a grade's metrics and of how far training is. Every metric is a number in [0, 1] for
one trajectory. To add a reward, write a function and name it in `REWARDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from .errors import StarlabError, nearest
from .tasks import Grade, Status

Metrics = Mapping[str, float]
Reward = Callable[[Metrics, int, int], float]
"""(metrics, step, steps) -> reward; `step` counts finished steps, so it runs from 0 to steps - 1."""


class RewardStatus(StrEnum):
    """How a value came about. A zero that was earned and a zero for breaking the protocol are not the same
    thing.
    """

    SCORED = "scored"
    FORMAT_ERROR = "format error"
    UNPARSEABLE = "unparseable"
    UNDELIVERED = "undelivered"


@dataclass(frozen=True, slots=True)
class Scored:
    value: float
    status: RewardStatus


def total(metrics: Metrics, step: int, steps: int) -> float:
    """SUM: cs_micro + cs_macro + hard_micro + hard_macro + success, in [0, 5]."""
    return sum(metrics[name] for name in ("cs_micro", "cs_macro", "hard_micro", "hard_macro", "success"))


def macro(metrics: Metrics, step: int, steps: int) -> float:
    """MACRO: cs_macro + hard_macro + success, in {0, 1, 2, 3}."""
    return metrics["cs_macro"] + metrics["hard_macro"] + metrics["success"]


def success(metrics: Metrics, step: int, steps: int) -> float:
    """SUCCESS: success, in {0, 1}."""
    return metrics["success"]


def curriculum(metrics: Metrics, step: int, steps: int) -> float:
    """CURRICULUM: SUM in the first 2/5 of training, MACRO in the next 2/5, SUCCESS in the last 1/5; in [0,
    5].

    The paper switches after epochs 2 and 4 of 5; runs of other data sizes are matched on steps, so the switch
    is in steps.
    """
    if 5 * step < 2 * steps:
        return total(metrics, step, steps)
    if 5 * step < 4 * steps:
        return macro(metrics, step, steps)
    return success(metrics, step, steps)


REWARDS: Mapping[str, Reward] = {"sum": total, "macro": macro, "success": success, "curriculum": curriculum}


def find(name: str) -> Reward:
    """The reward of that name."""
    if name not in REWARDS:
        raise StarlabError(f"reward: unknown {name!r}; {nearest(name, REWARDS)}")
    return REWARDS[name]


def score(reward: Reward, grade: Grade, well_formed: bool, step: int, steps: int) -> Scored:
    """The reward of one trajectory. Any violation of the protocol makes it 0, whatever was delivered."""
    if not well_formed:
        return Scored(0.0, RewardStatus.FORMAT_ERROR)
    if grade.status is not Status.OK:
        return Scored(0.0, RewardStatus(grade.status.value))
    return Scored(float(reward(grade.metrics, step, steps)), RewardStatus.SCORED)
