"""Evidence: for everything that a plan names, the row of the database that proves it, or why there is none.

All look-ups of a plan happen here, once, so that checks and costs only compare values and can point at the
rows they used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from .database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from .namesakes import least_favourable
from .plan import Day, FlightRide, Mention, Move, Place, Plan, Ride, Stay, TypedRide, Unread, Venue, WrittenRide
from .query import Query
from .rules import STRICT, Mode, RuleBook

Row = Flight | Leg | Hotel | Restaurant | Attraction
V = TypeVar("V", Hotel, Restaurant, Attraction)
FEW = 100
"""Rows that are as well looked through one by one."""


@dataclass(frozen=True, slots=True)
class Unproved:
    """Why the database has no row for what a plan names."""

    reason: str


@dataclass(frozen=True, slots=True)
class DayEvidence:
    """One day of a plan with its rows, in the order of the day's own fields."""

    day: Day
    date: str | None
    """The calendar date; None for a day after the end of the trip."""
    ride: Flight | Leg | Unproved | None
    """The row that proves the ride; None where there is none to prove."""
    fare: Flight | Leg | Unproved | None
    """The row that prices the ride; None where it is free."""
    meals: tuple[tuple[str, Venue, Restaurant | Unproved], ...]
    """(slot, venue, row) for every meal that is filled."""
    attractions: tuple[tuple[Venue, Attraction | Unproved], ...]
    hotel: Hotel | Unproved | None
    hotel_rows: int
    """How many rows the hotel may be, where a part of a name is enough."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, a plan for it, and the evidence: all that a check looks at."""

    query: Query
    plan: Plan
    database: Database
    days: tuple[DayEvidence, ...]
    rules: RuleBook


def gather(query: Query, plan: Plan, database: Database, rules: RuleBook = STRICT) -> Case:
    """Look up everything that the plan names, the way `rules` has it."""
    days = []
    for index, day in enumerate(plan.days if rules.days_after_the_trip else plan.days[: query.days]):
        if rules.text is None:
            day = _settled(day, database)
        date = query.date[index] if index < len(query.date) else None
        ride, fare = _ride(day.ride, date, database)
        hotel, hotel_rows = (
            (None, 0) if day.accommodation is None else _venue(day.accommodation, "hotel", database.hotels_in, rules)
        )
        days.append(
            DayEvidence(
                day=day,
                date=date,
                ride=ride,
                fare=fare,
                meals=tuple(
                    (slot, venue, _venue(venue, "restaurant", database.restaurants_in, rules)[0])
                    for slot, venue in day.meals()
                ),
                attractions=tuple(
                    (venue, _venue(venue, "attraction", database.attractions_in, rules)[0]) for venue in day.attractions
                ),
                hotel=hotel,
                hotel_rows=hotel_rows,
            )
        )
    return Case(query, plan, database, tuple(days), rules)


def _settled(day: Day, database: Database) -> Day:
    """The day with "Dallas(Texas)" read as Dallas wherever Texas is the state of Dallas; typed days only."""
    changes: dict[str, object] = {}
    match day.where:
        case Stay(city) if "(" in city:
            changes["where"] = Stay(_city(city, database))
        case Move(origin, destination) if "(" in origin or "(" in destination:
            changes["where"] = Move(_city(origin, database), _city(destination, database))
    ride = day.ride
    if isinstance(ride, TypedRide) and ("(" in ride.origin or "(" in ride.destination):
        changes["ride"] = replace(
            ride, origin=_city(ride.origin, database), destination=_city(ride.destination, database)
        )
    for slot in ("breakfast", "lunch", "dinner", "accommodation"):
        venue = getattr(day, slot)
        if isinstance(venue, Place) and "(" in venue.city:
            changes[slot] = Place(venue.name, _city(venue.city, database))
    if any(isinstance(venue, Place) and "(" in venue.city for venue in day.attractions):
        changes["attractions"] = tuple(
            Place(venue.name, _city(venue.city, database)) if isinstance(venue, Place) else venue
            for venue in day.attractions
        )
    return replace(day, **changes) if changes else day  # type: ignore[arg-type]


def _city(text: str, database: Database) -> str:
    city, _, state = text.partition("(")
    return city if state.endswith(")") and database.state_of(city) == state[:-1] else text


