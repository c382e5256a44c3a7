"""Query sets on disk: JSON lines, and a data card that says what is in them and how they came about."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import MEND, json_lines
from ..provenance import text_sha256
from ..travel.parsing import from_json
from ..travel.plan import Unparseable
from ..travel.query import LocalConstraint, Query
from .balance import DUPLICATE, KEPT, NO_PLAN, QuerySet, SolvedQuery, SynthesisSpec

Card = dict[str, Any]


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def constraint_kinds(asked: LocalConstraint) -> tuple[str, ...]:
    """The kinds of local constraint that are asked for, by their official names."""
    return tuple(kind for kind, value in asked.to_dict().items() if value)


def card(made: QuerySet, spec: SynthesisSpec, sha256: str) -> Card:
    """What a set holds and what was thrown away on the way to it."""
    queries = [row.query for row in made.queries]
    kinds = Counter(kind for query in queries for kind in constraint_kinds(query.local_constraint))
    values = Counter(
        f"{kind}: {item}"
        for query in queries
        for kind, value in query.local_constraint.to_dict().items()
        if value
        for item in (value if isinstance(value, list) else [value])
    )
    draws = {level: sum(tally.values()) for level, tally in made.tally.items()}
    return {
        "set": made.name,
        "queries": len(queries),
        "sha256": sha256,
        "database": {"name": made.database.name, "sha256": made.database.fingerprint()},
        "seed": spec.seed,
        "thresholds": spec.thresholds,
        "by_level": _counts(query.level for query in queries),
        "by_days": _counts(str(query.days) for query in queries),
        "by_people": _counts(str(query.people_number) for query in queries),
        "by_constraint": dict(sorted(kinds.items())),
        "by_constraint_value": dict(sorted(values.items())),
        "budget": {
            "lowest": min(query.budget for query in queries),
            "mean": round(sum(query.budget for query in queries) / len(queries), 1),
            "highest": max(query.budget for query in queries),
        },
        "synthesis": {
            level: {
                "draws": draws[level],
                "kept": tally.get(KEPT, 0),
                "duplicates_dropped": tally.get(DUPLICATE, 0),
                "passed_the_heuristic_without_a_plan": tally.get(NO_PLAN, 0),
                "outcomes": dict(tally),
            }
            for level, tally in made.tally.items()
        },
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def write_set(made: QuerySet, spec: SynthesisSpec, path: Path, card_path: Path) -> Card:
    """Write a set and its card; the card's `sha256` is that of the file. Returns the card."""
    text = lines(row.to_dict() for row in made.queries)
    path.parent.mkdir(parents=True, exist_ok=True)
    card_path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    content = card(made, spec, text_sha256(text))
    card_path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return content


def load_set(path: Path) -> list[SolvedQuery]:
    """Read the file of a set. Raises StarlabError naming file, line and field."""
    if not path.is_file():
        raise StarlabError(f"{path}: no such file of queries; make it with `snakemake {path}`")
    solved = []
    for where, row in json_lines(path, MEND):
        try:
            query, witness = Query.from_dict(row), from_json(row["witness"])
        except (KeyError, TypeError, ValueError) as error:
            raise StarlabError(f"{where}: bad or missing field {error}; {MEND}") from error
        if isinstance(witness, Unparseable):
            raise StarlabError(f"{where}: bad witness, {witness.reason}; {MEND}")
        solved.append(SolvedQuery(query, witness))
    return solved
