"""A score in words: what a plan does day by day, the row that proves each part, and what fails and why."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..tasks import Status
from . import wording
from .checks import Failure, Outcome, Verdict
from .cost import cost
from .database import Database
from .describe import describe
from .evidence import Case, DayEvidence, Row, Unproved, gather
from .parsing import parse
from .plan import Plan, Unparseable
from .query import Query
from .rules import STRICT, RuleBook
from .scores import Score, score_case

_MARKS = {
    Outcome.HOLDS: "holds",
    Outcome.FAILS: "FAILS",
    Outcome.NOT_APPLICABLE: "-",
    Outcome.NOT_EVALUATED: "not evaluated",
    Outcome.NO_RESULT: "no result",
}


def explain(query: Query, answer: str | None, database: Database, rules: RuleBook = STRICT) -> str:
    """Explain what `rules` say of an answer, one line a fact, for a person to read. Never raises."""
    plan = Unparseable("there is no answer") if answer is None else _read(answer, rules)
    if isinstance(plan, Unparseable):
        status = Status.UNDELIVERED if answer is None else Status.UNPARSEABLE
        return "\n".join([*_request(query), f"No plan ({status}): {plan.reason}"])
    case = gather(query, plan, database, rules)
    result = score_case(case)
    lines = [*_request(query), f"Rules: {rules.name}", "", *_days(case, result)]
    return "\n".join([*lines, *_checks(result), *_cost(case), *_summary(result)])


def _read(answer: str, rules: RuleBook) -> Plan | Unparseable:
    if rules.text is None:
        return parse(answer)
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError) as error:
        return Unparseable(f"not JSON: {error}")
    return wording.read(value, rules.text) if value else Unparseable("the plan is empty")


def _request(query: Query) -> Iterator[str]:
    asked = [f"{key}: {value}" for key, value in query.local_constraint.to_dict().items() if value]
    yield (
        f"Query {query.id} ({query.level}): {query.org} to {query.dest}, "
        f"{query.days} days from {query.date[0] if query.date else 'no date'}, "
        f"cities: {query.visiting_city_number}, people: {query.people_number}, budget: ${query.budget}"
    )
    yield f"Asked for: {'; '.join(asked) or 'nothing in particular'}"


def _days(case: Case, result: Score) -> Iterator[str]:
    judged = [one for one in (*result.commonsense, *result.hard) if one.outcome in (Outcome.HOLDS, Outcome.FAILS)]
    for number, evidence in enumerate(case.days, start=1):
        yield f"Day {number} ({evidence.date or 'after the trip'}): {evidence.day.where}"
        for slot, text, row in _slots(evidence):
            proof = f"no row: {row.reason}" if isinstance(row, Unproved) else describe(row)
            yield f"  {slot:14} {text}: {proof}"
        fails = {one.check: failure for one in judged for failure in one.failures if failure.day == number}
        for one in judged:
            for failure in one.failures:
                if failure.day == number:
                    yield f"  {'FAILS':14} {one.check}: {failure.reason}{_proof(failure)}"
        yield f"  {'holds':14} {', '.join(one.check for one in judged if one.check not in fails) or 'nothing'}"
    yield ""


def _proof(failure: Failure) -> str:
    rows = "; ".join(describe(row) for row in failure.rows)
    return f" [{rows}]" if rows else ""


def _slots(evidence: DayEvidence) -> Iterator[tuple[str, str, Row | Unproved]]:
    day = evidence.day
    if evidence.ride is not None:
        yield "transportation", str(day.ride), evidence.ride
    for slot, venue, restaurant in evidence.meals:
        yield slot, str(venue), restaurant
    for venue, attraction in evidence.attractions:
        yield "attraction", str(venue), attraction
    if evidence.hotel is not None:
        yield "accommodation", str(day.accommodation), evidence.hotel


def _checks(result: Score) -> Iterator[str]:
    for title, verdicts in (("Common sense", result.commonsense), ("Hard constraints", result.hard)):
        yield title
        for verdict in verdicts:
            yield f"  {_MARKS[verdict.outcome]:14} {verdict.check}{_because(verdict)}"


def _because(verdict: Verdict) -> str:
    if not verdict.failures:
        return ""
    reasons = (f"{f'day {one.day}: ' if one.day else ''}{one.reason}{_proof(one)}" for one in verdict.failures)
    return f": {'; '.join(reasons)}"


def _cost(case: Case) -> Iterator[str]:
    spent = cost(case)
    parts = (
        f"flights ${spent.flights:g}, drives ${spent.drives:g}, taxis ${spent.taxis:g}, "
        f"meals ${spent.meals:g}, hotels ${spent.hotels:g}"
    )
    total = "unknown" if spent.total is None else f"${spent.total:g}"
    yield f"Cost: {total} of ${case.query.budget} ({parts})"


def _summary(result: Score) -> Iterator[str]:
    numbers = ", ".join(
        f"{name} {value:.3g}" for name, value in result.metrics().items() if name.startswith(("cs_", "hard_"))
    )
    yield f"Success: {'yes' if result.success else 'no'} ({numbers})"
