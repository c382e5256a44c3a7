"""Rows of the database in words."""

from __future__ import annotations

from .database import Attraction, Flight, Hotel, Leg, Restaurant
from .evidence import Row


def describe(row: Row) -> str:
    """One row of the database in words."""
    match row:
        case Flight():
            times = f"{row.departure_time}-{row.arrival_time}"
            return f"{row.origin} to {row.destination} on {row.date}, {times}, ${row.price:g} a person"
        case Leg():
            return f"{row.distance}, {row.duration}, ${row.driving_cost} a car, ${row.taxi_cost} a taxi"
        case Restaurant():
            return f"{', '.join(row.cuisines)}, ${row.average_cost:g} a person"
        case Attraction():
            return row.address or f"in {row.city}"
        case Hotel():
            rules = row.house_rules or "no house rules"
            nights = f"{row.minimum_nights:g}+ nights" if row.minimum_nights > 1 else "any number of nights"
            return f"{row.room_type}, ${row.price:g}, sleeps {row.maximum_occupancy}, {nights}, {rules}"
