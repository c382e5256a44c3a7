"""Questions, the search tool, the oracle, panels and demonstrations."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.knowledge import panels
from starlab.knowledge.base import Draft, generate
from starlab.knowledge.documents import sample_dialogue
from starlab.knowledge.names import NAMES, RELATION_PIECES, RELATIONS
from starlab.knowledge.oracle import solve
from starlab.knowledge.questions import FAMILIES, ONE_HOP, PHRASES, sample
from starlab.knowledge.search import PIECES, search
from starlab.knowledge.task import KnowledgeTask
from starlab.protocol import ToolCall, TurnKind, parse_turn
from starlab.tasks import Status

BASE = generate(11)
CALLS = {"people": 1, "places": 1, "works": 1, "alias": 2, "chain": 2, "shared": 2, "triple": 3}
families = pytest.mark.parametrize("family", FAMILIES)


def split(text: str) -> list[str]:
    """Leftmost-longest split into names, relations and literal pieces; fails on any other text."""
    pieces = sorted({*NAMES, *RELATION_PIECES, *PHRASES, *PIECES}, key=len, reverse=True)
    found = []
    while text:
        piece = next(p for p in pieces if text.startswith(p))
        found.append(piece)
        text = text[len(piece) :]
    return found


@families
def test_the_search_tool_alone_answers_every_question_in_the_familys_number_of_calls(family: str) -> None:
    for question in panels.draw(BASE, family, 60, seed=0):
        steps, answer = solve(question, lambda name: search(BASE, name))
        assert answer == question.answer
        assert len(steps) == CALLS[family]


@families
def test_the_last_search_of_several_hops_is_for_a_name_that_was_found(family: str) -> None:
    for question in panels.draw(BASE, family, 40, seed=1):
        steps, answer = solve(question, lambda name: search(BASE, name))
        assert answer not in question.text
        assert steps[-1][0] not in question.text or family in (*ONE_HOP, "shared")


def test_a_fact_of_a_search_result_stands_right_behind_its_relation() -> None:
    for name in BASE.entries:
        pieces = split(search(BASE, name))
        for fact in BASE.facts(name):
            places = [i for i, piece in enumerate(pieces) if piece == f"{fact.relation} " and pieces[i - 1] == "\n"]
            assert [pieces[i + 1] for i in places] == [fact.value]


def test_copying_behind_the_first_match_of_the_relation_is_not_enough() -> None:
    """Notes about other entities use the same words."""
    naive = []
    for question in panels.draw(BASE, "people", 100, seed=2):
        text = search(BASE, question.subjects[0])
        pieces = split(text)
        naive.append(pieces[pieces.index(f"{question.relations[0]} ") + 1] == question.answer)
    assert 0.6 < sum(naive) / len(naive) < 0.98


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            ToolCall("Search", {"query": "Nobody"}),
            "There is no entry for Nobody. Please rethink your query and try again.",
        ),
        (
            ToolCall("Search", {"query": ""}),
            "There is no entry for . Please rethink your query and try again.",
        ),
        (ToolCall("Search", {}), "Invalid parameters. Please provide query."),
        (ToolCall("Search", {"query": 3}), "Invalid parameters. Please provide query."),
        (
            ToolCall("SearchCity", {"state": "x"}),
            "Tool SearchCity not found, please rethink your tool call and try again.",
        ),
    ],
)
def test_a_bad_call_gets_a_text(call: ToolCall, text: str) -> None:
    assert KnowledgeTask(sample(random.Random(0), BASE, "people"), BASE).call(call) == text


def test_another_name_leads_to_its_entity() -> None:
    for other, name in BASE.aliases.items():
        assert search(BASE, other) == f"Another name of {name}"


@families
def test_a_question_is_a_dozen_pieces(family: str) -> None:
    for question in panels.draw(BASE, family, 40, seed=3):
        assert len(split(question.text)) <= 12


@pytest.mark.parametrize(
    ("answer", "status", "success"),
    [
        ("{gold}", Status.OK, 1.0),
        ("  {gold}. ", Status.OK, 1.0),
        ("{lower}", Status.OK, 1.0),
        ("The answer is {gold}", Status.OK, 0.0),
        ("Somebody", Status.OK, 0.0),
        (" . ", Status.UNPARSEABLE, 0.0),
        ("", Status.UNPARSEABLE, 0.0),
        (None, Status.UNDELIVERED, 0.0),
    ],
)
def test_grading_is_exact_match_and_tells_wrong_from_unreadable(
    answer: str | None, status: Status, success: float
) -> None:
    question = sample(random.Random(0), BASE, "chain")
    given_answer = answer and answer.format(gold=question.answer, lower=question.answer.lower())
    grade = KnowledgeTask(question, BASE).grade(given_answer)
    assert (grade.status, dict(grade.metrics)) == (status, {"success": success})


@given(st.integers(min_value=0), st.sampled_from(FAMILIES))
@settings(max_examples=200, deadline=None)
def test_a_demonstration_is_a_correct_episode(seed: int, family: str) -> None:
    """Its turns parse, and its answer is the gold answer of its question."""
    dialogue = sample_dialogue(random.Random(seed), {family: 1.0})
    roles = [message["role"] for message in dialogue]
    assert roles == ["system", "user"] + ["assistant", "user"] * CALLS[family] + ["assistant"]
    turns = [parse_turn(m["content"]) for m in dialogue if m["role"] == "assistant"]
    assert [turn.kind for turn in turns] == [TurnKind.CALL] * CALLS[family] + [TurnKind.ANSWER]
    rng = random.Random(seed)
    rng.choices((family,), (1.0,))
    question = sample(rng, Draft(rng), family)
    assert (dialogue[1]["content"], turns[-1].answer) == (question.text, question.answer)


def test_demonstrations_mix_all_families_and_forms() -> None:
    rng = random.Random(5)
    lengths = Counter(len(sample_dialogue(rng)) for _ in range(700))
    assert set(lengths) == {5, 7, 9}
    assert 0.3 < lengths[5] / 700 < 0.56


def test_panels_are_frozen_files_with_their_hash(tmp_path: Path) -> None:
    first, second = panels.write(tmp_path / "a", 0, 20), panels.write(tmp_path / "b", 0, 20)
    assert list(first) == list(FAMILIES)
    for family in FAMILIES:
        assert first[family].read_bytes() == second[family].read_bytes()
        card = json.loads(panels.card_path(first[family]).read_text())
        assert card["n"] == len(panels.load(first[family])) == 20
        assert card["knowledge_sha256"] == panels.evaluation_base(0).fingerprint()
    assert (tmp_path / "a/knowledge.json").read_bytes() == (tmp_path / "b/knowledge.json").read_bytes()


def test_a_larger_panel_starts_with_the_smaller_one() -> None:
    assert panels.draw(BASE, "chain", 50, seed=4)[:20] == panels.draw(BASE, "chain", 20, seed=4)


@families
def test_a_panel_asks_nothing_twice(family: str) -> None:
    asked = [(q.subjects, q.relations) for q in panels.draw(BASE, family, 100, seed=5)]
    assert len(asked) == len(set(asked))


def test_too_large_a_panel_is_refused_with_the_field_to_change() -> None:
    with pytest.raises(StarlabError, match=r"data\.panels\.questions.*ask for fewer"):
        panels.draw(BASE, "people", 200, seed=0)


def test_a_damaged_panel_is_named_with_its_line(tmp_path: Path) -> None:
    path = panels.write(tmp_path, 0, 3)["chain"]
    path.write_text(path.read_text().replace('"answer"', '"reply"'))
    with pytest.raises(StarlabError, match=r"chain\.jsonl:1: "):
        panels.load(path)


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(StarlabError, match="'trivia'"):
        sample(random.Random(0), BASE, "trivia")


def test_answers_are_spread() -> None:
    """No constant answer does well: guessing the commonest name stays below one in ten."""
    for family in FAMILIES:
        answers = Counter(question.answer for question in panels.draw(BASE, family, 100, seed=6))
        assert answers.most_common(1)[0][1] < 10
        assert set(answers) <= set(NAMES) - set(RELATIONS)
