"""What a rollout returns: one episode per (task, index), as the tokens that were really fed and sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..protocol import FormatError
from ..tasks import Task


class StopReason(StrEnum):
    """Why an episode ended. Only `ANSWERED` delivers an answer."""

    ANSWERED = "answered"
    MALFORMED = "malformed turn"
    TURN_LIMIT = "turn limit"
    TOKEN_LIMIT = "token limit"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one episode. `total_tokens` counts prompt, sampled and observation tokens together."""

    turn_tokens: int = 256
    total_tokens: int = 1024
    calls: int = 60


@dataclass(frozen=True, slots=True)
class Decoding:
    """How tokens are chosen. Temperature 0 is greedy; `top_p` keeps the smallest set of that mass."""

    temperature: float = 1.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """Episodes wanted of one task: `count` of them, numbered from `first_index` (the number seeds their
    noise).
    """

    task: Task
    count: int = 1
    first_index: int = 0


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call as it happened. `failed` marks an injected failure; the tool's own refusals are in
    `response`.
    """

    name: str
    arguments: Mapping[str, object]
    response: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode. `completion_ids`, `mask`, `logprobs` and `entropies` have one entry per token after the prompt.

    `mask` is 1 where the policy sampled the token and 0 where the environment wrote it. `logprobs` are
    natural logs under softmax(logits / temperature), before any top-p truncation (temperature 1 when greedy), and
    `entropies` are that distribution's, in nats; both are 0 where mask is 0. `answer` is set if and only if `stop`
    is ANSWERED; `error` says what broke the protocol.
    """

    query_id: str
    index: int
    prompt_ids: list[int]
    completion_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    stop: StopReason
    calls: tuple[CallRecord, ...]
    turns: int
    answer: str | None = None
    error: FormatError | None = None
    entropies: list[float] = field(default_factory=list)

    @property
    def sampled_tokens(self) -> int:
        return sum(self.mask)

    @property
    def overlong(self) -> bool:
        """Whether a limit ended the episode: its reward says little about the choices made so far."""
        return self.stop in (StopReason.TOKEN_LIMIT, StopReason.TURN_LIMIT)

    @property
    def well_formed(self) -> bool:
        return self.error is None
