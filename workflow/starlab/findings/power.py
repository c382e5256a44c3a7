"""How many seeds would decide a contrast, from the spread that the runs at hand show.

The estimate is taken for the truth, the seed spread for the spread of further seeds, and the panel stays as
it is. With few seeds both are rough: the answer is an order of magnitude for planning, not a promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.special import ndtr, stdtrit

from starlab.findings.contrast import Contrast, Kind, Settings
from starlab.findings.statistics import Spread

MOST_SEEDS = 200


@dataclass(frozen=True)
class SeedPlan:
    """seeds: how many in all decide the contrast with the wanted power; None when MOST_SEEDS do not, and
    `note` says why.
    """

    seeds: int | None
    note: str

    def __str__(self) -> str:
        count = f"more than {MOST_SEEDS}" if self.seeds is None else str(self.seeds)
        return f"{count} ({self.note})" if self.note else count


def seeds_needed(contrast: Contrast, groups: Sequence[Sequence[Spread]], settings: Settings, family: int) -> SeedPlan:
    """Seeds for a verdict, either way, on a contrast with these spreads (one list per group, one spread per
    component).

    `family` primary contrasts share alpha: the first, cautious step of Holm.
    """
    spreads = [spread for group in groups for spread in group]
    have = min(spread.n_seeds for spread in spreads)
    alpha = settings.alpha / family

    def power(n: int) -> float:
        return max(
            _power_claim(contrast, groups, n, alpha, settings),
            _power_opposite(contrast, groups, n, alpha, settings),
        )

    seeds = next((n for n in range(max(2, have + 1), MOST_SEEDS + 1) if power(n) >= settings.power), None)
    notes = []
    if seeds is None:
        notes.append("too close to the margin for this panel")
    if have < 2:
        notes.append(f"assuming that seeds spread by {100 * settings.assumed_seed_sd:.0f} points")
    return SeedPlan(seeds, ", ".join(notes))


def _power_claim(
    contrast: Contrast, groups: Sequence[Sequence[Spread]], n: int, alpha: float, settings: Settings
) -> float:
    """Chance that n seeds support the contrast, parts taken as independent."""
    if contrast.kind is Kind.EQUIVALENCE:
        spread = groups[0][0]
        sides = [_side(spread, contrast.margin + sign * spread.estimate, n, alpha, settings) for sign in (1.0, -1.0)]
        return max(0.0, sum(sides) - 1.0)
    if contrast.within == "all":
        parts = (_side(s, s.estimate - contrast.threshold, n, alpha / 2, settings) for group in groups for s in group)
        return math.prod(parts)
    return math.prod(
        max(_side(s, s.estimate - contrast.threshold, n, alpha / (2 * len(group)), settings) for s in group)
        for group in groups
    )


def _power_opposite(
    contrast: Contrast, groups: Sequence[Sequence[Spread]], n: int, alpha: float, settings: Settings
) -> float:
    """Chance that n seeds contradict the contrast."""
    if contrast.kind is Kind.EQUIVALENCE:
        spread = groups[0][0]
        return _side(spread, abs(spread.estimate) - contrast.margin, n, alpha / 2, settings)
    combine: Callable[..., float] = max if contrast.within == "all" else math.prod
    best = 0.0
    for group in groups:
        tail = alpha / (2 * len(groups) * (len(group) if contrast.within == "all" else 1))
        best = max(best, combine([_side(s, contrast.threshold - s.estimate, n, tail, settings) for s in group]))
    return best


def _side(spread: Spread, distance: float, n: int, tail: float, settings: Settings) -> float:
    """Chance that n seeds put the interval of one-sided level `tail` clear of a limit at `distance`
    (negative: wrong side).
    """
    known = spread.n_seeds > 1
    seed_sd = spread.seed_se * math.sqrt(spread.n_seeds) if known else settings.assumed_seed_sd
    seed_df = n - 1 + (spread.seed_df - (spread.n_seeds - 1) if known else 0.0)
    seed_se, query_se = seed_sd / math.sqrt(n), spread.query_se
    half = math.hypot(float(stdtrit(seed_df, 1 - tail)) * seed_se, float(stdtrit(spread.query_df, 1 - tail)) * query_se)
    return float(ndtr((distance - half) / math.hypot(seed_se, query_se)))
