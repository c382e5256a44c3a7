"""Balanced sets of solvable queries: panels and training sets, disjoint by construction.

Which split a query may be in follows from a hash of its elements, so that no two splits ever share a
query, whatever the sizes, and a set stays the same whatever other sets exist. Within a split, queries of one
level come in one fixed order; a set takes as many of each level as its ratio says, from the start. Larger
sets therefore contain smaller ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import StarlabError, nearest
from ..seeds import generator
from ..travel.database import Database
from ..travel.plan import Plan, to_json
from ..travel.query import LEVELS, Query
from ..travel.solver import Infeasible, solve
from .budget import THRESHOLDS, Rejection
from .elements import Sampler
from .feasibility import obstacle
from .phrasing import phrase

RATIO = {"easy": 4, "medium": 3, "hard": 3}
"""Levels in a mixed set, as in the paper."""
PANELS = ("sft", "validation", "test", "unseen")
"""The sets that are not trained on by reinforcement; "unseen" is drawn from a database of its own."""
TRAINING = "training"
_SHARES = {TRAINING: 0.5, "sft": 0.25, "test": 0.15, "validation": 0.1}
"""Of all possible queries, the share that each split draws from."""
_SET_NAME = re.compile(rf"(mixed|{'|'.join(LEVELS)})([1-9]\d*)")
_PATIENCE = 20_000
"""Draws without a new query after which a database is taken to be exhausted."""


@dataclass(frozen=True, slots=True)
class SynthesisSpec:
    """What the query sets of an experiment depend on."""

    seed: int = 0
    """Draws the elements and the phrasings."""
    days: Sequence[int] = (3,)
    """Lengths of trip to draw from, uniformly."""
    thresholds: str = "miniature"
    """How many rows a query must leave over: "miniature" or "official"."""
    sft: int = 5400
    """Queries the teacher answers."""
    validation: int = 100
    """Queries looked at while settings are chosen."""
    test: int = 200
    """Queries every finding is measured on."""
    unseen: int = 200
    """Queries in the database that no policy trains on."""


@dataclass(frozen=True, slots=True)
class SolvedQuery:
    """A query with a plan that the checker accepts."""

    query: Query
    witness: Plan

    def to_dict(self) -> dict[str, Any]:
        """The row of a set's file."""
        return self.query.to_dict() | {"witness": to_json(self.witness)}


@dataclass(frozen=True, slots=True)
class QuerySet:
    """A named set; `tally` counts, by level, what became of every draw that was made for it."""

    name: str
    database: Database
    queries: tuple[SolvedQuery, ...]
    tally: Mapping[str, Mapping[str, int]]


KEPT = "kept"
DUPLICATE = "duplicate of a query drawn before"
OTHER_SPLIT = "belongs to another split"
NO_PLAN = "passes the heuristic but has no plan"


def elements_key(query: Query) -> str:
    """What makes two queries the same: everything but id and text."""
    elements = query.to_dict()
    del elements["id"], elements["query"]
    return json.dumps(elements, sort_keys=True, ensure_ascii=False)


def split_of(query: Query) -> str:
    """The one split that a query may be in."""
    digest = hashlib.sha256(elements_key(query).encode()).digest()
    position = int.from_bytes(digest[:8], "big") / 2**64
    for split, share in _SHARES.items():
        if position < share:
            return split
        position -= share
    return TRAINING


