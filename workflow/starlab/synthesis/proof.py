"""Can a query be solved over given tables? A plan, a refutation, or the flights that are missing.

Where a flight table is only a part of the real one, finding no plan proves nothing by itself. The proof is then tried
once more with a free flight on every route and date of the trip: what has no plan even so has none whatever flights
there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ..errors import StarlabError, nearest
from ..travel.database import Database, Flight, FlightTable
from ..travel.plan import to_json
from ..travel.query import HOUSE_RULES, ROOM_TYPES, TRANSPORTATION, Query
from ..travel.solver import Infeasible, Solution, solve
from .budget import destination_cities


class Verdict(StrEnum):
    """What is known of a query."""

    SOLVED = "solved"
    REFUTED = "refuted"
    OPEN = "open"
    """No plan over these tables, but more flights may make one possible."""


@dataclass(frozen=True, slots=True)
class Proof:
    """`lacking` names the ways, out and home, for which the tables have no flight on the day; `reason` is why there
    is no plan, "" with one."""

    query: Query
    verdict: Verdict
    solution: Solution | None
    reason: str
    lacking: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """A row of a JSON-lines file; the witness is a plan in the official schema."""
        found = self.solution
        return {
            "query_id": self.query.id,
            "verdict": str(self.verdict),
            "budget": self.query.budget,
            "cheapest": found.cheapest if found else None,
            "reason": self.reason or None,
            "lacks_flights": list(self.lacking),
            "witness": to_json(found.plan) if found else None,
        }

    def line(self) -> str:
        """For people."""
        query = self.query
        trip = f"{query.id}: {query.level}, {query.days} days, {query.org} to {query.dest}: {self.verdict}"
        lacks = f"; no {' and no '.join(self.lacking)}" if self.lacking else ""
        if self.solution:
            return f"{trip}, from ${self.solution.cheapest:g} of ${query.budget:g}{lacks}"
        return f"{trip}, {self.reason}{lacks}"


def prove(query: Query, database: Database) -> Proof:
    """Raises StarlabError for a query that asks for what does not exist (a room type, a length of trip)."""
    _check(query)
    cities = destination_cities(database, query.dest, query.days)
    lacking = tuple(_lacking(query, database, cities))
    found = solve(query, database)
    if isinstance(found, Solution):
        return Proof(query, Verdict.SOLVED, found, "", lacking)
    free = solve(query, replace(database, flights=_free_flights(query, cities)))
    if isinstance(free, Infeasible):
        return Proof(query, Verdict.REFUTED, None, f"whatever the flights: {free.reason}", lacking)
    return Proof(query, Verdict.OPEN, None, found.reason, lacking)


def _lacking(query: Query, database: Database, cities: Iterable[str]) -> Iterable[str]:
    first, last = query.date[0], query.date[-1]
    if not any(database.flights_on(query.org, city, first) for city in cities):
        yield f"flight from {query.org} to {query.dest} on {first}"
    if not any(database.flights_on(city, query.org, last) for city in cities):
        yield f"flight from {query.dest} to {query.org} on {last}"


def _free_flights(query: Query, cities: Iterable[str]) -> FlightTable:
    places = dict.fromkeys((query.org, *cities))
    return FlightTable.of(
        Flight("free", 0, "", "", "", date, origin, destination, 0.0)
        for date in dict.fromkeys(query.date)
        for origin in places
        for destination in places
        if origin != destination
    )


def _check(query: Query) -> None:
    asked = query.local_constraint
    for field, value, valid in (
        ("house rule", asked.house_rule, HOUSE_RULES),
        ("room type", asked.room_type, ROOM_TYPES),
        ("transportation", asked.transportation, TRANSPORTATION),
    ):
        if value is not None and value not in valid:
            raise StarlabError(f"query {query.id}: local_constraint: {field} {value!r}; {nearest(value, valid)}")
    if len(query.date) != query.days:
        raise StarlabError(f"query {query.id}: date: {len(query.date)} dates for {query.days} days")


def summary(proofs: Iterable[Proof]) -> str:
    """One line: how many queries have which verdict, and how many lack flights."""
    rows = list(proofs)
    counts = (f"{sum(row.verdict is verdict for row in rows)} {verdict}" for verdict in Verdict)
    lacking = sum(bool(row.lacking) for row in rows)
    return f"{len(rows)} queries: {', '.join(counts)}; {lacking} lack flights on the way out or home"
