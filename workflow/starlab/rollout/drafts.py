"""Guessing the next tokens of an episode from what was sampled before, so that one pass can check several.

Much of a turn is boilerplate that follows from a few tokens before it. A guess costs little to check, since a pass is
bound by reading the cache, and changes nothing: a guessed token is fed, its logits tell what the episode samples, and
the guess stands exactly as far as the two agree. The table lives for one rollout, so that a rollout depends on nothing
that came before it.
"""

from __future__ import annotations

from collections.abc import Sequence

ORDER = 3
"""Tokens of context that a guess is looked up by."""
MOST = 3
"""Tokens guessed at a time, at most."""
TRUST = 2
"""Times in a row that a context must have had the same successor."""


class Drafts:
    """What followed each context lately, and how many times in a row."""

    def __init__(self) -> None:
        self._table: dict[tuple[int, ...], tuple[int, int]] = {}

    def learn(self, context: tuple[int, ...], token: int) -> None:
        """Note that `token` was sampled after `context`, the `ORDER` tokens before it."""
        guess, streak = self._table.get(context, (token, 0))
        self._table[context] = (token, streak + 1 if guess == token else 1)

    def guess(self, context: tuple[int, ...], stop: int) -> list[int]:
        """Up to `MOST` tokens that may follow `context`; nothing is guessed beyond the token `stop`."""
        found: list[int] = []
        while len(found) < MOST:
            token, streak = self._table.get(context, (stop, 0))
            if streak < TRUST:
                break
            found.append(token)
            if token == stop:
                break
            context = (*context[1:], token)
        return found


def common_length(drafts: Sequence[Sequence[int]]) -> int:
    """How many guesses a pass should check in every row, given those of each: as many as half of the rows have."""
    return sorted(map(len, drafts), reverse=True)[len(drafts) // 2]
