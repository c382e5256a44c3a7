"""A travel query in its environment: the `Task` that rollouts and evaluation work on."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import Message, ToolCall, prompt
from ..tasks import Grade
from .database import Database
from .query import Query
from .renderings import RENDERINGS
from .scores import score


@dataclass(frozen=True, slots=True)
class TravelTask:
    """One query over one database."""

    query: Query
    database: Database
    rendering: str = "compact"
    """How tools word their results: a name of `RENDERINGS`."""

    @property
    def id(self) -> str:
        return self.query.id

    @property
    def domain(self) -> str:
        return "travel"

    @property
    def level(self) -> str:
        return self.query.level

    def prompt(self) -> list[Message]:
        return prompt(self.domain, self.query.text)

    def call(self, call: ToolCall) -> str:
        return RENDERINGS[self.rendering](self.database, call.name, call.arguments)

    def grade(self, answer: str | None) -> Grade:
        """Metrics as in `Score.metrics`; the detail says why there is no plan, or why checks failed."""
        result = score(self.query, answer, self.database)
        failures = {
            verdict.check: [failure.reason for failure in verdict.failures]
            for verdict in (*result.commonsense, *result.hard)
            if verdict.failures
        }
        detail = {"reason": result.reason, "hard_evaluated": result.hard_evaluated, "failures": failures}
        return Grade(result.status, result.metrics(), detail)
