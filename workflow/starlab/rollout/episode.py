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
class Branching:
    """How the episodes of a request come to be when not all of them start at the prompt (ARPO, arXiv 2507.19849).

    `initial` episodes do. After each tool result the mean entropy H of the next `probe` tokens (fewer if the turn is
    shorter), in units of ln(vocabulary), is compared with that of the episode's first `probe` tokens, H0, and the
    episode splits at the result with probability clip(probability + weight * (H - H0), 0, 1), `copies` times, while
    the request has episodes left to start. Those that are left when all others have ended start at the prompt.
    """

    initial: int
    probability: float = 0.5
    weight: float = 0.2
    probe: int = 20
    copies: int = 1

    def chance(self, rise: float) -> float:
        """The probability of a split where the entropy is `rise` above the initial one."""
        return min(1.0, max(0.0, self.probability + self.weight * rise))


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
    parent: int | None = None
    """Index of the episode of the same task that this one branched off."""
    inherited: int = 0
    """Tokens of the completion that come from there."""
    inherited_turns: int = 0

    @property
    def sampled_tokens(self) -> int:
        return sum(self.mask)

    @property
    def own_tokens(self) -> int:
        """Tokens that were sampled for this episode and not for the one it branched off."""
        return sum(self.mask[self.inherited :])

    @property
    def own_turns(self) -> int:
        """Turns of which at least the end was sampled for this episode; one that a limit cut off counts too."""
        return self.turns - self.inherited_turns + (self.error is FormatError.TRUNCATED)

    @property
    def overlong(self) -> bool:
        """Whether a limit ended the episode: its reward says little about the choices made so far."""
        return self.stop in (StopReason.TOKEN_LIMIT, StopReason.TURN_LIMIT)

    @property
    def well_formed(self) -> bool:
        return self.error is None
