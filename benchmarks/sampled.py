"""Minibatches of really sampled episodes, as a run's trainer hands them to the training forward."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch


@dataclass(frozen=True, slots=True)
class Minibatch:
    """The rows that pull, with the places of their trained tokens; `pulls` [M] is the policy loss' weight of each."""

    rows: list[list[int]]
    trained: list[list[int]]
    pulls: torch.Tensor
    temperature: float
    tokens: int
    """Tokens that the trainer was given, rows without advantage among them."""


def load_tasks(queries: Path, database: Path) -> list[Any]:
    """The travel tasks of a query file."""
    from starlab.travel.database import Database
    from starlab.travel.query import load_queries
    from starlab.travel.task import TravelTask

    world = Database.load(database)
    return [TravelTask(query, world) for query in load_queries(queries)]


def minibatches(start: Path, queries: Path, database: Path) -> list[Minibatch]:
    """Those of the first step of a run with default settings and seed 1000."""
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    from starlab.policy import forward
    from starlab.training.rl import RlSpec, train_rl
    from starlab.training.trainer import RolloutTrainer

    found: list[Minibatch] = []
    given: dict[str, Any] = {}
    compute, logprobs = RolloutTrainer._compute_loss, forward.logprobs

    def watched(trainer: Any, model: Any, inputs: Any) -> Any:
        given.update(inputs)
        return compute(trainer, model, inputs)

    def heard(model: Any, rows: Any, trained: Any, temperature: float) -> Any:
        advantages = given["advantages"][given["advantages"] != 0].tolist()
        share = len(given["advantages"])
        pulls = [a / len(places) / share for a, places in zip(advantages, trained, strict=True) for _ in places]
        tokens = int(given["prompt_mask"].sum() + given["completion_mask"].sum())
        found.append(Minibatch(rows, [list(places) for places in trained], torch.tensor(pulls), temperature, tokens))
        return logprobs(model, rows, trained, temperature)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(RolloutTrainer, "_compute_loss", watched),
        mock.patch.object(forward, "logprobs", heard),
    ):
        train_rl(RlSpec(seed=1000, steps=1, save_every=1), load_tasks(queries, database), start, Path(folder))
    return found
