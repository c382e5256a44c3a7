"""The best offers for one query: what a solver chooses from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from .cost import drive_cost, flight_cost, hotel_cost, taxi_cost
from .database import Attraction, Database, Hotel, Restaurant
from .hard import ROOM_TYPES, forbidden_rules
from .namesakes import distinct
from .plan import MEALS, Drive, FlightRide, Ride, Taxi
from .query import Query

Menu = dict[int, tuple[float, tuple[Restaurant, ...]]]
"""Set of cuisines served, as bits -> (least cost for the party, the restaurants)."""


def merge(into: Menu, one: Menu, other: Menu) -> None:
    """Add to `into` every union of an entry of `one` and one of `other` that is new or cheaper."""
    for kind, (price, rows) in one.items():
        for other_kind, (other_price, other_rows) in other.items():
            union, total = kind | other_kind, price + other_price
            if union not in into or total < into[union][0]:
                into[union] = (total, rows + other_rows)


def floor(menu: Menu) -> float:
    """The least cost of a menu, whatever it serves."""
    return min(price for price, _ in menu.values())


@dataclass(frozen=True, slots=True)
class Offer:
    """A stay in one city: the hotel, the cost of all its nights, and the menu of its meals."""

    hotel: Hotel
    nights_cost: float
    menu: Menu


@dataclass
class Market:
    """The best offers for one query, each computed once."""

    query: Query
    database: Database
    obstacles: dict[str, None] = field(default_factory=dict)
    """What stood in the way so far, in the order of discovery."""

    def __post_init__(self) -> None:
        self.wanted = self.query.local_constraint.cuisine or ()
        self.everything = (1 << len(self.wanted)) - 1
        # caches live and die with the market
        self.stay = cache(self._stay)
        self.rides = cache(self._rides)
        self.sights = cache(self._sights)

    def cities(self) -> list[str]:
        """The cities that the trip may visit."""
        query = self.query
        destination = self.database.states.get(query.dest, ()) if query.days > 3 else (query.dest,)
        return [city for city in destination if city != query.org and self.database.state_of(city)]

    def restaurants(self, city: str) -> list[Restaurant]:
        """Cheapest first, as tools list them."""
        return sorted(distinct(self.database.restaurants_in(city)), key=lambda row: row.average_cost)

    def hotels(self, city: str) -> list[Hotel]:
        """All hotels, whatever they allow."""
        return distinct(self.database.hotels_in(city))

    def _sights(self, city: str) -> tuple[Attraction, ...]:
        """Attractions that a plan can name: `;` separates them there."""
        rows = distinct(self.database.attractions_in(city))
        return tuple(row for row in rows if ";" not in row.name and row.name == row.name.strip(" "))

    def hotel(self, city: str, nights: int) -> tuple[float, Hotel] | None:
        """The cheapest hotel for a stay of `nights`, with its cost a night for the party."""
        local, people = self.query.local_constraint, self.query.people_number
        suitable = [
            (hotel_cost(hotel, people), hotel)
            for hotel in self.hotels(city)
            if hotel.minimum_nights <= nights
            and (local.room_type is None or hotel.room_type in ROOM_TYPES[local.room_type])
            and (local.house_rule is None or local.house_rule not in forbidden_rules(hotel))
        ]
        return min(suitable, key=lambda pair: pair[0], default=None)

    def meals(self, city: str, whole: int) -> Menu:
        """The least cost of the meals of `whole` days and, where cuisines need it, of the day of arrival."""
        needed = len(MEALS) * whole
        useful = min(max(needed, len(self.wanted)), needed + len(MEALS))
        menu: Menu = {}
        for table in self.menus(city, useful)[needed:]:
            merge(menu, table, {0: (0.0, ())})
        return menu

    def menus(self, city: str, count: int) -> list[Menu]:
        """For every number of meals up to `count`: the least cost of as many different restaurants, for every
        set of wanted cuisines they serve."""
        kinds: dict[int, int] = {}
        tables: list[Menu] = [{0: (0.0, ())}, *({} for _ in range(count))]
        for row in self.restaurants(city):
            kind = sum(1 << bit for bit, cuisine in enumerate(self.wanted) if cuisine in row.cuisines)
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > count:
                continue  # `count` cheaper ones serve the same
            price = row.average_cost * self.query.people_number
            for taken in range(count, 0, -1):
                merge(tables[taken], tables[taken - 1], {kind: (price, (row,))})
        return tables

    def _stay(self, city: str, whole: int) -> Offer | None:
        """The best of `city` for the day of arrival and `whole` days more; None when it lacks something."""
        best, meals = self.hotel(city, whole + 1), self.meals(city, whole)
        if best is None:
            self.obstacles.setdefault(f"no suitable hotel in {city} for {whole + 1} nights")
        elif not meals:
            self.obstacles.setdefault(f"fewer than {len(MEALS) * whole} restaurants in {city}")
        elif len(self.sights(city)) < whole:
            self.obstacles.setdefault(f"fewer than {whole} attractions in {city}")
        else:
            return Offer(best[1], best[0] * (whole + 1), meals)
        return None

    def _rides(self, origin: str, destination: str, day: int) -> tuple[tuple[float, Ride] | None, ...]:
        """The cheapest allowed ride on day `day` (from 0) of each family: (flight or taxi, car)."""
        ways = self.ways(origin, destination, day)
        if not ways:
            self.obstacles.setdefault(f"no ride from {origin} to {destination} on {self.query.date[day]}")
        return tuple(
            min((way for way in ways if isinstance(way[1], Drive) == by_car), key=lambda way: way[0], default=None)
            for by_car in (False, True)
        )

    def ways(self, origin: str, destination: str, day: int) -> list[tuple[float, Ride]]:
        """Every allowed ride on day `day` (from 0), with its cost for the party."""
        excluded, people = self.query.local_constraint.transportation, self.query.people_number
        ways: list[tuple[float, Ride]] = []
        if excluded != "no flight":
            flights = self.database.flights_on(origin, destination, self.query.date[day])
            numbers = [flight.number for flight in flights]
            ways += [
                (flight_cost(flight.price, people), FlightRide(flight.number, origin, destination))
                for flight in flights
                if numbers.count(flight.number) == 1
            ]
        if leg := self.database.leg(origin, destination):
            if (price := leg.taxi_cost) is not None:
                ways.append((taxi_cost(price, people), Taxi(origin, destination)))
            if excluded != "no self-driving" and (price := leg.driving_cost) is not None:
                ways.append((drive_cost(price, people), Drive(origin, destination)))
        return ways
