"""Evaluation panels: the tasks of frozen files, and hashes that say which files and which world."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import StarlabError
from ..knowledge import panels as questions
from ..knowledge.base import KnowledgeBase
from ..knowledge.questions import FAMILIES
from ..knowledge.task import KnowledgeTask
from ..provenance import file_sha256, text_sha256
from ..tasks import Task
from ..travel.database import Database
from ..travel.query import load_queries
from ..travel.task import TravelTask


@dataclass(frozen=True, slots=True)
class Panel:
    """Tasks in file order, all of one domain; `sha256` is of the files, `world_sha256` of their world."""

    name: str
    domain: str
    sha256: str
    world_sha256: str
    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        if not self.tasks:
            raise StarlabError(f"panel {self.name!r}: it has no queries; run the data stage again")
        if len({task.id for task in self.tasks}) < len(self.tasks):
            raise StarlabError(f"panel {self.name!r}: two queries have the same id; run the data stage again")


def travel_panel(name: str, queries: Path, database: Path) -> Panel:
    """The panel of a query file over the database in the folder `database`."""
    sha256 = frozen_hash(queries)
    world = Database.load(database)
    tasks = tuple(TravelTask(query, world) for query in load_queries(queries))
    return Panel(name, "travel", sha256, world.fingerprint(), tasks)


def knowledge_panel(name: str, folder: Path, base: Path) -> Panel:
    """The panel of all families in their order: `<folder>/<family>.jsonl` over the base in file `base`."""
    world = KnowledgeBase.load(base)
    paths = [folder / f"{family}.jsonl" for family in FAMILIES]
    tasks = tuple(KnowledgeTask(question, world) for path in paths for question in questions.load(path))
    return Panel(name, "knowledge", _joint_hash(map(frozen_hash, paths)), world.fingerprint(), tasks)


def frozen_hash(path: Path) -> str:
    """sha256 of a panel file; StarlabError if it is missing or no longer the file that its card describes."""
    try:
        sha256 = file_sha256(path)
    except OSError as error:
        raise StarlabError(f"{path}: cannot read the panel ({error.strerror}); run the data stage") from error
    card = questions.card_path(path)
    if card.exists():
        try:
            expected = json.loads(card.read_text(encoding="utf-8"))["sha256"]
        except (ValueError, KeyError, TypeError) as error:
            raise StarlabError(f"{card}: field 'sha256' cannot be read; run the data stage again") from error
        if sha256 != expected:
            raise StarlabError(
                f"{path}: the panel was changed after it was frozen (sha256 {sha256[:12]}, its card says "
                f"{str(expected)[:12]}); restore the file or run the data stage again"
            )
    return sha256


def _joint_hash(hashes: Iterable[str]) -> str:
    return text_sha256("\n".join(hashes))
