"""Questions in seven families, as the paper evaluates on seven question sets.

====== ======= ==================================================================================
family calls   what it asks
====== ======= ==================================================================================
people 1       a fact of a person
places 1       a fact of a place
works  1       a fact of a work or of the company behind one
alias  2       a fact of an entity that the question calls by another name
chain  2       a fact of a fact
shared 2       the one value on which two entities agree (the relation is not named)
triple 3       a fact of a fact of a fact
====== ======= ==================================================================================

A text is put together from names, `RELATION_PIECES` and the literal `PHRASES`, each meant to be one token.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import StarlabError
from .base import Base
from .names import KIND_OF, KINDS

FAMILIES: Final = ("people", "places", "works", "alias", "chain", "shared", "triple")
ONE_HOP: Final[Mapping[str, tuple[str, ...]]] = {
    "people": ("person",),
    "places": ("place",),
    "works": ("work", "company"),
}

# Templates: literal pieces, X and Y for the entities, 1, 2, 3 for the relations in the order of use.
_ONE: Final = (
    ("Who is the ", "1", "of ", "X", "?"),
    ("What is the ", "1", "of ", "X", "?"),
    ("Name the ", "1", "of ", "X", "."),
    ("Please look up the ", "1", "of ", "X", "."),
    ("I would like to know the ", "1", "of ", "X", "."),
)
_TWO: Final = (
    ("Who is the ", "2", "of the ", "1", "of ", "X", "?"),
    ("What is the ", "2", "of the ", "1", "of ", "X", "?"),
    ("Name the ", "2", "of the ", "1", "of ", "X", "."),
    ("Please look up the ", "2", "of the ", "1", "of ", "X", "."),
    ("Take the ", "1", "of ", "X", ", then name the ", "2", "of that."),
)
_THREE: Final = (
    ("Who is the ", "3", "of the ", "2", "of the ", "1", "of ", "X", "?"),
    ("What is the ", "3", "of the ", "2", "of the ", "1", "of ", "X", "?"),
    ("Name the ", "3", "of the ", "2", "of the ", "1", "of ", "X", "."),
    ("Take the ", "1", "of ", "X", ", then the ", "2", "of that", ", then name the ", "3", "of that."),
)
_SHARED: Final = (
    ("What do ", "X", " and ", "Y", " have in common?"),
    ("Find what ", "X", " and ", "Y", " share."),
    ("Which name is found with both ", "X", " and ", "Y", "?"),
)
_TEMPLATES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    **dict.fromkeys(("people", "places", "works", "alias"), _ONE),
    "chain": _TWO,
    "shared": _SHARED,
    "triple": _THREE,
}
_SLOTS: Final = frozenset("XY123")
PHRASES: Final = tuple(
    dict.fromkeys(p for group in _TEMPLATES.values() for form in group for p in form if p not in _SLOTS)
)
"""Every literal piece of every question."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold answer.

    `relations` are in the order in which they are followed from `subjects[0]`; in the family "shared" the one
    relation is that of the common value, which the text does not name.
    """

    id: str
    family: str
    text: str
    answer: str
    subjects: tuple[str, ...]
    relations: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        return {"id": self.id, "family": self.family, "text": self.text, "answer": self.answer,
                "subjects": list(self.subjects), "relations": list(self.relations)}  # fmt: skip

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> Question:
        """The inverse of `to_dict`; raises KeyError for a missing field (whoever reads the file names it)."""
        id, family, text, answer = (str(row[key]) for key in ("id", "family", "text", "answer"))
        return Question(id, family, text, answer, tuple(row["subjects"]), tuple(row["relations"]))


def sample(rng: random.Random, base: Base, family: str, id: str = "") -> Question:
    """One question of `family` over `base`; a `Draft` must be fresh."""
    if family == "shared":
        first, second, relation = base.pair(rng)
        value = next(f.value for f in base.facts(first) if f.relation == relation)
        return _write(rng, id, family, (first, second), (relation,), value)
    if family == "alias":
        start = base.alias(rng)
        entity = base.target(start) or start
    elif family in ("chain", "triple"):
        start = entity = base.subject(rng, rng.choice(KINDS))
    elif family in ONE_HOP:
        start = entity = base.subject(rng, rng.choice(ONE_HOP[family]))
    else:
        raise StarlabError(f"question family {family!r}: expected one of {', '.join(FAMILIES)}")
    relations, value = _walk(rng, base, entity, {"chain": 2, "triple": 3}.get(family, 1))
    return _write(rng, id, family, (start,), relations, value)


def _walk(rng: random.Random, base: Base, entity: str, hops: int) -> tuple[tuple[str, ...], str]:
    """Follow `hops` random relations; no entity twice on the way and no relation twice in the question."""
    relations: list[str] = []
    seen = [entity]
    while len(relations) < hops:
        options = [f for f in base.facts(seen[-1]) if f.value not in seen and f.relation not in relations]
        fact = rng.choice(options)  # never empty: five facts, and at most four of them are ruled out
        relations.append(fact.relation)
        seen.append(fact.value)
    return tuple(relations), seen[-1]


def _write(
    rng: random.Random,
    id: str,
    family: str,
    subjects: tuple[str, ...],
    relations: tuple[str, ...],
    answer: str,
) -> Question:
    slots = dict(zip("XY", subjects, strict=False))
    slots |= dict(zip("123", (relation + " " for relation in relations), strict=False))
    wrong = "What is the " if KIND_OF[answer] == "person" else "Who is the "
    template = rng.choice([t for t in _TEMPLATES[family] if t[0] != wrong])
    return Question(id, family, "".join(slots.get(p, p) for p in template), answer, subjects, relations)
