"""What a check is, and what it says about a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from .evidence import Case, DayEvidence, Row
from .query import Query
from .rules import Asked, RuleBook


class Outcome(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NOT_APPLICABLE = "not applicable"
    """The query does not ask for it."""
    NOT_EVALUATED = "not evaluated"
    """There is no plan, or (hard checks) it is too incomplete or unreal for the question to make sense."""
    NO_RESULT = "no result"
    """The official code returns nothing, and stops when it counts its results."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason why a check fails, with the rows that prove it. `day` counts from 1; None: no single day."""

    reason: str
    day: int | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class NoResult(Failure):
    """Why the official code returns nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says about one plan."""

    check: str
    outcome: Outcome
    failures: tuple[Failure, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS


@dataclass(frozen=True, slots=True)
class Check:
    """A named check. `constraint` is the field of `LocalConstraint` that a query asks for it with; None: every query
    asks for it."""

    name: str
    failures: Callable[[Case], Iterator[Failure]]
    constraint: str | None = None

    def applies(self, query: Query, rules: RuleBook) -> bool:
        """Whether a query asks for it, or the official code stops because it cannot tell."""
        if self.constraint is None:
            return True
        value = getattr(query.local_constraint, self.constraint)
        if rules.text is None:
            return bool(value)
        not_null = rules.asked is Asked.NOT_NULL and self.constraint != "cuisine"
        return (value is not None if not_null else bool(value)) or self._untold(query, rules)

    def _untold(self, query: Query, rules: RuleBook) -> bool:
        """Whether the official code stops when it asks for the constraint."""
        local = query.local_constraint
        return local.fault is not None or (rules.asked is Asked.NOT_NULL and self.constraint in local.missing)

    def judge(self, case: Case) -> Verdict:
        """The verdict on a case, whatever other checks say."""
        if not self.applies(case.query, case.rules):
            return Verdict(self.name, Outcome.NOT_APPLICABLE)
        failures = tuple(self._all(case))
        if not failures:
            return Verdict(self.name, Outcome.HOLDS)
        nothing = all(isinstance(failure, NoResult) for failure in failures)
        return Verdict(self.name, Outcome.NO_RESULT if nothing else Outcome.FAILS, failures)

    def _all(self, case: Case) -> Iterator[Failure]:
        if case.plan.fault is not None:
            yield Failure(case.plan.fault)
            return
        if case.rules.text is not None:
            if self.constraint is not None and self._untold(case.query, case.rules):
                yield Failure(case.query.local_constraint.fault or f"the query has no constraint {self.constraint!r}")
                return
            for number, evidence in numbered(case):
                for name in case.rules.stops_without.get(self.name, ()):
                    if name in evidence.day.missing:
                        yield Failure(f"{name} is missing", number)
        yield from self.failures(case)


def numbered(case: Case) -> Iterator[tuple[int, DayEvidence]]:
    """Days by position: what a plan calls a day is checked once, in `is_not_absent`."""
    return enumerate(case.days, start=1)
