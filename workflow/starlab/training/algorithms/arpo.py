"""ARPO (arXiv 2507.19849): a group's episodes branch where the policy is unsure of what a tool returned.

Of the G episodes of a prompt, `initial_share` start at the prompt; the others branch off after tool results, with
probability clip(branch_probability + entropy_weight * (H - H0), 0, 1) where H is the mean entropy of the
`probe_tokens` tokens after the result and H0 that of the episode's first ones, both in units of ln(vocabulary). What is
left when all have ended starts at the prompt, so that a prompt always gets G episodes. `ArpoRandom` is the control: the
same budget, branches that do not look at entropy.

Loss: mean over all tokens, as in the authors' code. Advantages: those of GRPO over the G episodes ("soft"); "hard"
gives tokens that branches have in common the mean of their episodes' advantages. Where the authors' code and paper
differ, we follow the paper: entropies are measured behind the result that they are about, averaged rather than summed,
and H0 belongs to the root that a branch stems from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import StarlabError
from ...rollout.episode import Branching
from ..groups import Group
from .base import Algorithm, Draw, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Arpo(Algorithm):
    loss_type: str = "dapo"
    attribution: str = "soft"
    initial_share: float = 0.5
    """Share of a group's episodes that start at the prompt."""
    branch_probability: float = 0.5
    """Probability of a branch where the entropy is what it was at first."""
    entropy_weight: float = 0.2
    """How much a rise of the entropy by ln(vocabulary) adds to it."""
    probe_tokens: int = 20
    """Tokens whose entropies are averaged; a shorter turn is taken whole."""
    copies: int = 1
    """Branches of an episode at one tool result, at most (the authors' beam size minus 1)."""

    def __post_init__(self) -> None:
        if not 0.0 < self.initial_share <= 1.0:
            raise StarlabError(f"arpo.initial_share: {self.initial_share} is not in (0, 1]")
        if self.probe_tokens < 1 or self.copies < 0:
            raise StarlabError(f"arpo: probe_tokens {self.probe_tokens} or copies {self.copies} is too small")

    def branching(self, group: int) -> Branching:
        return Branching(
            initial=max(1, round(self.initial_share * group)),
            probability=self.branch_probability,
            weight=self.entropy_weight,
            probe=self.probe_tokens,
            copies=self.copies,
        )

    def select(self, groups: Sequence[Group], draw: Draw) -> Selection:
        return Selection(tuple(groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArpoRandom(Arpo):
    """The control: every tool result is as likely to be branched at as any other."""

    entropy_weight: float = 0.0

    def __post_init__(self) -> None:
        # the class cell of a zero-argument super() does not survive `slots=True`
        Arpo.__post_init__(self)
        if self.entropy_weight:
            raise StarlabError("arpo_random.entropy_weight: the control has none; use the algorithm arpo")
