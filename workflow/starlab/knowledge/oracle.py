"""The agent that answers every question with the search tool alone; it writes demonstrations, proves
panels."""

from __future__ import annotations

from collections.abc import Callable

from .questions import Question
from .search import REDIRECT, read_values

Steps = list[tuple[str, str]]
"""What was searched and the tool's text, in order."""


def solve(question: Question, search: Callable[[str], str]) -> tuple[Steps, str]:
    """Answer from the question's names and relations and what `search` returns, never from the gold answer.

    Raises KeyError when the answer cannot be found that way: the question does not belong to this base.
    """
    steps: Steps = []

    def values(name: str) -> dict[str, str]:
        steps.append((name, search(name)))
        text = steps[-1][1]
        return values(text.removeprefix(REDIRECT)) if text.startswith(REDIRECT) else read_values(text)

    if question.family == "shared":
        first, second = (set(values(subject).values()) for subject in question.subjects)
        common = first & second
        if len(common) != 1:
            raise KeyError(f"{question.id}: {question.subjects} have {len(common)} values in common, not one")
        return steps, common.pop()
    current = question.subjects[0]
    for relation in question.relations:
        current = values(current)[relation]
    return steps, current
