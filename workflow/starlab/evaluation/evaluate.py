"""The one evaluate function, during training and at the end: every task of every panel, once per decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..rollout.episode import Decoding, Episode, Request
from ..seeds import derive
from ..tasks import Task
from .metrics import Result, aggregate
from .panels import Panel


class Player(Protocol):
    """What plays the tasks: a `rollout.engine.Engine` with its policy, limits and batch size."""

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Sequence[Episode]: ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`panels` is the section of that name in `evaluation.json`; `rows` are the lines of `queries.jsonl`."""

    panels: dict[str, dict[str, Any]]
    rows: list[dict[str, Any]]


def evaluate(
    player: Player, panels: Sequence[Panel], decodings: Mapping[str, Decoding], seed: int
) -> Evaluation:
    """Measure the policy in `player` on `panels`, tools never failing.

    The noise of an episode comes from `seed`, panel and query alone, not from batch size, other panels or
    decoding: runs and temperatures are compared under the same noise. A bad episode is data; an exception is
    a bug and ends the evaluation.
    """
    measured: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    for panel in panels:
        entry: dict[str, Any] = {
            "domain": panel.domain,
            "sha256": panel.sha256,
            "world_sha256": panel.world_sha256,
            "n": len(panel.tasks),
        }
        for name, decoding in decodings.items():
            requests = [Request(task) for task in panel.tasks]
            episodes = player.generate(requests, decoding, derive("evaluation", seed, panel.name))
            results = [result(task, episode) for task, episode in zip(panel.tasks, episodes, strict=True)]
            settings = {"temperature": decoding.temperature, "top_p": decoding.top_p}
            entry[name] = aggregate(panel.domain, results) | settings
            rows.extend(result.row(panel.name, name) for result in results)
        measured[panel.name] = entry
    return Evaluation(measured, rows)


def result(task: Task, episode: Episode) -> Result:
    """Grade one episode. An episode that did not answer is undelivered, whatever ended it."""
    if episode.query_id != task.id:
        raise AssertionError(f"episode of {episode.query_id!r} returned for {task.id!r}")
    grade = task.grade(episode.answer)
    return Result(
        query_id=task.id,
        level=task.level,
        status=grade.status,
        metrics=grade.metrics,
        format_error=None if episode.error is None else episode.error.name,
        stop=episode.stop.name,
        calls=len(episode.calls),
        tokens=episode.sampled_tokens,
    )
