"""Verifiers: does one turn do what the state needs?

A verifier is a pure function (query, candidate, text of a sampled turn) -> verdict in [0, 1]; it sees what the policy
saw, never a rollout. `functional` accepts every turn that serves (PivotRL's r_func), `strict` only the expert's own
(r_strict). Thoughts count as far as they act: where a domain has listings to pick from, by what is picked.

To add a domain, write a function that judges a tool call and one that scores an answer - and, if thoughts pick, one
that judges picks -, and name them in `DOMAINS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import rewards
from ...errors import StarlabError, nearest
from ...protocol import ToolCall, Turn, TurnKind, parse_turn, thought_of
from ...tasks import Status, Task
from ..candidates import Candidate, Lookup
from . import knowledge, travel
from .picks import value as travel_picks_value

CUT_OFF = "cut off by the length limit"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a turn is worth, and why."""

    value: float
    reason: str


Verifier = Callable[[Task, Candidate, str | None], Verdict]
"""(query, candidate, text of the turn without its end token; None if a limit cut it off) -> verdict."""


@dataclass(frozen=True, slots=True)
class Domain:
    """How the turns of a domain are judged."""

    why_not: Callable[[Any, Sequence[Lookup], ToolCall], str | None]
    """(task, look-ups so far, call) -> None when the call is needed, else why it is not."""
    answer_value: Callable[[Mapping[str, float], rewards.Reward], float]
    """(metrics of an answer, the cell's reward) -> value in [0, 1]."""
    picks_value: Callable[[Any, Sequence[Lookup], str], tuple[float, str]] | None = None
    """(task, look-ups so far, thought before a call) -> (value in [0, 1], why), where thoughts pick from listings."""


DOMAINS: Mapping[str, Domain] = {
    "travel": Domain(travel.why_not, travel.answer_value, travel_picks_value),
    "knowledge": Domain(knowledge.why_not, knowledge.answer_value),
}


def functional(reward: str, picks: bool = True) -> Verifier:
    """Accepts every useful turn. `reward` scores answers, as a share of the most that it gives: `success` is 0 or 1,
    `macro` and `sum` are graded. With `picks` a needed call is worth what the thought before it picks."""
    scored = rewards.find(reward)

    def verify(task: Task, candidate: Candidate, text: str | None) -> Verdict:
        turn = _read(text)
        if isinstance(turn, Verdict):
            return turn
        domain = DOMAINS[task.domain]
        if turn.call is not None:
            if problem := domain.why_not(task, candidate.lookups, turn.call):
                return Verdict(0.0, problem)
            if domain.picks_value is None or not picks:
                return Verdict(1.0, "a call that is needed")
            return Verdict(*domain.picks_value(task, candidate.lookups, thought_of(text or "")))
        grade = task.grade(turn.answer)
        if grade.status is not Status.OK:
            return Verdict(0.0, f"an answer that is {grade.status}")
        return Verdict(domain.answer_value(grade.metrics, scored), "an answer")

    return verify


def strict(task: Task, candidate: Candidate, text: str | None) -> Verdict:
    """Accepts the expert's turn letter by letter, its thought included, and nothing else."""
    turn = _read(text)
    if isinstance(turn, Verdict):
        return turn
    same = (text or "").strip() == candidate.expert.strip()
    return Verdict(1.0, "the expert's turn") if same else Verdict(0.0, "another turn than the expert's")


def _read(text: str | None) -> Turn | Verdict:
    if text is None:
        return Verdict(0.0, CUT_OFF)
    turn = parse_turn(text)
    return Verdict(0.0, str(turn.error)) if turn.kind is TurnKind.MALFORMED else turn


VERIFIERS = ("functional", "calls", "strict")


def find(name: str, reward: str) -> Verifier:
    """The verifier called `name`, one of `VERIFIERS`; `calls` is `functional` without picks."""
    if name not in VERIFIERS:
        raise StarlabError(f"pivot verifier: unknown {name!r}; {nearest(name, VERIFIERS)}")
    return strict if name == "strict" else functional(reward, picks=name != "calls")
