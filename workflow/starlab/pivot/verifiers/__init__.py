"""Verifiers: does one turn do what the state needs?

A verifier is a pure function (query, candidate, text of a sampled turn) -> verdict in [0, 1]; it sees what the policy
saw, never a rollout. `functional` accepts every turn that serves (PivotRL's r_func), `strict` only the expert's own
(r_strict). Thoughts are not compared by either: what follows them is the action.

To add a domain, write a function that judges a tool call and one that scores an answer, and name both in `DOMAINS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import rewards
from ...errors import StarlabError, nearest
from ...protocol import ToolCall, Turn, TurnKind, parse_turn
from ...tasks import Status, Task
from ..candidates import Candidate, Lookup
from . import knowledge, travel

CUT_OFF = "cut off by the length limit"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a turn is worth, and why."""

    value: float
    reason: str


Verifier = Callable[[Task, Candidate, str | None], Verdict]
"""(query, candidate, text of the turn without its end token; None if a limit cut it off) -> verdict."""
Needed = Callable[[Any, Sequence[Lookup], ToolCall], str | None]
"""(task, look-ups so far, call) -> None when the call is needed, else why it is not."""
Score = Callable[[Mapping[str, float], rewards.Reward], float]
"""(metrics of an answer, the cell's reward) -> value in [0, 1]."""

DOMAINS: Mapping[str, tuple[Needed, Score]] = {
    "travel": (travel.why_not, travel.answer_value),
    "knowledge": (knowledge.why_not, knowledge.answer_value),
}


def functional(reward: str) -> Verifier:
    """Accepts every useful turn. `reward` scores answers, as a share of the most that it gives: `success` is 0 or 1,
    `macro` and `sum` are graded."""
    scored = rewards.find(reward)

    def verify(task: Task, candidate: Candidate, text: str | None) -> Verdict:
        turn = _read(text)
        if isinstance(turn, Verdict):
            return turn
        needed, score = DOMAINS[task.domain]
        if turn.call is not None:
            problem = needed(task, candidate.lookups, turn.call)
            return Verdict(1.0, "a call that is needed") if problem is None else Verdict(0.0, problem)
        grade = task.grade(turn.answer)
        if grade.status is not Status.OK:
            return Verdict(0.0, f"an answer that is {grade.status}")
        return Verdict(score(grade.metrics, scored), "an answer")

    return verify


def strict(task: Task, candidate: Candidate, text: str | None) -> Verdict:
    """Accepts the text of the expert's action and nothing else."""
    turn = _read(text)
    if isinstance(turn, Verdict):
        return turn
    same = _action(text or "") == _action(candidate.expert)
    return Verdict(1.0, "the expert's action") if same else Verdict(0.0, "another action than the expert's")


def _read(text: str | None) -> Turn | Verdict:
    if text is None:
        return Verdict(0.0, CUT_OFF)
    turn = parse_turn(text)
    return Verdict(0.0, str(turn.error)) if turn.kind is TurnKind.MALFORMED else turn


def _action(text: str) -> str:
    """What follows the thought."""
    return text.rpartition("</think>")[2].strip()


def find(name: str, reward: str) -> Verifier:
    """The verifier called `name`: "functional" or "strict"."""
    if name == "strict":
        return strict
    if name != "functional":
        raise StarlabError(f"pivot verifier: unknown {name!r}; {nearest(name, ('functional', 'strict'))}")
    return functional(reward)
