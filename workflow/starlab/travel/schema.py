"""The official tables as data: files, columns, and how a cell becomes a value and back.

The files are those that Agent-STAR reads, all in one folder; TravelPlanner keeps the same files in sub-folders.
Reading and writing, of the official tables and of the miniature ones, all go by these descriptions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import date as Date
from typing import Any, Generic, TypeVar

from .rows import Attraction, Flight, Hotel, Leg, Restaurant

R = TypeVar("R")

GAPS = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
"""Cells that hold nothing: what pandas, with which the official code reads its tables, takes for missing."""


def whole(text: str) -> int:
    """An integer, also when written like "69.0". Raises ValueError saying what is wrong."""
    value = number(text)
    if value != int(value):
        raise ValueError("not a whole number")
    if abs(value) > 2**53:
        raise ValueError("too large")
    return int(value)


def number(text: str) -> float:
    """A finite number. Raises ValueError saying what is wrong."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError("not a number")
    if math.isinf(value):
        raise ValueError("not a finite number")
    return value


def date(text: str) -> str:
    """A date, YYYY-MM-DD, as it is written. Raises ValueError for another text."""
    try:
        written = Date.fromisoformat(text).isoformat()
    except ValueError:
        written = ""
    if written != text:
        raise ValueError("not a date like 2022-03-16")
    return text


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _known(text: str) -> str | None:
    return None if text in GAPS else text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file. `field` is the attribute of the row; None: written empty and never read."""

    header: str
    field: str | None
    read: Callable[[str], Any] = str
    write: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Table(Generic[R]):
    """A file of rows of type `row`; `columns` in the order in which they are written."""

    file: str
    folder: str
    """The sub-folder where TravelPlanner's own layout keeps it."""
    row: type[R]
    columns: tuple[Column, ...]
    keeps_gaps: bool = False
    """Whether a row with an empty cell stays; the official loaders drop it from all tables but the roads."""

    def by_field(self) -> tuple[Column, ...]:
        """The columns that are read, in the order of the row's fields."""
        named = {column.field: column for column in self.columns}
        return tuple(named[field.name] for field in fields(self.row))  # type: ignore[arg-type]


FLIGHTS = Table(
    "clean_Flights_2022.csv",
    "flights",
    Flight,
    (
        Column("Flight Number", "number"),
        Column("Price", "price", whole),
        Column("DepTime", "departure_time"),
        Column("ArrTime", "arrival_time"),
        Column("ActualElapsedTime", "elapsed"),
        Column("FlightDate", "date", date),
        Column("OriginCityName", "origin"),
        Column("DestCityName", "destination"),
        Column("Distance", "distance", number),
    ),
)
HOTELS = Table(
    "clean_accommodations_2022.csv",
    "accommodations",
    Hotel,
    (
        Column("NAME", "name"),
        Column("room type", "room_type"),
        Column("price", "price", number),
        Column("minimum nights", "minimum_nights", number),
        Column("review rate number", "review", number),
        Column("house_rules", "house_rules"),
        Column("maximum occupancy", "maximum_occupancy", whole),
        Column("city", "city"),
    ),
)
RESTAURANTS = Table(
    "clean_restaurant_2022.csv",
    "restaurants",
    Restaurant,
    (
        Column("Name", "name"),
        Column("City", "city"),
        Column("Cuisines", "cuisines", _listed, ", ".join),
        Column("Average Cost", "average_cost", whole),
        Column("Aggregate Rating", "rating", number),
    ),
)
ATTRACTIONS = Table(
    "attractions.csv",
    "attractions",
    Attraction,
    (
        Column("Name", "name"),
        Column("Latitude", "latitude"),
        Column("Longitude", "longitude"),
        Column("Address", "address"),
        Column("Phone", "phone"),
        Column("Website", "website"),
        Column("City", "city"),
    ),
)
ROADS = Table(
    "distance.csv",
    "googleDistanceMatrix",
    Leg,
    (
        Column("origin", "origin"),
        Column("destination", "destination"),
        Column("cost", None),
        Column("duration", "duration", _known, lambda value: value or ""),
        Column("distance", "distance", _known, lambda value: value or ""),
    ),
    keeps_gaps=True,
)
CITIES = "background/citySet_with_states.txt"
"""Lines of `city<TAB>state`."""
