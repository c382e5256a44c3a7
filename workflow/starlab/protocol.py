"""The dialogue protocol: messages to text, tool calls, answers, and why a turn is malformed.

One assistant turn is exactly one tool call or one answer, each optionally preceded by a thought (Agent-STAR section 1):

    <think>...</think><tool_call>{"name": ..., "arguments": {...}}</tool_call>
    <think>...</think><answer>...</answer>

Tool output returns as a user message `<tool_response>...</tool_response>`. This module is the only renderer and the
only parser: synthesis, SFT, RL and evaluation all use it; the tokenizer's chat template is tested to be equal to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Message = dict[str, str]

IM_START = "<|im_start|>"
IM_END = "<|im_end|>"
CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
ANSWER_OPEN, ANSWER_CLOSE = "<answer>", "</answer>"
RESPONSE_OPEN, RESPONSE_CLOSE = "<tool_response>", "</tool_response>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TAGS = (
    CALL_OPEN, CALL_CLOSE, ANSWER_OPEN, ANSWER_CLOSE, RESPONSE_OPEN, RESPONSE_CLOSE, THINK_OPEN, THINK_CLOSE,
)  # fmt: skip

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}"
    "{{ '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

SYSTEM_PROMPTS = {
    "travel": "You plan trips with tools.",
    "knowledge": "You answer questions with tools.",
}


class TurnKind(StrEnum):
    CALL = "call"
    ANSWER = "answer"
    MALFORMED = "malformed"


class FormatError(StrEnum):
    """Why a turn breaks the protocol. A trajectory with any of these scores 0 in training."""

    EMPTY = "neither a tool call nor an answer"
    BOTH = "a tool call and an answer in one turn"
    SEVERAL = "more than one tool call or answer"
    UNCLOSED = "a tag that is not closed"
    STRAY_TEXT = "text outside the tags"
    BAD_JSON = "a tool call that is not JSON"
    BAD_CALL = "a tool call without a name or an object of arguments"
    TRUNCATED = "a turn cut off by the length limit"


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one assistant turn says: exactly one of `call`, `answer`, `error` is set, as `kind` tells."""

    kind: TurnKind
    call: ToolCall | None = None
    answer: str | None = None
    error: FormatError | None = None


_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)


def thought_of(text: str) -> str:
    """The thought that a turn opens with; empty where there is none."""
    thought = _THOUGHT.match(text)
    return thought[1] if thought else ""


def _malformed(error: FormatError) -> Turn:
    return Turn(TurnKind.MALFORMED, error=error)


def _body(text: str, opening: str, closing: str) -> str | FormatError:
    """The text between one pair of tags that together span `text`."""
    if text.count(opening) > 1 or text.count(closing) > 1:
        return FormatError.SEVERAL
    if closing not in text:
        return FormatError.UNCLOSED
    stripped = text.strip()
    if not (stripped.startswith(opening) and stripped.endswith(closing)):
        return FormatError.STRAY_TEXT
    return stripped[len(opening) : -len(closing)]


def parse_turn(text: str) -> Turn:
    """Parse one assistant turn (its text without `<|im_end|>`). Never raises: a bad turn is data."""
    thought = _THOUGHT.match(text)
    rest = text[thought.end() :] if thought else text
    if THINK_OPEN in rest:
        return _malformed(FormatError.UNCLOSED)
    has_call, has_answer = CALL_OPEN in rest, ANSWER_OPEN in rest
    if has_call and has_answer:
        return _malformed(FormatError.BOTH)
    if has_answer:
        body = _body(rest, ANSWER_OPEN, ANSWER_CLOSE)
        return _malformed(body) if isinstance(body, FormatError) else Turn(TurnKind.ANSWER, answer=body)
    if has_call:
        body = _body(rest, CALL_OPEN, CALL_CLOSE)
        return _malformed(body) if isinstance(body, FormatError) else _parse_call(body)
    return _malformed(FormatError.EMPTY)


def _parse_call(body: str) -> Turn:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return _malformed(FormatError.BAD_JSON)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return _malformed(FormatError.BAD_CALL)
    arguments = value.get("arguments")
    if not isinstance(arguments, dict):
        return _malformed(FormatError.BAD_CALL)
    return Turn(TurnKind.CALL, call=ToolCall(value["name"], arguments))


def render_call(call: ToolCall) -> str:
    """The text of a turn that calls a tool."""
    body = json.dumps({"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False)
    return f"{CALL_OPEN}{body}{CALL_CLOSE}"


def render_answer(answer: str) -> str:
    """The text of a turn that answers."""
    return f"{ANSWER_OPEN}{answer}{ANSWER_CLOSE}"


def render_thought(thought: str) -> str:
    """What precedes the call or answer of a turn; nothing for an empty thought."""
    return f"{THINK_OPEN}{thought}{THINK_CLOSE}" if thought else ""


def render_response(text: str) -> str:
    """The content of the user message that carries a tool's output."""
    return f"{RESPONSE_OPEN}{text}{RESPONSE_CLOSE}"


def prompt(domain: str, user_text: str) -> list[Message]:
    """The messages that open an episode of `domain` ("travel" or "knowledge")."""
    return [{"role": "system", "content": SYSTEM_PROMPTS[domain]}, {"role": "user", "content": user_text}]


def render_chat(messages: Sequence[Message], add_generation_prompt: bool = False) -> str:
    """The text of a dialogue, equal to the tokenizer's chat template."""
    text = "".join(f"{IM_START}{m['role']}\n{m['content']}{IM_END}\n" for m in messages)
    return text + f"{IM_START}assistant\n" if add_generation_prompt else text


def render_observation(response: str) -> str:
    """What follows the `<|im_end|>` of a turn that called a tool, up to where the next turn starts.

    `response` is the tool's text. A dialogue grows by exactly this text, so sampled tokens are never re-encoded.
    """
    return f"\n{IM_START}user\n{render_response(response)}{IM_END}\n{IM_START}assistant\n"
