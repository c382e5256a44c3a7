"""The agent that answers every question through the search tool alone: the author of demonstrations, the proof of panels."""

from __future__ import annotations

from typing import Callable

from starlab.knowledge.questions import Question
from starlab.knowledge.search import REDIRECT, read_values

#: (what was searched, the tool's text), in order
Steps = list[tuple[str, str]]


def solve(question: Question, search: Callable[[str], str]) -> tuple[Steps, str]:
    """Answer from the question's names and relations and what ``search`` returns; the gold answer is never looked at.

    Raises KeyError when the answer cannot be found that way: the question does not belong to this base."""
    steps: Steps = []

    def values(name: str) -> dict[str, str]:
        steps.append((name, search(name)))
        text = steps[-1][1]
        return values(text.removeprefix(REDIRECT)) if text.startswith(REDIRECT) else read_values(text)

    if question.family == "shared":
        first, second = (set(values(subject).values()) for subject in question.subjects)
        common = first & second
        if len(common) != 1:
            raise KeyError(f"{question.id}: {question.subjects} have {len(common)} values in common, expected one")
        return steps, common.pop()
    current = question.subjects[0]
    for relation in question.relations:
        current = values(current)[relation]
    return steps, current
