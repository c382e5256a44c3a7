"""The rows of a travel database, typed."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flight:
    """`price` in dollars a person, `date` YYYY-MM-DD, `distance` in miles."""

    number: str
    price: int
    departure_time: str
    arrival_time: str
    elapsed: str
    date: str
    origin: str
    destination: str
    distance: float


@dataclass(frozen=True, slots=True)
class Hotel:
    """`price` in dollars a night and unit; `house_rules` as published, for example "No pets & No smoking"."""

    name: str
    room_type: str
    price: float
    minimum_nights: float
    review: float
    house_rules: str
    maximum_occupancy: int
    city: str


@dataclass(frozen=True, slots=True)
class Restaurant:
    """`average_cost` in dollars a person and meal."""

    name: str
    city: str
    cuisines: tuple[str, ...]
    average_cost: int
    rating: float


@dataclass(frozen=True, slots=True)
class Attraction:
    name: str
    city: str
    latitude: str
    longitude: str
    address: str
    phone: str
    website: str


@dataclass(frozen=True, slots=True)
class Leg:
    """A road between two cities: `duration` like "5 hours 3 mins", `distance` like "1,144 km"; None where unknown."""

    origin: str
    destination: str
    duration: str | None
    distance: str | None

    def _cost(self, dollars_per_km: float) -> int | None:
        """int(km x rate); None where there is no distance or the drive takes a day or more."""
        if not self.distance or not self.duration or "day" in self.duration:
            return None
        kilometres = re.sub(r"[^\d.]", "", self.distance)
        return int(float(kilometres) * dollars_per_km) if kilometres else None

    @property
    def driving_cost(self) -> int | None:
        """Dollars a car (up to 5 people)."""
        return self._cost(0.05)

    @property
    def taxi_cost(self) -> int | None:
        """Dollars a taxi (up to 4 people)."""
        return self._cost(1.0)
