"""Sampling one turn from a stored prefix, with the rollout engine that everything else uses.

An engine whose episodes may make no tool call ends every episode after its first turn; the samples of one state share
the prefill of its prefix, as the episodes of one query share that of their prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import StarlabError
from ..protocol import FormatError
from ..rollout.engine import Engine
from ..rollout.episode import Decoding, Episode, Limits, Request
from ..tasks import Task
from .candidates import Turn


class TurnEngine(Engine):
    """Generates single turns. `turn_tokens` bounds a turn, `total_tokens` prefix and turn together."""

    def __init__(self, model: Any, tokenizer: Any, turn_tokens: int, total_tokens: int, rows: int = 64) -> None:
        super().__init__(model, tokenizer, Limits(turn_tokens, total_tokens, calls=0), rows)

    def prompt_ids(self, task: Task) -> list[int]:
        """The stored ids of a prefix; nothing is encoded again."""
        return list(task.candidate.prefix_ids) if isinstance(task, Turn) else super().prompt_ids(task)

    def sample(self, requests: Sequence[tuple[Turn, int, int]], decoding: Decoding, seed: int) -> list[Episode]:
        """`count` turns from each (turn, count, first index), in order; StarlabError if a prefix leaves no room."""
        longest = max((turn for turn, _, _ in requests), key=lambda turn: len(turn.candidate.prefix_ids))
        if len(longest.candidate.prefix_ids) >= self.limits.total_tokens:
            raise StarlabError(
                f"rl.max_tokens: {self.limits.total_tokens} leaves no room after the"
                f" {len(longest.candidate.prefix_ids)} tokens before turn {longest.id}; raise it"
            )
        return self.generate([Request(turn, count, first) for turn, count, first in requests], decoding, seed)

    def text(self, episode: Episode) -> str | None:
        """What a turn says, without its end; None if a limit cut it off."""
        if episode.error is FormatError.TRUNCATED:
            return None
        return self.tokenizer.decode(episode.completion_ids[:-1], skip_special_tokens=False)  # type: ignore[no-any-return]
