"""The loop of the official inference: what follows each kind of reply, and where a dialogue ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from starlab.dialogue import NO_ANSWER, SUMMARISE, Bounds, Termination, Transcript, converse
from starlab.protocol import Message

OPENING = [{"role": "system", "content": "SYSTEM"}, {"role": "user", "content": "QUERY"}]
CALL = '<tool_call>{"name": "Echo", "arguments": {"x": 1}}</tool_call>'


def echo(name: str, arguments: Any) -> str:
    return f"{name} heard {arguments}"


def talk(*replies: str, turns: int = 10, tokens: int = 10_000) -> Transcript:
    left = iter(replies)

    def reply(messages: Sequence[Message]) -> str:
        return next(left)

    return converse(OPENING, reply, echo, lambda text: len(text.split()), Bounds(turns, tokens))


def contents(found: Transcript) -> list[str]:
    return [message["content"] for message in found.messages[2:]]


def test_a_call_is_answered_and_an_answer_ends_the_dialogue() -> None:
    found = talk(f"<think>t</think>{CALL}", "<think>t</think><answer> the plan </answer>", "never asked")
    assert contents(found)[1] == "<tool_response>\nEcho heard {'x': 1}</tool_response>"
    assert [message["role"] for message in found.messages[2:]] == ["assistant", "user", "assistant"]
    assert (found.plan, found.termination, found.replies) == ("the plan", Termination.ANSWER, 2)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("{'name': 1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"arguments": {}}', "'name'"),
        ('{"name": "Echo"}', "'arguments'"),
        ("[]", "list indices must be integers or slices, not str"),
        ("7", "'int' object is not subscriptable"),
    ],
)
def test_a_broken_call_is_told_what_is_wrong_and_may_be_mended(body: str, error: str) -> None:
    found = talk(f"<tool_call>{body}</tool_call>", CALL, "<answer>x</answer>")
    assert contents(found)[1] == f"<tool_response>\nError calling tool: {error}</tool_response>"
    assert found.plan == "x"


def test_only_the_first_call_of_a_turn_counts_and_it_goes_before_an_answer() -> None:
    found = talk(f"{CALL}<tool_call>{{}}</tool_call><answer>early</answer>", "<answer>late</answer>")
    assert contents(found)[1] == "<tool_response>\nEcho heard {'x': 1}</tool_response>"
    assert found.plan == "late"


def test_a_turn_with_neither_is_followed_by_another() -> None:
    found = talk("hm", CALL.removesuffix("</tool_call>"), "<answer>x</answer>")
    assert [message["role"] for message in found.messages[2:]] == ["assistant"] * 3


@pytest.mark.parametrize(
    ("text", "plan", "kept"),
    [
        ("<answer>the plan", "the plan", "<answer>the plan</answer>"),
        ("<answer>a</answer> mid <answer>b</answer>", "a</answer> mid <answer>b", None),
        ("<answer></answer>", "", None),
        ("</answer><answer>x", "", None),
        ("<answer>a<answer>b", "a", "<answer>a<answer>b</answer>"),
    ],
)
def test_an_answer_runs_from_the_first_opening_to_the_last_closing_tag(text: str, plan: str, kept: str | None) -> None:
    found = talk(text)
    assert (found.plan, found.termination) == (plan, Termination.ANSWER)
    assert contents(found) == [kept or text]


def test_the_turn_limit_counts_replies_and_the_last_call_is_still_made() -> None:
    found = talk(CALL, CALL, turns=2)
    assert (found.plan, found.termination, found.replies) == (NO_ANSWER, Termination.TURN_LIMIT, 2)
    assert len(contents(found)) == 4
    assert talk(CALL, "<answer>x</answer>", turns=2).termination is Termination.ANSWER


def test_past_the_token_limit_the_last_message_gives_way_to_a_request_for_the_plan() -> None:
    found = talk(CALL, "<answer>short</answer>", tokens=9)
    assert contents(found) == [CALL, SUMMARISE, "<answer>short</answer>"]
    assert (found.plan, found.termination) == ("<answer>short</answer>", Termination.TOKEN_LIMIT)
    assert found.replies == 2
    assert contents(talk("one two three", "plan", tokens=4)) == [SUMMARISE, "plan</answer>"]
    assert talk(CALL, "plan", tokens=9, turns=1).termination is Termination.TURN_LIMIT
    assert talk(CALL, "<answer>plan", tokens=9, turns=1).termination is Termination.TOKEN_LIMIT


def test_the_opening_is_left_as_it_was() -> None:
    before = [dict(message) for message in OPENING]
    talk("<answer>x</answer>", tokens=1)
    talk("x", "y", tokens=0)
    assert before == OPENING
