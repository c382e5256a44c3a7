"""The second domain: searches on the way to an answer."""

from __future__ import annotations

import random

import pytest
from demonstrations import call, candidate, looked_up
from starlab.knowledge.base import generate
from starlab.knowledge.oracle import solve
from starlab.knowledge.questions import FAMILIES, sample
from starlab.knowledge.search import search
from starlab.knowledge.task import KnowledgeTask
from starlab.pivot.verifiers import find, functional
from starlab.protocol import render_answer

BASE = generate(3)


def question(family: str) -> KnowledgeTask:
    return KnowledgeTask(sample(random.Random(5), BASE, family, "k"), BASE)


def path(task: KnowledgeTask) -> list[tuple[str, dict[str, str]]]:
    steps, _ = solve(task.question, lambda name: search(BASE, name))
    return [("Search", {"query": name}) for name, _ in steps]


def value(task, before, text) -> float:
    return functional("success")(task, candidate(lookups=looked_up(task, *before)), text).value


@pytest.mark.parametrize("family", FAMILIES)
def test_the_way_to_the_answer_is_accepted_once(family):
    task, steps = question(family), path(question(family))
    for number, (name, arguments) in enumerate(steps):
        assert value(task, steps[:number], call(name, **arguments)) == 1.0
        assert value(task, steps, call(name, **arguments)) == 0.0
    assert value(task, steps, render_answer(task.question.answer)) == 1.0
    assert value(task, steps, render_answer("Nobody")) == 0.0


def test_two_subjects_may_be_looked_up_in_any_order():
    task = question("shared")
    first, second = path(task)
    assert value(task, (second,), call(first[0], **first[1])) == 1.0


def test_another_name_is_not_needed_once_its_entry_is_open():
    task = question("alias")
    other, entity = path(task)
    assert value(task, (entity,), call(other[0], **other[1])) == 0.0
    assert value(task, (other,), call(entity[0], **entity[1])) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        call("Search", query="Nowhere"),
        call("Search"),
        call("Search", query=["Magnus"]),
        call("Search", query="Magnus", page="2"),
        call("SearchCity", state="x"),
        render_answer(""),
        render_answer(" . "),
        "Magnus",
    ],
)
def test_exploits_earn_nothing(text):
    assert value(question("chain"), (), text) == 0.0


def test_graded_rewards_leave_answers_right_or_wrong():
    task = question("people")
    assert find("functional", "macro")(task, candidate(), render_answer(task.question.answer)).value == 1.0
    assert find("functional", "sum")(task, candidate(), render_answer("Nobody")).value == 0.0
