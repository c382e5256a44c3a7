"""The elements of a query, by the paper's rules for easy, medium and hard (Agent-STAR step 1).

====== ================ ===================================== ========================= =================
level  people           local constraints                     trip                      budget
====== ================ ===================================== ========================= =================
easy   1                none                                  1 in 10 by car, else air  B
medium 2 (half), or 3-8 one of house rule, cuisine, room type 1 in 10 by car, else air  B x people x 0.75
hard   2 (half), or 3-8 transportation and two of the three   as the constraint demands B x people x 0.5
====== ================ ===================================== ========================= =================

B is (average + lowest) / 2 of the estimate for 3 days, the average for 5, (average + highest) / 2 for 7;
budgets are rounded to 100 dollars. Elements that leave too few rows are rejected, with the reason, never
mended.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from itertools import accumulate

from ..errors import StarlabError, nearest
from ..travel.database import Database
from ..travel.query import HOUSE_RULES, LEVELS, ROOM_TYPES, LocalConstraint, Query
from .budget import DAYS, Estimate, Rejection, Tables, Thresholds, estimate

CUISINES = ("American", "BBQ", "Chinese", "French", "Indian", "Italian", "Mediterranean", "Mexican")
HARD_CUISINES = (*CUISINES, "Fast Food")
BUDGET_FACTOR = {"easy": 1.0, "medium": 0.75, "hard": 0.5}
BUDGET_STEP = 100
DRIVING_SHARE = 0.1
_KINDS = ("house rule", "cuisine", "room type")
_HARD_WEIGHTS = (0.35, 0.30, 0.35)


@dataclass(frozen=True, slots=True)
class _Route:
    """Two cities with flights both ways; start dates with their cumulative weights."""

    origin: str
    destination: str
    starts: tuple[str, ...]
    weights: tuple[int, ...]


def trip_dates(start: str, days: int) -> tuple[str, ...]:
    """Every day of a trip, YYYY-MM-DD."""
    first = Date.fromisoformat(start)
    return tuple((first + timedelta(days=offset)).isoformat() for offset in range(days))


class Sampler:
    """Draws queries, without id and text, from one database. Raises StarlabError for a bad length of trip."""

    def __init__(self, database: Database, thresholds: Thresholds, days: Sequence[int] = (3,)) -> None:
        for length in days:
            if length not in DAYS:
                raise StarlabError(f"data.days: {length} is not a length of trip; valid: 3, 5, 7")
        if not days:
            raise StarlabError("data.days: name at least one length of trip: 3, 5, 7")
        self.tables = Tables(database)
        self.thresholds = thresholds
        self.days = tuple(days)
        self._routes: dict[int, list[_Route]] = {}
        self._roads: dict[int, list[tuple[str, str]]] = {}
        dates = database.flight_table.dates()
        self._first, self._last = Date.fromisoformat(dates[0]), Date.fromisoformat(dates[-1])

    def sample(self, level: str, rng: random.Random) -> Query | Rejection:
        """One draw. Raises StarlabError for an unknown level."""
        if level not in LEVELS:
            raise StarlabError(f"level {level!r}: {nearest(level, LEVELS)}")
        days = rng.choice(self.days)
        people = 1 if level == "easy" else sample_people(rng)
        asked = sample_constraint(rng, level, people)
        driving = asked.transportation == "no flight" or (level != "hard" and rng.random() < DRIVING_SHARE)
        trip = self._driving_trip(rng, days) if driving else self._flight_trip(rng, days)
        if trip is None:
            return Rejection.NO_TRIP
        origin, city, start = trip
        dates = trip_dates(start, days)
        destination = city if days == 3 else str(self.tables.database.state_of(city))
        costs = estimate(self.tables, origin, destination, dates, people, asked, self.thresholds)
        if isinstance(costs, Rejection):
            return costs
        return Query(
            id="",
            org=origin,
            dest=destination,
            days=days,
            visiting_city_number=DAYS.index(days) + 1,
            date=dates,
            people_number=people,
            local_constraint=asked,
            budget=budget(costs, days, people, level),
            level=level,
        )

    def _flight_trip(self, rng: random.Random, days: int) -> tuple[str, str, str] | None:
        """(origin, city, first date): a route flown both ways, then a date weighted by its flights."""
        if days not in self._routes:
            self._routes[days] = self._flown_routes(days)
        if not self._routes[days]:
            return None
        route = rng.choice(self._routes[days])
        start = rng.choices(route.starts, cum_weights=route.weights)[0]
        return route.origin, route.destination, start

    def _flown_routes(self, days: int) -> list[_Route]:
        database, counts, least = self.tables.database, self.tables.flight_counts, self.thresholds.flights
        routes = []
        for (origin, destination), out in counts.items():
            back = counts.get((destination, origin))
            state = database.state_of(destination)
            if back is None or state is None or state == database.state_of(origin):
                continue
            if len(database.states[state]) < self.thresholds.flight_state_cities:
                continue
            starts, weights = [], []
            for start, flights in sorted(out.items()):
                returning = back.get(trip_dates(start, days)[-1], 0)
                if flights >= least and returning >= least:
                    starts.append(start)
                    weights.append((flights + 1) * (returning + 1))
            if starts:
                routes.append(_Route(origin, destination, tuple(starts), tuple(accumulate(weights))))
        return routes

    def _driving_trip(self, rng: random.Random, days: int) -> tuple[str, str, str] | None:
        """(origin, city, first date): a road that is short enough, any date of the database's calendar."""
        if days not in self._roads:
            self._roads[days] = self._driven_roads(days)
        room = (self._last - self._first).days - days + 1
        if not self._roads[days] or room < 0:
            return None
        origin, city = rng.choice(self._roads[days])
        return origin, city, (self._first + timedelta(days=rng.randint(0, room))).isoformat()

    def _driven_roads(self, days: int) -> list[tuple[str, str]]:
        database = self.tables.database
        roads: dict[tuple[str, str], None] = {}  # a set that keeps the order of the file
        for leg in database.legs:
            state = database.state_of(leg.destination)
            if state is None or state == database.state_of(leg.origin) or leg.driving_cost is None:
                continue
            if kilometres(leg.distance) > self.thresholds.drive_kilometres:
                continue
            if days > 3 and len(database.states[state]) < self.thresholds.drive_state_cities:
                continue
            roads[leg.origin, leg.destination] = None
        return list(roads)


