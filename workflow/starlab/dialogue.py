"""The dialogue loop of Agent-STAR's inference, for any model that turns messages into text.

It is more lenient than training. There a turn that breaks the protocol ends the episode and earns nothing
(`protocol.py`, `rollout/engine.py`); here the model is told what failed, or simply goes on. A turn that holds a whole
tool call is a call, whatever else it holds; else one that opens an answer is the answer; else the model speaks again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .protocol import (
    ANSWER_CLOSE,
    ANSWER_OPEN,
    CALL_CLOSE,
    CALL_OPEN,
    RESPONSE_CLOSE,
    RESPONSE_OPEN,
    Message,
)

NO_ANSWER = "answer not found"
SUMMARISE = "The conversation has reached the token limit. Please summarize the conversation to generate a travel plan."


class Termination(StrEnum):
    """Why a dialogue ended."""

    ANSWER = "answer"
    TURN_LIMIT = "turn limits"
    TOKEN_LIMIT = "token limits"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a dialogue may get: replies of the model, and tokens of all messages after a reply."""

    turns: int = 60
    tokens: int = 32_768


@dataclass(frozen=True, slots=True)
class Transcript:
    """A dialogue that has ended. `plan` is the answer's text, or `NO_ANSWER`."""

    messages: tuple[Message, ...]
    plan: str
    termination: Termination
    replies: int


def converse(
    opening: Sequence[Message],
    reply: Callable[[Sequence[Message]], str],
    call: Callable[[str, Any], str],
    count: Callable[[str], int],
    bounds: Bounds,
) -> Transcript:
    """Talk until the answer or a limit.

    `reply` is the model; `call(name, arguments)` gives a tool's text, for unknown tools and any JSON arguments too;
    `count` gives the tokens of a message's content. Past the token limit the last message, whoever wrote it, gives way
    to a request for the plan, and what the model then says is the plan, tags and all.
    """
    messages = [dict(message) for message in opening]
    for turn in range(1, bounds.turns + 1):
        text = reply(messages)
        messages.append({"role": "assistant", "content": text})
        if CALL_OPEN in text and CALL_CLOSE in text:
            messages.append({"role": "user", "content": f"{RESPONSE_OPEN}\n{_called(text, call)}{RESPONSE_CLOSE}"})
        elif ANSWER_OPEN in text:
            if ANSWER_CLOSE not in text:
                messages[-1]["content"] = text + ANSWER_CLOSE
            return Transcript(tuple(messages), _answer(text), Termination.ANSWER, turn)
        if sum(count(message["content"]) for message in messages) > bounds.tokens:
            messages[-1]["content"] = SUMMARISE
            plan = reply(messages)
            if ANSWER_CLOSE not in plan:
                plan += ANSWER_CLOSE
            messages.append({"role": "assistant", "content": plan})
            delivered = ANSWER_OPEN in plan
            ended = Termination.TURN_LIMIT if turn == bounds.turns and not delivered else Termination.TOKEN_LIMIT
            return Transcript(tuple(messages), plan, ended, turn + 1)
    return Transcript(tuple(messages), NO_ANSWER, Termination.TURN_LIMIT, bounds.turns)


def _called(text: str, call: Callable[[str, Any], str]) -> str:
    """What comes back for the first tool call in a turn, or why it is none."""
    try:
        request = json.loads(text.split(CALL_OPEN)[1].split(CALL_CLOSE)[0].strip())
        return call(request["name"], request["arguments"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return f"Error calling tool: {error}"


def _answer(text: str) -> str:
    """From the first opening tag to the last closing one."""
    start = text.find(ANSWER_OPEN) + len(ANSWER_OPEN)
    if ANSWER_CLOSE not in text:
        return text[start:].split(ANSWER_OPEN)[0].strip()
    return text[start : text.rfind(ANSWER_CLOSE)].strip()
