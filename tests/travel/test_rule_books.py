"""The rule books side by side: what one plan is worth under each.

Tuples of verdicts are in the order of `BOOKS`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starlab.errors import StarlabError
from starlab.tasks import Status
from starlab.travel.audit import audit
from starlab.travel.plan import FlightRide, Place, Plan, to_json
from starlab.travel.plan_files import Submission
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.rules import RULE_BOOKS, STRICT, rule_book
from starlab.travel.wording import route, venue
from trips import BOOKS, judged, stay_index, with_day, with_field, world


def table(book: str, query: Query, plan: object) -> dict[str, bool | None]:
    checks = judged(book, query, plan).to_dict()["checks"]
    return {**checks["commonsense"], **checks["hard"]}


def verdicts(check: str, query: Query, plan: object) -> tuple[bool | None, ...]:
    """What travelplanner, agentstar, agentstar-relaxed and strict say."""
    return tuple(table(book, query, plan)[check] for book in BOOKS)


def test_an_unknown_rule_book_is_answered_with_the_nearest_one() -> None:
    assert rule_book("strict") is STRICT
    with pytest.raises(StarlabError, match="did you mean 'agentstar'"):
        rule_book("agentstr")


def test_the_rule_books_agree_on_an_honest_plan(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    rows = [judged(book, query, to_json(plan)) for book in BOOKS]
    assert all(row.final_pass and row.status is Status.OK for row in rows)
    assert len({row.total_cost for row in rows}) == 1


# --- where they differ: travelplanner, agentstar, agentstar-relaxed, strict -----------------------------


def test_a_state_behind_a_city(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    right = f"{query.dest}({world().state_of(query.dest)})"
    for text, strict in ((right, True), (f"{query.dest}(Nowhere)", False)):
        rows = json.loads(json.dumps(to_json(plan)).replace(query.dest, text))
        expected = (True, False, False, strict)
        assert verdicts("is_valid_information_in_sandbox", query, rows) == expected
        assert verdicts("is_reasonable_visiting_city", query, rows) == expected


def test_a_part_of_a_name_and_a_last_attraction_without_a_semicolon(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    index = stay_index(plan)
    lunch = plan.days[index].lunch
    assert isinstance(lunch, Place)
    part = with_field(plan, index, "lunch", f"{lunch.name[:-1]}, {lunch.city}")
    assert verdicts("is_valid_information_in_sandbox", query, part) == (True, True, True, False)
    last = with_field(plan, index, "attraction", f"Nowhere, {query.dest}")
    assert verdicts("is_valid_information_in_sandbox", query, last) == (True, True, True, False)


@pytest.mark.parametrize(
    ("mode", "excluded", "real"),
    [
        ("Self-driving", (False, False, False, False), (True, True, True, True)),
        ("self-driving", (True, False, False, False), (True, True, True, False)),
        ("Driving", (True, False, False, False), (True, True, True, False)),
        ("Rickshaw", (True, False, False, False), (True, True, True, False)),
        ("Taxi", (True, True, True, True), (True, True, True, True)),
        ("flight", (True, True, True, False), (True, False, False, False)),
    ],
)
def test_words_for_modes(
    taxi_trip: tuple[Query, Plan], mode: str, excluded: tuple[bool, ...], real: tuple[bool, ...]
) -> None:
    query = replace(taxi_trip[0], local_constraint=LocalConstraint(transportation="no self-driving"))
    rows = with_field(taxi_trip[1], 0, "transportation", f"{mode}, {taxi_trip[1].days[0].where}")
    assert verdicts("valid_transportation", query, rows) == excluded
    assert verdicts("is_valid_information_in_sandbox", query, rows) == real


def test_a_ride_of_no_known_mode_is_free_only_where_no_mode_is_looked_up(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    rows = with_field(plan, 0, "transportation", f"Rickshaw, {plan.days[0].where}")
    free, car, _, unknown = (judged(book, query, rows).total_cost for book in BOOKS)
    honest, leg = judged("strict", query, to_json(plan)).total_cost, world().leg(query.org, query.dest)
    assert unknown is None
    assert None not in (free, car, honest) and leg is not None and leg.driving_cost
    assert free < car < honest  # type: ignore[operator]


def test_a_flight_on_another_date(taxi_trip: tuple[Query, Plan]) -> None:
    query = taxi_trip[0]
    dates = world().dates(query.org, query.dest)
    flights = [row for date in dates for row in world().flights_on(query.org, query.dest, date)]
    today = {row.number for row in flights if row.date == query.date[0]}
    late = next(row for row in flights if row.number not in today)
    plan = with_day(taxi_trip[1], 0, ride=FlightRide(late.number, query.org, query.dest))
    assert verdicts("is_valid_information_in_sandbox", query, to_json(plan)) == (True, True, True, False)


def test_a_meal_of_another_city_on_a_day_in_one(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    other = next(row for row in world().restaurants if row.city not in (query.org, query.dest))
    rows = to_json(with_day(plan, stay_index(plan), lunch=Place(other.name, other.city)))
    assert verdicts("is_valid_information_in_current_city", query, rows) == (True, False, False, False)


def test_breakfast_left_out(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    index = stay_index(plan)
    rows = to_json(with_day(plan, index, breakfast=None))
    assert verdicts("is_not_absent", query, rows) == (False, False, True, False)
    twice = to_json(with_day(plan, index, breakfast=plan.days[index].lunch))
    assert verdicts("is_valid_restaurants", query, twice) == (False, False, True, False)


def test_breakfast_at_home_hides_the_day_s_cuisines_from_one_book(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    home = next(row for row in world().restaurants if row.city == query.org)
    dinner = next(row for row in world().restaurants if row.city == query.dest)
    plan = Plan(tuple(replace(day, breakfast=None, lunch=None, dinner=None) for day in plan.days))
    rows = to_json(with_day(plan, 0, breakfast=Place(home.name, home.city), dinner=Place(dinner.name, dinner.city)))
    query = replace(query, local_constraint=LocalConstraint(cuisine=dinner.cuisines[:1]))
    assert verdicts("valid_cuisine", query, rows) == (False, True, True, True)


def test_a_cuisine_asked_for_twice_leaves_one_book_without_a_result(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    lunch = plan.days[stay_index(plan)].lunch
    row = next(row for row in world().restaurants if Place(row.name, row.city) == lunch)
    query = replace(query, local_constraint=LocalConstraint(cuisine=row.cuisines[:1] * 2))
    assert verdicts("valid_cuisine", query, to_json(plan)) == (None, True, True, True)
    assert [judged(book, query, to_json(plan)).final_pass for book in BOOKS] == [False, True, True, True]


def test_days_after_the_trip(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    rows = [*to_json(plan), {**to_json(plan)[1], "day": 4, "dinner": "Nowhere, Nowhere"}]
    assert verdicts("is_valid_information_in_sandbox", query, rows) == (True, True, True, False)


def test_minimum_nights_where_two_rows_share_a_name(taxi_trip: tuple[Query, Plan]) -> None:
    query, plan = taxi_trip
    bed = plan.days[0].accommodation
    row = next(row for row in world().hotels if Place(row.name, row.city) == bed)
    hotels = (*world().hotels, replace(row, minimum_nights=9))
    database = replace(world(), hotels=hotels)
    for book in BOOKS:
        commonsense = audit(Submission("p", query, to_json(plan)), database, RULE_BOOKS[book]).commonsense
        (nights,) = (verdict for verdict in commonsense if verdict.check == "is_valid_accommodation")
        assert nights.holds == (book != "strict")


@pytest.mark.parametrize("day", [{}, None, "lunch", 3])
def test_a_day_that_says_nothing_fails_with_a_reason(taxi_trip: tuple[Query, Plan], day: object) -> None:
    rows: list[Any] = [*to_json(taxi_trip[1])[:2], day]
    for book in BOOKS:
        row = judged(book, taxi_trip[0], rows).to_dict()
        assert row["official"]["final_pass"] is False
        assert row["reasons"]["is_not_absent"]


@pytest.mark.parametrize(
    ("text", "name", "city"),
    [
        ("A, B", "A", "B"),
        ("A, B, C", "A, B", "C"),
        ("A,B", "A", "B"),
        ("A", "-", "-"),
        ("A,", "-", "-"),
        (", B", "", "B"),
        ("A, B(C)", "A", "B"),
        ("A, B (C) ", "A", "B"),
        ("A, B(C", "A", "B(C"),
        ("X\nA, B", "A", "B"),
        ("A,\nB", "A", "B"),
        ("A (B), C", "A (B)", "C"),
    ],
)
def test_a_venue_read_as_text(text: str, name: str, city: str) -> None:
    reading = RULE_BOOKS["travelplanner"].text
    assert reading is not None
    found = venue(text, reading)
    assert (found.name, found.city) == (name, city)


@pytest.mark.parametrize(
    ("text", "cities"),
    [
        ("from A to B", ("A", "B")),
        ("Taxi, from A to B, cost: 3", ("A", "B")),
        ("from A  to  B C", ("A", "B C")),
        ("from A to B to C", ("A", "B to C")),
        ("From A to B", None),
        ("from A", None),
        ("from A to ", None),
        ("A to B", None),
    ],
)
def test_a_route_read_as_text(text: str, cities: tuple[str, str] | None) -> None:
    assert route(text) == cities
