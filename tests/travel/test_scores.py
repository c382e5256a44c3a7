"""Scores: ranges, relations between the numbers, and plans that try to be paid for nothing."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.protocol import ToolCall
from starlab.tasks import Status
from starlab.travel import tools
from starlab.travel.checks import Outcome
from starlab.travel.explain import explain
from starlab.travel.plan import FIELDS, Drive, FlightRide, Move, Place, Plan, Stay, Taxi, render, to_json
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.scores import Score, score
from starlab.travel.task import TravelTask
from trips import random_query, solved, stay_index, with_day, with_field, world

DAYS = [3, 5, 7]


def failed(result: Score) -> set[str]:
    return {verdict.check for verdict in (*result.commonsense, *result.hard) if verdict.outcome is Outcome.FAILS}


def judge(query: Query, rows: object) -> Score:
    return score(query, json.dumps(rows), world())


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


@pytest.fixture(scope="module")
def trip() -> tuple[Query, Plan]:
    return solved(3, 1)[0]


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


# --- plans that try to be paid for nothing --------------------------------------------------------


@pytest.mark.parametrize("mode", ["Driving", "Drive", "self-driving", "Rental car", "Bus", "Self‑driving", "Тaxi"])
def test_another_word_for_a_mode_is_no_way_around_a_constraint_or_its_cost(trip: tuple[Query, Plan], mode: str) -> None:
    query, plan = trip
    query = replace(query, local_constraint=LocalConstraint(transportation="no self-driving"))
    first = plan.days[0].where
    result = judge(query, with_field(plan, 0, "transportation", f"{mode}, {first}"))
    assert {"is_valid_transportation", "is_valid_information_in_sandbox"} <= failed(result)
    assert not result.hard_evaluated


def test_leaving_out_the_semicolon_does_not_hide_the_last_attraction(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    index = stay_index(plan)
    sight = f"{plan.days[index].attractions[0]}"
    for text in (f"{sight};Nowhere, {query.dest}", f"Nowhere, {query.dest}"):
        assert failed(judge(query, with_field(plan, index, "attraction", text))) == {"is_valid_information_in_sandbox"}
    assert failed(judge(query, with_field(plan, index, "attraction", f"{sight};{sight}"))) == {"is_valid_attractions"}


@pytest.mark.parametrize("cut", [lambda name: name[:-1], lambda name: name[0], lambda name: name.upper()])
def test_a_part_of_a_name_is_not_the_name(trip: tuple[Query, Plan], cut: Any) -> None:
    query, plan = trip
    index = stay_index(plan)
    lunch = plan.days[index].lunch
    assert isinstance(lunch, Place)
    for name in (cut(lunch.name), f"{lunch.name} ", f"{lunch.name}\u200b", lunch.name.replace("o", "о")):
        result = judge(query, with_field(plan, index, "lunch", f"{name}, {lunch.city}"))
        if name != lunch.name:
            assert failed(result) == {"is_valid_information_in_sandbox"}


def test_a_city_that_only_looks_like_the_right_one_is_another_city(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    text = render(plan)
    for fake in (
        query.dest.replace("a", "а"),
        f"{query.dest}\u00a0",
        query.dest.lower(),
        f"{query.dest}(State)",
    ):
        if fake != query.dest:
            result = score(query, text.replace(query.dest, fake), world())
            assert {"is_reasonable_visiting_city", "is_valid_information_in_sandbox"} <= failed(result)


@pytest.mark.parametrize("days", DAYS)
def test_extra_repeated_missing_and_shuffled_days_are_invalid(days: int) -> None:
    query, plan = solved(days, 1)[0]
    rows = to_json(plan)
    home = {**rows[-1], "day": days + 1, "current_city": query.org, "transportation": "-"}
    variants = {
        "extra": [*rows, home],
        "extra and empty": [*rows, {}],
        "repeated": [*rows, rows[-1]],
        "repeated in place of another": [*rows[:1], rows[0], *rows[2:]],
        "missing": rows[:-1],
        "first missing": rows[1:],
        "shuffled": rows[::-1],
        "misnumbered": [{**row, "day": row["day"] + 1} for row in rows],
    }
    for what, variant in variants.items():
        result = judge(query, variant)
        assert "is_not_absent" in failed(result), what
        assert result.success == 0


def test_the_days_after_the_trip_are_not_left_unchecked(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    extra = {**to_json(plan)[1], "day": 4, "dinner": f"Nowhere, {query.dest}"}
    names = failed(judge(query, [*to_json(plan), extra]))
    assert {"is_not_absent", "is_valid_information_in_sandbox", "is_valid_restaurants"} <= names
    assert "is_reasonable_visiting_city" in names


def test_a_claimed_cost_changes_nothing_and_an_unreadable_one_is_no_ride(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    where = plan.days[0].where
    assert isinstance(where, Move)
    other = plan.days[-1].where
    assert isinstance(other, Move)
    plan = with_day(plan, 0, ride=Taxi(where.origin, where.destination))
    plan = with_day(plan, -1, ride=Taxi(other.origin, other.destination))
    leg = world().leg(where.origin, where.destination)
    assert leg is not None
    text = f"Taxi, {where}"
    poor = replace(query, budget=1)
    for claim in (
        "",
        ", cost: 0",
        ", cost: $1",
        f", duration: {leg.duration}, distance: {leg.distance}, cost: 0",
    ):
        assert failed(judge(query, with_field(plan, 0, "transportation", text + claim))) == set()
        assert failed(judge(poor, with_field(plan, 0, "transportation", text + claim))) == {"valid_cost"}
    for claim in (", cost: none", ", cost: -50", ", cost: NaN", ", cost:", ", free"):
        result = judge(query, with_field(plan, 0, "transportation", text + claim))
        assert "is_valid_transportation" in failed(result)


def test_text_of_a_tool_copied_into_the_answer_earns_nothing(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    where = plan.days[0].where
    assert isinstance(where, Move)
    listing = tools.call(world(), ToolCall("SearchRestaurant", {"city": query.dest}))
    assert score(query, listing, world()).status is Status.UNPARSEABLE
    everything = with_field(plan, 1, "lunch", f"{listing}, {query.dest}")
    assert failed(judge(query, everything)) == {"is_valid_information_in_sandbox"}
    row = listing.strip().splitlines()[0]
    assert failed(judge(query, with_field(plan, 1, "lunch", f"{row}, {query.dest}"))) == {
        "is_valid_information_in_sandbox"
    }


def test_several_venues_in_one_slot_are_no_venue(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    lunch, dinner = plan.days[1].lunch, plan.days[1].dinner
    rows = with_field(plan, 1, "lunch", f"{lunch};{dinner}")
    assert "is_valid_information_in_sandbox" in failed(judge(query, rows))


def test_a_move_without_a_ride_and_a_ride_without_a_move_both_fail(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    walked = score(query, render(with_day(plan, 0, ride=None)), world())
    assert failed(walked) == {"is_valid_transportation", "is_not_absent"}
    taxi = Taxi(query.dest, query.org)
    drives = isinstance(plan.days[0].ride, Drive)
    ride = Drive(query.dest, query.org) if drives else taxi
    toured = score(query, render(with_day(plan, 1, ride=ride)), world())
    assert failed(toured) == {"is_valid_information_in_current_city"}


def test_staying_at_home_is_not_a_trip(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    for where in (Stay(query.org), Move(query.org, query.org)):
        nowhere = Plan(tuple(replace(day, where=where) for day in plan.days))
        names = failed(score(query, render(nowhere), world()))
        assert {"is_reasonable_visiting_city", "is_not_absent"} <= names


@pytest.mark.parametrize("days", [5, 7])
def test_a_city_is_not_visited_twice_and_the_way_has_no_gaps(days: int) -> None:
    query, plan = solved(days, 1)[0]
    moves = [index for index, day in enumerate(plan.days) if isinstance(day.where, Move)]
    first = plan.days[0].where
    assert isinstance(first, Move)
    jump = with_day(plan, moves[1], where=Move(first.origin, first.destination))
    assert "is_reasonable_visiting_city" in failed(score(query, render(jump), world()))
    second = plan.days[moves[1]].where
    assert isinstance(second, Move)
    back = with_day(plan, moves[-1], where=Move(second.destination, second.origin))
    assert "is_reasonable_visiting_city" in failed(score(query, render(back), world()))


def test_a_flight_number_with_the_wrong_route_is_not_in_the_sandbox(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    here = {flight.number for flight in world().flights_on(query.org, query.dest, query.date[0])}
    wrong = next(flight for flight in world().flights if flight.number not in here and flight.date == query.date[0])
    plan = with_day(plan, 0, ride=FlightRide(wrong.number, query.org, query.dest))
    assert "is_valid_information_in_sandbox" in failed(score(query, render(plan), world()))


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
