"""What the parser reads, what it calls unread, and what it refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.travel.parsing import from_json, parse
from starlab.travel.plan import (
    Day,
    Drive,
    FlightRide,
    Move,
    Place,
    Plan,
    Stay,
    Taxi,
    Unparseable,
    Unread,
    render,
)
from trips import solved

WITNESS = (
    '[{"day": 1, "current_city": "from A to B", "transportation": "Flight Number: F012, from A to B", '
    '"breakfast": "-", "attraction": "-", "lunch": "-", "dinner": "Name, B", "accommodation": "Hotel, B"}, '
    '{"day": 2, "current_city": "B", "transportation": "-", "breakfast": "Name, B", '
    '"attraction": "Sight, B;Park, B;", "lunch": "Name, B", "dinner": "Name, B", '
    '"accommodation": "Hotel, B"}]'
)


def only_day(**fields: object) -> Day:
    plan = from_json([{"day": 1, "current_city": "B", **fields}])
    assert isinstance(plan, Plan)
    return plan.days[0]


def test_the_official_json_is_read_into_types_and_written_back_byte_for_byte() -> None:
    plan = parse(WITNESS)
    assert isinstance(plan, Plan)
    first, second = plan.days
    assert first.where == Move("A", "B")
    assert first.ride == FlightRide("F012", "A", "B")
    assert first.breakfast is None
    assert first.dinner == Place("Name", "B")
    assert second.where == Stay("B")
    assert second.attractions == (Place("Sight", "B"), Place("Park", "B"))
    assert render(plan) == WITNESS


@pytest.mark.parametrize("days", [3, 5, 7])
def test_plans_survive_being_written_and_read(days: int) -> None:
    for _, plan in solved(days, 3):
        assert parse(render(plan)) == plan


_word = st.text("aZé和\"\\'-.:()&0\u2010", min_size=1, max_size=5).filter(lambda text: text != "-")
_place = st.builds(Place, _word, _word)
_day = st.builds(
    Day,
    number=st.integers(),
    where=st.builds(Move, _word, _word),
    ride=st.none() | st.builds(FlightRide, _word, _word, _word) | st.builds(Drive, _word, _word),
    breakfast=st.none() | _place,
    attractions=st.lists(_place).map(tuple),
    accommodation=st.none() | _place,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(_day, min_size=1, max_size=3).map(lambda days: Plan(tuple(days))))
def test_any_typed_plan_survives_being_written_and_read(plan: Plan) -> None:
    assert parse(render(plan)) == plan


@pytest.mark.parametrize(
    ("text", "ride"),
    [
        ("Self-driving, from A to B", Drive("A", "B")),
        ("Taxi, from A to B", Taxi("A", "B")),
        (
            "Flight Number: F1, from St. Petersburg to B, Departure Time: 15:40, Arrival Time: 17:04",
            FlightRide("F1", "St. Petersburg", "B", ", Departure Time: 15:40, Arrival Time: 17:04"),
        ),
        (
            "Self-driving, from A to B, duration: 14 hours 2 mins, distance: 1,433 km, cost: 71",
            Drive("A", "B", ", duration: 14 hours 2 mins, distance: 1,433 km, cost: 71"),
        ),
    ],
)
def test_rides_of_the_listed_modes_are_read_with_their_official_suffixes(text: str, ride: object) -> None:
    assert only_day(transportation=text).ride == ride


@pytest.mark.parametrize(
    "text",
    [
        "Driving, from A to B",
        "self-driving, from A to B",
        "Self-driving from A to B",
        "Self\u2010driving, from A to B",
        "Train, from A to B",
        "Flight F012, from A to B",
        "flight number: F012, from A to B",
        "Flight Number: , from A to B",
        "Flight Number: F012",
        "Flight Number: F012, from A",
        "Flight Number: F012, from A to B, for free",
        "Taxi, from A to B, cost: free",
        "Taxi, from A to B, cost: ",
        " Taxi, from A to B",
        "$40, F012",
        "No result.",
        40,
        None,
        ["Taxi, from A to B"],
    ],
)
def test_any_other_wording_of_a_ride_is_unread_and_not_absent(text: object) -> None:
    assert isinstance(only_day(transportation=text).ride, Unread)


@pytest.mark.parametrize("text", ["Name", "Name,B", ", B", "Name, ", {"name": "X"}, 3, True, None])
def test_a_venue_without_name_and_city_is_unread(text: object) -> None:
    assert isinstance(only_day(lunch=text).lunch, Unread)


def test_a_name_may_contain_commas_since_the_city_comes_last() -> None:
    assert only_day(lunch="Fish, Chips, B").lunch == Place("Fish, Chips", "B")


@pytest.mark.parametrize("text", ["X, B;Y, B;", "X, B;Y, B", "X, B; Y, B;"])
def test_the_last_attraction_counts_with_and_without_its_semicolon(text: str) -> None:
    assert only_day(attraction=text).attractions == (Place("X", "B"), Place("Y", "B"))


def test_an_empty_piece_in_a_list_of_attractions_is_unread() -> None:
    first, second, third = only_day(attraction="X, B;;Y, B;").attractions
    assert (first, third) == (Place("X", "B"), Place("Y", "B"))
    assert isinstance(second, Unread)


@pytest.mark.parametrize("where", ["from A", "from A to ", "from  to B", "", "-", None, 7])
def test_a_day_whose_city_cannot_be_read_is_unread(where: object) -> None:
    assert isinstance(only_day(current_city=where).where, Unread)


@pytest.mark.parametrize("number", ["1", 1.0, True, None])
def test_a_day_is_numbered_by_whole_numbers_only(number: object) -> None:
    assert isinstance(only_day(day=number).number, Unread)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("Day 1: fly to B", "not JSON"),
        (WITNESS[:-1], "not JSON"),
        (f"```json\n{WITNESS}\n```", "not JSON"),
        (f"{WITNESS} Enjoy!", "not JSON"),
        ('[{"day": NaN}]', "NaN"),
        ('[{"day": 1, "day": 2}]', "twice"),
        ("[" * 100_000, "not JSON"),
        ('[{"day": ' + "1" * 10_000 + "}]", "not JSON"),
        ("{}", "list of days"),
        ("[]", "no days"),
        ("null", "list of days"),
        ("[[]]", "entry 1"),
        ('[{"day": 1, "brekfast": "-"}]', "did you mean 'breakfast'"),
    ],
)
def test_what_is_not_a_list_of_days_is_unparseable_and_says_why(text: str, reason: str) -> None:
    result = parse(text)
    assert isinstance(result, Unparseable)
    assert reason in result.reason


def test_missing_fields_are_named() -> None:
    plan = from_json(json.loads('[{"day": 1, "current_city": "B"}]'))
    assert isinstance(plan, Plan)
    assert plan.days[0].missing == (
        "transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation",
    )  # fmt: skip
