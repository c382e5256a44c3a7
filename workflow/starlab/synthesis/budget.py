"""What a trip costs by the paper's estimates, from which queries get their budgets.

Reimplements the budget function of Agent-STAR's step 1 (the same numbers for the same tables): extreme and
mean prices of the rows that pass the constraints, times fixed counts of flights, nights and meals. No plan is
built here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import fmean

from ..travel.database import Database, Hotel, Restaurant
from ..travel.hard import ROOM_TYPES
from ..travel.query import LocalConstraint

DAYS = (3, 5, 7)
"""The lengths a trip can have; it visits 1, 2 or 3 cities."""
RIDES = {3: 2, 5: 3, 7: 4}
"""Rides of a trip, each priced like a flight from the origin (the paper's approximation)."""
NIGHTS = {3: 3, 5: 5, 7: 7}
"""Nights the estimate charges (one more than a trip has, as in the paper)."""
MEALS = {3: 9, 5: 15, 7: 21}
"""Meals the estimate charges: three a day."""


class Rejection(StrEnum):
    """Why a set of sampled elements is thrown away. The texts are those of the official scripts."""

    NO_TRIP = "No trip fits the number of flights or the driving distance"
    NO_FLIGHT = "No flight data available for the given constraints"
    NO_DRIVE = "Unable to calculate driving cost"
    FEW_HOTELS = "Not enough hotel data available for the given constraints"
    FEW_RESTAURANTS = "No restaurant data available for the given constraints."
    NO_PRICE = "min() arg is an empty sequence"
    NO_CITY = "No objects to concatenate"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Dollars for one person, at the lowest, mean and highest prices."""

    lowest: float
    average: float
    highest: float


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many rows a query must leave over. Tuples are by length of trip: 3, 5, 7 days.

    `official` is the paper's; `miniature` asks what small tables can give. Everything else is the same code.
    """

    hotels: tuple[int, int, int]
    """Hotels that pass the constraints, at least."""
    restaurants: tuple[int, int, int]
    """Restaurants that serve one of the cuisines, at least."""
    flights: int = 3
    """Flights on the first day and, back, on the last, at least."""
    first_day_flights: tuple[int, int] = (2, 10)
    """With "no self-driving": flights to the city, to all cities of the state, on the first day."""
    flight_state_cities: int = 3
    """Cities in a state that is flown to, at least."""
    drive_state_cities: int = 4
    """Cities in a state that is driven to for 5 or 7 days, at least."""
    drive_kilometres: float = 600.0
    """The longest way to a destination by car."""

    def hotels_for(self, days: int) -> int:
        return self.hotels[DAYS.index(days)]

    def restaurants_for(self, days: int) -> int:
        return self.restaurants[DAYS.index(days)]


THRESHOLDS = {
    "official": Thresholds(hotels=(3, 5, 7), restaurants=(9, 15, 21)),
    "miniature": Thresholds(hotels=(1, 2, 3), restaurants=(2, 4, 6)),
}


def destination_cities(database: Database, destination: str, days: int) -> tuple[str, ...]:
    """The cities that a trip may visit: the destination itself for 3 days, those of the state for 5 and 7."""
    if days == 3:
        return (destination,)
    return database.states.get(destination, ()) if days in DAYS else ()


def matching_hotels(hotels: Sequence[Hotel], people: int, asked: LocalConstraint) -> list[Hotel]:
    """The hotels that take all people in one unit, of the room type, that allow what the house rule names."""
    rooms = ROOM_TYPES[asked.room_type] if asked.room_type else None
    forbidden = f"No {asked.house_rule}" if asked.house_rule else None
    return [
        hotel
        for hotel in hotels
        if hotel.maximum_occupancy >= people
        and (rooms is None or hotel.room_type in rooms)
        and (forbidden is None or forbidden not in hotel.house_rules)
    ]


def matching_restaurants(rows: Sequence[Restaurant], asked: LocalConstraint) -> list[Restaurant]:
    """The restaurants that serve at least one of the cuisines; all of them when none is asked."""
    wanted = asked.cuisine
    if not wanted:
        return list(rows)
    return [row for row in rows if any(cuisine in served for served in row.cuisines for cuisine in wanted)]


class Tables:
    """A database as the estimates read it: prices by route, rows by destination. Look-ups are kept."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._areas: dict[tuple[str, int], tuple[list[Hotel], list[Restaurant]]] = {}

    @cached_property
    def flight_counts(self) -> dict[tuple[str, str], dict[str, int]]:
        """Number of flights by route and date."""
        return self.database.flight_table.counts()

    def area(self, destination: str, days: int) -> tuple[list[Hotel], list[Restaurant]]:
        """All hotels and restaurants of the cities that a trip may visit."""
        key = (destination, days)
        if key not in self._areas:
            cities = destination_cities(self.database, destination, days)
            self._areas[key] = (
                [hotel for city in cities for hotel in self.database.hotels_in(city)],
                [row for city in cities for row in self.database.restaurants_in(city)],
            )
        return self._areas[key]

    def driving_cost(self, origin: str, destination: str) -> int | None:
        leg = self.database.leg(origin, destination)
        return leg.driving_cost if leg else None

    def flight_prices(self, origin: str, destination: str, days: int, dates: Sequence[str]) -> list[int]:
        """Prices on any date for a 3-day trip, on the days of the trip for a longer one, as in the script."""
        if days == 3:
            return self.database.flight_table.prices(origin, destination)
        return [
            flight.price
            for city in destination_cities(self.database, destination, days)
            for date in dates
            for flight in self.database.flights_on(origin, city, date)
        ]


def estimate(
    tables: Tables,
    origin: str,
    destination: str,
    dates: Sequence[str],
    people: int,
    asked: LocalConstraint,
    thresholds: Thresholds,
    days: int | None = None,
) -> Estimate | Rejection:
    """Lowest, mean and highest cost for one person over the rows that pass, or why there is none.

    `days` is the length of the trip where `dates` does not hold every day of it.
    """
    days = days or len(dates)
    cities = destination_cities(tables.database, destination, days)
    if not cities:
        return Rejection.NO_CITY
    hotels, restaurants = tables.area(destination, days)
    hotels = matching_hotels(hotels, people, asked)
    restaurants = matching_restaurants(restaurants, asked)
    if asked.transportation == "no self-driving":
        first = sum(len(tables.database.flights_on(origin, city, dates[0])) for city in cities)
        if first < thresholds.first_day_flights[0 if days == 3 else 1]:
            return Rejection.NO_FLIGHT
    if (asked.room_type or asked.house_rule) and len(hotels) < thresholds.hotels_for(days):
        return Rejection.FEW_HOTELS
    if asked.cuisine and len(restaurants) < thresholds.restaurants_for(days):
        return Rejection.FEW_RESTAURANTS
    if asked.transportation == "no flight":
        # the script asks for the road to the first city of the state only
        cost = tables.driving_cost(origin, cities[0])
        if cost is None:
            return Rejection.NO_DRIVE
        rides: Sequence[float] = (cost,)
    else:
        rides = tables.flight_prices(origin, destination, days, dates)
    prices = [hotel.price for hotel in hotels]
    meals = [row.average_cost for row in restaurants]
    if not (rides and prices and meals):
        return Rejection.NO_PRICE

    def total(of: Callable[[Sequence[float]], float]) -> float:
        return of(rides) * RIDES[days] + of(prices) * NIGHTS[days] + of(meals) * MEALS[days]

    return Estimate(lowest=total(min), average=total(fmean), highest=total(max))
