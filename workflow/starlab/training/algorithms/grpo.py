"""GRPO (arXiv 2402.03300) with the paper's enhancements: no KL, clip-higher.

Loss: mean over sequences of the mean over their tokens. Advantages: group mean subtracted, divided by the
group's standard deviation. Groups are taken as they come; one whose rewards are all alike contributes no
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..groups import Group
from .base import Algorithm, Draw, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Grpo(Algorithm):
    loss_type: str = "grpo"

    def select(self, groups: Sequence[Group], draw: Draw) -> Selection:
        return Selection(tuple(groups))
