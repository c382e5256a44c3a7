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
from dataclasses import dataclass, field
from typing import Any

import torch

from .. import protocol
from ..protocol import FormatError, TurnKind
from ..tasks import Task
from ..travel.faults import Faults
from .cache import Plan, RaggedCache
from .decoders import Decoder, make_decoder
from .episode import CallRecord, Decoding, Episode, Limits, Request, StopReason
from .sampling import Noise, choose


@dataclass(slots=True)
class _Running:
    """An episode in progress."""

    order: int  # place in the result
    task: Task
    index: int
    prompt_ids: list[int]
    noise: Noise
    pending: list[int]  # tokens to feed next
    cached: int = 0  # tokens in the cache
    completion_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    turn_start: int = 0
    turns: int = 0
    calls: list[CallRecord] = field(default_factory=list)

    def finish(self, stop: StopReason, answer: str | None = None, error: FormatError | None = None) -> Episode:
        return Episode(
            query_id=self.task.id, index=self.index, prompt_ids=self.prompt_ids,
            completion_ids=self.completion_ids, mask=self.mask, logprobs=self.logprobs, stop=stop,
            calls=tuple(self.calls), turns=self.turns, answer=answer, error=error, entropies=self.entropies,
        )  # fmt: skip


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
        decoder = make_decoder(self.model, rows, self.limits.total_tokens, self._cache)
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
        self.waiting: deque[list[_Running]] = deque()
        order = 0
        for request in requests:
            prompt = engine.prompt_ids(request.task)
            group = []
            for index in range(request.first_index, request.first_index + request.count):
                noise = Noise(seed, request.task.id, index)
                group.append(_Running(order, request.task, index, prompt, noise, pending=list(prompt)))
                order += 1
            if group:
                self.waiting.append(group)
        self.results: list[Episode | None] = [None] * order
        self.active: list[_Running] = []
        self.texts: dict[str, list[int]] = {}
        self.turns: dict[tuple[int, ...], protocol.Turn] = {}
        largest = max((len(group) for group in self.waiting), default=1)
        rows = min(max(engine.rows, largest), max(order, 1))
        self.rows = rows
        self.decoder: Decoder = engine.decoder(rows)
        weight = next(engine.model.parameters())
        self.dtype, self.device = weight.dtype, weight.device

    def run(self) -> list[Episode]:
        while self.active or self.waiting:
            siblings = self._admit()
            if self.active:
                self._pass(siblings)
        return [episode for episode in self.results if episode is not None]

    def _admit(self) -> dict[int, list[_Running]]:
        """Move waiting groups into the batch while they fit; returns the siblings that will copy each
        leader's prompt.
        """
        siblings: dict[int, list[_Running]] = {}
        reserved = len(self.active)
        while self.waiting and reserved + len(self.waiting[0]) <= self.rows:
            group = self.waiting.popleft()
            if len(group[0].prompt_ids) >= self.limits.total_tokens:
                for running in group:
                    self.results[running.order] = running.finish(StopReason.TOKEN_LIMIT)
                continue
            reserved += len(group)
            siblings[len(self.active)] = group[1:]
            self.active.append(group[0])
        return siblings

    def _pass(self, siblings: dict[int, list[_Running]]) -> None:
        """Feed what is pending, sample one token per row, and let the finished rows go."""
        active = self.active
        plan = Plan.build([r.pending for r in active], [r.cached for r in active], self.dtype, self.device)
        logits = self.decoder.logits(plan)
        self.statistics.passes += 1
        self.statistics.fed_tokens += len(plan.ids)
        for running in active:
            running.cached += len(running.pending)
        sources = list(range(len(active)))
        for leader, group in siblings.items():
            targets = list(range(len(active), len(active) + len(group)))
            self.decoder.cache.copy_row(leader, targets, active[leader].cached)
            for running in group:
                running.cached = active[leader].cached
            sources.extend([leader] * len(group))
            active.extend(group)
        if len(sources) > len(logits):
            logits = logits[torch.tensor(sources, device=logits.device)]
        choice = choose(logits, self.decoding, [r.noise for r in active])
        self.statistics.sampled_tokens += len(active)
        finished = []
        for row, (running, token, logprob, entropy) in enumerate(zip(active, *choice, strict=True)):
            running.completion_ids.append(token)
            running.mask.append(1)
            running.logprobs.append(logprob)
            running.entropies.append(entropy)
            episode = self._advance(running, token)
            if episode is not None:
                self.results[running.order] = episode
                finished.append(row)
        for row in reversed(finished):
            self._free(row)

    def _free(self, row: int) -> None:
        """Drop a row; the last one takes its slot."""
        last = self.active.pop()
        if row < len(self.active):
            self.active[row] = last
            self.decoder.cache.copy_row(len(self.active), [row], last.cached)

    def _advance(self, running: _Running, token: int) -> Episode | None:
        """What follows a sampled token: more of the turn, an observation, or the end of the episode."""
        size = len(running.prompt_ids) + len(running.completion_ids)
        if token != self.engine.end_id:
            turn_tokens = len(running.completion_ids) - running.turn_start
            if turn_tokens >= self.limits.turn_tokens or size >= self.limits.total_tokens:
                return running.finish(StopReason.TOKEN_LIMIT, error=FormatError.TRUNCATED)
            running.pending = [token]
            return None
        running.turns += 1
        turn = self._parse(tuple(running.completion_ids[running.turn_start : -1]))
        if turn.kind is TurnKind.ANSWER:
            return running.finish(StopReason.ANSWERED, answer=turn.answer)
        if turn.kind is TurnKind.MALFORMED or turn.call is None:
            return running.finish(StopReason.MALFORMED, error=turn.error)
        if len(running.calls) >= self.limits.calls:
            return running.finish(StopReason.TURN_LIMIT)
        observation = self._call(running, turn.call)
        if size + len(observation) >= self.limits.total_tokens:
            return running.finish(StopReason.TOKEN_LIMIT)
        running.completion_ids.extend(observation)
        running.mask.extend([0] * len(observation))
        running.logprobs.extend([0.0] * len(observation))
        running.entropies.extend([0.0] * len(observation))
        running.turn_start = len(running.completion_ids)
        running.pending = [token, *observation]
        return None

    def _parse(self, ids: tuple[int, ...]) -> protocol.Turn:
        if ids not in self.turns:
            text = self.engine.tokenizer.decode(list(ids), skip_special_tokens=False)
            self.turns[ids] = protocol.parse_turn(text)
        return self.turns[ids]

    def _call(self, running: _Running, call: protocol.ToolCall) -> list[int]:
        """Run a tool (or the fault that replaces it) and return the observation's ids."""
        failure = None
        if self.faults is not None:
            failure = self.faults.text(
                call.name, running.task.id, running.index, len(running.calls), lambda: running.task.call(call)
            )
        response = running.task.call(call) if failure is None else failure
        running.calls.append(CallRecord(call.name, call.arguments, response, failed=failure is not None))
        if response not in self.texts:
            self.texts[response] = self.engine.encode(protocol.render_observation(response))
        return self.texts[response]
