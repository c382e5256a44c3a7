"""The rollout engine: batched multi-turn generation that keeps its KV cache across turns.

Each pass feeds one packed batch: for a row in the middle of a turn its newest token, for a row whose tool has
answered the whole observation, for a new row its prompt. Nobody waits for anybody: an observation rides along
with the next pass, finished rows leave at once (the last row moves into their slot) and waiting episodes take
their place. Episodes of one task share a row for as long as they say the same, and a row checks several guessed tokens
at a time. Sampled tokens are kept as they are: text is never re-encoded.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .. import protocol
from ..protocol import FormatError
from ..seeds import generator
from ..tasks import Task
from ..travel.faults import Faults
from .cache import Plan, RaggedCache
from .decoders import Decoder, make_decoder
from .drafts import MOST, Drafts, common_length
from .episode import Branching, Decoding, Episode, Limits, Request, StopReason
from .paths import Path, Rider, Tree
from .sampling import Choice, choose
from .stage import Stage, prompt_ids


@dataclass(slots=True)
class RolloutStatistics:
    """What one call of `Engine.generate` did, for logs and benchmarks."""

    passes: int = 0
    fed_tokens: int = 0
    sampled_tokens: int = 0
    branches: int = 0


class Engine:
    """Generates episodes with one model. Weights are read afresh at every call, so it can live beside a
    trainer.

    `rows` bounds the episodes in the batch at a time; a group of one task is admitted as a whole, so a group
    larger than `rows` makes room for itself.
    """

    def __init__(self, model: Any, tokenizer: Any, limits: Limits, rows: int = 64) -> None:
        self.model, self.tokenizer, self.limits, self.rows = model, tokenizer, limits, rows
        self.end_id: int = tokenizer.convert_tokens_to_ids(protocol.IM_END)
        self.statistics = RolloutStatistics()
        self._cache: RaggedCache | None = None

    def decoder(self, rows: int) -> Decoder:
        """A decoder with the weights of now. The cache is kept between calls: fresh memory is slow."""
        decoder = make_decoder(self.model, rows, self.limits.total_tokens + MOST, self._cache)
        self._cache = decoder.cache
        return decoder

    def prompt_ids(self, task: Task) -> list[int]:
        """Where the episodes of `task` begin."""
        return prompt_ids(self.tokenizer, task)

    def drain(self) -> None:
        """A step's rollouts are over. Engines that generate together with other processes wait for them here."""

    @torch.inference_mode()
    def generate(
        self,
        requests: Sequence[Request],
        decoding: Decoding,
        seed: int,
        faults: Faults | None = None,
        branching: Branching | None = None,
    ) -> list[Episode]:
        """All episodes of all requests, in their order. Deterministic in (weights, requests, decoding, seed,
        faults, branching).
        """
        was_training = self.model.training
        self.model.eval()
        try:
            return _Rollout(self, requests, decoding, seed, faults, branching).run()
        finally:
            self.model.train(was_training)


