"""Reading plans as text, the way the official evaluators do, whatever JSON they are.

Nothing is refused here: a name is what stands before the last comma, a city what stands behind it, a mode of transport
a word that occurs, and what holds none of these is passed over. A value at which the official code stops becomes
`Unread`, or `Broken` where it stops even the checks that only compare texts. `rules.py` has the differences.
"""

from __future__ import annotations

import re

from .parsing import as_text
from .plan import (
    EMPTY,
    FIELDS,
    Broken,
    BrokenRide,
    HalfMove,
    Mention,
    Move,
    Plan,
    Stay,
    Unread,
    Venue,
    Where,
    WrittenDay,
    WrittenRide,
)
from .rules import Mode, TextReading, Words

_ROUTE = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)")
_NUMBER = "Flight Number: "
NOT_TEXT = "the value is not text"


def read(value: object, rules: TextReading) -> Plan:
    """The days of any JSON value. Never raises.

    An empty text or object has no days, as an empty list; the characters of a text are days that are no objects.
    """
    if isinstance(value, dict) and value:
        return Plan((), "the plan is an object, not a list of days")
    if not isinstance(value, list | str | dict):
        return Plan((), f"the plan is not a list of days but {as_text(value)}")
    return Plan(tuple(_day(number, row, rules) for number, row in enumerate(value, start=1)))


def venue(text: str, rules: TextReading) -> Mention:
    """Name and city of "Name, City": what stands on both sides of the last comma; "-" and "-" where there is none."""
    before, comma, city = text.rpartition(",")
    if not comma or not city:
        return Mention(text, EMPTY, EMPTY)
    # a name does not go over a line break
    return Mention(text, before.rpartition("\n")[2].strip(), in_state(city.strip(), rules).strip())


def in_state(city: str, rules: TextReading) -> str:
    """The city without what is in brackets behind it, where the rule book drops it."""
    if not rules.drops_state:
        return city
    name, bracket, rest = city.partition("(")
    return name if bracket and ")" in rest and "\n" not in name else city


def route(text: str) -> tuple[str, str] | None:
    """The cities of a text with "from A to B" in it, as written."""
    match = _ROUTE.search(text)
    return (match[1], match[2]) if match else None


def _day(number: int, row: object, rules: TextReading) -> WrittenDay:
    if not isinstance(row, dict):
        return _no_object(number, row, rules)
    return WrittenDay(
        number=number,
        where=_where(row, rules),
        ride=_ride(row, rules),
        breakfast=_venue(row.get("breakfast"), rules),
        attractions=_attractions(row.get("attraction"), rules),
        lunch=_venue(row.get("lunch"), rules),
        dinner=_venue(row.get("dinner"), rules),
        accommodation=_venue(row.get("accommodation"), rules),
        missing=tuple(name for name in FIELDS if name not in row),
        written=row,
    )


def _no_object(number: int, row: object, rules: TextReading) -> WrittenDay:
    """A day that stops every check; or one that lacks all fields but those whose names the text or list contains."""
    fault = Broken(as_text(row), "the day is not an object")
    absent: tuple[str, ...] = ()
    if rules.empty_for_no_object and isinstance(row, list | str):
        absent = tuple(name for name in FIELDS if name not in row)
    found = {name: None if name in absent else fault for name in FIELDS}
    return WrittenDay(
        number=number,
        where=fault,
        ride=found["transportation"],
        breakfast=found["breakfast"],
        attractions=() if "attraction" in absent else (fault,),
        lunch=found["lunch"],
        dinner=found["dinner"],
        accommodation=found["accommodation"],
        missing=absent,
    )


def _filled(value: object) -> bool:
    return bool(value) and value != EMPTY


def _where(row: dict[str, object], rules: TextReading) -> Where:
    if "current_city" not in row:
        return Unread("", "the day has no current_city")
    value = row["current_city"]
    if not isinstance(value, str):
        return Unread(as_text(value), NOT_TEXT)
    if "from" not in value:
        return Stay(in_state(value, rules))
    cities = route(value)
    if cities is None:
        return HalfMove(value, "a day between cities is written 'from A to B'")
    return Move(in_state(cities[0], rules), in_state(cities[1], rules))


def _venue(value: object, rules: TextReading) -> Venue | None:
    if not _filled(value):
        return None
    return venue(value, rules) if isinstance(value, str) else Unread(as_text(value), NOT_TEXT, _parts(value))


def _parts(value: object) -> tuple[str, ...]:
    return tuple(part for part in value if isinstance(part, str)) if isinstance(value, list | dict) else ()


def _attractions(value: object, rules: TextReading) -> tuple[Venue, ...]:
    if not _filled(value):
        return ()
    if not isinstance(value, str):
        return (Broken(as_text(value), NOT_TEXT),)
    return tuple(venue(piece, rules) for piece in value.split(";")[:-1])


def _ride(row: dict[str, object], rules: TextReading) -> WrittenRide | Unread | None:
    value = row.get("transportation")
    if not _filled(value):
        return None
    if not isinstance(value, str):
        named = None
        if rules.named is not None and isinstance(value, list | dict):
            named = frozenset(mode for word, mode in rules.named if word in value)
        return BrokenRide(as_text(value), NOT_TEXT, _parts(value), named)
    cities, fault = route(value), None
    if cities is None:
        where = row.get("current_city")
        if isinstance(where, str):
            cities = route(where)
        else:
            fault = "neither the text nor current_city names two cities"
    origin, destination = (in_state(city, rules) for city in cities) if cities else (None, None)
    mixing = _mode(value, rules.mixing, rules)
    number = value.split(_NUMBER)[1].split(",")[0] if _NUMBER in value else None
    return WrittenRide(
        text=value,
        origin=origin,
        destination=destination,
        mode=mixing,
        proof=_mode(value, rules.proof, rules),
        named=_named(value, mixing, rules),
        number=number,
        fault=fault,
    )


def _mode(text: str, words: Words, rules: TextReading) -> Mode | None:
    lowered = text.lower()
    return next((mode for word, mode in words if word in lowered), rules.otherwise)


def _named(text: str, mode: Mode | None, rules: TextReading) -> frozenset[Mode]:
    if rules.named is None:
        return frozenset({mode} if mode else ())
    return frozenset(mode for word, mode in rules.named if word in text)
