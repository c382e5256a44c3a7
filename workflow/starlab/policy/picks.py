"""What the stay skills ask for, and which rows of a city's listings are the answer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ..travel import miniature, names, rendering
from ..travel.choice import choose_hotel, choose_restaurants
from ..travel.database import Hotel, Restaurant
from ..travel.query import HOUSE_RULES, ROOM_TYPES, LocalConstraint

_NIGHTS = 2


@dataclass(frozen=True, slots=True)
class City:
    """What the tools show of one destination."""

    hotels: tuple[Hotel, ...]
    restaurants: tuple[Restaurant, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a choice. Cheap means the cheapest row that passes; otherwise any row that passes will do."""

    constraint: LocalConstraint
    cheap: bool

    @property
    def text(self) -> str:
        """What is asked; empty when nothing is."""
        return rendering.constraint_words(self.constraint) + (rendering.CHEAP if self.cheap else "")


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
    cheap: float = 0.0
    """Share of the wishes that ask for the cheapest."""
    follow_ups: int = 0
    """Times that the same listing is asked about again, which makes a listing's tokens go further."""
    before: float = 0.0
    """Probability, for each of the journeys and for the sights, that they are to be looked up first."""

    def draw(self, rng: random.Random) -> Wish:
        """A random wish of this kind."""
        return Wish(sample_constraint(rng, self.rule, self.room, self.cuisines), rng.random() < self.cheap)


Labels = tuple[Hotel | None, tuple[Restaurant, ...]]


def solve(city: City, wish: Wish, hotel: bool, meals: int, rng: random.Random) -> Labels | None:
    """The rows for the asked slots, or None when the city has no solution."""
    any_row = None if wish.cheap else rng
    chosen = choose_hotel(city.hotels, wish.constraint, _NIGHTS, any_row) if hotel else None
    rows = choose_restaurants(city.restaurants, wish.constraint.cuisine or (), meals, any_row) if meals else ()
    return None if (hotel and chosen is None) or rows is None else (chosen, rows)
