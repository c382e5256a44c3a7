"""What the rollout engine talks to: a query in its environment, whatever the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from .protocol import Message, ToolCall


class Status(StrEnum):
    """How an answer reached the scorer; being wrong is a matter of metrics, not of status."""

    OK = "ok"
    UNPARSEABLE = "unparseable"
    UNDELIVERED = "undelivered"


@dataclass(frozen=True, slots=True)
class Grade:
    """The score of one answer: `metrics` are numbers in [0, 1] by name, `detail` is evidence for people."""

    status: Status
    metrics: Mapping[str, float]
    detail: Mapping[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """One query in its environment. Stateless: many episodes may share one task."""

    @property
    def id(self) -> str: ...

    @property
    def domain(self) -> str:
        """ "travel" or "knowledge"; selects the system prompt."""

    @property
    def level(self) -> str:
        """Difficulty (travel) or family (knowledge): what evaluation results are broken down by."""

    def prompt(self) -> list[Message]:
        """The opening messages."""

    def call(self, call: ToolCall) -> str:
        """The tool's text. Unknown tools and bad arguments get an error text, never an exception."""

    def grade(self, answer: str | None) -> Grade:
        """Score an answer (None: the episode ended without one). A pure function."""
