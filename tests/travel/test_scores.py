"""Scores: ranges, relations between the numbers, and plans that try to be paid for nothing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.protocol import ToolCall
from starlab.tasks import Status
from starlab.travel.explain import explain
from starlab.travel.plan import FIELDS, Place, Plan, render, to_json
from starlab.travel.query import Query
from starlab.travel.scores import Score, score
from starlab.travel.task import TravelTask
from trips import random_query, solved, with_day, world

DAYS = [3, 5, 7]


def assert_consistent(result: Score) -> None:
    metrics = result.metrics()
    assert all(0 <= value <= 1 for value in metrics.values())
    assert len(result.commonsense) == 8
    assert metrics["cs_micro"] == sum(verdict.holds for verdict in result.commonsense) / 8
    assert metrics["cs_macro"] == (metrics["cs_micro"] == 1)
    assert metrics["success"] == metrics["cs_macro"] * metrics["hard_macro"]
    assert metrics["hard_macro"] <= metrics["hard_micro"]
    if not result.hard_evaluated:
        assert metrics["hard_micro"] == 0
    if result.status is not Status.OK:
        assert set(metrics.values()) == {0}
        assert result.reason


@pytest.mark.parametrize("days", DAYS)
def test_the_solvers_plan_scores_one_everywhere(days: int) -> None:
    for query, plan in solved(days, 5, constrained=True):
        result = score(query, render(plan), world())
        assert set(result.metrics().values()) == {1}
        assert_consistent(result)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60) | _json.map(json.dumps))
def test_any_text_gets_a_score_and_an_explanation(text: str) -> None:
    query, _ = solved(3, 1)[0]
    assert_consistent(score(query, text, world()))
    assert explain(query, text, world())


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_day_of_known_fields_gets_a_score_and_an_explanation(data: st.DataObject) -> None:
    query, plan = solved(3, 1)[0]
    rows: list[Any] = to_json(plan)
    texts = sorted({str(value) for row in rows for value in row.values()})
    value = st.sampled_from(texts) | st.integers(-1, 8) | _json
    day = st.dictionaries(st.sampled_from(FIELDS), value, max_size=8)
    fields = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(FIELDS), value), max_size=3)
    for index, field, replacement in data.draw(fields):
        rows[index][field] = replacement
    rows += data.draw(st.lists(day, max_size=2))
    text = json.dumps(rows)
    result = score(query, text, world())
    assert_consistent(result)
    assert result == score(query, text, world())
    assert explain(query, text, world())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.integers(0, 20))
def test_a_plan_for_another_query_is_scored_within_range(seed: int, other: int) -> None:
    rng = random.Random(seed)
    days = rng.choice(DAYS)
    query = random_query(rng, world(), days)
    _, plan = solved(days, 1, seed=other)[0]
    assert_consistent(score(query, render(plan), world()))


def test_no_answer_and_no_plan_are_told_apart(trip: tuple[Query, Plan]) -> None:
    query, _ = trip
    assert score(query, None, world()).status is Status.UNDELIVERED
    for text in ("", "[]", "sorry", "{}"):
        result = score(query, text, world())
        assert result.status is Status.UNPARSEABLE
        assert_consistent(result)


# --- what people and the rollout engine see -------------------------------------------------------


def test_an_explanation_names_the_row_of_every_part_and_the_reason_of_every_failure(
    trip: tuple[Query, Plan],
) -> None:
    query, plan = trip
    text = explain(query, render(plan), world())
    assert "Success: yes" in text
    assert "FAILS" not in text
    hotel = plan.days[0].accommodation
    assert isinstance(hotel, Place)
    row = next(row for row in world().hotels_in(hotel.city) if row.name == hotel.name)
    assert f"{hotel}: {row.room_type}, ${row.price:g}" in text
    broken = with_day(plan, 1, lunch=Place("Nowhere", query.dest))
    text = explain(query, render(broken), world())
    assert f"no restaurant 'Nowhere' in {query.dest!r}" in text
    assert "not evaluated  valid_cost" in text
    assert "Success: no" in text
    assert "there is no answer" in explain(query, None, world())


def test_a_task_grades_with_all_metrics_and_only_the_applicable_hard_checks(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    task = TravelTask(query, world())
    assert (task.id, task.domain, task.level) == (query.id, "travel", query.level)
    assert task.prompt()[-1] == {"role": "user", "content": query.text}
    grade = task.grade(render(plan))
    assert grade.status is Status.OK
    assert grade.metrics["success"] == grade.metrics["delivered"] == 1
    assert "valid_cost" in grade.metrics
    assert "valid_cuisine" not in grade.metrics
    assert task.grade(None).metrics["delivered"] == 0
    failure = task.grade(render(with_day(plan, 1, lunch=plan.days[1].dinner))).detail["failures"]
    assert list(failure) == ["is_valid_restaurants"]


def test_a_task_answers_unknown_tools_and_bad_arguments_with_text(trip: tuple[Query, Plan]) -> None:
    task = TravelTask(trip[0], world())
    for call in (ToolCall("Fly", {}), ToolCall("SearchFlight", {}), ToolCall("SearchCity", {"state": ["x"]})):
        assert isinstance(task.call(call), str)
