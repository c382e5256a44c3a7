"""Solved dialogues for pretraining and replay: each over a small world of its own, so that nothing is worth memorising."""

from __future__ import annotations

import random
from typing import Mapping

from starlab.knowledge import search as tool
from starlab.knowledge.base import Draft
from starlab.knowledge.oracle import solve
from starlab.knowledge.questions import FAMILIES, sample
from starlab.protocol import Message, ToolCall, prompt, render_answer, render_call, render_response


def sample_dialogue(rng: random.Random, weights: Mapping[str, float] | None = None) -> list[Message]:
    """A correct dialogue: system, question, calls and tool texts in turn, answer. ``weights``: family -> share (default:
    all alike)."""
    family = rng.choice(FAMILIES) if weights is None else rng.choices(tuple(weights), tuple(weights.values()))[0]
    draft = Draft(rng)
    question = sample(rng, draft, family)
    steps, answer = solve(question, lambda name: tool.search(draft, name))
    messages = prompt("knowledge", question.text)
    for query, text in steps:
        messages.append({"role": "assistant", "content": render_call(ToolCall(tool.TOOL, {tool.ARGUMENT: query}))})
        messages.append({"role": "user", "content": render_response(text)})
    messages.append({"role": "assistant", "content": render_answer(answer)})
    return messages
