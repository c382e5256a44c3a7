"""Choosing rows of a listing: those that meet what is asked, the cheapest of them or any.

Base models are pretrained on these choices, and the teacher's picks follow its thoughts by them. The cheapest choice is
unique, which makes a skill's mastery measurable as exact agreement.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from .database import Flight, Hotel, Restaurant
from .hard import ROOM_TYPES
from .query import LocalConstraint
from .rendering import allowed_rules

Priced = TypeVar("Priced", Flight, Hotel)


def _passes(hotel: Hotel, constraint: LocalConstraint, nights: int) -> bool:
    return (
        hotel.minimum_nights <= nights
        and (not constraint.room_type or hotel.room_type in ROOM_TYPES[constraint.room_type])
        and (not constraint.house_rule or constraint.house_rule in allowed_rules(hotel.house_rules))
    )


def dearer(rows: Sequence[Priced]) -> list[Priced]:
    """One row or more without the cheapest, or that one alone."""
    cheapest = min(rows, key=lambda row: row.price)
    return [row for row in rows if row is not cheapest] or [cheapest]


def choose_flight(flights: Sequence[Flight], rng: random.Random | None = None) -> Flight:
    """The cheapest of one flight or more, or with `rng` any."""
    return rng.choice(flights) if rng else min(flights, key=lambda flight: flight.price)


def choose_hotel(
    hotels: Sequence[Hotel], constraint: LocalConstraint, nights: int, rng: random.Random | None = None
) -> Hotel | None:
    """A hotel that allows a stay of `nights` and meets room type and house rule: the cheapest, or with `rng` any.

    None when no hotel does.
    """
    passing = [hotel for hotel in hotels if _passes(hotel, constraint, nights)]
    if not passing:
        return None
    return rng.choice(passing) if rng else min(passing, key=lambda hotel: hotel.price)


def choose_restaurants(
    restaurants: Sequence[Restaurant], cuisines: Sequence[str], meals: int, rng: random.Random | None = None
) -> tuple[Restaurant, ...] | None:
    """`meals` different restaurants in listing order that cover the cuisines, or None when they cannot be covered.

    For each cuisine in the order asked the cheapest row that has it (with `rng` any), if none is chosen yet; then the
    cheapest of the rows left (any).
    """
    listing = sorted(restaurants, key=lambda row: row.average_cost)
    order = rng.sample(listing, len(listing)) if rng else listing
    chosen: list[Restaurant] = []
    for cuisine in cuisines:
        if any(cuisine in row.cuisines for row in chosen):
            continue
        row = next((row for row in order if cuisine in row.cuisines), None)
        if row is None:
            return None
        chosen.append(row)
    chosen += [row for row in order if row not in chosen][: meals - len(chosen)]
    return tuple(row for row in listing if row in chosen) if len(chosen) == meals else None
