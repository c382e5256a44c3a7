"""Travel queries: what a traveller asks for, in the schema of TravelPlanner's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError

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
    budget: int
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
        cuisine = local["cuisine"]
        return cls(
            id=str(row["id"]),
            org=row["org"],
            dest=row["dest"],
            days=int(row["days"]),
            visiting_city_number=int(row["visiting_city_number"]),
            date=tuple(row["date"]),
            people_number=int(row["people_number"]),
            local_constraint=LocalConstraint(
                house_rule=local["house rule"],
                cuisine=tuple(cuisine) if cuisine else None,
                room_type=local["room type"],
                transportation=local["transportation"],
            ),
            budget=int(row["budget"]),
            level=row["level"],
            text=row.get("query") or "",
        )


def load_queries(path: Path) -> list[Query]:
    """Read a JSON-lines file of queries; `query_id` may stand for `id`.

    Raises StarlabError naming file, line and field.
    """
    if not path.is_file():
        raise StarlabError(f"{path}: no such file of queries; make it with `snakemake {path}`")
    queries = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            row = json.loads(line)
            queries.append(Query.from_dict({"id": row["query_id"], **row} if "query_id" in row else row))
        except json.JSONDecodeError as error:
            raise StarlabError(f"{path}:{number}: not JSON ({error.msg}); delete the file to make it again") from error
        except (KeyError, TypeError, ValueError) as error:
            raise StarlabError(
                f"{path}:{number}: bad or missing field {error}; delete the file to make it again"
            ) from error
    return queries
