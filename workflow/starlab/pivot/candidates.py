"""Candidates: every assistant turn of the demonstrations, as the token ids before it and the ids of the turn itself.

A trajectory of n assistant turns gives n candidates (PivotRL, pipeline step 1: the pairs (s_t, a*_t)). Ids are those
that SFT trains on and that a rollout would have fed, cut where the policy starts to speak; they are never encoded
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import MEND
from ..policy.encoding import encode_dialogues
from ..protocol import RESPONSE_CLOSE, RESPONSE_OPEN, Message, ToolCall, TurnKind, parse_turn, thought_of
from ..seeds import generator
from ..tasks import Grade, Task
from ..training.dataset import trajectory_rows

ANSWER = "answer"
MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tool call of the prefix and the text that came back, injected failures included; `thought` came before it."""

    call: ToolCall
    response: str
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One state of a demonstration and what the expert did in it.

    `prefix_ids` end where the turn starts; `expert_ids` include the end of the turn, `expert`, its text, does not.
    `action` is the tool that the expert calls, or `ANSWER`.
    """

    trajectory: str
    turn: int
    level: str
    action: str
    messages: tuple[Message, ...]
    prefix_ids: tuple[int, ...]
    expert_ids: tuple[int, ...]
    expert: str
    lookups: tuple[Lookup, ...]

    @property
    def id(self) -> str:
        """Trajectory and number of the turn, from 0."""
        return f"{self.trajectory}/{self.turn}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A candidate with the query it belongs to: the `Task` of one turn, whose prompt is the whole prefix."""

    candidate: Candidate
    task: Task

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def domain(self) -> str:
        return self.task.domain

    @property
    def level(self) -> str:
        return self.candidate.level

    def prompt(self) -> list[Message]:
        return list(self.candidate.messages)

    def call(self, call: ToolCall) -> str:
        return self.task.call(call)

    def grade(self, answer: str | None) -> Grade:
        return self.task.grade(answer)


def read_candidates(path: Path, tokenizer: Any) -> list[Candidate]:
    """All candidates of a trajectories file, in its order. Raises StarlabError naming file, line and field."""
    rows = trajectory_rows(path)
    dialogues = [row["messages"] for _, row in rows]
    names = [_name(place, row) for place, row in rows]
    if len({name for name, _ in names}) < len(names):
        raise StarlabError(f"{path}: two trajectories have the same `id`; make the file again")
    encoded = encode_dialogues(tokenizer, dialogues)
    return [
        candidate
        for (name, level), messages, (ids, mask) in zip(names, dialogues, encoded, strict=True)
        for candidate in split(name, level, messages, ids, mask)
    ]


def _name(place: str, row: Mapping[str, Any]) -> tuple[str, str]:
    for field in ("id", "level"):
        if not isinstance(row.get(field), str):
            raise StarlabError(f"{place}: field {field!r} is missing or no text; {MEND}")
    return row["id"], row["level"]


def split(
    name: str, level: str, messages: Sequence[Message], ids: Sequence[int], mask: Sequence[bool]
) -> Iterator[Candidate]:
    """Cut one encoded dialogue at every assistant turn; `mask` is True where the assistant speaks."""
    spans = _spans(mask)
    lookups: list[Lookup] = []
    turn = 0
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        start, end = spans[turn]
        said = parse_turn(message["content"])
        action = said.call.name if said.call else ANSWER if said.kind is TurnKind.ANSWER else MALFORMED
        yield Candidate(
            trajectory=name,
            turn=turn,
            level=level,
            action=action,
            messages=tuple(messages[:place]),
            prefix_ids=tuple(ids[:start]),
            expert_ids=tuple(ids[start:end]),
            expert=message["content"],
            lookups=tuple(lookups),
        )
        if said.call and place + 1 < len(messages):
            response = messages[place + 1]["content"].removeprefix(RESPONSE_OPEN).removesuffix(RESPONSE_CLOSE)
            lookups.append(Lookup(said.call, response, thought_of(message["content"])))
        turn += 1


def _spans(mask: Sequence[bool]) -> list[tuple[int, int]]:
    """(start, end) of every stretch of True."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for place, spoken in enumerate([*mask, False]):
        if spoken and start is None:
            start = place
        elif not spoken and start is not None:
            spans.append((start, place))
            start = None
    return spans


def join(candidates: Sequence[Candidate], tasks: Mapping[str, Task], source: Path) -> list[Turn]:
    """Each candidate with its query; StarlabError if `source`, the file of the queries, lacks one."""
    for candidate in candidates:
        if candidate.trajectory not in tasks:
            raise StarlabError(
                f"{source}: no query {candidate.trajectory!r}, but a trajectory of that id; make both again"
            )
    return [Turn(candidate, tasks[candidate.trajectory]) for candidate in candidates]


def draw(candidates: Sequence[Candidate], count: int, seed: int) -> list[Candidate]:
    """`count` candidates (all, if there are fewer) drawn uniformly without replacement, in their order."""
    if count >= len(candidates):
        return list(candidates)
    chosen = generator("pivot-candidates", seed).sample(range(len(candidates)), count)
    return [candidates[index] for index in sorted(chosen)]
