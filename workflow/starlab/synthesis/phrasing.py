"""A query as English text: literal pieces and slots, several phrasings for every pattern.

Every literal is in `PHRASES` (one token each for the tiny tokenizer); slots are filled with names, dates and
the attribute words that tool results use, so that a policy finds what was asked for by matching tokens. A
text says everything that its query holds: two different queries never share a text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from ..travel.query import Query
from ..travel.rendering import constraint_words
from .budget import DAYS


class Slot(StrEnum):
    """What a phrasing leaves open."""

    TRIP = "trip"
    """Length, and for 5 and 7 days the number of cities."""
    ORIGIN = "origin"
    DESTINATION = "destination"
    FIRST = "first"
    LAST = "last"
    PEOPLE = "people"
    BUDGET = "budget"
    WISHES = "wishes"
    """The local constraints, each ending in ", "; nothing when there are none."""


Piece = str | Slot
_SLOTS = {
    "TRIP": Slot.TRIP,
    "ORG": Slot.ORIGIN,
    "DEST": Slot.DESTINATION,
    "FIRST": Slot.FIRST,
    "LAST": Slot.LAST,
    "WHO": Slot.PEOPLE,
    "MONEY": Slot.BUDGET,
    "WISHES": Slot.WISHES,
}


def _pieces(template: str) -> tuple[Piece, ...]:
    """Split "Plan |TRIP| from |..." at its bars; the words of `_SLOTS` become slots."""
    return tuple(_SLOTS.get(piece, piece) for piece in template.split("|"))


PHRASINGS = (
    _pieces("Plan |TRIP| from |ORG| to |DEST|, |FIRST| to |LAST|, for |WHO| at |MONEY|. |WISHES|please."),
    _pieces("From |ORG| to |DEST|, |FIRST| to |LAST|, we want |TRIP| for |WHO| at |MONEY|. |WISHES|thanks."),
    _pieces("For |WHO| at |MONEY|: |TRIP| to |DEST| from |ORG|, |FIRST| to |LAST|. |WISHES|please."),
    _pieces(
        "We leave |ORG| on |FIRST|, back on |LAST|: |WHO|, |MONEY| for |TRIP| to |DEST|. |WISHES|thanks."
    ),
)

_TRIPS = {3: "a 3-day trip", 5: "a 5-day trip through 2 cities", 7: "a 7-day trip through 3 cities"}
_PEOPLE = {number: "1 person" if number == 1 else f"{number} people" for number in range(1, 9)}
BUDGETS = tuple(f"${hundreds}00" for hundreds in range(1, 100))
"""The budgets that are one token; larger ones are spelled."""

PHRASES = tuple(
    dict.fromkeys(
        [
            *(piece for phrasing in PHRASINGS for piece in phrasing if not isinstance(piece, Slot)),
            *(_TRIPS[days] for days in DAYS),
            *_PEOPLE.values(),
            *BUDGETS,
        ]
    )
)
"""Every literal of every query."""


def fill(query: Query, phrasing: Sequence[Piece]) -> str:
    """The text of a query in one phrasing."""
    slots = {
        Slot.TRIP: _TRIPS[query.days],
        Slot.ORIGIN: query.org,
        Slot.DESTINATION: query.dest,
        Slot.FIRST: query.date[0],
        Slot.LAST: query.date[-1],
        Slot.PEOPLE: _PEOPLE[query.people_number],
        Slot.BUDGET: f"${query.budget}",
        Slot.WISHES: constraint_words(query.local_constraint),
    }
    return "".join(slots[piece] if isinstance(piece, Slot) else piece for piece in phrasing)


def phrase(query: Query, rng: random.Random) -> Query:
    """The query with a text in a phrasing drawn by `rng`."""
    return replace(query, text=fill(query, rng.choice(PHRASINGS)))
