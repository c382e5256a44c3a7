"""Rule books: which checks make up a score.

The `strict` rule book is ours: where the official scripts search strings and skip what they cannot read, it
compares typed values with exactly one row of the database and fails what cannot be proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import commonsense, hard
from .checks import Check
from .query import Query


def _asks_for(constraint: str) -> Callable[[Query], bool]:
    """Whether a query names the local constraint."""
    return lambda query: bool(getattr(query.local_constraint, constraint))


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Which checks make up a score, in reporting order."""

    name: str
    commonsense: tuple[Check, ...]
    hard: tuple[Check, ...]
    gates: frozenset[str]
    """The commonsense checks that have to hold before hard ones are evaluated."""


STRICT = RuleBook(
    name="strict",
    commonsense=(
        Check("is_reasonable_visiting_city", commonsense.is_reasonable_visiting_city),
        Check("is_valid_restaurants", commonsense.is_valid_restaurants),
        Check("is_valid_attractions", commonsense.is_valid_attractions),
        Check("is_valid_accommodation", commonsense.is_valid_accommodation),
        Check("is_valid_transportation", commonsense.is_valid_transportation),
        Check("is_valid_information_in_current_city", commonsense.is_valid_information_in_current_city),
        Check("is_valid_information_in_sandbox", commonsense.is_valid_information_in_sandbox),
        Check("is_not_absent", commonsense.is_not_absent),
    ),
    hard=(
        Check("valid_cuisine", hard.valid_cuisine, _asks_for("cuisine")),
        Check("valid_room_rule", hard.valid_room_rule, _asks_for("house_rule")),
        Check("valid_transportation", hard.valid_transportation, _asks_for("transportation")),
        Check("valid_room_type", hard.valid_room_type, _asks_for("room_type")),
        Check("valid_cost", hard.valid_cost),
    ),
    gates=frozenset({"is_not_absent", "is_valid_information_in_sandbox"}),
)
