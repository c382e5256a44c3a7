"""The miniature world: a small random database in the official schema.

Small tables and few price levels keep a three-day episode near 200 tokens; the constraints and the budget rules stay
the paper's. Two worlds of different seeds share the names but not a single row.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ..seeds import generator
from . import names
from .database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from .query import HOUSE_RULES

FLIGHT_PRICES = (40, 60, 80, 100, 150, 200, 250, 300, 400)
HOTEL_PRICES = (30, 40, 60, 80, 100, 150, 200, 250, 300)
MEAL_PRICES = (10, 15, 20, 30, 40, 50, 60)
DISTANCES_KM = (200, 400, 600, 800, 1200, 1600, 2400, 2800, 3000)
"""A drive goes at 100 km an hour; the last three take a day or more and have no cost, as in the official table."""
_HOURS_A_DAY = 20
"""Hours at the wheel that count as a day: no real drive of the official table is longer without a "day"."""
OCCUPANCIES = (2, 4, 8)
ROOM_TYPES = ("Entire home/apt", "Private room", "Shared room")


@dataclass(frozen=True, slots=True)
class MiniatureSpec:
    """How large the miniature world is. At most 10 states, 60 cities, 18 dates (the name pools)."""

    states: int = 10
    """Number of states."""
    cities_per_state: int = 6
    """Number of cities in every state."""
    dates: int = 12
    """Number of days, from 2022-03-01 on, with flights."""
    hotels: int = 5
    """Hotels in every city."""
    restaurants: int = 6
    """Restaurants in every city."""
    attractions: int = 3
    """Attractions in every city."""
    flights: int = 3
    """Flights a route and date."""
    routes_without_flights: float = 0.15
    """Share of city pairs that no flight connects."""


def sample_hotels(rng: random.Random, city: str, count: int) -> tuple[Hotel, ...]:
    """`count` hotels with distinct names; every hotel allows one or two of the five house-rule subjects."""
    hotels = []
    for name in rng.sample(names.HOTELS, count):
        allowed = rng.sample(HOUSE_RULES, rng.choice((1, 2)))
        hotels.append(
            Hotel(
                name=name,
                room_type=rng.choices(ROOM_TYPES, weights=(4, 4, 2))[0],
                price=float(rng.choice(HOTEL_PRICES)),
                minimum_nights=float(rng.choices((1, 2, 3), weights=(6, 2, 2))[0]),
                review=float(rng.randint(1, 5)),
                house_rules=" & ".join(f"No {rule}" for rule in HOUSE_RULES if rule not in allowed),
                maximum_occupancy=rng.choice(OCCUPANCIES),
                city=city,
            )
        )
    return tuple(hotels)


def sample_restaurants(rng: random.Random, city: str, count: int) -> tuple[Restaurant, ...]:
    """`count` restaurants with distinct names and one or two cuisines each."""
    return tuple(
        Restaurant(
            name=name,
            city=city,
            cuisines=tuple(rng.sample(names.CUISINES, rng.choice((1, 2)))),
            average_cost=rng.choice(MEAL_PRICES),
            rating=round(rng.uniform(1, 5), 1),
        )
        for name in rng.sample(names.RESTAURANTS, count)
    )


def sample_attractions(rng: random.Random, city: str, count: int) -> tuple[Attraction, ...]:
    """`count` attractions with distinct names."""
    return tuple(
        Attraction(
            name=name,
            city=city,
            latitude=f"{rng.uniform(30, 45):.4f}",
            longitude=f"{rng.uniform(-120, -75):.4f}",
            address=f"{rng.randint(1, 99)} {name} Street, {city}",
            phone=f"(555) 555-{rng.randint(0, 9999):04d}",
            website="https://example.org",
        )
        for name in rng.sample(names.ATTRACTIONS, count)
    )


def sample_flights(rng: random.Random, origin: str, destination: str, date: str, count: int) -> tuple[Flight, ...]:
    """`count` flights with distinct numbers."""
    flights = []
    for number in rng.sample(names.FLIGHTS, count):
        hour, hours = rng.randint(5, 20), rng.randint(1, 3)
        flights.append(
            Flight(
                number=number,
                price=rng.choice(FLIGHT_PRICES),
                departure_time=f"{hour:02d}:00",
                arrival_time=f"{hour + hours:02d}:00",
                elapsed=f"{hours} hours 0 minutes",
                date=date,
                origin=origin,
                destination=destination,
                distance=300.0 * hours,
            )
        )
    return tuple(flights)


def road(origin: str, destination: str, kilometres: int) -> Leg:
    days, hours = divmod(kilometres // 100, _HOURS_A_DAY)
    duration = f"{days} day {hours} hours" if days else f"{hours} hours 0 mins"
    return Leg(origin, destination, duration, f"{kilometres:,} km")


def sample_leg(rng: random.Random, origin: str, destination: str) -> Leg:
    """A road of random length."""
    return road(origin, destination, rng.choice(DISTANCES_KM))


def generate(seed: int, name: str, spec: MiniatureSpec | None = None) -> Database:
    """A world that depends on `seed` and `spec` only. Raises ValueError when the name pools are too small."""
    spec = spec or MiniatureSpec()
    rng = generator("world", seed)
    cities = _sample(rng, names.CITIES, spec.states * spec.cities_per_state, "cities")
    states = {
        state: tuple(cities[index * spec.cities_per_state : (index + 1) * spec.cities_per_state])
        for index, state in enumerate(names.STATES[: spec.states])
    }
    legs: list[Leg] = []
    flights: list[Flight] = []
    for origin in cities:
        for destination in cities:
            if origin == destination:
                continue
            legs.append(sample_leg(rng, origin, destination))
            if rng.random() < spec.routes_without_flights:
                continue
            for date in names.DATES[: spec.dates]:
                flights.extend(sample_flights(rng, origin, destination, date, spec.flights))
    return Database(
        name=name,
        states=states,
        flights=tuple(flights),
        hotels=tuple(row for city in cities for row in sample_hotels(rng, city, spec.hotels)),
        restaurants=tuple(row for city in cities for row in sample_restaurants(rng, city, spec.restaurants)),
        attractions=tuple(row for city in cities for row in sample_attractions(rng, city, spec.attractions)),
        legs=tuple(legs),
    )


def _sample(rng: random.Random, pool: Sequence[str], count: int, what: str) -> list[str]:
    if count > len(pool):
        raise ValueError(f"the miniature world has names for {len(pool)} {what}, not {count}")
    return rng.sample(pool, count)
