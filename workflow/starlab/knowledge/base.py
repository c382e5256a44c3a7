"""Synthetic knowledge: entries of facts, drawn from a seed.

Two bases answer the same questions (`Base`): a frozen `KnowledgeBase` (evaluation; saved, hashed) and a
`Draft` that draws an entry when it is first looked at, so that a dialogue over a world of its own costs
microseconds (pretraining). A frozen base is a draft of which every entry was drawn.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Protocol

from ..errors import StarlabError
from ..provenance import text_sha256
from .names import KIND_OF, KINDS, POOLS, SCHEMA

FORMAT = "starlab knowledge 1"
SECOND_NOTE = 0.5  # share of entries with two notes; the others have one
_FIX = "delete it and run the data stage again"
NOTE_OF_SAME_KIND = 0.5  # a note about the entry's own kind names one of the entry's own relations


@dataclass(frozen=True, slots=True)
class Fact:
    """``value`` is the ``relation`` of ``subject``; a subject has one value per relation."""

    subject: str
    relation: str
    value: str


Entry = tuple[Fact, ...]
"""What a search shows, in this order: the subject's five facts, and among them one or two true facts about
other entities ("notes"), as a retriever returns passages that were not asked for."""


class Base(Protocol):
    """What the search tool and the question sampler need to know of a base."""

    def entry(self, name: str) -> Entry | None: ...
    def facts(self, name: str) -> tuple[Fact, ...]: ...
    def target(self, name: str) -> str | None: ...
    def subject(self, rng: random.Random, kind: str) -> str: ...
    def alias(self, rng: random.Random) -> str: ...
    def pair(self, rng: random.Random) -> tuple[str, str, str]: ...


class Draft:
    """A base that draws facts on demand. `aliases`: other name -> entity; other names are never values."""

    def __init__(self, rng: random.Random, aliases: Mapping[str, str] | None = None) -> None:
        self.rng = rng
        self.aliases: dict[str, str] = dict(aliases or {})
        self._facts: dict[str, tuple[Fact, ...]] = {}
        self._entries: dict[str, Entry] = {}

    def subject(self, rng: random.Random, kind: str) -> str:
        return self._other(rng, kind, ())

    def _other(self, rng: random.Random, kind: str, avoid: Iterable[str]) -> str:
        """A name of `kind`, no alias and not in `avoid` (a handful of names at most: trying is cheap)."""
        while True:
            name = rng.choice(POOLS[kind])
            if name not in self.aliases and name not in avoid:
                return name

    def facts(self, name: str) -> tuple[Fact, ...]:
        known = self._facts.get(name)
        return known if known is not None else self._draw(name, {}, ())

    def _draw(self, name: str, given: Mapping[str, str], avoid: Iterable[str]) -> tuple[Fact, ...]:
        """Draw the facts of `name`: relations in random order, values distinct; `given` fixes some values."""
        taken = {name, *avoid, *given.values()}
        facts = []
        for relation, kind in SCHEMA[KIND_OF[name]]:
            value = given.get(relation)
            if value is None:
                value = self._other(self.rng, kind, taken)
                taken.add(value)
            facts.append(Fact(name, relation, value))
        self.rng.shuffle(facts)
        self._facts[name] = tuple(facts)
        return self._facts[name]

    def entry(self, name: str) -> Entry | None:
        if name in self.aliases or name not in KIND_OF:
            return None
        known = self._entries.get(name)
        if known is None:
            rng, lines = self.rng, list(self.facts(name))
            for _ in range(1 + (rng.random() < SECOND_NOTE)):
                kind = KIND_OF[name] if rng.random() < NOTE_OF_SAME_KIND else rng.choice(KINDS)
                note = rng.choice(self.facts(self._other(rng, kind, (name,))))
                if note not in lines:
                    lines.insert(rng.randrange(len(lines) + 1), note)
            known = self._entries[name] = tuple(lines)
        return known

    def target(self, name: str) -> str | None:
        return self.aliases.get(name)

    def alias(self, rng: random.Random) -> str:
        """An alias of this draft; the first call makes one up."""
        if not self.aliases:
            kind = rng.choice(KINDS)
            other, name = rng.sample(POOLS[kind], 2)
            self.aliases[other] = name
        return rng.choice(tuple(self.aliases))

    def pair(self, rng: random.Random) -> tuple[str, str, str]:
        """Two entities of one kind that agree in one value, under one relation. On a fresh draft only."""
        kind = rng.choice(KINDS)
        first = self.subject(rng, kind)
        second = self._other(rng, kind, (first,))
        facts = self.facts(first)
        shared = rng.choice([fact for fact in facts if fact.value != second])
        self._draw(second, {shared.relation: shared.value}, [fact.value for fact in facts])
        return first, second, shared.relation


class KnowledgeBase:
    """A frozen base: every entry is there, and a file and a fingerprint say which one it is."""

    def __init__(self, name: str, entries: Mapping[str, Entry], aliases: Mapping[str, str]) -> None:
        self.name = name
        self.entries = dict(entries)
        self.aliases = dict(aliases)
        self._facts = {
            name: tuple(f for f in entry if f.subject == name) for name, entry in self.entries.items()
        }
        self._subjects = {kind: tuple(n for n in self.entries if KIND_OF[n] == kind) for kind in KINDS}
        self._pairs = tuple(self._agreeing())

    def _agreeing(self) -> Iterable[tuple[str, str, str]]:
        """All (first, second, relation) of one kind that agree in exactly one value, under that relation."""
        for kind in KINDS:
            for first, second in combinations(self._subjects[kind], 2):
                relations = {fact.value: fact.relation for fact in self._facts[first]}
                common = [f for f in self._facts[second] if f.value in relations]
                if len(common) == 1 and relations[common[0].value] == common[0].relation:
                    yield first, second, common[0].relation

    def entry(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def facts(self, name: str) -> tuple[Fact, ...]:
        return self._facts[name]

    def target(self, name: str) -> str | None:
        return self.aliases.get(name)

    def subject(self, rng: random.Random, kind: str) -> str:
        return rng.choice(self._subjects[kind])

    def alias(self, rng: random.Random) -> str:
        return rng.choice(tuple(self.aliases))

    def pair(self, rng: random.Random) -> tuple[str, str, str]:
        return rng.choice(self._pairs)

    def to_dict(self) -> dict[str, object]:
        entries = {n: [[f.subject, f.relation, f.value] for f in entry] for n, entry in self.entries.items()}
        return {"format": FORMAT, "name": self.name, "aliases": self.aliases, "entries": entries}

    def fingerprint(self) -> str:
        """sha256 of the content; the same for the same seed and code, whatever the file looks like."""
        return text_sha256(json.dumps(self.to_dict(), sort_keys=True))

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> KnowledgeBase:
        """Read a saved base. Raises StarlabError if the file is missing, damaged or of another format."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw["format"] != FORMAT:
                raise StarlabError(
                    f"{path}: field 'format' is {raw['format']!r}, expected {FORMAT!r}; {_FIX}"
                )
            entries = {name: tuple(Fact(*line) for line in lines) for name, lines in raw["entries"].items()}
            return KnowledgeBase(raw["name"], entries, raw["aliases"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StarlabError(
                f"{path}: no readable knowledge base ({type(error).__name__}: {error}); {_FIX}"
            ) from error


def generate(seed: int, name: str = "knowledge", aliases_per_kind: int = 6) -> KnowledgeBase:
    """The frozen base of `seed`: all names of all pools, `aliases_per_kind` of each kind as other names."""
    rng = random.Random(seed)
    aliases: dict[str, str] = {}
    for kind in KINDS:
        shuffled = rng.sample(POOLS[kind], len(POOLS[kind]))
        others, entities = shuffled[:aliases_per_kind], shuffled[aliases_per_kind:]
        aliases.update(zip(others, rng.sample(entities, len(others)), strict=True))
    draft = Draft(rng, aliases)
    entries = {}
    for kind in KINDS:
        for entity in POOLS[kind]:
            entry = draft.entry(entity)
            if entry is not None:
                entries[entity] = entry
    return KnowledgeBase(name, entries, aliases)
