"""Plans: from the JSON text of an answer to typed days, and back.

Shape and meaning are kept apart. A text that is not a JSON list of days with known fields is `Unparseable`,
with one reason. A field inside a day whose value cannot be read ("Train, from A to B", a meal without a city,
a number) becomes `Unread` and fails the checks that need it: nothing is skipped, and nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..errors import nearest

FIELDS = (
    "day", "current_city", "transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation",
)  # fmt: skip
"""The fields of a day, in the order in which a plan lists them."""
MEALS = ("breakfast", "lunch", "dinner")
EMPTY = "-"


@dataclass(frozen=True, slots=True)
class Unread:
    """A field that is filled with something that cannot be read; `text` is the field as written."""

    text: str
    reason: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Stay:
    """A whole day in one city."""

    city: str

    def __str__(self) -> str:
        return self.city


@dataclass(frozen=True, slots=True)
class Move:
    """A day that starts in one city and ends in another."""

    origin: str
    destination: str

    def __str__(self) -> str:
        return f"from {self.origin} to {self.destination}"


@dataclass(frozen=True, slots=True)
class FlightRide:
    """`details` is the official suffix (times, duration, ...) as written: for people, never scored."""

    number: str
    origin: str
    destination: str
    details: str = ""

    def __str__(self) -> str:
        return f"Flight Number: {self.number}, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class Drive:
    origin: str
    destination: str
    details: str = ""

    def __str__(self) -> str:
        return f"Self-driving, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class Taxi:
    origin: str
    destination: str
    details: str = ""

    def __str__(self) -> str:
        return f"Taxi, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class Place:
    """A venue: a name that is unique in its city."""

    name: str
    city: str

    def __str__(self) -> str:
        return f"{self.name}, {self.city}"


Ride = FlightRide | Drive | Taxi
Where = Stay | Move | Unread
Venue = Place | Unread


@dataclass(frozen=True, slots=True)
class Day:
    """One day. None marks an empty slot; `missing` names the fields that the day does not have at all."""

    number: int | Unread
    where: Where
    ride: Ride | Unread | None = None
    breakfast: Venue | None = None
    attractions: tuple[Venue, ...] = ()
    lunch: Venue | None = None
    dinner: Venue | None = None
    accommodation: Venue | None = None
    missing: tuple[str, ...] = ()

    def meals(self) -> tuple[tuple[str, Venue], ...]:
        """The meals that are filled: (slot, venue) in the order of the day."""
        meals = zip(MEALS, (self.breakfast, self.lunch, self.dinner), strict=True)
        return tuple((slot, venue) for slot, venue in meals if venue is not None)

    def filled(self) -> int:
        """How many of the six slots are filled."""
        others = (self.ride is not None) + bool(self.attractions) + (self.accommodation is not None)
        return len(self.meals()) + others


@dataclass(frozen=True, slots=True)
class Plan:
    days: tuple[Day, ...]


@dataclass(frozen=True, slots=True)
class Unparseable:
    """Why a text is not a plan."""

    reason: str


class _Malformed(ValueError):
    """JSON that the `json` module would accept although a reader could take it in two ways."""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _Malformed("a field is given twice in one object")
    return result


def _no_constant(name: str) -> NoReturn:
    raise _Malformed(f"{name} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def parse(text: str) -> Plan | Unparseable:
    """Read the text of an answer: JSON and nothing around it. Never raises."""
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        return Unparseable(f"not JSON: {error.msg} at character {error.pos}")
    except (ValueError, RecursionError) as error:
        return Unparseable(f"not JSON: {error}")
    return from_json(value)


def from_json(value: object) -> Plan | Unparseable:
    """Read a plan from decoded JSON: a list with one object a day. Never raises."""
    if not isinstance(value, list):
        return Unparseable("a plan is a list of days")
    if not value:
        return Unparseable("the plan has no days")
    days = []
    for position, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            return Unparseable(f"entry {position} is not an object with the fields of a day")
        if unknown := [key for key in row if key not in FIELDS]:
            hint = nearest(str(unknown[0]), FIELDS)
            return Unparseable(f"entry {position} has an unknown field {unknown[0]!r}: {hint}")
        days.append(_day(row))
    return Plan(tuple(days))


def to_json(plan: Plan) -> list[dict[str, Any]]:
    """The inverse of `from_json`, with every field present and in the order of `FIELDS`."""
    return [
        {
            "day": day.number if isinstance(day.number, int) else str(day.number),
            "current_city": str(day.where),
            "transportation": _text(day.ride),
            "breakfast": _text(day.breakfast),
            "attraction": "".join(f"{venue};" for venue in day.attractions) or EMPTY,
            "lunch": _text(day.lunch),
            "dinner": _text(day.dinner),
            "accommodation": _text(day.accommodation),
        }
        for day in plan.days
    ]


def render(plan: Plan) -> str:
    """The text of an answer; `parse` gives the plan back."""
    return json.dumps(to_json(plan), ensure_ascii=False)


def _text(value: Ride | Venue | None) -> str:
    return EMPTY if value is None else str(value)


def _day(row: Mapping[str, object]) -> Day:
    number = row.get("day")
    return Day(
        number=number if type(number) is int else Unread(_as_text(number), "the day is not a whole number"),
        where=_where(row.get("current_city")),
        ride=_ride(row.get("transportation", EMPTY)),
        breakfast=_venue(row.get("breakfast", EMPTY)),
        attractions=_attractions(row.get("attraction", EMPTY)),
        lunch=_venue(row.get("lunch", EMPTY)),
        dinner=_venue(row.get("dinner", EMPTY)),
        accommodation=_venue(row.get("accommodation", EMPTY)),
        missing=tuple(name for name in FIELDS if name not in row),
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _not_text(value: object) -> Unread:
    return Unread(_as_text(value), "the value is not text")


def _where(value: object) -> Where:
    if not isinstance(value, str):
        return _not_text(value)
    if value in ("", EMPTY):
        return Unread(value, "the day has no city")
    if not value.startswith("from "):
        return Stay(value)
    origin, to, destination = value.removeprefix("from ").partition(" to ")
    if not to or not origin or not destination:
        return Unread(value, "a day between cities is written 'from A to B'")
    return Move(origin, destination)


_FLIGHT, _DRIVE, _TAXI = "Flight Number: ", "Self-driving", "Taxi"
_MODES = "'Flight Number: X, from A to B', 'Self-driving, from A to B' or 'Taxi, from A to B'"
_DETAIL = re.compile(
    r"(?:Departure Time|Arrival Time): \d{1,2}:\d{2}"
    r"|[Dd]uration: [^:;,]+"
    r"|[Dd]istance: \d[\d,.]* (?:km|miles)"
    r"|[Cc]ost: \$?\d[\d,]*(?:\.\d+)?"
)


def _ride(value: object) -> Ride | Unread | None:
    """Read a ride. Only the enumerated modes exist; every other wording is `Unread`."""
    if not isinstance(value, str):
        return _not_text(value)
    if value in ("", EMPTY):
        return None
    mode, separator, route = value.partition(", from ")
    origin, to, rest = route.partition(" to ")
    destination, comma, details = rest.partition(", ")
    if not (separator and to and origin and destination):
        return Unread(value, f"a ride is written {_MODES}")
    if comma and not all(_DETAIL.fullmatch(detail) for detail in details.split(", ")):
        return Unread(value, "after the cities come times, duration, distance or cost, or nothing")
    suffix = comma + details
    if mode == _DRIVE:
        return Drive(origin, destination, suffix)
    if mode == _TAXI:
        return Taxi(origin, destination, suffix)
    number = mode.removeprefix(_FLIGHT)
    if number == mode or not number or "," in number:
        return Unread(value, f"a ride is written {_MODES}")
    return FlightRide(number, origin, destination, suffix)


def _place(text: str) -> Venue:
    name, comma, city = text.rpartition(", ")
    if not comma or not name or not city:
        return Unread(text, "a venue is written 'Name, City'")
    return Place(name, city)


def _venue(value: object) -> Venue | None:
    if not isinstance(value, str):
        return _not_text(value)
    return None if value in ("", EMPTY) else _place(value)


def _attractions(value: object) -> tuple[Venue, ...]:
    """Every attraction of a list "X, A;Y, A;". The last counts with and without its `;`."""
    if not isinstance(value, str):
        return (_not_text(value),)
    if value in ("", EMPTY):
        return ()
    return tuple(_place(piece.strip(" ")) for piece in value.removesuffix(";").split(";"))