@dataclass
class _Stream:
    """The solvable queries of one split and level, in their fixed order, drawn as far as somebody asked."""

    sampler: Sampler
    spec: SynthesisSpec
    split: str
    level: str
    found: list[SolvedQuery] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)
    """The number of the draw that each of `found` came from."""
    log: list[str] = field(default_factory=list)
    """What became of each draw."""
    _keys: set[str] = field(default_factory=set)

    def first(self, count: int) -> list[SolvedQuery]:
        """Raises StarlabError when the database has not so many."""
        while len(self.found) < count:
            if len(self.log) - (self.draws[-1] if self.draws else 0) > _PATIENCE:
                raise StarlabError(
                    f"database {self.sampler.tables.database.name!r} gives {len(self.found)} different "
                    f"{self.level} queries for {self.split!r}, {count} are asked for: ask for fewer, or "
                    "enlarge `world:` or `data.days`"
                )
            self.log.append(self._draw())
        return self.found[:count]

    def tally(self, count: int) -> dict[str, int]:
        """What became of the draws that gave the first `count` queries, most common outcome first."""
        return dict(Counter(self.log[: self.draws[count - 1] + 1]).most_common())

    def _draw(self) -> str:
        number = len(self.log)
        rng = generator("data", self.spec.seed, self.split, self.level, number)
        drawn = self.sampler.sample(self.level, rng)
        if isinstance(drawn, Rejection):
            return f"rejected: {drawn}"
        # the unseen database has queries of its own, so that all of them may be in the panel
        if self.split != "unseen" and split_of(drawn) != self.split:
            return OTHER_SPLIT
        key = elements_key(drawn)
        if key in self._keys:
            return DUPLICATE
        self._keys.add(key)
        thresholds = self.sampler.thresholds
        if (found := obstacle(self.sampler.tables, drawn, thresholds)) is not None:
            return f"infeasible by the heuristic: {found}"
        query = replace(drawn, id=f"{self.split}-{self.level}-{len(self.found):05d}")
        solution = solve(query, self.sampler.tables.database)
        if isinstance(solution, Infeasible):
            return NO_PLAN
        query = phrase(query, generator("phrasing", self.spec.seed, key))
        self.found.append(SolvedQuery(query, solution.plan))
        self.draws.append(number)
        return KEPT


def level_order(count: int, ratio: Mapping[str, int] = RATIO) -> list[str]:
    """`count` levels of which every beginning is as near to `ratio` as whole numbers allow (Sainte-Laguë)."""
    taken = dict.fromkeys(ratio, 0)
    order = []
    for _ in range(count):
        level = max(ratio, key=lambda name: ratio[name] / (2 * taken[name] + 1))
        taken[level] += 1
        order.append(level)
    return order


class Synthesis:
    """Makes query sets; what one set needed is not drawn again for the next."""

    def __init__(self, training: Database, unseen: Database, spec: SynthesisSpec) -> None:
        if spec.thresholds not in THRESHOLDS:
            hint = nearest(spec.thresholds, THRESHOLDS)
            raise StarlabError(f"data.thresholds: unknown {spec.thresholds!r}; {hint}")
        self.spec = spec
        self._databases = {"unseen": unseen}
        self._training = training
        self._samplers: dict[str, Sampler] = {}
        self._streams: dict[tuple[str, str], _Stream] = {}

    def make(self, name: str) -> QuerySet:
        """A panel, or a training set like "mixed1000" or "hard500". Raises StarlabError for other names."""
        split, order = self._parse(name)
        streams = {level: self._stream(split, level) for level in dict.fromkeys(order)}
        wanted = Counter(order)
        supply = {level: iter(stream.first(wanted[level])) for level, stream in streams.items()}
        queries = tuple(next(supply[level]) for level in order)
        tally = {level: stream.tally(wanted[level]) for level, stream in streams.items()}
        return QuerySet(name, self._database(split), queries, tally)

    def _parse(self, name: str) -> tuple[str, list[str]]:
        if name in PANELS:
            return name, level_order(getattr(self.spec, name))
        match = _SET_NAME.fullmatch(name)
        if match is None:
            hint = nearest(name, (*PANELS, "mixed1000", "easy1000", "medium1000", "hard1000"))
            raise StarlabError(f"{name!r} is no query set: a panel, or a mix and a size; {hint}")
        mix, size = match[1], int(match[2])
        return TRAINING, level_order(size) if mix == "mixed" else [mix] * size

    def _database(self, split: str) -> Database:
        return self._databases.get(split, self._training)

    def _stream(self, split: str, level: str) -> _Stream:
        if (split, level) not in self._streams:
            where = "unseen" if split == "unseen" else TRAINING
            if where not in self._samplers:
                thresholds = THRESHOLDS[self.spec.thresholds]
                self._samplers[where] = Sampler(self._database(split), thresholds, self.spec.days)
            self._streams[split, level] = _Stream(self._samplers[where], self.spec, split, level)
        return self._streams[split, level]
