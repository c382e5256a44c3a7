"""What a check is, and what it says about a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from .evidence import Case, DayEvidence, Row
from .query import Query


class Outcome(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NOT_APPLICABLE = "not applicable"
    """The query does not ask for it."""
    NOT_EVALUATED = "not evaluated"
    """There is no plan, or (hard checks) it is too incomplete or unreal for the question to make sense."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One reason why a check fails, with the rows that prove it. `day` counts from 1; None: no single day."""

    reason: str
    day: int | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says about one plan."""

    check: str
    outcome: Outcome
    failures: tuple[Failure, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS


def _always(query: Query) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Check:
    """A named check; `applies` tells whether a query asks for it."""

    name: str
    failures: Callable[[Case], Iterator[Failure]]
    applies: Callable[[Query], bool] = field(default=_always)

    def judge(self, case: Case) -> Verdict:
        if not self.applies(case.query):
            return Verdict(self.name, Outcome.NOT_APPLICABLE)
        failures = tuple(self.failures(case))
        return Verdict(self.name, Outcome.FAILS if failures else Outcome.HOLDS, failures)


def numbered(case: Case) -> Iterator[tuple[int, DayEvidence]]:
    """Days by position: what a plan calls a day is checked once, in `is_not_absent`."""
    return enumerate(case.days, start=1)
