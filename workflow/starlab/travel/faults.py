"""Failed tool calls, injected in training only.

Whether a call fails depends on nothing but the faults seed, the query, the episode and the number of the
call: runs that share a seed share their faults whatever else differs between them (also the kind of the faults), and
the faults at a low probability are a subset of those at a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import StarlabError, nearest
from ..seeds import derive
from .rendering import NO_RESULT

Result = Callable[[], str]
"""The text that the tool would have returned; only asked for where a failure shows a part of it."""


def _unavailable(tool: str) -> str:
    """The paper's wording."""
    return f"Error: Current tool {tool} is not available."


def _paper(tool: str, result: Result) -> str:
    """What the paper injects."""
    return _unavailable(tool)


def _timeout(tool: str, result: Result) -> str:
    """The tool took too long."""
    return f"Error: Current tool {tool} timed out."


def _empty(tool: str, result: Result) -> str:
    """What the tool says when it finds nothing: unlike the others, a failure that does not look like one."""
    return NO_RESULT


def _truncated(tool: str, result: Result) -> str:
    """The first half of the result, cut off in the middle of whatever stands there."""
    text = result()
    return text[: len(text) // 2]


PAPER = "unavailable"
"""The kind that the paper injects."""
KINDS: Mapping[str, Callable[[str], str]] = {PAPER: _unavailable}
"""Wordings that the tiny vocabulary has pieces for. Shipped base models depend on it, so nothing can be added here;
other texts are spelled in characters."""
FAILURES: Mapping[str, Callable[[str, Result], str]] = {
    PAPER: _paper,
    "timeout": _timeout,
    "empty": _empty,
    "truncated": _truncated,
}
"""What an agent sees in place of the result, by kind of failure: a function of the tool's name and its result."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Every call fails with the same probability, independently of the others."""

    probability: float
    seed: int
    kind: str = PAPER

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise StarlabError(f"faults: probability must be between 0 and 1, not {self.probability}")
        if self.kind not in FAILURES:
            raise StarlabError(f"faults: unknown kind {self.kind!r}; {nearest(self.kind, FAILURES)}")

    def text(
        self, tool: str, query_id: str, episode: int, call_index: int, result: Result = lambda: ""
    ) -> str | None:
        """The text of the failure, or None when the call goes through. `result` gives the tool's own text."""
        if self.probability == 0:
            return None
        draw = derive("faults", self.seed, query_id, episode, call_index) / 2**63
        return FAILURES[self.kind](tool, result) if draw < self.probability else None
