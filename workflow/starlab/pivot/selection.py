"""The filter: which candidates are pivots (PivotRL, pipeline steps 2 and 3).

    mean(s) = sum_k r_k / K        variance(s) = sum_k (r_k - mean)^2 / K
    pivots  = { s : variance(s) > 0 and mean(s) < mean_below }            both strict

The arithmetic is exact, so that 3 successes of 5 are not below 0.6 on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

LARGEST_DENOMINATOR = 10_000
"""Rewards are small fractions (1/3, 4/5, 7/40); the float nearest to one is taken for it."""


def exact(value: float) -> Fraction:
    """The fraction that a float stands for."""
    return Fraction(value).limit_denominator(LARGEST_DENOMINATOR)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean and population variance (divided by `count`) of a state's rewards."""

    count: int
    mean: Fraction
    variance: Fraction

    @property
    def has_signal(self) -> bool:
        """Whether the rewards differ. Where they are all alike every group-normalised advantage is 0
        (proposition 3.1)."""
        return self.variance > 0

    def is_pivot(self, mean_below: float) -> bool:
        """Mixed results, and not yet mastered."""
        return self.has_signal and self.mean < exact(mean_below)


def statistics(rewards: Sequence[float]) -> Statistics:
    """Statistics of at least one reward."""
    values = [exact(reward) for reward in rewards]
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)
    return Statistics(len(values), mean, variance)
