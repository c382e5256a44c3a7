"""What is left of a trip once some choices are made: whether it can still succeed, and what it costs at least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .database import Attraction, Hotel, Restaurant
from .market import Market, Menu, Offer
from .plan import MEALS, FlightRide, Ride

Names = frozenset[str]
V = TypeVar("V", Hotel, Restaurant, Attraction)


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices by what they are about; what is not in a table is open."""

    cities: Names = frozenset()
    rides: Mapping[tuple[str, str], tuple[str, Names]] = field(default_factory=dict)
    """(from, to) -> (date of a flight, empty for the road; the flight numbers or modes that may serve)."""
    hotels: Mapping[str, Names] = field(default_factory=dict)
    """City -> the hotels that may serve."""
    meals: Mapping[str, Names] = field(default_factory=dict)
    """City -> the restaurants, all of which are visited."""
    sights: Mapping[str, Names] = field(default_factory=dict)
    """City -> the attractions, all of which are visited."""


@dataclass
class Settled(Market):
    """The best offers for one query that keep to choices made.

    Plans are of the plain shape: three meals and a sight on every whole day, on days of arrival a dinner at most and no
    sight but a chosen one, nothing at home. That is what a traveller has evidence for who listed each city of the trip
    once; a choice is judged by what can be done with it, not by how an odd plan could make up for it.
    """

    chosen: Choices = Choices()

    def cities(self) -> list[str]:
        return [city for city in super().cities() if not self.chosen.cities or city in self.chosen.cities]

    def restaurants(self, city: str) -> list[Restaurant]:
        return [] if city == self.query.org else _among(super().restaurants(city), self.chosen.meals.get(city))

    def hotels(self, city: str) -> list[Hotel]:
        return [] if city == self.query.org else _among(super().hotels(city), self.chosen.hotels.get(city))

    def _sights(self, city: str) -> tuple[Attraction, ...]:
        if city == self.query.org:
            return ()
        rows, chosen = super()._sights(city), self.chosen.sights.get(city)
        # without a choice one for each whole day: the solver would fill a day of arrival with what is left over
        return tuple(_among(rows, chosen)) if chosen else rows[: self.query.days - self.query.visiting_city_number - 1]

    def meals(self, city: str, whole: int) -> Menu:
        chosen = self.chosen.meals.get(city)
        if chosen is None:
            return super().meals(city, whole)
        rows = self.restaurants(city)
        if len(rows) != len(chosen) or len(rows) - len(MEALS) * whole not in (0, 1):
            return {}
        served = sum(1 << bit for bit, wish in enumerate(self.wanted) if any(wish in row.cuisines for row in rows))
        return {served: (sum(row.average_cost for row in rows) * self.query.people_number, tuple(rows))}

    def _stay(self, city: str, whole: int) -> Offer | None:
        if len(self.chosen.sights.get(city, ())) > whole + 1:
            self.obstacles.setdefault(f"more attractions in {city} than days")
            return None
        return super()._stay(city, whole)

    def ways(self, origin: str, destination: str, day: int) -> list[tuple[float, Ride]]:
        ways = super().ways(origin, destination, day)
        for (start, end), (date, names) in self.chosen.rides.items():
            if (start, end) == (origin, destination):
                on_time = date in ("", self.query.date[day])
                ways = [way for way in ways if on_time and _name(way[1]) in names]
            elif start == origin or end == destination:
                return []  # a chosen ride is taken
        return ways


def _name(ride: Ride) -> str:
    return ride.number if isinstance(ride, FlightRide) else str(ride.mode)


def _among(rows: Sequence[V], names: Names | None) -> list[V]:
    return [row for row in rows if names is None or row.name in names]
