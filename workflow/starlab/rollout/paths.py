"""What a rollout keeps track of: requests with the episodes that were started for them, and the paths these take.

Episodes that have said the same so far share a path, its row of the cache and every computation on it; they part where
their tokens, or the faults that hit them, do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..protocol import FormatError
from ..tasks import Task
from .drafts import ORDER
from .episode import CallRecord, Episode, Request, StopReason
from .sampling import Noise


@dataclass(frozen=True, slots=True)
class Rider:
    """One episode of those that have said the same so far."""

    order: int  # place in the result
    index: int
    noise: Noise


@dataclass(slots=True)
class Tree:
    """The episodes of one request: how many there are to be, have been started, and go on."""

    request: Request
    prompt_ids: list[int]
    order: int  # place of the first one in the result
    started: int = 0
    running: int = 0

    @property
    def left(self) -> int:
        return self.request.count - self.started

    def start(self, count: int, seed: int) -> list[Rider]:
        """The next `count` episodes."""
        places = range(self.started, self.started + count)
        self.started += count
        self.running += count
        first, name = self.request.first_index, self.request.task.id
        return [Rider(self.order + place, first + place, Noise(seed, name, first + place)) for place in places]


@dataclass(slots=True)
class Path:
    """What one or more episodes of a task have in common so far; it has a row of the cache."""

    tree: Tree
    riders: list[Rider]
    prompt_ids: list[int]
    pending: list[int]  # tokens to feed next
    cached: int = 0  # tokens in the cache
    completion_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    turn_start: int = 0
    turns: int = 0
    calls: list[CallRecord] = field(default_factory=list)
    level: float = 0.0  # entropy of its first tokens, in units of ln(vocabulary)
    node: int = -1  # the turn start at which it branched off and does not branch again
    origins: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # of riders that branched off, by order

    @property
    def task(self) -> Task:
        return self.tree.request.task

    @property
    def size(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt_ids) + len(self.completion_ids)

    def tail(self) -> tuple[int, ...]:
        """The last `ORDER` tokens: what guesses go by."""
        if len(self.completion_ids) >= ORDER:
            return tuple(self.completion_ids[-ORDER:])
        return tuple([*self.prompt_ids[-ORDER:], *self.completion_ids][-ORDER:])

    def split(self, parts: Sequence[list[Rider]]) -> list[Path]:
        """One path for each part of the riders; the first is this one."""
        others = [
            replace(
                self, riders=part, pending=list(self.pending), completion_ids=list(self.completion_ids),
                mask=list(self.mask), logprobs=list(self.logprobs), entropies=list(self.entropies),
                calls=list(self.calls), origins=dict(self.origins),
            )
            for part in parts[1:]
        ]  # fmt: skip
        self.riders = parts[0]
        return [self, *others]

    def branch(self, riders: list[Rider], origins: Mapping[int, tuple[int, int, int]]) -> Path:
        """A path for new riders that start where this one's current turn does."""
        end = self.turn_start
        return replace(
            self,
            riders=riders,
            node=end,
            pending=[self.completion_ids[end - 1]],
            cached=len(self.prompt_ids) + end - 1,
            completion_ids=self.completion_ids[:end],
            mask=self.mask[:end],
            logprobs=self.logprobs[:end],
            entropies=self.entropies[:end],
            calls=list(self.calls),
            origins=dict(origins),
        )

    def sampled(self, token: int, logprob: float, entropy: float) -> None:
        self.completion_ids.append(token)
        self.mask.append(1)
        self.logprobs.append(logprob)
        self.entropies.append(entropy)

    def observed(self, ids: Sequence[int]) -> None:
        self.completion_ids.extend(ids)
        self.mask.extend([0] * len(ids))
        self.logprobs.extend([0.0] * len(ids))
        self.entropies.extend([0.0] * len(ids))

    def episodes(
        self, stop: StopReason, answer: str | None = None, error: FormatError | None = None
    ) -> list[tuple[int, Episode]]:
        """The finished episodes of the riders, with their places."""
        finished = []
        for rider in self.riders:
            parent, inherited, turns = self.origins.get(rider.order, (None, 0, 0))
            episode = Episode(
                query_id=self.task.id, index=rider.index, prompt_ids=list(self.prompt_ids),
                completion_ids=list(self.completion_ids), mask=list(self.mask), logprobs=list(self.logprobs),
                stop=stop, calls=tuple(self.calls), turns=self.turns, answer=answer, error=error,
                entropies=list(self.entropies), parent=parent, inherited=inherited, inherited_turns=turns,
            )  # fmt: skip
            finished.append((rider.order, episode))
        return finished
