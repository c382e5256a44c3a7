"""Which searches a knowledge question needs, and what its answer is worth.

A search is needed when it opens an entry on the way from the question's names to its answer that the prefix has not
opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...knowledge.oracle import solve
from ...knowledge.search import ARGUMENT, REDIRECT, TOOL, search
from ...knowledge.task import KnowledgeTask
from ...protocol import ToolCall
from ...rewards import Reward
from ..candidates import Lookup


def why_not(task: KnowledgeTask, lookups: Sequence[Lookup], call: ToolCall) -> str | None:
    """None when `call` is well-formed and needed, else the reason."""
    if call.name != TOOL:
        return "a call of a tool that does not exist"
    if set(call.arguments) != {ARGUMENT}:
        return "a call with other arguments than the tool has"
    query = call.arguments[ARGUMENT]
    if not isinstance(query, str):
        return "a call with an argument that is no text"
    opened = {lookup.call.arguments.get(ARGUMENT) for lookup in lookups if lookup.response == task.call(lookup.call)}
    steps, _ = solve(task.question, lambda name: search(task.base, name))
    for name, text in steps:
        # another name has served once the entry that it leads to is open
        if name == query and name not in opened and text.removeprefix(REDIRECT) not in opened:
            return None
    return "a search that is not on the way to the answer, or was made already"


def answer_value(metrics: Mapping[str, float], reward: Reward) -> float:
    """1 for the right answer; rewards differ in how they grade plans, and an answer here is right or wrong."""
    return metrics["success"]
