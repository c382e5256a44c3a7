"""The travel database: every table of one world, with look-ups that cost a dictionary access.

The official TravelPlanner tables and the miniature ones load through the same code. `rows.py` has the types of rows,
`schema.py` the files and columns, `flights.py` and `flightfile.py` the table that is large.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ..errors import StarlabError
from . import csvfile, flightfile
from .flights import FlightTable
from .rows import Attraction, Flight, Hotel, Leg, Restaurant
from .schema import ATTRACTIONS, CITIES, FLIGHTS, HOTELS, RESTAURANTS, ROADS

__all__ = ["Attraction", "Database", "Flight", "FlightTable", "Hotel", "Leg", "Restaurant"]

K = TypeVar("K")
T = TypeVar("T")


def _by(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, tuple[T, ...]]:
    groups: defaultdict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return {k: tuple(v) for k, v in groups.items()}


@dataclass(frozen=True)
class Database:
    """All tables of one world, in file order."""

    name: str
    states: Mapping[str, tuple[str, ...]]
    flights: Sequence[Flight]
    hotels: Sequence[Hotel]
    restaurants: Sequence[Restaurant]
    attractions: Sequence[Attraction]
    legs: Sequence[Leg]

    @cached_property
    def flight_table(self) -> FlightTable:
        """The flights with their look-ups by column."""
        return self.flights if isinstance(self.flights, FlightTable) else FlightTable.of(self.flights)

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

    @cached_property
    def names(self) -> Mapping[str, frozenset[str]]:
        """The names that venues have anywhere, by the tool that lists them."""
        tables: Mapping[str, Sequence[Hotel | Restaurant | Attraction]] = {
            "SearchAccommodation": self.hotels,
            "SearchRestaurant": self.restaurants,
            "SearchAttraction": self.attractions,
        }
        return {tool: frozenset(row.name for row in rows) for tool, rows in tables.items()}

    def state_of(self, city: str) -> str | None:
        return self._state_of.get(city)

    def flights_on(self, origin: str, destination: str, date: str) -> tuple[Flight, ...]:
        return self.flight_table.on(origin, destination, date)

    def flight(self, number: str) -> tuple[Flight, ...]:
        """Every flight of that number: one in the official tables, one a route and date in the miniature ones."""
        return self.flight_table.numbered(number)

    def dates(self, origin: str, destination: str) -> tuple[str, ...]:
        """The dates on which at least one flight goes, sorted."""
        return self.flight_table.dates(origin, destination)

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
        for part in self.flight_table.prints():
            digest.update(part)
        for table in (self.hotels, self.restaurants, self.attractions, self.legs):
            for row in table:
                digest.update(repr(tuple(getattr(row, f.name) for f in fields(row))).encode())
        digest.update(repr(sorted(self.states.items())).encode())
        return digest.hexdigest()

    @classmethod
    def load(cls, folder: Path, name: str | None = None) -> Database:
        """Read a database folder, in Agent-STAR's flat layout or in TravelPlanner's.

        Raises StarlabError naming the file, and the row and the column where it is one of these that is wrong.
        """
        return cls(
            name=name or folder.name,
            states=_states(folder / CITIES),
            flights=flightfile.load(folder),
            hotels=csvfile.read(folder, HOTELS),
            restaurants=csvfile.read(folder, RESTAURANTS),
            attractions=csvfile.read(folder, ATTRACTIONS),
            legs=csvfile.read(folder, ROADS),
        )

    def save(self, folder: Path) -> None:
        """Write the database in the official schema, with the columns that make loading fast; `load` gives it back."""
        cities = folder / CITIES
        cities.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{city}\t{state}" for state, names in self.states.items() for city in names]
        cities.write_text("\n".join(lines) + "\n", encoding="utf-8")
        csvfile.write(folder, FLIGHTS, self.flights)
        flightfile.store(self.flight_table, folder / FLIGHTS.file)
        csvfile.write(folder, HOTELS, self.hotels)
        csvfile.write(folder, RESTAURANTS, self.restaurants)
        csvfile.write(folder, ATTRACTIONS, self.attractions)
        csvfile.write(folder, ROADS, self.legs)


def _states(path: Path) -> dict[str, tuple[str, ...]]:
    """The cities of every state, in file order. Raises StarlabError naming the file and the line."""
    try:
        lines = path.read_text(encoding=csvfile.ENCODING).splitlines()
    except OSError as error:
        raise StarlabError(f"{path}: cannot read the cities ({error.strerror}); a line is `city<TAB>state`") from None
    except UnicodeDecodeError as error:
        raise StarlabError(f"{path}: not UTF-8 ({error.reason})") from None
    pairs = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line]
    for number, pair in pairs:
        if len(pair) != 2 or not all(pair):
            raise StarlabError(f"{path}:{number}: expected `city<TAB>state`, found {'<TAB>'.join(pair)[:80]!r}")
    if not pairs:
        raise StarlabError(f"{path}: no cities; a line is `city<TAB>state`")
    return {state: tuple(city for city, _ in group) for state, group in _by((p for _, p in pairs), _state).items()}


def _state(pair: Sequence[str]) -> str:
    return pair[1]
