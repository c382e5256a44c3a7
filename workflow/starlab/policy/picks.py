"""The labels of the stay skills: which rows of a city's listings meet what is asked.

Labels are unique - the cheapest row that passes (rows come cheapest first, so the first one) - which makes a skill's
mastery measurable as exact agreement.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..travel import miniature, names, rendering
from ..travel.database import Hotel, Restaurant
from ..travel.query import HOUSE_RULES, ROOM_TYPES, LocalConstraint

_NIGHTS = 2
_ROOMS_THAT_PASS = {
    "entire room": ("Entire home/apt",),
    "private room": ("Private room",),
    "shared room": ("Shared room",),
    "not shared room": ("Private room", "Entire home/apt"),
}


@dataclass(frozen=True, slots=True)
class City:
    """What the tools show of one destination."""

    hotels: tuple[Hotel, ...]
    restaurants: tuple[Restaurant, ...]


def _passes(hotel: Hotel, constraint: LocalConstraint) -> bool:
    return (
        hotel.minimum_nights <= _NIGHTS
        and (not constraint.room_type or hotel.room_type in _ROOMS_THAT_PASS[constraint.room_type])
        and (not constraint.house_rule or constraint.house_rule in rendering.allowed_rules(hotel.house_rules))
    )


def pick_hotel(hotels: Sequence[Hotel], constraint: LocalConstraint) -> Hotel | None:
    """The cheapest hotel that allows a stay of two nights and meets room type and house rule."""
    passing = [hotel for hotel in hotels if _passes(hotel, constraint)]
    return min(passing, key=lambda hotel: hotel.price) if passing else None


def pick_restaurants(
    restaurants: Sequence[Restaurant], cuisines: Sequence[str], meals: int
) -> tuple[Restaurant, ...] | None:
    """`meals` different restaurants in listing order that cover the cuisines, or None when they cannot be covered.

    For each cuisine in the order asked the first row that has it, if none is chosen yet; then the first rows left.
    """
    listing = sorted(restaurants, key=lambda row: row.average_cost)
    chosen: list[Restaurant] = []
    for cuisine in cuisines:
        if any(cuisine in row.cuisines for row in chosen):
            continue
        row = next((row for row in listing if cuisine in row.cuisines), None)
        if row is None:
            return None
        chosen.append(row)
    chosen += [row for row in listing if row not in chosen][: meals - len(chosen)]
    return tuple(row for row in listing if row in chosen) if len(chosen) == meals else None


def sample_constraint(rng: random.Random, rule: float, room: float, cuisines: Sequence[int]) -> LocalConstraint:
    """A random constraint: house rule and room type with the given probabilities, one of the numbers of cuisines."""
    count = rng.choice(cuisines)
    return LocalConstraint(
        house_rule=rng.choice(HOUSE_RULES) if rng.random() < rule else None,
        room_type=rng.choice(ROOM_TYPES) if rng.random() < room else None,
        cuisine=tuple(rng.sample(names.CUISINES, count)) if count else None,
    )


def sample_city(rng: random.Random, dest: str) -> City:
    return City(miniature.sample_hotels(rng, dest, 5), miniature.sample_restaurants(rng, dest, rng.choice((5, 6))))


@dataclass(frozen=True, slots=True)
class Stay:
    """A kind of stay dialogue: what is asked for, and how likely each constraint is."""

    hotel: bool = False
    meals: tuple[int, ...] = (0,)
    rule: float = 0.0
    room: float = 0.0
    cuisines: tuple[int, ...] = (0,)
    follow_ups: int = 0
    """Times that the same listing is asked about again, which makes a listing's tokens go further."""

    def draw(self, rng: random.Random) -> Callable[[], LocalConstraint]:
        """A source of constraints of this kind."""
        return partial(sample_constraint, rng, self.rule, self.room, self.cuisines)


Labels = tuple[Hotel | None, tuple[Restaurant, ...]]


def solve(city: City, constraint: LocalConstraint, hotel: bool, meals: int) -> Labels | None:
    """The labels for the asked slots, or None when the city has no solution."""
    chosen = pick_hotel(city.hotels, constraint) if hotel else None
    rows = pick_restaurants(city.restaurants, constraint.cuisine or (), meals) if meals else ()
    return None if (hotel and chosen is None) or rows is None else (chosen, rows)
