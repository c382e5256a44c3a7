"""A knowledge question in its environment: the search tool over one base."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import Message, ToolCall, prompt
from ..tasks import Grade, Status
from . import search
from .base import Base
from .questions import Question


def normalise(answer: str) -> str:
    """An answer as it is compared: case, outer blanks and a final full stop do not matter."""
    return answer.strip().removesuffix(".").strip().casefold()


@dataclass(frozen=True, slots=True)
class KnowledgeTask:
    """Implements `starlab.tasks.Task`; `level` is the family."""

    question: Question
    base: Base

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def domain(self) -> str:
        return "knowledge"

    @property
    def level(self) -> str:
        return self.question.family

    def prompt(self) -> list[Message]:
        return prompt("knowledge", self.question.text)

    def call(self, call: ToolCall) -> str:
        return search.call(self.base, call)

    def grade(self, answer: str | None) -> Grade:
        """Exact match after `normalise`. An answer without content is unparseable, none at all
        undelivered."""
        detail = {"expected": self.question.answer, "answer": answer}
        if answer is None:
            return Grade(Status.UNDELIVERED, {"success": 0.0}, detail)
        given = normalise(answer)
        if not given:
            return Grade(Status.UNPARSEABLE, {"success": 0.0}, detail)
        return Grade(Status.OK, {"success": float(given == normalise(self.question.answer))}, detail)
