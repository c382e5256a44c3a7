"""Queries over the miniature world for tests, and small edits of their plans."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from starlab.travel import names
from starlab.travel.database import Database
from starlab.travel.miniature import generate
from starlab.travel.plan import Day, Plan, Stay, to_json
from starlab.travel.query import (
    HOUSE_RULES,
    ROOM_TYPES,
    TRANSPORTATION,
    LocalConstraint,
    Query,
)
from starlab.travel.solver import Solution, solve

CITIES = {3: 1, 5: 2, 7: 3}
RICH = 10**6


@cache
def world() -> Database:
    return generate(3, "test")


def random_query(
    rng: random.Random, database: Database, days: int, budget: int = RICH, constrained: bool = True
) -> Query:
    """Any trip of `days` days; with `constrained`, each local constraint is asked for with probability 1/2."""
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


def solved(days: int, count: int, constrained: bool = False, seed: int = 0) -> Iterator[tuple[Query, Plan]]:
    """`count` queries that have a solution, with the solver's plan."""
    rng = random.Random(seed)
    while count:
        query = random_query(rng, world(), days, constrained=constrained)
        solution = solve(query, world())
        if isinstance(solution, Solution):
            count -= 1
            yield query, solution.plan


def stay_index(plan: Plan) -> int:
    """The first whole day in one city."""
    return next(index for index, day in enumerate(plan.days) if isinstance(day.where, Stay))


def with_day(plan: Plan, index: int, **changes: Any) -> Plan:
    """The plan with some parts of one day replaced."""
    days: list[Day] = list(plan.days)
    days[index] = replace(days[index], **changes)
    return Plan(tuple(days))


def with_field(plan: Plan, index: int, field: str, value: Any) -> list[dict[str, Any]]:
    """The plan's JSON with one field of one day replaced."""
    rows = to_json(plan)
    rows[index][field] = value
    return rows
