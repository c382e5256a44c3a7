"""Every recorded tool call gives the recorded text, and so does every recorded dialogue."""

from functools import partial

from starlab import protocol
from starlab.dialogue import Bounds, converse
from starlab.protocol import FormatError, TurnKind
from starlab.travel import official as tools

STRICT = {
    "single_quotes_json": FormatError.BAD_JSON,
    "no_name": FormatError.BAD_CALL,
    "no_arguments": FormatError.BAD_CALL,
    "arguments_as_string": FormatError.BAD_CALL,
    "arguments_null": FormatError.BAD_CALL,
    "call_and_answer_in_one_message": FormatError.BOTH,
    "unclosed_answer": FormatError.UNCLOSED,
    "unclosed_call": FormatError.UNCLOSED,
    "two_answers": FormatError.SEVERAL,
    "turn_limit_plain_text": FormatError.EMPTY,
    "answer_on_last_turn": FormatError.EMPTY,
    "call_inside_think": FormatError.EMPTY,
}
"""Recorded dialogues whose first reply breaks the protocol of training, and how."""
IN_TRAINING = ("tool_then_answer", "unknown_tool", "tool_name_wrong_case", "answer_empty")


def test_the_official_tables_load_whole(official):
    assert len(official.hotels) == 4285  # of 5,047 rows, those without gaps
    assert (len(official.restaurants), len(official.attractions), len(official.legs)) == (9551, 5302, 17602)
    assert len(official.cities) == 312


def test_tools_say_what_the_official_ones_say(official, records):
    wrong = [
        row["call_id"]
        for row in records("tool_calls.jsonl")
        if tools.call(official, row["tool"], row["arguments"]) != row["output"]
        and not row["error_text_is_library_specific"]
    ]
    assert wrong == []


def test_dialogues_go_as_the_official_loop_has_them_go(official, records):
    for row in records("agent_loop.jsonl"):
        replies = iter(row["model_replies"])
        talk = converse(
            [{"role": "system", "content": row["system_prompt"]}, {"role": "user", "content": row["user"]}],
            lambda messages, replies=replies: next(replies),
            partial(tools.call, official),
            lambda text: len(text.split()),
            Bounds(turns=row["max_turns"], tokens=row["max_context"]),
        )
        found = (list(talk.messages), talk.plan, str(talk.termination), talk.replies)
        assert found == (row["messages"], row["plan"], row["termination"], row["model_calls"]), row["case_id"]


def test_training_ends_at_the_first_turn_that_the_official_loop_forgives(records):
    for row in records("agent_loop.jsonl"):
        turns = [protocol.parse_turn(reply) for reply in row["model_replies"]]
        if row["kind"] in STRICT:
            assert turns[0].error is STRICT[row["kind"]], row["case_id"]
        elif row["kind"] in IN_TRAINING:
            assert [turn.kind for turn in turns[:-1]] == [TurnKind.CALL] * (len(turns) - 1), row["case_id"]
            assert turns[-1].answer == row["plan"], row["case_id"]
