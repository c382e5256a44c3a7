"""The thirteen checks that make up a score, in reporting order. `rules.py` has the rule books that they follow."""

from __future__ import annotations

from . import commonsense, hard
from .checks import Check

COMMONSENSE = (
    Check("is_reasonable_visiting_city", commonsense.is_reasonable_visiting_city),
    Check("is_valid_restaurants", commonsense.is_valid_restaurants),
    Check("is_valid_attractions", commonsense.is_valid_attractions),
    Check("is_valid_accommodation", commonsense.is_valid_accommodation),
    Check("is_valid_transportation", commonsense.is_valid_transportation),
    Check("is_valid_information_in_current_city", commonsense.is_valid_information_in_current_city),
    Check("is_valid_information_in_sandbox", commonsense.is_valid_information_in_sandbox),
    Check("is_not_absent", commonsense.is_not_absent),
)
HARD = (
    Check("valid_cuisine", hard.valid_cuisine, "cuisine"),
    Check("valid_room_rule", hard.valid_room_rule, "house_rule"),
    Check("valid_transportation", hard.valid_transportation, "transportation"),
    Check("valid_room_type", hard.valid_room_type, "room_type"),
    Check("valid_cost", hard.valid_cost),
)
