"""The score of an answer: a pure function of query, answer text and database."""

from __future__ import annotations

from dataclasses import dataclass

from ..tasks import Status
from .checks import Check, Outcome, Verdict
from .constraints import COMMONSENSE, HARD
from .database import Database
from .evidence import Case, gather
from .parsing import parse
from .plan import Plan, Unparseable
from .query import Query
from .rules import STRICT, RuleBook


@dataclass(frozen=True, slots=True)
class Score:
    """All verdicts on one answer. Numbers are in [0, 1]; without a plan all of them are 0."""

    status: Status
    commonsense: tuple[Verdict, ...]
    hard: tuple[Verdict, ...]
    reason: str | None = None
    """Why there is no plan to judge; None when there is one."""

    @property
    def delivered(self) -> float:
        """1 when there is a plan to judge."""
        return float(self.status is Status.OK)

    @property
    def hard_evaluated(self) -> bool:
        """False when the plan was too incomplete or unreal to ask the hard questions."""
        return all(verdict.outcome is not Outcome.NOT_EVALUATED for verdict in self.hard)

    @property
    def applicable(self) -> tuple[Verdict, ...]:
        """The hard checks that the query asks for."""
        return tuple(verdict for verdict in self.hard if verdict.outcome is not Outcome.NOT_APPLICABLE)

    @property
    def cs_micro(self) -> float:
        """The share of the eight commonsense checks that hold."""
        return _share(self.commonsense)

    @property
    def cs_macro(self) -> float:
        """1 when all commonsense checks hold."""
        return float(self.cs_micro == 1.0)

    @property
    def hard_micro(self) -> float:
        """The share of the applicable hard checks that hold; 0 when they were not evaluated."""
        return _share(self.applicable)

    @property
    def hard_macro(self) -> float:
        """1 when all applicable hard checks hold."""
        return float(self.hard_micro == 1.0)

    @property
    def success(self) -> float:
        """1 when every check holds."""
        return self.cs_macro * self.hard_macro

    def metrics(self) -> dict[str, float]:
        """All numbers by name, then every check as 0 or 1 (hard ones only where the query asks for them)."""
        names = ("delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "success")
        numbers: dict[str, float] = {name: getattr(self, name) for name in names}
        verdicts = (*self.commonsense, *self.applicable)
        return numbers | {verdict.check: float(verdict.holds) for verdict in verdicts}


def _share(verdicts: tuple[Verdict, ...]) -> float:
    return sum(verdict.holds for verdict in verdicts) / len(verdicts)


def score(query: Query, answer: str | None, database: Database) -> Score:
    """Judge an answer by the strict rules; None means that the episode ended without one."""
    if answer is None:
        return _nothing(query, STRICT, Status.UNDELIVERED, "there is no answer")
    plan = parse(answer)
    if isinstance(plan, Unparseable):
        return _nothing(query, STRICT, Status.UNPARSEABLE, plan.reason)
    return score_plan(query, plan, database)


def score_plan(query: Query, plan: Plan, database: Database, rules: RuleBook = STRICT) -> Score:
    """Judge a plan that was parsed already."""
    return score_case(gather(query, plan, database, rules))


def score_case(case: Case) -> Score:
    """Judge a plan whose evidence was gathered already, by the rules under which it was gathered."""
    commonsense = tuple(check.judge(case) for check in COMMONSENSE)
    if any(not verdict.holds for verdict in commonsense if verdict.check in case.rules.gates):
        return Score(Status.OK, commonsense, tuple(_unevaluated(case.query, check, case.rules) for check in HARD))
    return Score(Status.OK, commonsense, tuple(check.judge(case) for check in HARD))


def _unevaluated(query: Query, check: Check, rules: RuleBook) -> Verdict:
    applies = check.applies(query, rules)
    return Verdict(check.name, Outcome.NOT_EVALUATED if applies else Outcome.NOT_APPLICABLE)


def _nothing(query: Query, rules: RuleBook, status: Status, reason: str) -> Score:
    commonsense, hard = (tuple(_unevaluated(query, check, rules) for check in checks) for checks in (COMMONSENSE, HARD))
    return Score(status, commonsense, hard, reason)
