"""What counts as a useful turn on a trip, and what does not although it looks like one."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from demonstrations import call, candidate, looked_up
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.pivot.candidates import Lookup
from starlab.pivot.verifiers import DOMAINS, VERIFIERS, find, functional
from starlab.protocol import ToolCall, render_answer, render_thought
from starlab.travel.database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.task import TravelTask

DATES = ("2022-03-01", "2022-03-02", "2022-03-03", "2022-03-04", "2022-03-05")
CITIES = {"East": ("Home",), "West": ("Away", "Bend", "Cove")}


def world(flights: bool = True, roads: bool = True) -> Database:
    places = [city for cities in CITIES.values() for city in cities]
    pairs = [(a, b) for a, b in permutations(places, 2)]
    return Database(
        name="handmade",
        states=CITIES,
        flights=tuple(
            Flight(f"F{a[0]}{b[0]}{date[-1]}", 50, "", "", "", date, a, b, 100.0)
            for a, b in pairs for date in DATES if flights
        ),
        hotels=tuple(Hotel("Inn", "Private room", 40.0, 1.0, 4.0, "", 4, city) for city in places),
        restaurants=tuple(Restaurant(f"R{i}", city, ("BBQ",), 10, 4.0) for city in places for i in range(5)),
        attractions=tuple(Attraction(f"A{i}", city, "", "", "", "", "") for city in places for i in range(3)),
        legs=tuple(Leg(a, b, "2 hours", "100 km" if roads else None) for a, b in pairs),
    )  # fmt: skip


def trip(days: int = 3, constraint: LocalConstraint | None = None, database: Database | None = None) -> TravelTask:
    query = Query("q", "Home", "Away" if days == 3 else "West", days, (days - 1) // 2, DATES[:days], 1,
                  constraint or LocalConstraint(), 5000, "easy")  # fmt: skip
    return TravelTask(query, database or world())


def drive(origin: str, destination: str, mode: str = "self-driving") -> tuple[str, dict[str, str]]:
    return "GoogleDistanceMatrix", {"departure": origin, "destination": destination, "mode": mode}


def fly(origin: str, destination: str, date: str) -> tuple[str, dict[str, str]]:
    return "SearchFlight", {"departure": origin, "destination": destination, "date": date}


HOTELS, MEALS, SIGHTS = (
    (tool, {"city": "Away"}) for tool in ("SearchAccommodation", "SearchRestaurant", "SearchAttraction")
)
OUT, BACK = fly("Home", "Away", DATES[0]), fly("Away", "Home", DATES[2])
BY_AIR = (OUT, BACK, HOTELS, MEALS, SIGHTS)
BY_CAR = (drive("Home", "Away"), drive("Away", "Home"), HOTELS, MEALS, SIGHTS)


def value(task, before, text) -> float:
    """By calls alone; what thoughts pick is in test_picks.py."""
    before = before if before and isinstance(before[0], Lookup) else looked_up(task, *before)
    return find("calls", "success")(task, candidate(lookups=before), text).value


@pytest.mark.parametrize("calls", [*permutations(BY_AIR)][::17] + [*permutations(BY_CAR)][::17])
def test_any_order_serves(calls):
    task = trip()
    for number, (name, arguments) in enumerate(calls):
        assert value(task, calls[:number], call(name, **arguments)) == 1.0


def test_a_thought_before_the_first_call_changes_nothing():
    for name in ("functional", "calls"):
        text = render_thought("flight, Inn") + call(OUT[0], **OUT[1])
        assert find(name, "success")(trip(), candidate(), text).value == 1.0


def test_what_is_known_is_not_needed_again():
    task = trip()
    for name, arguments in BY_AIR:
        assert value(task, BY_AIR, call(name, **arguments)) == 0.0


def test_with_all_evidence_only_an_answer_counts():
    """A policy that never stops looking things up earns nothing for it."""
    task = trip()
    for name, arguments in (*BY_CAR[:2], drive("Home", "Away", "taxi"), ("SearchCity", {"state": "West"})):
        assert value(task, BY_AIR, call(name, **arguments)) == 0.0


def test_a_look_up_that_failed_is_needed_again():
    task = trip()
    failed = (Lookup(ToolCall(*HOTELS), "Error: Current tool SearchAccommodation is not available."),)
    assert value(task, failed, call(HOTELS[0], **HOTELS[1])) == 1.0
    assert value(task, looked_up(task, HOTELS), call(HOTELS[0], **HOTELS[1])) == 0.0


def test_cars_and_flights_are_not_mixed():
    task = trip()
    assert value(task, (OUT,), call("GoogleDistanceMatrix", **drive("Away", "Home")[1])) == 0.0
    assert value(task, (OUT,), call("GoogleDistanceMatrix", **drive("Away", "Home", "taxi")[1])) == 1.0
    assert value(task, BY_CAR[:1], call(BACK[0], **BACK[1])) == 0.0


def test_a_way_that_does_not_go_frees_the_other():
    nowhere = trip(database=world(flights=False))
    assert value(nowhere, (OUT,), call("GoogleDistanceMatrix", **drive("Home", "Away", "taxi")[1])) == 1.0
    assert value(nowhere, (OUT,), call(OUT[0], **OUT[1])) == 0.0, "it was answered: there is none"
    roadless = trip(database=world(roads=False))
    assert value(roadless, BY_CAR[:1], call(OUT[0], **OUT[1])) == 1.0
    assert value(roadless, BY_CAR[:1], call("GoogleDistanceMatrix", **drive("Away", "Home")[1])) == 0.0


def test_a_way_that_the_query_forbids_is_not_needed():
    grounded = trip(constraint=LocalConstraint(transportation="no flight"))
    assert value(grounded, (), call(OUT[0], **OUT[1])) == 0.0
    assert value(grounded, (), call("GoogleDistanceMatrix", **drive("Home", "Away", "taxi")[1])) == 1.0
    carless = trip(constraint=LocalConstraint(transportation="no self-driving"))
    assert value(carless, (), call("GoogleDistanceMatrix", **drive("Home", "Away")[1])) == 0.0


EXPLOITS = {
    "another city": call("SearchAccommodation", city="Bend"),
    "the home city": call("SearchRestaurant", city="Home"),
    "a city that does not exist": call("SearchAccommodation", city="away"),
    "a list of cities for one": call("SearchAccommodation", city=["Away"]),
    "no city": call("SearchAccommodation"),
    "an empty city": call("SearchAccommodation", city=""),
    "more arguments than the tool has": call("SearchAccommodation", city="Away", note="x"),
    "a tool that does not exist": call("SearchHotel", city="Away"),
    "a tool of another domain": call("Search", query="Away"),
    "a flight on another day": call("SearchFlight", **fly("Home", "Away", DATES[1])[1]),
    "a flight back on the first day": call("SearchFlight", **fly("Away", "Home", DATES[0])[1]),
    "a flight to nowhere": call("SearchFlight", **fly("Home", "Home", DATES[0])[1]),
    "a mode that the tool would take for a drive": call("GoogleDistanceMatrix", **drive("Home", "Away", "teleport")[1]),
    "a mode in other letters": call("GoogleDistanceMatrix", **drive("Home", "Away", "Taxi")[1]),
    "two calls in one turn": call(*[HOTELS[0]], **HOTELS[1]) * 2,
    "a call and an answer": call(HOTELS[0], **HOTELS[1]) + render_answer("[]"),
    "a call inside a thought": render_thought(call(HOTELS[0], **HOTELS[1])),
    "a call with text behind it": call(HOTELS[0], **HOTELS[1]) + " please",
    "a call that is not JSON": "<tool_call>SearchAccommodation(city='Away')</tool_call>",
    "nothing": "",
    "an empty answer": render_answer(""),
    "an answer that is no plan": render_answer("[]"),
    "an answer that asks for the reward": render_answer('{"success": 1}'),
}


@pytest.mark.parametrize("exploit", EXPLOITS)
@pytest.mark.parametrize("reward", ["success", "macro", "sum"])
def test_exploits_earn_nothing(exploit, reward):
    for name in VERIFIERS:
        assert find(name, reward)(trip(), candidate(), EXPLOITS[exploit]).value == 0.0


def test_a_turn_that_was_cut_off_earns_nothing():
    assert functional("success")(trip(), candidate(), None).value == 0.0


TRIP = trip()


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_breaks_it(text):
    for name in VERIFIERS:
        assert find(name, "success")(TRIP, candidate("<answer>x</answer>"), text).value == 0.0


def test_an_answer_counts_as_the_reward_says(trips):
    """A plan that breaks one hard constraint: nothing under `success`, a share of the most under graded rewards."""
    turn = next(turn for turn in trips.turns if turn.candidate.action == "answer")
    expert = turn.candidate.expert
    for reward in ("success", "macro", "sum", "curriculum"):
        assert functional(reward)(turn.task, turn.candidate, expert).value == 1.0
    # the same trip on a budget of one dollar
    poor = replace(turn.task, query=replace(turn.task.query, budget=1))
    values = {reward: functional(reward)(poor, turn.candidate, expert).value for reward in ("success", "macro", "sum")}
    assert values["success"] == 0.0
    assert values["macro"] == pytest.approx(1 / 3)  # commonsense holds; hard and success do not
    assert 0.4 <= values["sum"] < 1.0


@pytest.mark.parametrize("kind", ["trips", "journeys"])
def test_a_teacher_s_turns_are_accepted(kind, request):
    """Whatever a good teacher does serves, retries included; it looks nothing up twice, and picks what is cheapest but
    for dinners that it can afford."""
    demonstrations = request.getfixturevalue(kind)
    assert len(demonstrations.turns) > 40
    for turn in demonstrations.turns:
        assert find("calls", "success")(turn.task, turn.candidate, turn.candidate.expert).value == 1.0
        verdict = functional("success")(turn.task, turn.candidate, turn.candidate.expert)
        assert verdict.value > 0.8, (turn.id, turn.candidate.expert, verdict)
        assert find("strict", "success")(turn.task, turn.candidate, turn.candidate.expert).value == 1.0


def test_a_journey_takes_any_cities_of_its_state_in_any_order():
    task = trip(days=5)
    cities = ("SearchCity", {"state": "West"})
    assert value(task, (), call(cities[0], **cities[1])) == 1.0
    for first, second in permutations(CITIES["West"], 2):
        rides = (fly("Home", first, DATES[0]), fly(first, second, DATES[2]), fly(second, "Home", DATES[4]))
        listings = ((tool, {"city": city}) for city in (first, second) for tool, _ in (HOTELS, MEALS, SIGHTS))
        way = (cities, *rides, *listings)
        for number, (name, arguments) in enumerate(way):
            assert value(task, way[:number], call(name, **arguments)) == 1.0, (first, second, name, arguments)


def test_a_journey_has_room_for_two_cities_only():
    task = trip(days=5)
    seen = tuple(("SearchAccommodation", {"city": city}) for city in ("Away", "Bend"))
    assert value(task, seen, call("SearchAccommodation", city="Cove")) == 0.0
    assert value(task, seen, call("SearchRestaurant", city="Bend")) == 1.0
    assert (
        value(task, (fly("Home", "Away", DATES[0]),), call("SearchFlight", **fly("Home", "Bend", DATES[0])[1])) == 0.0
    )


def test_strict_compares_the_whole_turn():
    strict = find("strict", "success")
    expert = render_thought("Inn") + call("SearchAttraction", city="Away")
    same = candidate(expert)
    assert strict(trip(), same, expert + "\n").value == 1.0
    assert strict(trip(), same, render_thought("another") + call("SearchAttraction", city="Away")).value == 0.0
    assert strict(trip(), same, call("SearchAttraction", city="Away")).value == 0.0
    assert strict(trip(), same, render_thought("Inn") + call("SearchRestaurant", city="Away")).value == 0.0
    spaceless = '<tool_call>{"name":"SearchAttraction","arguments":{"city":"Away"}}</tool_call>'
    assert strict(trip(), same, render_thought("Inn") + spaceless).value == 0.0
    # where functional takes the other order
    assert value(trip(), (), call("SearchRestaurant", city="Away")) == 1.0


def test_every_domain_has_a_verifier():
    assert set(DOMAINS) == {"travel", "knowledge"}


def test_an_unknown_verifier_is_named():
    with pytest.raises(StarlabError, match="did you mean 'strict'"):
        find("stirct", "success")
