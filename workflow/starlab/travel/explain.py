"""A score in words: what a plan does day by day, the row that proves each part, and what fails and why."""

from __future__ import annotations

from collections.abc import Iterator

from ..tasks import Status
from .checks import Outcome, Verdict
from .cost import cost
from .database import Database
from .describe import describe
from .evidence import Case, DayEvidence, Row, Unproved, gather
from .parsing import parse
from .plan import Unparseable
from .query import Query
from .scores import Score, score, score_case

_MARKS = {
    Outcome.HOLDS: "holds",
    Outcome.FAILS: "FAILS",
    Outcome.NOT_APPLICABLE: "-",
    Outcome.NOT_EVALUATED: "not evaluated",
}


def explain(query: Query, answer: str | None, database: Database) -> str:
    """Explain the score of an answer, one line a fact, for a person to read."""
    plan = Unparseable("") if answer is None else parse(answer)
    if isinstance(plan, Unparseable):
        return "\n".join([*_request(query), *_summary(score(query, answer, database))])
    case = gather(query, plan, database)
    result = score_case(case)
    lines = [*_request(query), "", *_days(case, result), *_checks(result), *_cost(case), *_summary(result)]
    return "\n".join(lines)


def _request(query: Query) -> Iterator[str]:
    asked = [f"{key}: {value}" for key, value in query.local_constraint.to_dict().items() if value]
    yield (
        f"Query {query.id} ({query.level}): {query.org} to {query.dest}, "
        f"{query.days} days from {query.date[0]}, "
        f"cities: {query.visiting_city_number}, people: {query.people_number}, budget: ${query.budget}"
    )
    yield f"Asked for: {'; '.join(asked) or 'nothing in particular'}"


def _days(case: Case, result: Score) -> Iterator[str]:
    verdicts = (*result.commonsense, *result.hard)
    for number, evidence in enumerate(case.days, start=1):
        yield f"Day {number} ({evidence.date or 'after the trip'}): {evidence.day.where}"
        for slot, text, row in _slots(evidence):
            if isinstance(row, Unproved):
                yield f"  {slot:14} {text}: no row"
            else:
                yield f"  {slot:14} {text}: {describe(row)}"
        for verdict in verdicts:
            for failure in verdict.failures:
                if failure.day == number:
                    yield f"  FAILS {verdict.check}: {failure.reason}"
    yield ""


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
    reasons = ((f"day {one.day}: " if one.day else "") + one.reason for one in verdict.failures)
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
    if result.status is not Status.OK:
        yield f"No plan ({result.status}): {result.reason}"
        return
    numbers = ", ".join(
        f"{name} {value:.3g}" for name, value in result.metrics().items() if name.startswith(("cs_", "hard_"))
    )
    yield f"Success: {'yes' if result.success else 'no'} ({numbers})"
