"""Is there a plan? First the paper's heuristic (Agent-STAR step 2), then the proof that the paper leaves out.

The heuristic compares counts and means, so it lets queries through that no plan solves and stops some that a
plan does solve. Synthesis (`balance.py`) therefore solves every query that passes: what it keeps carries a
witness that the checker accepts, and what it drops is counted.
"""

from __future__ import annotations

from enum import StrEnum
from math import ceil
from statistics import fmean

from ..travel.query import Query
from .budget import (
    DAYS,
    MEALS,
    NIGHTS,
    RIDES,
    Tables,
    Thresholds,
    destination_cities,
    matching_hotels,
    matching_restaurants,
)

PEOPLE_IN_A_ROOM = 2
PEOPLE_IN_A_CAR = 5
MEAL_SHARE = 0.6
"""The heuristic expects 60 % of all meals to be paid for."""
BUDGET_SHARE = 0.7
"""A budget of 70 % of the estimate is taken to be enough."""


class Obstacle(StrEnum):
    """Why the heuristic calls a query infeasible. The texts are those of the official script."""

    NO_ROAD = "No driving route found for the destination city"
    NO_FLIGHT = "No flight found for the destination city"
    FEW_HOTELS = "Not enough hotel data available for the given constraints"
    FEW_RESTAURANTS = "Not enough restaurant data available for the given constraints"
    BUDGET = "The total budget is not feasible"


def obstacle(
    tables: Tables, query: Query, thresholds: Thresholds, names_transportation: bool = True
) -> Obstacle | None:
    """The first thing that the paper's heuristic finds wrong with a query, None if it finds nothing.

    `names_transportation`: whether the query has the key "transportation", be it null. Without it, the script looks
    for no ride and counts no fare; the queries of this project always have it.
    """
    asked, people, days = query.local_constraint, query.people_number, query.days
    cities = destination_cities(tables.database, query.dest, days)
    ride = _rides(tables, query, cities, thresholds.flights) if names_transportation else 0.0
    if isinstance(ride, Obstacle):
        return ride
    if days not in DAYS:
        return Obstacle.NO_FLIGHT
    hotels, restaurants = tables.area(query.dest, days)
    hotels = matching_hotels(hotels, people, asked)
    if len(hotels) < thresholds.hotels_for(days):
        return Obstacle.FEW_HOTELS
    restaurants = matching_restaurants(restaurants, asked)
    if asked.cuisine and len(restaurants) < thresholds.restaurants_for(days):
        return Obstacle.FEW_RESTAURANTS
    if not restaurants:
        return None  # to the script the mean of nothing is not a number, and no budget is below that
    night = fmean(hotel.price for hotel in hotels) * ceil(people / PEOPLE_IN_A_ROOM)
    meal = fmean(row.average_cost for row in restaurants) * people * MEAL_SHARE
    total = ride * RIDES[days] + night * NIGHTS[days] + meal * MEALS[days]
    return None if query.budget >= BUDGET_SHARE * total else Obstacle.BUDGET


def _rides(tables: Tables, query: Query, cities: tuple[str, ...], least: int) -> float | Obstacle:
    """What one ride costs everybody: by car where there is a road and a car will do, else by air."""
    transportation, people = query.local_constraint.transportation, query.people_number
    roads = [cost for city in cities if (cost := tables.driving_cost(query.org, city)) is not None]
    if transportation == "no flight" and not roads:
        return Obstacle.NO_ROAD
    if roads and transportation != "no self-driving":
        return float(roads[0] * ceil(people / PEOPLE_IN_A_CAR))
    fare = _fare(tables, query, cities, least)
    return Obstacle.NO_FLIGHT if fare is None else fare * people


def _fare(tables: Tables, query: Query, cities: tuple[str, ...], least: int) -> float | None:
    """Mean price of a flight there or back, for the first city with enough of both; None without one."""
    for city in cities:
        out = tables.database.flights_on(query.org, city, query.date[0])
        back = tables.database.flights_on(city, query.org, query.date[-1])
        if len(out) >= least and len(back) >= least:
            return (fmean(flight.price for flight in out) + fmean(flight.price for flight in back)) / 2
    return None
