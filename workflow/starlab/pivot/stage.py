"""What the workflow's jobs on demonstrations share: reading their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..tasks import Task
from ..travel.database import Database
from ..travel.query import load_queries
from ..travel.task import TravelTask
from .candidates import Turn, draw, join, read_candidates


def travel_turns(
    trajectories: Path, queries: Path, database: Path, tokenizer: Any, candidates: int, seed: int
) -> Sequence[Turn]:
    """The candidate states of a run seed: `candidates` of all turns in the demonstrations, each with its query.

    A profile and the runs that use it draw the same ones.
    """
    world = Database.load(database)
    tasks: dict[str, Task] = {query.id: TravelTask(query, world) for query in load_queries(queries)}
    return join(draw(read_candidates(trajectories, tokenizer), candidates, seed), tasks, queries)
