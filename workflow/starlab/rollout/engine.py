"""The rollout engine: batched multi-turn generation that keeps its KV cache across turns.

Each pass feeds one packed batch: for a row in the middle of a turn its newest token, for a row whose tool has
answered the whole observation, for a new row its prompt. Nobody waits for anybody: an observation rides along
with the next pass, finished rows leave at once (the last row moves into their slot) and waiting episodes take
their place. Episodes of one task share the prefill of their prompt. Sampled tokens are kept as they are: text
is never re-encoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from .. import protocol
from ..protocol import FormatError, TurnKind
from ..tasks import Task
from ..travel.faults import Faults
from .cache import Plan, RaggedCache
from .decoders import Decoder, make_decoder
from .drafts import MOST, ORDER, Drafts, common_length
from .episode import CallRecord, Decoding, Episode, Limits, Request, StopReason
from .sampling import Choice, Noise, choose


class _Rider(NamedTuple):
    """One episode of those that have said the same so far."""

    order: int  # place in the result
    index: int
    noise: Noise


@dataclass(slots=True)
class _Path:
    """What one or more episodes of a task have in common so far; it has a row of the cache."""

    task: Task
    riders: list[_Rider]
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

    @property
    def size(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt_ids) + len(self.completion_ids)

    def tail(self) -> tuple[int, ...]:
        """The last `ORDER` tokens: what guesses go by."""
        if len(self.completion_ids) >= ORDER:
            return tuple(self.completion_ids[-ORDER:])
        return tuple([*self.prompt_ids[-ORDER:], *self.completion_ids][-ORDER:])

    def split(self, parts: Sequence[list[_Rider]]) -> list[_Path]:
        """One path for each part of the riders; the first is this one."""
        others = [
            replace(
                self, riders=part, pending=list(self.pending), completion_ids=list(self.completion_ids),
                mask=list(self.mask), logprobs=list(self.logprobs), entropies=list(self.entropies),
                calls=list(self.calls),
            )
            for part in parts[1:]
        ]  # fmt: skip
        self.riders = parts[0]
        return [self, *others]

    def sampled(self, token: int, logprob: float, entropy: float) -> None:
        self.completion_ids.append(token)
        self.mask.append(1)
        self.logprobs.append(logprob)
        self.entropies.append(entropy)

    def observed(self, ids: Sequence[int]) -> None:
        self.completion_ids.extend(ids)
        for values, nothing in ((self.mask, 0), (self.logprobs, 0.0), (self.entropies, 0.0)):
            values.extend([nothing] * len(ids))

    def episodes(
        self, stop: StopReason, answer: str | None = None, error: FormatError | None = None
    ) -> list[tuple[int, Episode]]:
        """The finished episodes of the riders, with their places."""
        return [
            (
                rider.order,
                Episode(
                    query_id=self.task.id, index=rider.index, prompt_ids=list(self.prompt_ids),
                    completion_ids=list(self.completion_ids), mask=list(self.mask), logprobs=list(self.logprobs),
                    stop=stop, calls=tuple(self.calls), turns=self.turns, answer=answer, error=error,
                    entropies=list(self.entropies),
                ),
            )
            for rider in self.riders
        ]  # fmt: skip


@dataclass(slots=True)
class RolloutStatistics:
    """What one call of `Engine.generate` did, for logs and benchmarks."""

    passes: int = 0
    fed_tokens: int = 0
    sampled_tokens: int = 0


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

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)  # type: ignore[no-any-return]

    def prompt_ids(self, task: Task) -> list[int]:
        """The prompt as the chat template renders it, up to where the first turn starts."""
        return self.encode(protocol.render_chat(task.prompt(), add_generation_prompt=True))

    @torch.inference_mode()
    def generate(
        self,
        requests: Sequence[Request],
        decoding: Decoding,
        seed: int,
        faults: Faults | None = None,
    ) -> list[Episode]:
        """All episodes of all requests, in their order. Deterministic in (weights, requests, decoding, seed,
        faults).
        """
        was_training = self.model.training
        self.model.eval()
        try:
            return _Rollout(self, requests, decoding, seed, faults).run()
        finally:
            self.model.train(was_training)


class _Rollout:
    """One call of `Engine.generate`."""

    def __init__(
        self,
        engine: Engine,
        requests: Sequence[Request],
        decoding: Decoding,
        seed: int,
        faults: Faults | None,
    ) -> None:
        self.engine, self.decoding, self.faults, self.limits = engine, decoding, faults, engine.limits
        self.statistics = engine.statistics = RolloutStatistics()
        self.waiting: deque[_Path] = deque()
        order = 0
        for request in requests:
            prompt = engine.prompt_ids(request.task)
            indices = range(request.first_index, request.first_index + request.count)
            riders = [
                _Rider(order + place, index, Noise(seed, request.task.id, index)) for place, index in enumerate(indices)
            ]
            order += len(riders)
            if riders:
                self.waiting.append(_Path(request.task, riders, prompt, pending=list(prompt)))
        self.results: list[Episode | None] = [None] * order
        self.active: list[_Path] = []
        self.drafts = Drafts()
        self.texts: dict[str, list[int]] = {}
        self.turns: dict[tuple[int, ...], protocol.Turn] = {}
        largest = max((len(path.riders) for path in self.waiting), default=1)
        self.rows = min(max(engine.rows, largest), max(order, 1))
        self.decoder: Decoder = engine.decoder(self.rows)
        weight = next(engine.model.parameters())
        self.dtype, self.device = weight.dtype, weight.device

    def run(self) -> list[Episode]:
        while self.active or self.waiting:
            self._admit()
            if self.active:
                self._pass()
        return [episode for episode in self.results if episode is not None]

    def _admit(self) -> None:
        """Move waiting groups into the batch while there is a row for each of their episodes."""
        reserved = sum(len(path.riders) for path in self.active)
        while self.waiting and reserved + len(self.waiting[0].riders) <= self.rows:
            path = self.waiting.popleft()
            if len(path.prompt_ids) >= self.limits.total_tokens:
                self._finish(path, StopReason.TOKEN_LIMIT)
                continue
            reserved += len(path.riders)
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
            lines = slice(row * width, (row + 1) * width)
            branches.append(self._follow(path, draft, Choice(*(values[lines] for values in choice))))
        self._settle(branches)

    def _guess(self) -> list[list[int]]:
        """For each row as many guesses of what follows; where one has fewer, its last token stands in."""
        contexts = [path.tail() for path in self.active]
        drafts = [self.drafts.guess(context, self.engine.end_id) for context in contexts]
        count = common_length(drafts)
        fillers = [[context[-1]] * count for context in contexts]
        return [(draft + filler)[:count] for draft, filler in zip(drafts, fillers, strict=True)]

    def _follow(self, path: _Path, draft: list[int], choice: Choice) -> list[_Path]:
        """Let the riders of a path go on with their tokens, for as long as those are the draft's.

        Returns the paths that are not finished, each with `cached` tokens of the row of `path` in common.
        """
        going: list[_Path] = []
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
                alive = self._advance(branch, token)
                if alive and token != self.engine.end_id and draft[depth : depth + 1] == [token]:
                    branch.cached += 1
                    waiting.append((branch, part, depth + 1))
                else:
                    going.extend(alive)
        return going

    def _settle(self, branches: Sequence[Sequence[_Path]]) -> None:
        """Give every path a row: the first of a row's branches keeps it, others get a copy, and no hole is left."""
        slots: list[_Path | None] = [paths[0] if paths else None for paths in branches]
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

    def _finish(
        self, path: _Path, stop: StopReason, answer: str | None = None, error: FormatError | None = None
    ) -> list[_Path]:
        """Deliver the episodes of a path; nothing of it goes on."""
        for order, episode in path.episodes(stop, answer, error):
            self.results[order] = episode
        return []

    def _advance(self, path: _Path, token: int) -> list[_Path]:
        """What follows a sampled token: more of the turn, observations, or the end."""
        if token != self.engine.end_id:
            turn_tokens = len(path.completion_ids) - path.turn_start
            if turn_tokens >= self.limits.turn_tokens or path.size >= self.limits.total_tokens:
                return self._finish(path, StopReason.TOKEN_LIMIT, error=FormatError.TRUNCATED)
            path.pending = [token]
            return [path]
        path.turns += 1
        turn = self._parse(tuple(path.completion_ids[path.turn_start : -1]))
        if turn.kind is TurnKind.ANSWER:
            return self._finish(path, StopReason.ANSWERED, answer=turn.answer)
        if turn.kind is TurnKind.MALFORMED or turn.call is None:
            return self._finish(path, StopReason.MALFORMED, error=turn.error)
        if len(path.calls) >= self.limits.calls:
            return self._finish(path, StopReason.TURN_LIMIT)
        path.pending = [token]
        return [branch for branch in self._call(path, turn.call) if self._observe(branch)]

    def _parse(self, ids: tuple[int, ...]) -> protocol.Turn:
        if ids not in self.turns:
            text = self.engine.tokenizer.decode(list(ids), skip_special_tokens=False)
            self.turns[ids] = protocol.parse_turn(text)
        return self.turns[ids]

    def _call(self, path: _Path, call: protocol.ToolCall) -> list[_Path]:
        """Run a tool, or for some episodes the fault that replaces it: paths that end with what it returned."""
        parts: dict[str | None, list[_Rider]] = {}
        for rider in path.riders:
            failure = None
            if self.faults is not None:
                failure = self.faults.text(call.name, path.task.id, rider.index, len(path.calls))
            parts.setdefault(failure, []).append(rider)
        branches = path.split(list(parts.values()))
        for branch, failure in zip(branches, parts, strict=True):
            response = branch.task.call(call) if failure is None else failure
            branch.calls.append(CallRecord(call.name, call.arguments, response, failed=failure is not None))
        return branches

    def _observe(self, path: _Path) -> bool:
        """Append what the last call returned; False if there is no room for it."""
        response = path.calls[-1].response
        if response not in self.texts:
            self.texts[response] = self.engine.encode(protocol.render_observation(response))
        observation = self.texts[response]
        if path.size + len(observation) >= self.limits.total_tokens:
            self._finish(path, StopReason.TOKEN_LIMIT)
            return False
        path.observed(observation)
        path.turn_start = len(path.completion_ids)
        path.pending = [*path.pending, *observation]
        return True
