"""What is left of a trip once choices are made: checked against the solver in a world that has nothing else."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import pytest
from starlab.travel.database import Database
from starlab.travel.market import Market
from starlab.travel.plan import Drive, FlightRide, Place, Taxi
from starlab.travel.query import Query
from starlab.travel.scores import score_plan
from starlab.travel.settled import Choices, Settled
from starlab.travel.solver import Solution, least, solve
from trips import random_query, rough


def settled(query: Query, **choices: object) -> float:
    return least(Settled(query, rough(), chosen=Choices(**choices)))


def cases(days: int, count: int = 30) -> list[tuple[Query, Solution]]:
    rng = random.Random(days)
    queries = (random_query(rng, rough(), days, budget=10**6) for _ in range(count))
    return [(query, found) for query in queries if isinstance(found := solve(query, rough()), Solution)]


@pytest.mark.parametrize("days", [3, 5, 7])
def test_what_a_plan_costs_at_least_is_what_the_solver_finds(days: int) -> None:
    found = cases(days)
    assert len(found) > 3
    for query, solution in found:
        assert least(Market(query, rough())) == solution.cheapest


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_plan_of_the_plain_shape_is_never_cheaper_than_any(days: int) -> None:
    for query, solution in cases(days):
        assert settled(query) >= solution.cheapest


def test_a_hotel_that_is_chosen_is_the_only_one() -> None:
    for query, _ in cases(3):
        for hotel in rough().hotels_in(query.dest):
            others = tuple(row for row in rough().hotels if row.city != query.dest or row.name == hotel.name)
            alone: Database = replace(rough(), hotels=others)
            chosen = settled(query, hotels={query.dest: frozenset({hotel.name})})
            assert chosen == least(Settled(query, alone))
            assert chosen >= settled(query)


def test_a_flight_that_is_chosen_goes_and_no_car_does() -> None:
    seen = 0
    for query, _ in cases(3):
        leg = (query.org, query.dest)
        for flight in rough().flights_on(*leg, query.date[0]):
            fixed = settled(query, rides={leg: (query.date[0], frozenset({flight.number}))})
            if query.local_constraint.transportation == "no flight":
                assert fixed == inf
            seen += fixed < inf
        assert settled(query, rides={leg: ("2031-01-01", frozenset({"F0"}))}) == inf
    assert seen


def test_choices_of_an_accepted_plan_cost_what_it_costs() -> None:
    """A solver's own rides, hotel and meals, where it eats as a plain plan does."""
    exact = 0
    for query, solution in cases(3, 60):
        days = solution.plan.days
        venues = [venue for day in days for _, venue in day.meals() if isinstance(venue, Place)]
        meals = frozenset(venue.name for venue in venues if venue.city == query.dest)
        bed = days[0].accommodation
        assert score_plan(query, solution.plan, rough()).success == 1 and isinstance(bed, Place)
        if len(meals) != 4:
            continue
        rides = {}
        for day, date in ((days[0], query.date[0]), (days[2], query.date[2])):
            ride = day.ride
            assert isinstance(ride, FlightRide | Drive | Taxi)
            flown = isinstance(ride, FlightRide)
            name = ride.number if flown else ride.mode.value
            rides[ride.origin, ride.destination] = (date if flown else "", frozenset({name}))
        hotels = {query.dest: frozenset({bed.name})}
        assert settled(query, rides=rides, hotels=hotels, meals={query.dest: meals}) == solution.cost
        exact += 1
    assert exact > 3
