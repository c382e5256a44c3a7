"""The rule books: in what the official evaluators and ours differ, as data.

There is one implementation of the checks (`commonsense.py`, `hard.py`, `cost.py`). What a rule book decides is how a
plan is read and which of a check's conditions count; every such decision is one field of `RuleBook`, and the four
books below give its value. Read `STRICT` first: it is the default, the one that rewards are paid by.

`TRAVELPLANNER` is OSU-NLP-Group/TravelPlanner, `evaluation/`, at commit da7c1d4; `AGENTSTAR` is WxxShirley/Agent-STAR,
`Inference/`, at commit 1f097c2, and `AGENTSTAR_RELAXED` the same with RELAX_BREAKFAST=true. Where their code stops
with an exception, the verdict is false with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from ..errors import StarlabError, nearest


class Mode(StrEnum):
    """How people get from one city to another."""

    FLIGHT = "flight"
    TAXI = "taxi"
    CAR = "self-driving"


class Location(StrEnum):
    """When a venue lies in a city."""

    CITY = "city"
    """Its city is that city."""
    MENTION = "mention"
    """Its text contains the name of the city."""
    LETTERS = "letters"
    """The same on days between cities; on a day in one city, its text contains any letter of the name."""


class Asked(StrEnum):
    """When a query asks for a local constraint."""

    FILLED = "filled"
    """It has a value that is not empty."""
    NOT_NULL = "not null"
    """It has a value, if an empty one; a query without the key stops the check. (Cuisines: as `FILLED`.)"""


Words = tuple[tuple[str, Mode], ...]
"""A word and the mode it stands for, in the order in which words are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReading:
    """How the official evaluators read a plan: as text in which words and names are searched for (`wording.py`).

    A mode of transport is told by the first of some words that the text contains, in any case of letters.
    """

    drops_state: bool
    """Whether "Dallas(Texas)" is read as Dallas; otherwise it is an unknown city."""
    mixing: Words
    """Which mode counts for modes that do not go together."""
    proof: Words
    """Which mode is looked up and paid for."""
    named: Words | None
    """The words, in this case of letters, that stand for an excluded mode; None: the mode that `mixing` tells."""
    otherwise: Mode | None
    """The mode of a text with none of the words; None: no mode, which is neither looked up nor paid for."""
    empty_for_no_object: bool
    """Whether a text or list in place of a day is taken for an empty day; otherwise it stops the checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """One way to judge a plan."""

    name: str
    gates: frozenset[str] = frozenset({"is_not_absent", "is_valid_information_in_sandbox"})
    """The commonsense checks that have to hold before hard ones count."""

    # -- reading ---------------------------------------------------------------------------------
    text: TextReading | None
    """How fields are read as text. None: into types (`parsing.py`), where what has none of the known forms is unread
    and fails the checks that need it, and "Dallas(Texas)" is Dallas if Texas is its state."""
    days_after_the_trip: bool
    """Whether days beyond the query's are looked at."""

    # -- evidence --------------------------------------------------------------------------------
    parts_of_names: bool
    """Whether a part of a venue's name is enough, and the first row counts; otherwise the whole name is needed, and
    where rows share a name the least favourable value of each column counts."""
    flight_date: bool
    """Whether a flight has to go on the day's date. Where not, its fare is that of the first row of its number."""
    skips_unproved: bool
    """Whether a venue without a row is passed over by the checks of nights, rooms and cost, and free."""
    stops_without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Check -> the fields of a day without which the official code stops."""

    # -- conditions ------------------------------------------------------------------------------
    walked_route: bool
    """Whether every change of city has to be a move, from leaving home on the first day to being back on the last, and
    a trip of three days has to lead to the destination itself."""
    rides: Literal["every move", "first day"]
    """Which days need a ride."""
    location: Location
    idle_rides: bool
    """Whether a ride may stand on a day in one city, if it names the city."""
    empty_ride_names_no_city: bool = False
    """Whether "" as transportation fails for not naming the day's cities."""
    no_city_is_anywhere: bool = False
    """Whether a day without `current_city` lets its venues lie anywhere."""
    half_moves: bool = False
    """Whether "from A" without "to B" is one city more, in which nothing lies; otherwise it stops the checks."""
    null_hotel_stops: bool = False
    """Whether null as accommodation stops the check of minimum nights."""
    numbered_days: bool
    """Whether days have to be numbered 1, 2, 3, ..."""
    city_count_starts_at_home: bool
    """Whether the number of cities counts only for a trip that leaves the query's origin."""
    nameless_days: bool
    """Whether a day with an empty `current_city` counts as a day."""
    sights_optional: tuple[str, ...]
    """Words in `current_city` that excuse a day from sights (typed plans: a move does)."""
    breakfast_free: frozenset[str] = frozenset()
    """The checks that leave breakfast out."""
    asked: Asked
    cuisines_need_meals: bool = False
    """Whether a day without the field of a meal stops the check of cuisines."""
    meal_at_home_ends_the_day: bool = False
    """Whether a meal in the query's origin hides the later meals of that day from the check of cuisines."""
    counts_cuisines: bool = False
    """Whether cuisines are counted, so that one that is asked for twice leaves the check without a result."""


