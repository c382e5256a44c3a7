"""Rollouts through vLLM on GPUs, by way of TRL's `vllm_generation` (colocated, or a server).

vLLM has a prefix cache of its own, so a turn is one request with everything before it: token ids in, token ids out, as
in `engine`, with the same masks, limits and stop reasons. What differs: sampling is seeded by vLLM, not by episode, and
there are no entropies (they are 0), hence no branching.

With several processes every call is a collective: all of them must make it, with equally many prompts, however many
turns their own episodes take and however often their algorithm draws again. So a call starts with an exchange of how
many prompts each process has, those with fewer add empty ones, and a process whose step is over goes on answering in
`drain` until all have arrived there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from .. import protocol
from ..errors import StarlabError
from ..travel.faults import Faults
from .engine import RolloutStatistics
from .episode import Branching, Decoding, Episode, Limits, Request, StopReason
from .paths import Path, Tree
from .stage import Stage, prompt_ids

State = tuple[int, bool]
"""(prompts that a process has, whether its step is over)"""


class Generation(Protocol):
    """The part of `trl.generation.vllm_generation.VLLMGeneration` that we use."""

    temperature: float
    top_p: float
    max_completion_length: int

    def generate(self, prompts: list[list[int]], images: None, num_generations: int) -> tuple[Any, ...]:
        """(prompt ids, completion ids, log-probabilities [B][T][1], their token ids)."""


def alone(state: State) -> list[State]:
    """The exchange of a single process."""
    return [state]


def together(state: State) -> list[State]:
    """The exchange between the processes of an `accelerate` run."""
    from accelerate.utils import gather_object

    return list(gather_object([state]))


class VllmEngine:
    """As `engine.Engine`, for a policy that vLLM holds; TRL brings the weights there before each rollout."""

    def __init__(
        self,
        generation: Generation,
        tokenizer: Any,
        limits: Limits,
        exchange: Callable[[State], list[State]] = alone,
    ) -> None:
        self.generation, self.tokenizer, self.limits, self.exchange = generation, tokenizer, limits, exchange
        self.statistics = RolloutStatistics()

    def generate(
        self,
        requests: Sequence[Request],
        decoding: Decoding,
        seed: int,
        faults: Faults | None = None,
        branching: Branching | None = None,
    ) -> list[Episode]:
        """All episodes of all requests, in their order. vLLM does not hear of `seed`."""
        if branching is not None:
            raise StarlabError("rl.backend: vLLM gives no entropies to branch on; run arpo with `rl.backend: engine`")
        self.statistics = RolloutStatistics()
        stage = Stage(self.tokenizer, self.limits, faults, sum(request.count for request in requests))
        active: list[Path] = []
        order = 0
        for request in requests:
            prompt = prompt_ids(self.tokenizer, request.task)
            tree = Tree(request, prompt, order)
            order += request.count
            for rider in tree.start(request.count, seed):
                path = Path(tree, [rider], prompt, pending=[])
                if path.size >= self.limits.total_tokens:
                    stage.finish(path, StopReason.TOKEN_LIMIT)
                else:
                    active.append(path)
        while active:
            turns = self._call(active, decoding)
            active = [path for path, turn in zip(active, turns, strict=True) if self._say(stage, path, *turn)]
        return stage.episodes

    def drain(self) -> None:
        """Take part in the calls of other processes until all have come here."""
        with suppress(StopIteration):
            while True:
                self._call([], None)

    def _call(self, active: Sequence[Path], decoding: Decoding | None) -> list[tuple[list[int], list[float]]]:
        """One turn of each path: ids and log-probabilities. Without paths: others' turns, StopIteration at the end."""
        states = self.exchange((len(active), not active))
        if all(over for _, over in states):
            raise StopIteration
        prompts = [path.prompt_ids + path.completion_ids for path in active]
        empty = [self.tokenizer.convert_tokens_to_ids(protocol.IM_END)]
        prompts += [empty] * (max(count for count, _ in states) - len(active))
        if decoding is not None:
            self.generation.temperature, self.generation.top_p = decoding.temperature, decoding.top_p
        self.generation.max_completion_length = self.limits.turn_tokens
        _, ids, logprobs, _ = self.generation.generate(prompts=prompts, images=None, num_generations=1)
        self.statistics.passes += 1
        turns = zip(ids, logprobs, range(len(active)), strict=False)
        return [(list(tokens), [float(choices[0]) for choices in scores]) for tokens, scores, _ in turns]

    def _say(self, stage: Stage, path: Path, tokens: Sequence[int], logprobs: Sequence[float]) -> bool:
        """Let a path say one turn; whether it goes on."""
        for token, logprob in zip(tokens, logprobs, strict=True):
            path.sampled(token, logprob, 0.0)
            self.statistics.sampled_tokens += 1
            if not stage.advance(path, token):
                return False
            if token == stage.end_id:
                return True
        raise StarlabError(
            "vLLM: a turn ended before its limit and without <|im_end|>; make that the model's eos token"
        )
