"""What the teacher has said so far, and what the tools have answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..protocol import Message, ToolCall, render_call, render_response, render_thought
from ..travel.faults import Faults
from ..travel.rendering import note
from ..travel.task import TravelTask

MAX_ATTEMPTS = 8
"""Times one call is made before the query is given up."""


class GaveUp(Exception):
    """One call failed `MAX_ATTEMPTS` times."""


@dataclass
class Transcript:
    """The dialogue so far."""

    task: TravelTask
    faults: Faults
    number: int
    messages: list[Message]
    calls: int = 0
    failed: int = 0
    thought: str = ""

    def note(self, picks: Sequence[str], criteria: str = "") -> None:
        """Open the next turn with what was picked from the last listing."""
        self.thought = note(criteria, picks)

    def say(self, turn: str) -> None:
        self.messages.append({"role": "assistant", "content": render_thought(self.thought) + turn})
        self.thought = ""

    def look_up(self, tool: str, **arguments: str) -> str:
        """The tool's text; the same call again as long as it fails."""
        call = ToolCall(tool, arguments)
        for _ in range(MAX_ATTEMPTS):
            failure = self.faults.text(tool, self.task.id, self.number, self.calls)
            text = failure or self.task.call(call)
            self.calls += 1
            self.say(render_call(call))
            self.messages.append({"role": "user", "content": render_response(text)})
            if failure is None:
                return text
            self.failed += 1
        raise GaveUp
