"""The compact rendering of tool results: the miniature world's wording.

A row lists its attributes first and its name last, so that matching an attribute and copying the name are neighbouring
steps; rows come cheapest first. The wording of an attribute is the same in a query and in a row ("entire room, "), ends
with its separator, and is one token of the tiny tokenizer: matching is copying. Rows say what a hotel allows, not what
it forbids.
"""

from __future__ import annotations

from collections.abc import Iterable

from .database import Attraction, Flight, Hotel, Leg, Restaurant
from .query import HOUSE_RULES, LocalConstraint

NO_RESULT = "No result."

RULE_WORDS = {
    "smoking": "smoking ok, ",
    "parties": "parties ok, ",
    "children under 10": "children ok, ",
    "pets": "pets ok, ",
    "visitors": "visitors ok, ",
}
ROOM_WORDS = {
    "Entire home/apt": "entire room, ",
    "Private room": "private room, ",
    "Shared room": "shared room, ",
}
ROOM_REQUESTS = {
    "entire room": "entire room, ",
    "private room": "private room, ",
    "shared room": "shared room, ",
    "not shared room": "private room, or entire room, ",
}
TRANSPORTATION_WORDS = {"no flight": "no flight, ", "no self-driving": "no self-driving, "}


def allowed_rules(house_rules: str) -> tuple[str, ...]:
    """The house rules' subjects that a hotel allows: those that its text does not forbid with "No ...". """
    return tuple(rule for rule in HOUSE_RULES if f"No {rule}" not in house_rules)


def cuisine_words(cuisines: Iterable[str]) -> str:
    return "".join(f"{cuisine}, " for cuisine in cuisines)


def constraint_words(constraint: LocalConstraint) -> str:
    """The attributes a query asks for, in the words that tool results use; empty when nothing is asked."""
    words = []
    if constraint.transportation:
        words.append(TRANSPORTATION_WORDS[constraint.transportation])
    if constraint.house_rule:
        words.append(RULE_WORDS[constraint.house_rule])
    if constraint.room_type:
        words.append(ROOM_REQUESTS[constraint.room_type])
    if constraint.cuisine:
        words.append(cuisine_words(constraint.cuisine))
    return "".join(words)


def _price(dollars: float) -> str:
    return f"\n${dollars:g}, "


def hotels(rows: Iterable[Hotel]) -> str:
    return "".join(
        _price(hotel.price)
        + f"sleeps {hotel.maximum_occupancy}, "
        + (f"{hotel.minimum_nights:g}+ nights, " if hotel.minimum_nights > 1 else "")
        + "".join(RULE_WORDS[rule] for rule in allowed_rules(hotel.house_rules))
        + ROOM_WORDS[hotel.room_type]
        + hotel.name
        for hotel in sorted(rows, key=lambda hotel: hotel.price)
    )


def restaurants(rows: Iterable[Restaurant]) -> str:
    return "".join(
        _price(row.average_cost) + cuisine_words(row.cuisines) + row.name
        for row in sorted(rows, key=lambda row: row.average_cost)
    )


def attractions(rows: Iterable[Attraction]) -> str:
    return "".join(f"\n{row.name}" for row in rows)


def flights(rows: Iterable[Flight]) -> str:
    return "".join(_price(row.price) + row.number for row in sorted(rows, key=lambda row: row.price))


def cities(names: Iterable[str]) -> str:
    return "".join(f"\n{name}" for name in names)


def leg(row: Leg, mode: str) -> str:
    """`mode` is "taxi" or anything else for a drive."""
    cost = row.taxi_cost if mode == "taxi" else row.driving_cost
    return NO_RESULT if cost is None else _price(cost) + mode
