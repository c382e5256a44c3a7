"""Failed tool calls, injected in training only.

Whether a call fails depends on nothing but the faults seed, the query, the episode and the number of the
call: runs that share a seed share their faults whatever else differs between them, and the faults at a low
probability are a subset of those at a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import StarlabError, nearest
from ..seeds import derive


def _unavailable(tool: str) -> str:
    """The paper's wording."""
    return f"Error: Current tool {tool} is not available."


KINDS: Mapping[str, Callable[[str], str]] = {"unavailable": _unavailable}
"""What an agent sees in place of the result, by kind of failure: a function of the tool's name."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Every call fails with the same probability, independently of the others."""

    probability: float
    seed: int
    kind: str = "unavailable"

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise StarlabError(f"faults: probability must be between 0 and 1, not {self.probability}")
        if self.kind not in KINDS:
            raise StarlabError(f"faults: unknown kind {self.kind!r}; {nearest(self.kind, KINDS)}")

    def text(self, tool: str, query_id: str, episode: int, call_index: int) -> str | None:
        """The text of the failure, or None when the call goes through."""
        if self.probability == 0:
            return None
        draw = derive("faults", self.seed, query_id, episode, call_index) / 2**63
        return KINDS[self.kind](tool) if draw < self.probability else None
