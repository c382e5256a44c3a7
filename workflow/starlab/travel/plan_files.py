"""Files of queries and of plans in the official schema, JSON lines.

A line of a plan file has `plan_id`, `query_id` and `plan`, the days of the plan or null; `query_override`, if there is
one, replaces fields of the query for this plan alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError, nearest
from ..files import json_lines
from .query import Query


@dataclass(frozen=True, slots=True)
class Submission:
    """One plan and the query that it answers. `plan` is any JSON value."""

    plan_id: str
    query: Query
    plan: object


def read_plans(plans: Path, queries: Path) -> Iterator[Submission]:
    """Every plan of a file with its query.

    Raises StarlabError naming file, line and field; what a plan itself says is never an error.
    """
    rows = {str(row.get("query_id", row.get("id"))): (row, place) for place, row in json_lines(queries)}
    for place, line in json_lines(plans):
        missing = [name for name in ("plan_id", "query_id", "plan") if name not in line]
        if missing:
            raise StarlabError(f"{place}: the line has no {missing[0]!r}; a plan has plan_id, query_id and plan")
        name = str(line["query_id"])
        if name not in rows:
            raise StarlabError(f"{place}: query_id: no query {name!r} in {queries}; {nearest(name, list(rows)[:20])}")
        row, origin = rows[name]
        override = line.get("query_override") or {}
        if not isinstance(override, Mapping):
            raise StarlabError(f"{place}: query_override: an object with fields of a query, or null")
        yield Submission(str(line["plan_id"]), _query({**row, **override}, place if override else origin), line["plan"])


def read_queries(path: Path) -> list[Query]:
    """Every query of a file. Raises StarlabError naming file, line and field."""
    return [_query(row, place) for place, row in json_lines(path)]


def read_query(path: Path, wanted: str | None) -> Query:
    """The only query of a file, or the one of that id. Raises StarlabError naming file, line and field."""
    try:
        single = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StarlabError(f"{path}: cannot read the query ({error.strerror})") from None
    except (ValueError, RecursionError):
        single = None
    if isinstance(single, dict):
        return _query(single, str(path))
    rows = {str(row.get("id", row.get("query_id"))): (row, place) for place, row in json_lines(path)}
    if wanted not in rows:
        asked = "say which query with --id" if wanted is None else f"no query {wanted!r}"
        raise StarlabError(f"{path}: {asked}; {nearest(wanted or '', list(rows)[:5])}")
    return _query(*rows[wanted])


def read_answer(path: Path) -> str:
    """The text of a plan: the file as it is, or, where it is a line of a plan file, the plan in it, in our schema.
    Raises StarlabError naming the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StarlabError(f"{path}: cannot read the plan ({error})") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict) and "plan" in value:
        return json.dumps(as_typed(value["plan"]), ensure_ascii=False)
    return text


def as_typed(plan: object) -> object:
    """A plan of the official files in our schema: `days` is `day`, and the empty days that pad every file to the
    longest trip are gone."""
    if not isinstance(plan, list):
        return plan
    days = list(plan)
    while days and days[-1] == {}:
        days.pop()
    return [
        {"day" if key == "days" and "day" not in day else key: value for key, value in day.items()}
        if isinstance(day, dict)
        else day
        for day in days
    ]


def _query(row: Mapping[str, Any], place: str) -> Query:
    try:
        return Query.from_official(row)
    except KeyError as error:
        raise StarlabError(f"{place}: the query has no {error}") from error
    except (TypeError, ValueError) as error:
        raise StarlabError(f"{place}: bad field of the query: {error}") from error