def _venue(
    venue: Venue, kind: str, rows_in: Callable[[str], tuple[V, ...]], rules: RuleBook
) -> tuple[V | Unproved, int]:
    """The row of a venue, and how many rows it may be."""
    match venue:
        case Unread(text, reason):
            return Unproved(f"{text!r}: {reason}"), 0
        case Mention(_, name, city) | Place(name, city):
            rows = rows_in(city)
    if rules.parts_of_names:
        found = [row for row in rows if name in row.name]
        return (found[0] if found else Unproved(f"no {kind} with {name!r} in its name in {city!r}")), len(found)
    found = [row for row in rows if row.name == name]
    if not found:
        return Unproved(f"no {kind} {name!r} in {city!r}"), 0
    return (found[0] if len(found) == 1 else least_favourable(found)), 1


Proof = Flight | Leg | Unproved | None


def _ride(ride: Ride | Unread | None, date: str | None, database: Database) -> tuple[Proof, Proof]:
    """The rows that prove and that price a ride."""
    match ride:
        case None:
            return None, None
        case Unread():
            unread = Unproved(f"{ride.text!r}: {ride.reason}")
            return unread, unread
        case WrittenRide():
            return _written_ride(ride, database)
        case FlightRide():
            row: Proof = _flight(ride, date, database)
        case _:
            row = _road(ride.origin, ride.destination, ride.mode, database)
    return row, row


def _flight(ride: FlightRide, date: str | None, database: Database) -> Flight | Unproved:
    number, origin, destination = ride.number, ride.origin, ride.destination
    if date is None:
        return Unproved(f"flight {number!r} goes after the last day of the trip")
    rows = [row for row in database.flights_on(origin, destination, date) if row.number == number]
    if not rows:
        return Unproved(f"no flight {number!r} from {origin!r} to {destination!r} on {date}")
    return rows[0] if len(rows) == 1 else least_favourable(rows)


def _road(origin: str, destination: str, mode: Mode, database: Database) -> Leg | Unproved:
    leg = database.leg(origin, destination)
    if leg is None or ride_cost(mode, leg) is None:
        return Unproved(f"no road with a known cost from {origin!r} to {destination!r}")
    return leg


def _written_ride(ride: WrittenRide, database: Database) -> tuple[Proof, Proof]:
    """The official reading: a ride of no mode, or between no cities, is free."""
    if ride.fault is not None:
        fault = Unproved(f"{ride.text!r}: {ride.fault}")
        return fault, fault
    if ride.proof is None:
        return None, None
    if ride.origin is None or ride.destination is None:
        return Unproved(f"{ride.text!r}: it names no two cities"), None
    if ride.proof is not Mode.FLIGHT:
        road = _road(ride.origin, ride.destination, ride.proof, database)
        return road, road
    if ride.number is None:
        nameless = Unproved(f"{ride.text!r}: no 'Flight Number: '")
        return nameless, nameless
    rows = database.flight(ride.number)
    if row := _on_route(rows, ride.origin, ride.destination, database):
        return row, rows[0]
    missing = Unproved(f"no flight {ride.number!r} from {ride.origin!r} to {ride.destination!r}")
    return missing, rows[0] if rows else None


def _on_route(rows: Sequence[Flight], origin: str, destination: str, database: Database) -> Flight | None:
    """The first of some flights of one number that goes on a route, on whatever date."""
    if len(rows) > FEW:  # a number of many flights, as in the miniature world: a route has fewer
        number = rows[0].number
        dates = database.dates(origin, destination)
        rows = [row for date in dates for row in database.flights_on(origin, destination, date) if row.number == number]
    return next((row for row in rows if (row.origin, row.destination) == (origin, destination)), None)


def priced_as(ride: Ride) -> Mode | None:
    """The mode by which a ride is paid for."""
    return ride.proof if isinstance(ride, WrittenRide) else ride.mode


def ride_cost(mode: Mode, row: Flight | Leg) -> int | None:
    """Dollars a vehicle (a seat for a flight); None where the road's cost is unknown."""
    if isinstance(row, Flight):
        return row.price
    return row.taxi_cost if mode is Mode.TAXI else row.driving_cost
