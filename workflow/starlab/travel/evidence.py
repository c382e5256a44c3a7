"""Evidence: for everything a plan names, the row of the database that proves it, or why there is none.

Look-ups are exact: the whole name, in the city that the plan gives. A name that stands for several rows
proves nothing, because the rows may differ in price and rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from .plan import Day, Drive, FlightRide, Plan, Ride, Taxi, Unread, Venue
from .query import Query

Row = Flight | Hotel | Restaurant | Attraction | Leg
T = TypeVar("T")
V = TypeVar("V", Hotel, Restaurant, Attraction)


@dataclass(frozen=True, slots=True)
class Unproved:
    """Why a part of a plan has no row."""

    reason: str


@dataclass(frozen=True, slots=True)
class DayEvidence:
    """One day of a plan with its rows, in the order of the day's own fields."""

    day: Day
    date: str | None
    """The calendar date; None for a day after the end of the trip."""
    ride: Flight | Leg | Unproved | None
    meals: tuple[tuple[str, Venue, Restaurant | Unproved], ...]
    """(slot, venue, row) for every meal that is filled."""
    attractions: tuple[tuple[Venue, Attraction | Unproved], ...]
    hotel: Hotel | Unproved | None


@dataclass(frozen=True, slots=True)
class Case:
    """A query, a plan for it, and the evidence: all that a check looks at."""

    query: Query
    plan: Plan
    database: Database
    days: tuple[DayEvidence, ...]


def gather(query: Query, plan: Plan, database: Database) -> Case:
    """Look up everything that the plan names."""
    days = []
    for index, day in enumerate(plan.days):
        date = query.date[index] if index < len(query.date) else None
        days.append(
            DayEvidence(
                day=day,
                date=date,
                ride=None if day.ride is None else _ride(day.ride, date, database),
                meals=tuple(
                    (slot, venue, _venue(venue, "restaurant", database.restaurants_in))
                    for slot, venue in day.meals()
                ),
                attractions=tuple(
                    (venue, _venue(venue, "attraction", database.attractions_in)) for venue in day.attractions
                ),
                hotel=None
                if day.accommodation is None
                else _venue(day.accommodation, "hotel", database.hotels_in),
            )
        )
    return Case(query, plan, database, tuple(days))


def _venue(venue: Venue, kind: str, rows_in: Callable[[str], tuple[V, ...]]) -> V | Unproved:
    if isinstance(venue, Unread):
        return Unproved(f"{venue.text!r}: {venue.reason}")
    rows = [row for row in rows_in(venue.city) if row.name == venue.name]
    return _only(rows, f"{kind} {venue.name!r} in {venue.city!r}")


def _ride(ride: Ride | Unread, date: str | None, database: Database) -> Flight | Leg | Unproved:
    match ride:
        case Unread():
            return Unproved(f"{ride.text!r}: {ride.reason}")
        case FlightRide(number, origin, destination):
            if date is None:
                return Unproved(f"flight {number!r} goes after the last day of the trip")
            flights = [row for row in database.flights_on(origin, destination, date) if row.number == number]
            return _only(flights, f"flight {number!r} from {origin!r} to {destination!r} on {date}")
        case Drive(origin, destination) | Taxi(origin, destination):
            leg = database.leg(origin, destination)
            if leg is None or ride_cost(ride, leg) is None:
                return Unproved(f"no road with a known cost from {origin!r} to {destination!r}")
            return leg


def ride_cost(ride: Ride, row: Flight | Leg) -> int | None:
    """Dollars a vehicle (a seat for a flight); None where the road's cost is unknown."""
    if isinstance(row, Flight):
        return row.price
    return row.taxi_cost if isinstance(ride, Taxi) else row.driving_cost


def _only(rows: list[T], what: str) -> T | Unproved:
    if len(rows) == 1:
        return rows[0]
    return Unproved(f"no {what}") if not rows else Unproved(f"{len(rows)} rows for {what}: ambiguous")
