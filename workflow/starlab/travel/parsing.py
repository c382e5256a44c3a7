"""Reading plans into types: from the JSON text of an answer to days of known forms.

Shape and meaning are kept apart. A text that is not a JSON list of days with known fields is `Unparseable`,
with one reason. A field inside a day whose value cannot be read ("Train, from A to B", a meal without a city,
a number) becomes `Unread` and fails the checks that need it: nothing is skipped, and nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..errors import nearest
from .plan import (
    EMPTY,
    FIELDS,
    Day,
    Drive,
    FlightRide,
    Move,
    Place,
    Plan,
    Stay,
    Taxi,
    TypedRide,
    Unparseable,
    Unread,
    Venue,
    Where,
)


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


def _day(row: Mapping[str, object]) -> Day:
    number = row.get("day")
    return Day(
        number=number if type(number) is int else Unread(as_text(number), "the day is not a whole number"),
        where=_where(row.get("current_city")),
        ride=_ride(row.get("transportation", EMPTY)),
        breakfast=_venue(row.get("breakfast", EMPTY)),
        attractions=_attractions(row.get("attraction", EMPTY)),
        lunch=_venue(row.get("lunch", EMPTY)),
        dinner=_venue(row.get("dinner", EMPTY)),
        accommodation=_venue(row.get("accommodation", EMPTY)),
        missing=tuple(name for name in FIELDS if name not in row),
    )


def as_text(value: object) -> str:
    """A field as a person wrote it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError, TypeError):
        return f"<{type(value).__name__}>"


def _not_text(value: object) -> Unread:
    return Unread(as_text(value), "the value is not text")


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


def _ride(value: object) -> TypedRide | Unread | None:
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
    """Every attraction of a list "X, A;Y, A;". The last counts with and without its `;`, and spaces around it."""
    if not isinstance(value, str):
        return (_not_text(value),)
    if value in ("", EMPTY):
        return ()
    return tuple(_place(piece.strip(" ")) for piece in value.strip(" ").removesuffix(";").split(";"))
