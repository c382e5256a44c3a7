"""Travel queries: what a traveller asks for, in the schema of TravelPlanner's JSON."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import MEND, json_lines

LEVELS = ("easy", "medium", "hard")
HOUSE_RULES = ("smoking", "parties", "children under 10", "pets", "visitors")
ROOM_TYPES = ("shared room", "not shared room", "private room", "entire room")
TRANSPORTATION = ("no flight", "no self-driving")


@dataclass(frozen=True, slots=True)
class LocalConstraint:
    """The hard constraints that a traveller names; None where nothing is asked."""

    house_rule: str | None = None
    cuisine: tuple[str, ...] | None = None
    room_type: str | None = None
    transportation: str | None = None
    missing: tuple[str, ...] = ()
    """The fields whose keys the query does not have at all: the official code stops at some of them."""
    fault: str | None = None
    """Why there are no constraints to read."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "house rule": self.house_rule,
            "cuisine": list(self.cuisine) if self.cuisine else None,
            "room type": self.room_type,
            "transportation": self.transportation,
        }


@dataclass(frozen=True, slots=True)
class Query:
    """One request. `date` holds every day of the trip (YYYY-MM-DD); `dest` is a city for 3 days, else a state."""

    id: str
    org: str
    dest: str
    days: int
    visiting_city_number: int
    date: tuple[str, ...]
    people_number: int
    local_constraint: LocalConstraint
    budget: float
    level: str
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The official JSON keys, with `id` first."""
        return {
            "id": self.id,
            "org": self.org,
            "dest": self.dest,
            "days": self.days,
            "visiting_city_number": self.visiting_city_number,
            "date": list(self.date),
            "people_number": self.people_number,
            "local_constraint": self.local_constraint.to_dict(),
            "budget": self.budget,
            "level": self.level,
            "query": self.text,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Query:
        """Inverse of `to_dict`; other keys are ignored. Raises KeyError naming a missing key."""
        local = row["local_constraint"]
        return cls._of(
            row,
            str(row["id"]),
            LocalConstraint(
                house_rule=local["house rule"],
                cuisine=tuple(local["cuisine"] or ()) or None,
                room_type=local["room type"],
                transportation=local["transportation"],
            ),
        )

    @classmethod
    def from_official(cls, row: Mapping[str, Any]) -> Query:
        """Read a query of the official files: `query_id` may stand for `id`, and `local_constraint` may be a Python
        literal, have keys missing, or be nothing at all. Raises KeyError, TypeError or ValueError for the rest."""
        return cls._of({"level": "", **row}, str(row.get("id", row.get("query_id", ""))), _local(row))

    @classmethod
    def _of(cls, row: Mapping[str, Any], id: str, local: LocalConstraint) -> Query:
        return cls(
            id=id,
            org=row["org"],
            dest=row["dest"],
            days=int(row["days"]),
            visiting_city_number=int(row["visiting_city_number"]),
            date=tuple(row["date"]),
            people_number=int(row["people_number"]),
            local_constraint=local,
            budget=_number(row["budget"]),
            level=row["level"],
            text=row.get("query") or "",
        )


_KEYS = {"house_rule": "house rule", "cuisine": "cuisine", "room_type": "room type", "transportation": "transportation"}
"""Field -> key in the official files."""


def _local(row: Mapping[str, Any]) -> LocalConstraint:
    local = row.get("local_constraint", {})
    if isinstance(local, str):
        try:
            local = ast.literal_eval(local)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            local = None
    if not isinstance(local, Mapping):
        return LocalConstraint(missing=tuple(_KEYS), fault="the query's local_constraint is no object")
    cuisine = local.get("cuisine")
    return LocalConstraint(
        house_rule=_word(local.get("house rule")),
        cuisine=tuple(str(name) for name in cuisine) or None if isinstance(cuisine, list | tuple | str) else None,
        room_type=_word(local.get("room type")),
        transportation=_word(local.get("transportation")),
        missing=tuple(name for name, key in _KEYS.items() if key not in local),
    )


def _word(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _number(value: Any) -> float:
    """A whole number as such, so that it is written as it was read."""
    number = float(value)
    return int(number) if number.is_integer() else number


def load_queries(path: Path) -> list[Query]:
    """Read a JSON-lines file of queries; `query_id` may stand for `id`.

    Raises StarlabError naming file, line and field.
    """
    if not path.is_file():
        raise StarlabError(f"{path}: no such file of queries; make it with `snakemake {path}`")
    queries = []
    for place, row in json_lines(path, MEND):
        try:
            queries.append(Query.from_dict({"id": row["query_id"], **row} if "query_id" in row else row))
        except (KeyError, TypeError, ValueError) as error:
            raise StarlabError(f"{place}: bad or missing field {error}; {MEND}") from error
    return queries