STRICT = RuleBook(
    name="strict",
    text=None,
    days_after_the_trip=True,
    parts_of_names=False,
    flight_date=True,
    skips_unproved=False,
    walked_route=True,
    rides="every move",
    location=Location.CITY,
    idle_rides=False,
    numbered_days=True,
    city_count_starts_at_home=False,
    nameless_days=False,
    sights_optional=(),
    asked=Asked.FILLED,
)

TRAVELPLANNER = RuleBook(
    name="travelplanner",
    text=TextReading(
        drops_state=True,
        mixing=(("taxi", Mode.TAXI), ("self-driving", Mode.CAR), ("flight", Mode.FLIGHT)),
        proof=(("flight number", Mode.FLIGHT), ("self-driving", Mode.CAR), ("taxi", Mode.TAXI)),
        named=(("Flight", Mode.FLIGHT), ("Self-driving", Mode.CAR)),
        otherwise=None,
        empty_for_no_object=True,
    ),
    days_after_the_trip=False,
    parts_of_names=True,
    flight_date=False,
    skips_unproved=True,
    stops_without=MappingProxyType(
        {
            "is_valid_accommodation": ("accommodation",),
            "is_valid_information_in_sandbox": ("transportation",),
            "valid_cost": ("transportation", "breakfast", "lunch", "dinner", "accommodation"),
            "valid_room_rule": ("accommodation",),
            "valid_room_type": ("accommodation",),
            "valid_transportation": ("transportation",),
        }
    ),
    walked_route=False,
    rides="first day",
    location=Location.LETTERS,
    idle_rides=True,
    null_hotel_stops=True,
    numbered_days=False,
    city_count_starts_at_home=True,
    nameless_days=True,
    sights_optional=("from ", " to "),
    asked=Asked.NOT_NULL,
    cuisines_need_meals=True,
    meal_at_home_ends_the_day=True,
    counts_cuisines=True,
)

AGENTSTAR = RuleBook(
    name="agentstar",
    text=TextReading(
        drops_state=False,
        mixing=(("flight", Mode.FLIGHT), ("taxi", Mode.TAXI)),
        proof=(("flight", Mode.FLIGHT), ("taxi", Mode.TAXI)),
        named=None,
        otherwise=Mode.CAR,
        empty_for_no_object=False,
    ),
    days_after_the_trip=False,
    parts_of_names=True,
    flight_date=False,
    skips_unproved=True,
    stops_without=MappingProxyType({"is_valid_accommodation": ("accommodation",), "valid_cost": ("accommodation",)}),
    walked_route=False,
    rides="first day",
    location=Location.MENTION,
    idle_rides=True,
    empty_ride_names_no_city=True,
    no_city_is_anywhere=True,
    half_moves=True,
    numbered_days=False,
    city_count_starts_at_home=True,
    nameless_days=False,
    sights_optional=("from ",),
    asked=Asked.FILLED,
)

AGENTSTAR_RELAXED = replace(
    AGENTSTAR,
    name="agentstar-relaxed",
    breakfast_free=frozenset({"is_not_absent", "is_valid_information_in_sandbox", "is_valid_restaurants"}),
)

RULE_BOOKS: Mapping[str, RuleBook] = {book.name: book for book in (TRAVELPLANNER, AGENTSTAR, AGENTSTAR_RELAXED, STRICT)}


def rule_book(name: str) -> RuleBook:
    """The rule book of that name."""
    if name not in RULE_BOOKS:
        raise StarlabError(f"rules: unknown {name!r}; {nearest(name, RULE_BOOKS)}")
    return RULE_BOOKS[name]
