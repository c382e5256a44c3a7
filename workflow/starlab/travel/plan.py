"""Plans as typed days, and the JSON text of an answer.

`parsing.py` reads the forms listed here and nothing else; `wording.py` reads any JSON the way the official evaluators
do. Both give the types below, and the checks know no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .rules import Mode

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
    parts: tuple[str, ...] = ()
    """The texts of a list or the keys of an object, among which the official evaluators look for cities."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Broken(Unread):
    """A field at which the official code stops, so that every check which comes to it fails."""


@dataclass(frozen=True, slots=True)
class BrokenRide(Broken):
    """A transportation that is not text. `named`: as in `WrittenRide`, or None where the official code stops even at
    the question of excluded modes."""

    named: frozenset[Mode] | None = None


@dataclass(frozen=True, slots=True)
class HalfMove(Unread):
    """A day "from A" that does not say where to."""


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
    mode: ClassVar[Mode] = Mode.FLIGHT

    def __str__(self) -> str:
        return f"Flight Number: {self.number}, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class Drive:
    origin: str
    destination: str
    details: str = ""
    mode: ClassVar[Mode] = Mode.CAR

    def __str__(self) -> str:
        return f"Self-driving, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class Taxi:
    origin: str
    destination: str
    details: str = ""
    mode: ClassVar[Mode] = Mode.TAXI

    def __str__(self) -> str:
        return f"Taxi, from {self.origin} to {self.destination}{self.details}"


@dataclass(frozen=True, slots=True)
class WrittenRide:
    """A ride as the official evaluators read it: each of their questions has its own answer."""

    text: str
    origin: str | None
    destination: str | None
    """The cities; None where neither the text nor the day names two."""
    mode: Mode | None
    """For the modes that do not go together."""
    proof: Mode | None
    """What is looked up and paid for; None: nothing."""
    named: frozenset[Mode]
    """The modes that a query's "no flight" and "no self-driving" find in it."""
    number: str | None = None
    """The flight number; None where there is none in the official place."""
    fault: str | None = None
    """Why the official code stops when it looks for the cities."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Place:
    """A venue: a name that is unique in its city."""

    name: str
    city: str

    def __str__(self) -> str:
        return f"{self.name}, {self.city}"


@dataclass(frozen=True, slots=True)
class Mention:
    """A venue as the official evaluators read it. Two mentions are the same venue when their texts are the same."""

    text: str
    name: str
    city: str

    def __str__(self) -> str:
        return self.text


TypedRide = FlightRide | Drive | Taxi
Ride = TypedRide | WrittenRide
Where = Stay | Move | Unread
Venue = Place | Mention | Unread


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

    def blank(self, slot: str) -> bool:
        """Whether a slot is written as empty."""
        match slot:
            case "transportation":
                return self.ride is None
            case "attraction":
                return not self.attractions
            case _:
                return getattr(self, slot) is None

    def hollow(self, slot: str) -> bool:
        """Whether a slot holds something empty that is not "-"."""
        return False

    def says(self, words: tuple[str, ...]) -> bool:
        """Whether `current_city` says with one of `words` that the day is one of travel."""
        return isinstance(self.where, Move)

    def counts(self, nameless: bool) -> bool:
        """Whether this is a day of the trip; `nameless`: even if it says no city."""
        return True


@dataclass(frozen=True, slots=True)
class WrittenDay(Day):
    """A day as the official evaluators read it; `written` is its JSON object, {} where there is none."""

    written: Mapping[str, object] = field(default_factory=dict)

    def filled(self) -> int:
        """How many fields are filled, those that the official format does not have among them."""
        return sum(bool(value) and value != EMPTY for value in self.written.values())

    def blank(self, slot: str) -> bool:
        return self.written.get(slot) in ("", EMPTY)

    def hollow(self, slot: str) -> bool:
        return slot in self.written and not self.written[slot]

    def says(self, words: tuple[str, ...]) -> bool:
        text = self.written.get("current_city")
        return isinstance(text, str) and any(word in text for word in words)

    def counts(self, nameless: bool) -> bool:
        city = self.written.get("current_city")
        return city != UNFILLED and bool(self.written) and (nameless or bool(city))


UNFILLED = "You don't need to fill in the information for this or later days."
"""The text that marks days after the trip in TravelPlanner's annotation tool."""


@dataclass(frozen=True, slots=True)
class Plan:
    days: tuple[Day, ...]
    fault: str | None = None
    """Why the official code finds no days in it at all."""


@dataclass(frozen=True, slots=True)
class Unparseable:
    """Why a text is not a plan."""

    reason: str


def to_json(plan: Plan) -> list[dict[str, Any]]:
    """The inverse of `parsing.from_json`, with every field present and in the order of `FIELDS`."""
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
    """The text of an answer; `parsing.parse` gives the plan back."""
    return json.dumps(to_json(plan), ensure_ascii=False)


def _text(value: Ride | Venue | Unread | None) -> str:
    return EMPTY if value is None else str(value)
