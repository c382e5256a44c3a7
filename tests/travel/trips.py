"""Queries over the miniature world for tests, and small edits of their plans."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache
from typing import Any

from starlab.travel import names
from starlab.travel.audit import Audit, audit
from starlab.travel.checks import Outcome
from starlab.travel.database import Database
from starlab.travel.miniature import MiniatureSpec, generate, road
from starlab.travel.plan import Day, Move, Plan, Stay, Taxi, to_json
from starlab.travel.plan_files import Submission
from starlab.travel.query import (
    HOUSE_RULES,
    ROOM_TYPES,
    TRANSPORTATION,
    LocalConstraint,
    Query,
)
from starlab.travel.rules import RULE_BOOKS
from starlab.travel.scores import Score, score
from starlab.travel.solver import Solution, solve

BOOKS = ("travelplanner", "agentstar", "agentstar-relaxed", "strict")
CITIES = {3: 1, 5: 2, 7: 3}
RICH = 10**6


@cache
def rough() -> Database:
    """A miniature world as it is: some cities have no road or no flight between them."""
    return generate(3, "test", MiniatureSpec(states=4, cities_per_state=4, dates=8))


@cache
def world() -> Database:
    """The same world with a road between any two cities: every ride can be replaced by a drive or a taxi."""
    legs = [leg if leg.driving_cost is not None else road(leg.origin, leg.destination, 1600) for leg in rough().legs]
    return replace(rough(), legs=tuple(legs))


def random_query(
    rng: random.Random, database: Database, days: int, budget: int = RICH, constrained: bool = True
) -> Query:
    """Any trip of `days` days; with `constrained`, it asks for each local constraint with probability 1/2."""
    state = rng.choice(sorted(database.states))
    home = rng.choice([city for city in database.cities if database.state_of(city) != state])
    dates = sorted({flight.date for flight in database.flights})
    start = rng.randrange(len(dates) - days + 1)

    def maybe(value: Any) -> Any:
        return value if constrained and rng.random() < 0.5 else None

    return Query(
        id=f"q{rng.randrange(10**9)}",
        org=home,
        dest=state if days > 3 else rng.choice(database.states[state]),
        days=days,
        visiting_city_number=CITIES[days],
        date=tuple(dates[start : start + days]),
        people_number=rng.choice((1, 2, 3, 6)),
        local_constraint=LocalConstraint(
            house_rule=maybe(rng.choice(HOUSE_RULES)),
            cuisine=maybe(tuple(rng.sample(names.CUISINES, rng.choice((2, 3))))),
            room_type=maybe(rng.choice(ROOM_TYPES)),
            transportation=maybe(rng.choice(TRANSPORTATION)),
        ),
        budget=budget,
        level="hard" if constrained else "easy",
        text="Plan it.",
    )


@cache
def solved(days: int, count: int, constrained: bool = False, seed: int = 0) -> tuple[tuple[Query, Plan], ...]:
    """`count` queries over `world()` that have a solution, with the solver's plan."""
    rng = random.Random(seed)
    pairs: list[tuple[Query, Plan]] = []
    while len(pairs) < count:
        query = random_query(rng, world(), days, constrained=constrained)
        solution = solve(query, world())
        if isinstance(solution, Solution):
            pairs.append((query, solution.plan))
    return tuple(pairs)


def stay_index(plan: Plan) -> int:
    """The first whole day in one city."""
    return next(index for index, day in enumerate(plan.days) if isinstance(day.where, Stay))


def with_day(plan: Plan, index: int, **changes: Any) -> Plan:
    """The plan with some parts of one day replaced."""
    days: list[Day] = list(plan.days)
    days[index] = replace(days[index], **changes)
    return Plan(tuple(days))


def by_taxi(plan: Plan) -> Plan:
    """A plan of three days, with taxis there and back."""
    for index in (0, -1):
        where = plan.days[index].where
        assert isinstance(where, Move)
        plan = with_day(plan, index, ride=Taxi(where.origin, where.destination))
    return plan


def with_field(plan: Plan, index: int, field: str, value: Any) -> list[dict[str, Any]]:
    """The plan's JSON with one field of one day replaced."""
    rows = to_json(plan)
    rows[index][field] = value
    return rows


def failed(result: Score) -> set[str]:
    """The checks that fail."""
    return {verdict.check for verdict in (*result.commonsense, *result.hard) if verdict.outcome is Outcome.FAILS}


def judge(query: Query, rows: object, database: Database | None = None) -> Score:
    """The score of decoded JSON as an answer."""
    return score(query, json.dumps(rows), database or world())


def judged(book: str, query: Query, plan: object) -> Audit:
    """What a rule book says of one plan."""
    return audit(Submission("p", query, plan), world(), RULE_BOOKS[book])
