"""Trajectory rewards. Four are the paper's, exactly (Agent-STAR section 4): all weights 1, no term for format or
length; `adaptive` is ours.

A reward is a function of a grade's metrics and of the progress of training. Every metric is a number in [0, 1] for
one trajectory. To add a reward, write a function and name it in `REWARDS`; its docstring says formula and range.

A value never says how it came about: that is its status (`Scored`). The paper scores a violation of the protocol 0, and
0 is also what a well-formed plan earns that fails every check; the two are told apart by status alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .errors import StarlabError, nearest
from .tasks import Grade, Status

EPOCHS = 5
"""Epochs that the paper trains; its switches are counted in them."""
SWITCHES = (2, 4)
"""Epochs after which the curriculum turns from SUM to MACRO and from MACRO to SUCCESS."""
WINDOW = 5
"""Steps that the adaptive reward looks back on, and that it stays in a stage at least."""
SIGNAL = (0.25, 0.5)
"""Share of groups whose episodes differ in success, from which on the adaptive reward is MACRO, and SUCCESS."""

Metrics = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training is. `step` counts finished steps, so it runs from 0 to steps - 1.

    `signals` has one number for each finished step: the share of its groups, those of the scheduled prompts, whose
    episodes differ in success. It is part of the run's record, so a resumed run continues with the same history.
    """

    step: int
    steps: int
    signals: Sequence[float] = ()


Reward = Callable[[Metrics, Progress], float]


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


def total(metrics: Metrics, progress: Progress) -> float:
    """SUM: cs_micro + cs_macro + hard_micro + hard_macro + success, in [0, 5]."""
    return sum(metrics[name] for name in ("cs_micro", "cs_macro", "hard_micro", "hard_macro", "success"))


def macro(metrics: Metrics, progress: Progress) -> float:
    """MACRO: cs_macro + hard_macro + success, in [0, 3] (one of 0, 1, 2, 3)."""
    return metrics["cs_macro"] + metrics["hard_macro"] + metrics["success"]


def success(metrics: Metrics, progress: Progress) -> float:
    """SUCCESS: success, in [0, 1] (0 or 1)."""
    return metrics["success"]


DENSE_TO_SPARSE: tuple[Reward, ...] = (total, macro, success)
"""The stages of the rewards that change during training."""


def switch_steps(steps: int) -> tuple[int, ...]:
    """The first step of each further stage of the curriculum: the paper's epochs as shares of `steps`, rounded up.

    The paper switches after epochs 2 and 4 of 5. Runs of other data sizes are matched on steps, not on epochs, so
    the switch is at the same share of training in all of them: of 155 steps (31 an epoch) at steps 62 and 124.
    """
    return tuple(-(-epoch * steps // EPOCHS) for epoch in SWITCHES)


def curriculum(metrics: Metrics, progress: Progress) -> float:
    """CURRICULUM: SUM in the first 2/5 of training, MACRO in the next 2/5, SUCCESS in the last 1/5, in [0, 5]."""
    stage = sum(progress.step >= switch for switch in switch_steps(progress.steps))
    return DENSE_TO_SPARSE[stage](metrics, progress)


def adaptive_stage(signals: Sequence[float]) -> int:
    """The stage (0 SUM, 1 MACRO, 2 SUCCESS) after steps in which the shares `signals` of groups differed in success.

    A stage ends when the mean of the last `WINDOW` signals, all from this stage, reaches the stage's entry of
    `SIGNAL`: then the sparser reward has something to say in that share of the groups. Stages are never left
    backwards, so noise of the signal cannot make the reward swing.
    """
    stage = entered = 0
    for now in range(WINDOW, len(signals) + 1):
        if stage == len(SIGNAL):
            break
        if now - entered >= WINDOW and sum(signals[now - WINDOW : now]) / WINDOW >= SIGNAL[stage]:
            stage, entered = stage + 1, now
    return stage


def adaptive(metrics: Metrics, progress: Progress) -> float:
    """ADAPTIVE: SUM, MACRO or SUCCESS, by `adaptive_stage` of the measured signals, in [0, 5].

    A curriculum that moves from dense to sparse when the policy's success begins to tell episodes of one prompt apart,
    not at a step that was set by hand.
    """
    return DENSE_TO_SPARSE[adaptive_stage(progress.signals)](metrics, progress)


REWARDS: Mapping[str, Reward] = {
    "sum": total,
    "macro": macro,
    "success": success,
    "curriculum": curriculum,
    "adaptive": adaptive,
}

CHANGING = frozenset(("curriculum", "adaptive"))
"""Rewards that are another formula later in training."""


def find(name: str) -> Reward:
    """The reward of that name."""
    if name not in REWARDS:
        raise StarlabError(f"reward: unknown {name!r}; {nearest(name, REWARDS)}")
    return REWARDS[name]


def score(reward: Reward, grade: Grade, well_formed: bool, progress: Progress) -> Scored:
    """The reward of one trajectory. Any violation of the protocol makes it 0, whatever was delivered."""
    if not well_formed:
        return Scored(0.0, RewardStatus.FORMAT_ERROR)
    if grade.status is not Status.OK:
        return Scored(0.0, RewardStatus(grade.status.value))
    return Scored(float(reward(grade.metrics, progress)), RewardStatus.SCORED)