class _Rollout(Stage):
    """One call of `Engine.generate`."""

    def __init__(
        self,
        engine: Engine,
        requests: Sequence[Request],
        decoding: Decoding,
        seed: int,
        faults: Faults | None,
        branching: Branching | None,
    ) -> None:
        super().__init__(engine.tokenizer, engine.limits, faults, sum(request.count for request in requests))
        self.decoding, self.seed, self.branching = decoding, seed, branching
        self.statistics = engine.statistics = RolloutStatistics()
        self.waiting: deque[Tree] = deque()
        order = 0
        for request in requests:
            if request.count:
                self.waiting.append(Tree(request, engine.prompt_ids(request.task), order))
            order += request.count
        self.active: list[Path] = []
        self.again: list[Tree] = []  # trees without a path that have episodes left to start
        self.reserved = 0  # rows
        self.drafts = Drafts()
        largest = max((tree.request.count for tree in self.waiting), default=1)
        self.rows = min(max(engine.rows, largest), max(order, 1))
        self.decoder: Decoder = engine.decoder(self.rows)
        weight = engine.model.get_input_embeddings().weight
        self.dtype, self.device = weight.dtype, weight.device
        self.scale = math.log(len(weight))

    def run(self) -> list[Episode]:
        while self.active or self.waiting or self.again:
            self._admit()
            if self.active:
                self._pass()
        return self.episodes

    def _admit(self) -> None:
        """Move waiting requests into the batch while there is a row for each of their episodes."""
        for tree in self.again:
            self._start(tree, tree.left)
        self.again.clear()
        while self.waiting and self.reserved + self.waiting[0].request.count <= self.rows:
            tree = self.waiting.popleft()
            count = tree.request.count
            self.reserved += count
            self._start(tree, min(count, self.branching.initial) if self.branching else count)

    def _start(self, tree: Tree, count: int) -> None:
        """Let `count` episodes begin at the prompt."""
        path = Path(tree, tree.start(count, self.seed), tree.prompt_ids, pending=list(tree.prompt_ids))
        if len(path.prompt_ids) >= self.limits.total_tokens:
            self.finish(path, StopReason.TOKEN_LIMIT)
        else:
            self.active.append(path)

    def _pass(self) -> None:
        """Feed what is pending and a guess of what follows, sample, and let the finished rows go."""
        active = self.active
        drafts = self._guess()
        fed = [[*path.pending, *draft] for path, draft in zip(active, drafts, strict=True)]
        width = 1 + len(drafts[0])
        plan = Plan.build(fed, [path.cached for path in active], self.dtype, self.device, width)
        logits = self.decoder.logits(plan)
        choice = choose(logits, self.decoding, [[r.noise for r in path.riders] for path in active], width)
        self.statistics.passes += 1
        self.statistics.fed_tokens += len(plan.ids)
        branches = []
        for row, (path, draft) in enumerate(zip(active, drafts, strict=True)):
            path.cached += len(path.pending)
            branches.append(self._follow(path, draft, choice.lines(row * width, width)))
        self._settle(branches)

    def _guess(self) -> list[list[int]]:
        """For each row as many guesses of what follows; where one has fewer, its last token stands in."""
        contexts = [path.tail() for path in self.active]
        if self.branching:
            return [[] for _ in contexts]  # who branches first must not depend on how well others are guessed
        drafts = [self.drafts.guess(context, self.end_id) for context in contexts]
        count = common_length(drafts)
        fillers = [[context[-1]] * count for context in contexts]
        return [(draft + filler)[:count] for draft, filler in zip(drafts, fillers, strict=True)]

    def _follow(self, path: Path, draft: list[int], choice: Choice) -> list[Path]:
        """Let the riders of a path go on with their tokens, for as long as those are the draft's.

        Returns the paths that are not finished, each with `cached` tokens of the row of `path` in common.
        """
        going: list[Path] = []
        waiting = [(path, list(range(len(path.riders))), 0)]
        while waiting:
            path, columns, depth = waiting.pop()
            parts: dict[int, list[int]] = {}
            for column, rider in zip(columns, path.riders, strict=True):
                rider.noise.drop(1)
                parts.setdefault(choice.tokens[depth][column], []).append(column)
            self.statistics.sampled_tokens += len(columns)
            context, split = path.tail(), [path]
            if len(parts) > 1:
                riders = dict(zip(columns, path.riders, strict=True))
                split = path.split([[riders[column] for column in part] for part in parts.values()])
            for branch, (token, part) in zip(split, parts.items(), strict=True):
                self.drafts.learn(context, token)
                branch.sampled(token, choice.logprobs[depth][part[0]], choice.entropies[depth])
                alive = self.advance(branch, token)
                if alive and token != self.end_id and draft[depth : depth + 1] == [token]:
                    branch.cached += 1
                    waiting.append((branch, part, depth + 1))
                else:
                    going.extend(alive)
        return going

    def _settle(self, branches: Sequence[Sequence[Path]]) -> None:
        """Give every path a row: the first of a row's branches keeps it, others get a copy, and no hole is left."""
        slots: list[Path | None] = [paths[0] if paths else None for paths in branches]
        holes = [row for row, path in enumerate(slots) if path is None]
        for source, paths in enumerate(branches):
            for path in paths[1:]:
                if not holes:
                    holes.append(len(slots))
                    slots.append(None)
                target = holes.pop(0)
                self.decoder.cache.copy_row(source, [target], path.cached)
                slots[target] = path
        for hole in holes:
            while slots and slots[-1] is None:
                slots.pop()
            if hole < len(slots):
                last = slots.pop()
                assert last is not None
                self.decoder.cache.copy_row(len(slots), [hole], last.cached)
                slots[hole] = last
        self.active = [path for path in slots if path is not None]

    def finish(
        self, path: Path, stop: StopReason, answer: str | None = None, error: FormatError | None = None
    ) -> list[Path]:
        super().finish(path, stop, answer, error)
        self.reserved -= len(path.riders)
        if not path.tree.running and path.tree.left:
            self.again.append(path.tree)
        return []

    def advance(self, path: Path, token: int) -> list[Path]:
        """As in `Stage`, and the branches that leave where the turn began."""
        branches = self._branch(path, token) if self.branching else []
        return [*super().advance(path, token), *branches]

    def _branch(self, path: Path, token: int) -> list[Path]:
        """New episodes that leave this path at its last tool result, decided once the probed tokens are there."""
        assert self.branching is not None
        probed = len(path.completion_ids) - path.turn_start
        complete = probed == self.branching.probe or (probed < self.branching.probe and token == self.end_id)
        if not complete or path.turn_start == path.node:
            return []
        level = sum(path.entropies[path.turn_start :]) / (probed * self.scale)
        if not path.turn_start:
            path.level = level
            return []
        chance = self.branching.chance(level - path.level)
        riders: list[Rider] = []
        origins: dict[int, tuple[int, int, int]] = {}
        for rider in path.riders:
            draw = generator("branch", self.seed, path.task.id, rider.index, path.turns).random()
            copies = min(self.branching.copies, path.tree.left) if draw < chance else 0
            for child in path.tree.start(copies, self.seed):
                riders.append(child)
                origins[child.order] = (rider.index, path.turn_start, path.turns)
        self.statistics.branches += len(riders)
        return [path.branch(riders, origins)] if riders else []
