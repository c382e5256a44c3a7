"""Trips and questions with their demonstrations: what candidates are cut from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlab.pivot.candidates import Candidate, Lookup, Turn, join, read_candidates
from starlab.protocol import ToolCall, render_call
from starlab.synthesis.balance import Synthesis, SynthesisSpec
from starlab.synthesis.rejection import TeachingSpec, select, teach
from starlab.tasks import Task
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.task import TravelTask


def candidate(expert: str = "", lookups: tuple[Lookup, ...] = (), action: str = "") -> Candidate:
    """A candidate of which only the text and the look-ups matter."""
    return Candidate("q", 0, "easy", action, (), (), (), expert, lookups)


def call(name: str, **arguments: object) -> str:
    return render_call(ToolCall(name, arguments))


def looked_up(task: Task, *calls: tuple[str, dict[str, str]], thoughts: Sequence[str] = ()) -> tuple[Lookup, ...]:
    """These calls with the tool's own answers, and before the first of them these thoughts."""
    made = [ToolCall(name, arguments) for name, arguments in calls]
    thoughts = [*thoughts, *[""] * (len(made) - len(thoughts))]
    return tuple(Lookup(one, task.call(one), thought) for one, thought in zip(made, thoughts, strict=True))


@dataclass(frozen=True)
class Demonstrations:
    """A file of successful trajectories, their tasks and their candidates."""

    path: Path
    tasks: dict[str, Task]
    turns: list[Turn]


def demonstrate(folder: Path, tokenizer, days: int, count: int) -> Demonstrations:
    database = generate(1, "training", MiniatureSpec(states=4, cities_per_state=4, dates=8))
    made = Synthesis(database, database, SynthesisSpec(days=(days,), sft=count)).make("sft")
    taught = teach(made.queries, database, spec := TeachingSpec(skill=1.0, retry_rate=0.2))
    kept = select(taught, database, spec)
    path = folder / f"trajectories{days}.jsonl"
    path.write_text("".join(json.dumps(trajectory.to_dict()) + "\n" for trajectory in kept))
    tasks: dict[str, Task] = {row.query.id: TravelTask(row.query, database) for row in made.queries}
    return Demonstrations(path, tasks, join(read_candidates(path, tokenizer), tasks, path))
