"""Solved dialogues for pretraining and replay, each over a small world of its own, which nobody can
memorise."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from ..protocol import Message, ToolCall, prompt, render_answer, render_call, render_response, render_thought
from . import search as tool
from .base import Draft
from .oracle import solve
from .questions import FAMILIES, sample


def sample_dialogue(rng: random.Random, weights: Mapping[str, float] | None = None) -> list[Message]:
    """A correct dialogue: system, question, calls and tool texts in turn, answer.

    `weights`: family -> share (default: all families alike).
    """
    shares = weights or dict.fromkeys(FAMILIES, 1.0)
    family = rng.choices(tuple(shares), tuple(shares.values()))[0]
    draft = Draft(rng)
    question = sample(rng, draft, family)
    steps, answer = solve(question, lambda name: tool.search(draft, name))
    messages = prompt("knowledge", question.text)
    relations = iter(question.relations if question.family != "shared" else ())
    thought = ""
    for query, text in steps:
        call = render_call(ToolCall(tool.TOOL, {tool.ARGUMENT: query}))
        messages.append({"role": "assistant", "content": render_thought(thought) + call})
        messages.append({"role": "user", "content": render_response(text)})
        thought = _note(text, relations)
    messages.append({"role": "assistant", "content": render_thought(thought) + render_answer(answer)})
    return messages


def _note(text: str, relations: Iterator[str]) -> str:
    """What an entry says about the relation that is followed next, or where an alias leads."""
    if text.startswith(tool.REDIRECT):
        return text.removeprefix(tool.REDIRECT)
    relation = next(relations, None)
    return "" if relation is None else f"{relation} {tool.read_values(text)[relation]}"
