"""The compact rendering: the miniature world's wording of tool results and of wishes.

A row lists its attributes first and its name last, so that weighing an attribute and copying the name are
neighbouring steps; hotels and restaurants come cheapest first. Every attribute is one token of the tiny tokenizer and
ends with its separator. Rows say what a hotel allows, not what it forbids. A query asks in words of its own ("with
pets, " for rows with "pets ok, "): what is wanted can be told from what is on offer by the token alone
(docs/tuning.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
RULE_REQUESTS = {
    "smoking": "with smoking, ",
    "parties": "with parties, ",
    "children under 10": "with children under 10, ",
    "pets": "with pets, ",
    "visitors": "with visitors, ",
}
ROOM_REQUESTS = {
    "entire room": "an entire room, ",
    "private room": "a private room, ",
    "shared room": "a shared room, ",
    "not shared room": "no shared room, ",
}
TRANSPORTATION_REQUESTS = {"no flight": "no flight, ", "no self-driving": "no self-driving, "}
AS_ASKED, ANYTHING = "as asked, ", "anything, "
"""Say that a row is chosen by the wishes of the query, which follow, or by none."""
CHEAP, ANY_PRICE = "cheap, ", "any price, "
"""Say that the cheapest row is taken, or any. No query asks for the cheapest: a budget is what makes it wise."""


def allowed_rules(house_rules: str) -> tuple[str, ...]:
    """The house rules' subjects that a hotel allows: those that its text does not forbid with "No ..."."""
    return tuple(rule for rule in HOUSE_RULES if f"No {rule}" not in house_rules)


def cuisine_words(cuisines: Iterable[str]) -> str:
    return "".join(f"{cuisine}, " for cuisine in cuisines)


def cuisine_requests(cuisines: Iterable[str]) -> str:
    return "".join(f"{cuisine} food, " for cuisine in cuisines)


def hotel_requests(constraint: LocalConstraint) -> str:
    """What a query asks of hotels."""
    rule, room = constraint.house_rule, constraint.room_type
    return (RULE_REQUESTS[rule] if rule else "") + (ROOM_REQUESTS[room] if room else "")


def meal_requests(constraint: LocalConstraint) -> str:
    """What a query asks of meals."""
    return cuisine_requests(constraint.cuisine or ())


def price(cheap: bool) -> str:
    return CHEAP if cheap else ANY_PRICE


def note(criteria: str, picks: Sequence[str]) -> str:
    """The thought with which a demonstration follows a listing: by what it chooses, then the names it picks.

    Saying the wish again right before the name splits a hard step in two easy ones, looking the wish up and picking.
    """
    return criteria + ", ".join(picks)


def _criteria(asked: bool, requests: str, cheap: bool) -> str:
    """By what a row is chosen: the wishes about it, anything where there are none; and its price.

    Always said, so that what to go by is a choice of its own, made before any name is weighed and made by the same
    two words everywhere.
    """
    return (AS_ASKED + requests if asked else ANYTHING) + price(cheap)


def hotel_note(constraint: LocalConstraint, cheap: bool, name: str) -> str:
    """The thought that picks a hotel by `constraint`."""
    requests = hotel_requests(constraint)
    return note(_criteria(bool(requests), requests, cheap), [name])


def meal_note(constraint: LocalConstraint, cheap: bool, rows: Iterable[Restaurant]) -> str:
    """The thought that picks restaurants by `constraint`: each name after the cuisines asked for that no row before it
    has, so that what is still missing can be told from what was said."""
    missing = list(constraint.cuisine or ())
    picks = []
    for row in rows:
        picks.append(cuisine_requests(cuisine for cuisine in missing if cuisine in row.cuisines) + row.name)
        missing = [cuisine for cuisine in missing if cuisine not in row.cuisines]
    return note(_criteria(bool(constraint.cuisine), "", cheap), picks)


def constraint_words(constraint: LocalConstraint) -> str:
    """What a query asks for; empty when nothing is asked."""
    travel = constraint.transportation
    ride = TRANSPORTATION_REQUESTS[travel] if travel else ""
    return ride + hotel_requests(constraint) + meal_requests(constraint)


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
    """Flights stand as in the table, whatever they cost."""
    return "".join(_price(row.price) + row.number for row in rows)


def cities(names: Iterable[str]) -> str:
    return "".join(f"\n{name}" for name in names)


def leg(row: Leg, mode: str) -> str:
    """`mode` is "taxi" or anything else for a drive."""
    cost = row.taxi_cost if mode == "taxi" else row.driving_cost
    return NO_RESULT if cost is None else _price(cost) + mode
