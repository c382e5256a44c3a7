"""The travel database: typed rows, indexes, and the official CSV schema.

The official TravelPlanner tables and the miniature ones load through the same code. Columns are those of the files that
Agent-STAR reads: clean_Flights_2022.csv, clean_accommodations_2022.csv, clean_restaurant_2022.csv, attractions.csv,
distance.csv and background/citySet_with_states.txt.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ..errors import StarlabError


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


_Row = Mapping[str, str]
K = TypeVar("K")
T = TypeVar("T")

_HOTEL_COLUMNS = (
    "NAME", "room type", "price", "minimum nights", "review rate number", "house_rules", "maximum occupancy", "city",
)  # fmt: skip


def _flight(row: _Row) -> Flight:
    return Flight(
        number=row["Flight Number"],
        price=int(float(row["Price"])),
        departure_time=row["DepTime"],
        arrival_time=row["ArrTime"],
        elapsed=row["ActualElapsedTime"],
        date=row["FlightDate"],
        origin=row["OriginCityName"],
        destination=row["DestCityName"],
        distance=float(row["Distance"]),
    )


def _hotel(row: _Row) -> Hotel:
    return Hotel(
        name=row["NAME"],
        room_type=row["room type"],
        price=float(row["price"]),
        minimum_nights=float(row["minimum nights"]),
        review=float(row["review rate number"] or 0),
        house_rules=row["house_rules"],
        maximum_occupancy=int(float(row["maximum occupancy"])),
        city=row["city"],
    )


def _restaurant(row: _Row) -> Restaurant:
    return Restaurant(
        name=row["Name"],
        city=row["City"],
        cuisines=tuple(part.strip() for part in row["Cuisines"].split(",") if part.strip()),
        average_cost=int(float(row["Average Cost"])),
        rating=float(row["Aggregate Rating"]),
    )


def _attraction(row: _Row) -> Attraction:
    return Attraction(
        name=row["Name"],
        city=row["City"],
        latitude=row["Latitude"],
        longitude=row["Longitude"],
        address=row["Address"],
        phone=row["Phone"],
        website=row["Website"],
    )


def _leg(row: _Row) -> Leg:
    return Leg(row["origin"], row["destination"], row["duration"] or None, row["distance"] or None)


def _read(path: Path, parse: Callable[[_Row], T], keep_gaps: bool = False) -> tuple[T, ...]:
    """Parse every row of a CSV file; a row with an empty cell is dropped, as the official loaders do, unless
    `keep_gaps`. Raises StarlabError naming file, row and column."""
    if not path.is_file():
        raise StarlabError(f"{path}: no such table; a travel database folder holds {', '.join(sorted(TABLES))}")
    rows = []
    with path.open(newline="", encoding="utf-8") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=2):
            if not keep_gaps and not all(row.values()):
                continue
            try:
                rows.append(parse(row))
            except KeyError as error:
                raise StarlabError(f"{path}: column {error} is missing; found {', '.join(row)}") from error
            except (ValueError, TypeError, AttributeError) as error:
                raise StarlabError(f"{path}:{number}: bad value in row {dict(row)!r}: {error}") from error
    if not rows:
        raise StarlabError(f"{path}: the table has no rows")
    return tuple(rows)


TABLES = (
    "clean_Flights_2022.csv",
    "clean_accommodations_2022.csv",
    "clean_restaurant_2022.csv",
    "attractions.csv",
    "distance.csv",
)
_CITIES = "background/citySet_with_states.txt"


def _by(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, tuple[T, ...]]:
    groups: defaultdict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return {k: tuple(v) for k, v in groups.items()}


@dataclass(frozen=True)
class Database:
    """All tables of one world, in file order, with look-ups that cost a dictionary access."""

    name: str
    states: Mapping[str, tuple[str, ...]]
    flights: Sequence[Flight]
    hotels: Sequence[Hotel]
    restaurants: Sequence[Restaurant]
    attractions: Sequence[Attraction]
    legs: Sequence[Leg]

    @cached_property
    def _flights_on(self) -> dict[tuple[str, str, str], tuple[Flight, ...]]:
        return _by(self.flights, lambda f: (f.origin, f.destination, f.date))

    @cached_property
    def _flight_numbers(self) -> dict[str, tuple[Flight, ...]]:
        return _by(self.flights, lambda f: f.number)

    @cached_property
    def _dates(self) -> dict[tuple[str, str], tuple[str, ...]]:
        routes = _by(self.flights, lambda f: (f.origin, f.destination))
        return {route: tuple(sorted({f.date for f in flights})) for route, flights in routes.items()}

    @cached_property
    def _hotels_in(self) -> dict[str, tuple[Hotel, ...]]:
        return _by(self.hotels, lambda h: h.city)

    @cached_property
    def _restaurants_in(self) -> dict[str, tuple[Restaurant, ...]]:
        return _by(self.restaurants, lambda r: r.city)

    @cached_property
    def _attractions_in(self) -> dict[str, tuple[Attraction, ...]]:
        return _by(self.attractions, lambda a: a.city)

    @cached_property
    def _legs(self) -> dict[tuple[str, str], Leg]:
        # the first of duplicate rows counts, as in the official tool
        return {(leg.origin, leg.destination): leg for leg in reversed(self.legs)}

    @cached_property
    def _state_of(self) -> dict[str, str]:
        return {city: state for state, cities in self.states.items() for city in cities}

    @property
    def cities(self) -> tuple[str, ...]:
        """Every city, by state."""
        return tuple(self._state_of)

    def state_of(self, city: str) -> str | None:
        return self._state_of.get(city)

    def flights_on(self, origin: str, destination: str, date: str) -> tuple[Flight, ...]:
        return self._flights_on.get((origin, destination, date), ())

    def flight(self, number: str) -> tuple[Flight, ...]:
        """Every flight of that number: one in the official tables, one a route and date in the miniature ones."""
        return self._flight_numbers.get(number, ())

    def dates(self, origin: str, destination: str) -> tuple[str, ...]:
        """The dates on which at least one flight goes, sorted."""
        return self._dates.get((origin, destination), ())

    def hotels_in(self, city: str) -> tuple[Hotel, ...]:
        return self._hotels_in.get(city, ())

    def restaurants_in(self, city: str) -> tuple[Restaurant, ...]:
        return self._restaurants_in.get(city, ())

    def attractions_in(self, city: str) -> tuple[Attraction, ...]:
        return self._attractions_in.get(city, ())

    def leg(self, origin: str, destination: str) -> Leg | None:
        return self._legs.get((origin, destination))

    def fingerprint(self) -> str:
        """SHA-256 of all rows: two databases with the same fingerprint give the same scores."""
        digest = hashlib.sha256()
        for table in (self.flights, self.hotels, self.restaurants, self.attractions, self.legs):
            for row in table:
                digest.update(repr(tuple(getattr(row, f.name) for f in fields(row))).encode())
        digest.update(repr(sorted(self.states.items())).encode())
        return digest.hexdigest()

    @classmethod
    def load(cls, folder: Path, name: str | None = None) -> Database:
        """Read a database folder. Raises StarlabError naming the file, the row and the column that is wrong."""
        cities_path = folder / _CITIES
        if not cities_path.is_file():
            raise StarlabError(f"{cities_path}: no such file; a line is `city<TAB>state`")
        pairs = [line.split("\t") for line in cities_path.read_text(encoding="utf-8").splitlines() if line]
        if bad := next((number for number, pair in enumerate(pairs, 1) if len(pair) != 2), None):
            raise StarlabError(f"{cities_path}:{bad}: expected `city<TAB>state`")
        return cls(
            name=name or folder.name,
            states={state: tuple(c for c, _ in group) for state, group in _by(pairs, lambda p: p[1]).items()},
            flights=_read(folder / "clean_Flights_2022.csv", _flight),
            hotels=_read(folder / "clean_accommodations_2022.csv", _hotel),
            restaurants=_read(folder / "clean_restaurant_2022.csv", _restaurant),
            attractions=_read(folder / "attractions.csv", _attraction),
            legs=_read(folder / "distance.csv", _leg, keep_gaps=True),
        )

    def save(self, folder: Path) -> None:
        """Write the database in the official schema; `load` gives it back."""
        (folder / "background").mkdir(parents=True, exist_ok=True)
        lines = [f"{city}\t{state}" for state, cities in self.states.items() for city in cities]
        (folder / _CITIES).write_text("\n".join(lines) + "\n", encoding="utf-8")
        _write(
            folder / "clean_Flights_2022.csv",
            ("Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate", "OriginCityName",
             "DestCityName", "Distance"),
            ((f.number, f.price, f.departure_time, f.arrival_time, f.elapsed, f.date, f.origin, f.destination,
              f.distance) for f in self.flights),
        )  # fmt: skip
        _write(
            folder / "clean_accommodations_2022.csv",
            _HOTEL_COLUMNS,
            ((h.name, h.room_type, h.price, h.minimum_nights, h.review, h.house_rules, h.maximum_occupancy, h.city)
             for h in self.hotels),
        )  # fmt: skip
        _write(
            folder / "clean_restaurant_2022.csv",
            ("Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"),
            ((r.name, r.city, ", ".join(r.cuisines), r.average_cost, r.rating) for r in self.restaurants),
        )
        _write(
            folder / "attractions.csv",
            ("Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"),
            ((a.name, a.latitude, a.longitude, a.address, a.phone, a.website, a.city) for a in self.attractions),
        )
        _write(
            folder / "distance.csv",
            ("origin", "destination", "cost", "duration", "distance"),
            ((leg.origin, leg.destination, "", leg.duration or "", leg.distance or "") for leg in self.legs),
        )


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