def kilometres(distance: str | None) -> float:
    """The number in a text like "1,144 km"; infinity when unknown."""
    if not distance:
        return float("inf")
    return float(distance.removesuffix("km").replace(",", "").strip())


def sample_people(rng: random.Random) -> int:
    """Two with probability one half, else 3 to 8 evenly."""
    return 2 if rng.random() < 0.5 else rng.randint(3, 8)


def sample_constraint(rng: random.Random, level: str, people: int) -> LocalConstraint:
    """The local constraints of a level; cuisines are listed in alphabetical order."""
    if level == "easy":
        return LocalConstraint()
    kinds: Sequence[str]
    if level == "medium":
        transportation, kinds = None, (rng.choice(_KINDS),)
        cuisines: Sequence[str] = rng.sample(CUISINES, 2)
    else:
        transportation, kinds = rng.choice(("no self-driving", "no flight")), _two_kinds(rng)
        cuisines = rng.sample(HARD_CUISINES, 2 if rng.random() < 0.6 else 3)
    rooms = ROOM_TYPES if people <= 2 else ("private room", "entire room")
    return LocalConstraint(
        house_rule=rng.choice(HOUSE_RULES) if "house rule" in kinds else None,
        cuisine=tuple(sorted(cuisines)) if "cuisine" in kinds else None,
        room_type=rng.choice(rooms) if "room type" in kinds else None,
        transportation=transportation,
    )


def _two_kinds(rng: random.Random) -> tuple[str, str]:
    """Two kinds of constraint, weighted, without replacement."""
    first = rng.choices(_KINDS, weights=_HARD_WEIGHTS)[0]
    others = [(kind, weight) for kind, weight in zip(_KINDS, _HARD_WEIGHTS, strict=True) if kind != first]
    second = rng.choices([kind for kind, _ in others], weights=[weight for _, weight in others])[0]
    return first, second


def budget(costs: Estimate, days: int, people: int, level: str) -> int:
    """The paper's budget in dollars: B x people x factor, rounded to 100."""
    if days == 3:
        base = (costs.average + costs.lowest) / 2
    elif days == 5:
        base = costs.average
    else:
        base = (costs.average + costs.highest) / 2
    return round(base * people * BUDGET_FACTOR[level] / BUDGET_STEP) * BUDGET_STEP
