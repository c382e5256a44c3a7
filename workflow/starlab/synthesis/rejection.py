"""Rejection sampling: of the teacher's trajectories, the successful and well-formed, and of those the best.

"Best" means most budget to spare: within each level, trajectories are ranked by the cost of the plan relative
to the budget, then by the number of calls. Ranking within levels leaves the make-up by level as the teacher's
success made it. The paper keeps every success (24 % of 5,000); keeping a share of them, best first, is this
project's choice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..protocol import TurnKind, parse_turn
from ..provenance import text_sha256
from ..travel.cost import cost
from ..travel.database import Database
from ..travel.evidence import gather
from ..travel.faults import Faults
from ..travel.query import LEVELS, Query
from ..travel.task import TravelTask
from .balance import SolvedQuery
from .card import Card, lines, load_set
from .teacher import Teacher, Trajectory


@dataclass(frozen=True, slots=True)
class TeachingSpec:
    """What the SFT trajectories depend on, besides the queries."""

    skill: float = 0.0
    """How the teacher chooses: 0 any row it was shown, 1 the solver's."""
    restate: float = 0.2
    """Share of its thoughts that say again what was asked of a hotel or a meal, if anything was."""
    thrift: float = 0.1
    """Share of its thoughts that say that the cheapest is taken."""
    drives: float = 0.05
    """Share of its trips by car."""
    retry_rate: float = 0.1
    """Probability that one of its calls fails, so that it shows how to try again."""
    keep: float = 0.8
    """Share of the successful, well-formed trajectories that is kept, best first."""
    trajectories: int = 800
    """At most this many are kept, in the order of the queries."""
    seed: int = 0
    """Draws the teacher's choices and the failures."""

    def __post_init__(self) -> None:
        for name in ("skill", "restate", "thrift", "drives", "retry_rate", "keep"):
            if not 0 <= getattr(self, name) <= 1:
                raise StarlabError(f"sft.teacher.{name}: {getattr(self, name)} is not between 0 and 1")


def teach(
    solved: Iterable[SolvedQuery], database: Database, spec: TeachingSpec
) -> list[tuple[Query, Trajectory]]:
    """One trajectory for every query."""
    faults = Faults(spec.retry_rate, spec.seed)
    teacher = Teacher(spec.skill, spec.seed, faults, spec.restate, spec.thrift, spec.drives)
    return [(row.query, teacher.answer(TravelTask(row.query, database), row.witness)) for row in solved]


def well_formed(trajectory: Trajectory) -> bool:
    """Every assistant turn is one tool call, the last one an answer."""
    turns = [
        parse_turn(message["content"]) for message in trajectory.messages if message["role"] == "assistant"
    ]
    kinds = [turn.kind for turn in turns]
    return bool(kinds) and kinds[-1] is TurnKind.ANSWER and all(kind is TurnKind.CALL for kind in kinds[:-1])


def select(
    taught: Sequence[tuple[Query, Trajectory]], database: Database, spec: TeachingSpec
) -> list[Trajectory]:
    """The trajectories to train on, in the order of the queries."""
    good = [
        (query, trajectory) for query, trajectory in taught if trajectory.success and well_formed(trajectory)
    ]
    kept: set[str] = set()
    for level in LEVELS:
        ranked = sorted(
            (_spent(query, trajectory, database), trajectory.calls, trajectory.query_id)
            for query, trajectory in good
            if query.level == level
        )
        kept.update(query_id for _, _, query_id in ranked[: ceil(spec.keep * len(ranked))])
    return [trajectory for _, trajectory in good if trajectory.query_id in kept][: spec.trajectories]


def _spent(query: Query, trajectory: Trajectory, database: Database) -> float:
    """The cost of a successful plan as a share of the budget."""
    assert trajectory.plan is not None, "without a plan there is no success"
    total = cost(gather(query, trajectory.plan, database)).total
    assert total is not None, "a successful plan is priced"
    return total / query.budget


def trajectory_card(
    taught: Sequence[tuple[Query, Trajectory]], kept: Sequence[Trajectory], spec: TeachingSpec, sha256: str
) -> Card:
    """Yield and make-up: how many were tried, succeeded and were kept, by level; what the kept are like."""
    tried = Counter(query.level for query, _ in taught)
    succeeded = Counter(query.level for query, trajectory in taught if trajectory.success)
    chosen = Counter(trajectory.level for trajectory in kept)
    checks: dict[str, list[float]] = {}
    for _, trajectory in taught:
        for name, value in trajectory.grade.metrics.items():
            checks.setdefault(name, []).append(value)
    return {
        "set": "trajectories",
        "trajectories": len(kept),
        "sha256": sha256,
        "teacher": {name: value for name, value in asdict(spec).items() if name != "trajectories"},
        "yield": {level: _rate(succeeded[level], count) for level, count in _by_level(tried).items()}
        | {"all": _rate(succeeded.total(), tried.total())},
        "tried": _by_level(tried),
        "succeeded": _by_level(succeeded),
        "kept": _by_level(chosen),
        "passed": {name: round(sum(values) / len(values), 4) for name, values in checks.items()},
        "calls_mean": round(sum(row.calls for row in kept) / max(1, len(kept)), 2),
        "with_a_failed_call": sum(row.failed_calls > 0 for row in kept),
    }


def _by_level(counts: Mapping[str, int]) -> dict[str, int]:
    return {level: counts[level] for level in LEVELS if level in counts}


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def write_trajectories(
    queries: Path, database: Database, spec: TeachingSpec, path: Path, card_path: Path
) -> Card:
    """Teach on a file of queries; write what is kept, and its card. Raises StarlabError if nothing is."""
    taught = teach(load_set(queries), database, spec)
    kept = select(taught, database, spec)
    if not kept:
        raise StarlabError(
            f"{queries}: the teacher solved none of {len(taught)} queries; raise `sft.teacher.skill`"
        )
    rows: list[dict[str, Any]] = [trajectory.to_dict() for trajectory in kept]
    text = lines(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    card_path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    content = trajectory_card(taught, kept, spec, text_sha256(text))
    card_path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content
