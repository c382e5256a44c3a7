"""A solver's choices, written out as a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .database import Attraction, Database, Hotel, Restaurant
from .namesakes import distinct
from .plan import MEALS, Day, Move, Place, Plan, Ride, Stay
from .query import Query


@dataclass(frozen=True, slots=True)
class Stop:
    """A city: how it is reached, how many whole days follow, where the nights are spent, all its sights."""

    city: str
    whole_days: int
    ride: Ride
    hotel: Hotel
    sights: tuple[Attraction, ...]


@dataclass(frozen=True, slots=True)
class Trip:
    """A trip from home and back. `meals` are in any order; what a city has beyond three for every whole day
    belongs to the day of arrival. The last three fields fill a plan that would otherwise be too empty."""

    stops: tuple[Stop, ...]
    meals: tuple[Restaurant, ...]
    homeward: Ride
    arrival_sight: Attraction | None = None
    farewell: Restaurant | None = None
    bed_at_home: Hotel | None = None

    def adding(self, **changes: Any) -> Trip:
        return replace(self, **changes)


def _place(row: Hotel | Restaurant | Attraction | None) -> Place | None:
    return None if row is None else Place(row.name, row.city)


def write(query: Query, trip: Trip, database: Database) -> Plan:
    """The plan of a trip. Meals and sights appear in the order in which the tools list them, so that writing
    a plan is copying down a list."""
    return Plan(tuple(_days(query, trip, database)))


def _days(query: Query, trip: Trip, database: Database) -> Iterator[Day]:
    here, number = query.org, 1
    for stop in trip.stops:
        menu = sorted(distinct(database.restaurants_in(stop.city)), key=lambda row: row.average_cost)
        meals = [row for row in menu if row in trip.meals]
        extra = len(meals) - len(MEALS) * stop.whole_days
        served = iter(meals)
        on_arrival = trip.arrival_sight if number == 1 else None
        yield Day(
            number,
            Move(here, stop.city),
            stop.ride,
            breakfast=_place(next(served)) if extra > 2 else None,
            attractions=(Place(on_arrival.name, on_arrival.city),) if on_arrival else (),
            lunch=_place(next(served)) if extra > 1 else None,
            dinner=_place(next(served)) if extra > 0 else None,
            accommodation=_place(stop.hotel),
        )
        seen = (row for row in stop.sights if row != trip.arrival_sight)
        for offset in range(1, stop.whole_days + 1):
            sight = next(seen)
            yield Day(
                number + offset,
                Stay(stop.city),
                breakfast=_place(next(served)),
                attractions=(Place(sight.name, sight.city),),
                lunch=_place(next(served)),
                dinner=_place(next(served)),
                accommodation=_place(stop.hotel),
            )
        here, number = stop.city, number + stop.whole_days + 1
    yield Day(
        number,
        Move(here, query.org),
        trip.homeward,
        dinner=_place(trip.farewell),
        accommodation=_place(trip.bed_at_home),
    )
