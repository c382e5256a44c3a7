"""What the workflow's jobs on demonstrations share: reading their files, and training a cell by its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..tasks import Task
from ..travel.database import Database
from ..travel.query import load_queries
from ..travel.task import TravelTask
from .candidates import Turn, draw, join, read_candidates
from .cells import SFTLONG

if TYPE_CHECKING:
    from ..evaluation.run import Settings
    from ..tracking import RunLogger


def travel_turns(
    trajectories: Path, queries: Path, database: Path, tokenizer: Any, candidates: int, seed: int
) -> Sequence[Turn]:
    """The candidate states of a run seed: `candidates` of all turns in the demonstrations, each with its query.

    A profile and the runs that use it draw the same ones.
    """
    world = Database.load(database)
    tasks: dict[str, Task] = {query.id: TravelTask(query, world) for query in load_queries(queries)}
    return join(draw(read_candidates(trajectories, tokenizer), candidates, seed), tasks, queries)


def inputs(algorithm: str, files: Any) -> dict[str, Path]:
    """What a run's training depends on, by name; `files` has an attribute for each input of its rule."""
    used = {"start": files.start[0], "trajectories": files.trajectories}
    if algorithm != SFTLONG:
        used |= {"queries": files.queries, "world": files.training, "validation": files.validation}
    if files.get("samples"):
        used |= {"profile": files.samples}
    return {name: Path(path) for name, path in used.items()}


def train(
    settings: Mapping[str, Any], seed: int, files: Mapping[str, Path], cost: Path | None, how: Settings, log: RunLogger
) -> dict[str, Any]:
    """Train a cell on demonstrations into the folder of `log`.

    `settings` is what the cell says (`settings.of_cell`), `files` what `inputs` gave, `cost` what its profile took
    (None without one). Returns the content of `done.json` or `train.json`.
    """
    from ..evaluation.panels import travel_panel
    from ..evaluation.probe import probe
    from ..training.checkpoints import load_model
    from ..training.lora import LoraSpec
    from ..training.sft import SftSpec, continue_sft
    from .profiling import load
    from .training import PivotSpec, train_pivot

    rest = {name: value for name, value in settings.items() if name not in ("scale", "algorithm", "lora", "settings")}
    rest["lora"] = LoraSpec(**settings["lora"]) if settings["lora"] else None
    start, trajectories, folder = files["start"].parent, files["trajectories"], log.folder
    if settings["algorithm"] == SFTLONG:
        spec = SftSpec(seed=seed, **rest)
        return continue_sft(spec, trajectories, start, folder.path, log.step, folder.checkpoints)
    own = settings["settings"]
    pivot = PivotSpec.of(
        settings["algorithm"], seed=seed, mean_below=own.get("mean_below", 1.0), beta=own["beta"], **rest
    )
    _, tokenizer = load_model(start)
    turns = travel_turns(trajectories, files["queries"], files["world"], tokenizer, own["candidates"], seed)
    validation = travel_panel("validation", files["validation"], files["world"])
    return train_pivot(
        pivot, turns, load(files["profile"]) if "profile" in files else None, start,
        folder.path, log.step, folder.checkpoints, log.alarm,
        spent=json.loads(cost.read_text(encoding="utf-8")) if cost else {}, measure=probe(validation, how, seed),
    )  # fmt: skip
