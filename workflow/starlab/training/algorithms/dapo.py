"""DAPO (arXiv 2503.14476): clip-higher, loss averaged over all tokens, dynamic sampling, overlong shaping.

Dynamic sampling: a group whose raw rewards are all alike teaches nothing. It is discarded and another prompt
is drawn in its place, for at most `refills` rounds. "Alike" is about raw rewards of any range, so the rule is
right for graded rewards too. Places that are still empty then hold muted groups: they count in the
statistics, not in the loss or its normaliser, so the step trains on fewer groups rather than on diluted ones.
`require_full` raises instead, as the original does.

Overlong shaping (equation 13): in the last `overlong_share` of the allowed length the reward falls by up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import StarlabError
from ..groups import Group
from .base import Algorithm, Draw, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Dapo(Algorithm):
    loss_type: str = "dapo"
    refills: int = 4
    """Rounds of drawing again, at most."""
    require_full: bool = False
    """Whether a step that stays short is an error."""
    overlong_share: float = 0.2
    """Share of the longest length over which the penalty for length grows from 0 to 1; 0: no penalty."""

    def shaping(self, length: int, limit: int) -> float:
        """0 up to limit - cache, then falling linearly to -1 at the limit; cache = overlong_share * limit."""
        cache = self.overlong_share * limit
        over = length - (limit - cache)
        return -min(1.0, over / cache) if cache and over > 0 else 0.0

    def select(self, groups: Sequence[Group], draw: Draw) -> Selection:
        wanted = len(groups)
        kept = [group for group in groups if group.has_spread]
        silent = [group for group in groups if not group.has_spread]
        rounds = 0
        while len(kept) < wanted and rounds < self.refills:
            fresh = draw(rounds, wanted - len(kept))
            if not fresh:
                break  # no prompt is left to draw
            rounds += 1
            kept.extend(group for group in fresh if group.has_spread)
            silent.extend(group for group in fresh if not group.has_spread)
        missing = wanted - len(kept)
        if missing and self.require_full:
            raise StarlabError(
                f"dapo: after {rounds} rounds only {len(kept)} of {wanted} groups have rewards that"
                " differ; raise `refills`, or start from a policy that sometimes succeeds"
            )
        padding = [group.muted_copy() for group in silent[:missing]]
        return Selection((*kept, *padding), discarded=len(silent) - missing, rounds=rounds, unfilled=missing)
