"""Every assistant turn is a candidate, cut at the token where it starts."""

from __future__ import annotations

import json

import pytest
from starlab import protocol
from starlab.errors import StarlabError
from starlab.pivot.candidates import draw, join, read_candidates
from starlab.policy.encoding import encode_dialogues


def test_n_assistant_turns_give_n_candidates(trips):
    rows = [json.loads(line) for line in trips.path.read_text().splitlines()]
    spoken = {row["id"]: sum(message["role"] == "assistant" for message in row["messages"]) for row in rows}
    assert len(trips.turns) == sum(spoken.values())
    for name, count in spoken.items():
        assert [turn.candidate.turn for turn in trips.turns if turn.candidate.trajectory == name] == list(range(count))


def test_a_prefix_holds_the_earlier_turns_and_not_its_own(trips):
    for turn in trips.turns:
        candidate = turn.candidate
        earlier = [message["content"] for message in candidate.messages if message["role"] == "assistant"]
        assert len(earlier) == candidate.turn == len(candidate.lookups)
        assert candidate.messages[-1]["role"] == "user"


def test_ids_are_those_of_sft_and_of_the_chat_template(trips, tokenizer):
    """Prefix and action of the last turn are the whole dialogue; every prefix is what a rollout would have fed."""
    rows = [json.loads(line) for line in trips.path.read_text().splitlines()]
    whole = dict(
        zip([row["id"] for row in rows], encode_dialogues(tokenizer, [r["messages"] for r in rows]), strict=True)
    )
    for turn in trips.turns:
        candidate = turn.candidate
        ids, mask = whole[candidate.trajectory]
        end = len(candidate.prefix_ids) + len(candidate.expert_ids)
        assert [*candidate.prefix_ids, *candidate.expert_ids] == ids[:end]
        assert all(mask[len(candidate.prefix_ids) : end]) and not mask[len(candidate.prefix_ids) - 1]
        assert tokenizer.decode(list(candidate.expert_ids)) == candidate.expert + protocol.IM_END
        text = protocol.render_chat(turn.prompt(), add_generation_prompt=True)
        assert tokenizer.encode(text, add_special_tokens=False) == list(candidate.prefix_ids)


def test_actions_are_tools_or_an_answer_which_comes_last(trips):
    last = {turn.candidate.trajectory: turn.candidate.action for turn in trips.turns}
    assert set(last.values()) == {"answer"}
    assert "SearchAccommodation" in {turn.candidate.action for turn in trips.turns}


def test_a_draw_is_a_sample_in_order_and_belongs_to_its_seed(trips):
    candidates = [turn.candidate for turn in trips.turns]
    some = draw(candidates, 10, seed=1)
    assert len({c.id for c in some}) == 10
    assert some == [c for c in candidates if c in some] == draw(candidates, 10, seed=1)
    assert some != draw(candidates, 10, seed=2)
    assert draw(candidates, len(candidates) + 1, seed=1) == candidates


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.pop("id"), ":1: field 'id'"),
        (lambda row: row.update(level=3), ":1: field 'level'"),
        (lambda row: row.update(messages=row["messages"][:-1]), "does not end with an assistant's turn"),
    ],
)
def test_a_damaged_file_is_one_message(trips, tokenizer, tmp_path, change, message):
    row = json.loads(trips.path.read_text().splitlines()[0])
    change(row)
    path = tmp_path / "trajectories.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StarlabError, match=message):
        read_candidates(path, tokenizer)


def test_two_trajectories_of_one_name_are_refused(trips, tokenizer, tmp_path):
    line = trips.path.read_text().splitlines()[0]
    path = tmp_path / "trajectories.jsonl"
    path.write_text(f"{line}\n{line}\n")
    with pytest.raises(StarlabError, match="same `id`"):
        read_candidates(path, tokenizer)


def test_a_trajectory_without_its_query_is_refused(trips):
    with pytest.raises(StarlabError, match="no query"):
        join([trips.turns[0].candidate], {}, trips.path)
