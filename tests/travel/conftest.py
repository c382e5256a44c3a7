"""Trips of three days in the miniature world."""

import pytest
from starlab.travel.plan import Plan
from starlab.travel.query import Query
from trips import by_taxi, solved


@pytest.fixture(scope="session")
def trip() -> tuple[Query, Plan]:
    """A query and the solver's plan."""
    return solved(3, 1)[0]


@pytest.fixture(scope="session")
def taxi_trip(trip: tuple[Query, Plan]) -> tuple[Query, Plan]:
    """The same by taxi: every rule book accepts it."""
    query, plan = trip
    return query, by_taxi(plan)
