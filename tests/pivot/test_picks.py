"""What picks in thoughts are worth, and what looks like a pick and earns nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from demonstrations import call, candidate, looked_up
from starlab.pivot.candidates import Lookup
from starlab.pivot.verifiers import functional
from starlab.pivot.verifiers.picks import Names, value
from starlab.protocol import ToolCall, render_thought, thought_of
from starlab.travel.database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.rendering import meal_note
from starlab.travel.task import TravelTask

DATES = ("2022-03-01", "2022-03-02", "2022-03-03", "2022-03-04", "2022-03-05")
CITIES = {"East": ("Home",), "West": ("Away", "Bend", "Cove")}
PLACES = [city for cities in CITIES.values() for city in cities]
PRICES = {"F1": 50, "F2": 100, "F3": 400}
CUISINES = (("BBQ",), ("BBQ",), ("Thai",), ("French", "Thai"), ("Greek",))
WORLD = Database(
    name="handmade",
    states=CITIES,
    flights=(
        *(
            Flight(number, price, "", "", "", date, a, b, 100.0)
            for a, b in permutations(PLACES, 2) for date in DATES for number, price in PRICES.items()
        ),
        Flight("F9", 10, "", "", "", "2022-04-01", "Home", "Away", 100.0),
    ),
    hotels=(
        *(
            Hotel(name, room, price, nights, 4.0, rules, beds, city) for city in PLACES
            for name, room, price, nights, rules, beds in (
                ("Inn", "Private room", 40.0, 1.0, "No pets", 2),
                ("Old Inn", "Entire home/apt", 100.0, 1.0, "", 2),
                ("Loft", "Private room", 30.0, 3.0, "", 2),
                ("Tent", "Shared room", 20.0, 1.0, "", 1),
            )
        ),
        Hotel("Elsewhere", "Private room", 1.0, 1.0, 4.0, "", 2, "Bend"),
    ),
    restaurants=(
        *(
            Restaurant(f"Table {i}", city, cuisines, 10 * (i + 1), 4.0)
            for city in PLACES for i, cuisines in enumerate(CUISINES)
        ),
        Restaurant("Far Table", "Bend", ("Thai",), 1, 4.0),
    ),
    attractions=tuple(Attraction(f"Park {i}", city, "", "", "", "", "") for city in PLACES for i in range(3)),
    legs=tuple(Leg(a, b, "2 hours", "1,000 km") for a, b in permutations(PLACES, 2)),
)  # fmt: skip
"""A flight costs 50, 100 or 400, a drive 50, a taxi 1000; four meals cost 100 at least, six 210."""


def trip(budget: float = 1000, people: int = 1, days: int = 3, **constraint: object) -> TravelTask:
    query = Query("q", "Home", "Away" if days == 3 else "West", days, (days - 1) // 2, DATES[:days], people,
                  LocalConstraint(**constraint), budget, "easy")  # fmt: skip
    return TravelTask(query, WORLD)


OUT = ("SearchFlight", {"departure": "Home", "destination": "Away", "date": DATES[0]})
BACK = ("SearchFlight", {"departure": "Away", "destination": "Home", "date": DATES[2]})
DRIVE = ("GoogleDistanceMatrix", {"departure": "Home", "destination": "Away", "mode": "self-driving"})
HOTELS, MEALS, SIGHTS = (
    (tool, {"city": "Away"}) for tool in ("SearchAccommodation", "SearchRestaurant", "SearchAttraction")
)


def worth(task: TravelTask, *calls, thoughts=(), thought: str) -> float:
    return value(task, looked_up(task, *calls, thoughts=thoughts), thought)[0]


# --- the parser of names ---


NAMES = frozenset(("Inn", "Old Inn", "Joe's (Bar)", "F1"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("as asked, cheap, Old Inn", ["Old Inn"]),
        ("Inn, Old Inn, Inn", ["Inn", "Old Inn", "Inn"]),
        ("Inner, Innkeeper, F12, XF1", []),
        ("I take Joe's (Bar)!", ["Joe's (Bar)"]),
        ("inn", []),
        ("", []),
    ],
)
def test_names_are_whole_words_and_the_longest_there_are(text, names):
    assert Names(NAMES.__contains__, {len(name) for name in NAMES}).said(text) == names


def test_a_thought_is_what_a_turn_opens_with():
    text = render_thought("cheap, Inn") + call("SearchAttraction", city="Away")
    assert thought_of(text) == "cheap, Inn" and thought_of(f" {text}") == "cheap, Inn"
    assert thought_of(call("SearchAttraction", city="Away") + render_thought("Inn")) == ""


# --- worked numbers ---


def test_a_pick_is_worth_the_money_it_leaves_free_as_a_share_of_what_the_best_one_leaves():
    """A drive each way would leave 1000 - 100 - 40 - 100 (two nights in the tent, four meals), and so would F1."""
    task = trip()
    assert worth(task, OUT, thought="F1") == 1.0
    # 1000 - 50 - 50 - 40 - 100 = 760 with F1
    assert worth(task, OUT, thought="F2") == pytest.approx(710 / 760)
    assert worth(task, OUT, thought="F3") == pytest.approx(410 / 760)
    # the budget is short now: 400 + 50 + 40 + 100 = 590
    assert worth(trip(600), OUT, thought="F3") == pytest.approx(10 / 360)
    assert worth(trip(589), OUT, thought="F3") == 0.0


def test_earlier_picks_are_held():
    task = trip(1100)
    # 400 + 400 + 40 + 100 = 940; after the other flight back 590
    assert worth(task, OUT, BACK, thoughts=["", "F3"], thought="F3") == pytest.approx(160 / 510)
    assert worth(trip(900), OUT, BACK, thoughts=["", "F3"], thought="F3") == 0.0
    assert worth(trip(900), OUT, BACK, thoughts=["", "F1"], thought="F3") > 0.0


def test_the_order_of_look_ups_is_free():
    task = trip(700)
    assert worth(task, HOTELS, OUT, thoughts=["", "Old Inn"], thought="F3") == 0.0  # 400 + 50 + 200 + 100
    assert worth(task, HOTELS, OUT, thoughts=["", "Tent"], thought="F3") > 0.0


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ({}, ["Inn", "Old Inn", "Tent"], ["Loft"]),  # which takes three nights or more
        ({"room_type": "private room"}, ["Inn"], ["Old Inn", "Loft", "Tent"]),
        ({"room_type": "not shared room"}, ["Inn", "Old Inn"], ["Loft", "Tent"]),
        ({"house_rule": "pets"}, ["Old Inn", "Tent"], ["Inn", "Loft"]),
    ],
)
def test_a_hotel_meets_room_type_house_rule_and_minimum_nights(constraint, good, bad):
    task = trip(**constraint)
    assert all(worth(task, HOTELS, thought=name) > 0 for name in good)
    assert not any(worth(task, HOTELS, thought=name) for name in bad)


def test_a_hotel_takes_as_many_units_as_the_party_needs():
    """For two a night in the tent is twice 20, in the inn once 40."""
    assert worth(trip(people=2), HOTELS, thought="Tent") == worth(trip(people=2), HOTELS, thought="Inn") == 1.0


def test_restaurants_are_four_different_ones():
    task = trip()
    tables = [f"Table {i}" for i in range(5)]
    assert worth(task, MEALS, thought=", ".join(tables[:4])) == 1.0
    assert 0.9 < worth(task, MEALS, thought=", ".join(tables[1:])) < 1.0
    for wrong in (tables[:3], tables, [*tables[:3], tables[0]], [*tables[:4], tables[0]]):
        assert worth(task, MEALS, thought=", ".join(wrong)) == 0.0


def test_restaurants_serve_every_cuisine_asked_for():
    task = trip(cuisine=("French", "Greek"))
    tables = ["Table 0", "Table 1", "Table 3", "Table 4"]
    assert worth(task, MEALS, thought=", ".join(tables)) == 1.0
    assert worth(task, MEALS, thought="Table 0, Table 1, Table 2, Table 3") == 0.0
    # whatever the thought says they are
    rows = [row for row in task.database.restaurants_in("Away") if row.name in tables]
    said = meal_note(task.query.local_constraint, True, rows)
    assert said.startswith("as asked, cheap, ") and worth(task, MEALS, thought=said) == 1.0


def test_one_sight_is_enough_and_two_are_welcome():
    task = trip()
    assert worth(task, SIGHTS, thought="Park 1") == worth(task, SIGHTS, thought="Park 0, Park 2") == 1.0
    assert worth(task, SIGHTS, thought="Park 0, Park 1, Park 2") == 0.0


def test_a_ride_that_goes_is_named():
    """Nothing else is left of that look-up: there is one way to say it."""
    assert worth(trip(), DRIVE, thought="self-driving") == 1.0
    assert worth(trip(), DRIVE, thought="") == worth(trip(), DRIVE, thought="taxi") == 0.0
    assert worth(trip(180), DRIVE, thought="self-driving") == 0.0  # no plan is that cheap
    assert worth(trip(240), DRIVE, thought="self-driving") == 1.0


def test_where_nothing_was_listed_nothing_is_picked():
    task = trip()
    assert worth(task, thought="whatever") == 1.0
    nowhere = ("SearchAccommodation", {"city": "Nowhere"})
    assert worth(task, nowhere, thought="") == 1.0
    failed = (Lookup(ToolCall(*HOTELS), "Error: Current tool SearchAccommodation is not available."),)
    assert value(task, failed, "")[0] == value(task, failed, "as asked")[0] == 1.0


# --- several cities ---


def test_a_journey_picks_its_cities_and_fills_them_as_the_days_allow():
    task = trip(3000, days=5)
    cities = ("SearchCity", {"state": "West"})
    assert worth(task, cities, thought="Away, Bend") == 1.0
    assert 0.9 < worth(task, cities, thought="Away, Cove") < 1.0  # no cheap table there
    for wrong in ("Away", "Away, Away", "Away, Bend, Cove", "Away, Home"):
        assert worth(task, cities, thought=wrong) == 0.0
    # two whole days, in one city or in both: 0, 3 or 6 meals, and a dinner on arrival
    for count, good in ((1, True), (2, False), (3, True), (4, True), (5, False)):
        tables = ", ".join(f"Table {i}" for i in range(count))
        assert (worth(task, cities, MEALS, thoughts=["", "Away, Bend"], thought=tables) > 0) == good


def test_cuisines_may_be_served_in_any_city():
    task = trip(3000, days=5, cuisine=("French", "Greek"))
    there = ("SearchRestaurant", {"city": "Cove"})
    cities = ("SearchCity", {"state": "West"})
    french, neither = "Table 0, Table 1, Table 3", "Table 0, Table 1, Table 2"

    def second(first: str, thought: str) -> float:
        return worth(task, cities, MEALS, there, thoughts=["", "Away, Cove", first], thought=thought)

    assert second(french, "Table 0, Table 1, Table 4") > 0 and second(french, neither) == 0
    assert worth(task, cities, MEALS, thoughts=["", "Away, Cove"], thought=neither) > 0, "the other city is left"


# --- what earns nothing ---


TABLES = "Table 0, Table 1, Table 2, Table 3"
EXPLOITS = {
    "no thought": (HOTELS, ""),
    "words without a name": (HOTELS, "as asked, a private room, cheap, "),
    "a name of another city's listing": (HOTELS, "Elsewhere"),
    "a name of another city's listing beside a good one": (HOTELS, "Inn, Elsewhere"),
    "a name of no listing": (HOTELS, "Grand Hotel"),
    "a part of a name": (HOTELS, "In"),
    "a name in other letters": (HOTELS, "INN"),
    "the same name twice": (HOTELS, "Inn, Inn"),
    "every name": (HOTELS, "Inn, Old Inn, Loft, Tent"),
    "two names, the good one first": (HOTELS, "Inn, Loft"),
    "names of another listing": (HOTELS, TABLES),
    "a hotel after the restaurants": (MEALS, "Inn"),
    "every restaurant": (MEALS, "Table 0, Table 1, Table 2, Table 3, Table 4"),
    "three restaurants and one of another city": (MEALS, "Table 0, Table 1, Table 2, Far Table"),
    "a drive when flights were shown": (OUT, "self-driving"),
    "a drive beside a flight": (OUT, "F1, self-driving"),
    "a flight of another day": (OUT, "F9"),
    "a flight when a drive was shown": (DRIVE, "F1"),
    "a drive that was not asked for": (DRIVE, "taxi"),
    "both modes": (DRIVE, "self-driving, taxi"),
    "no sight": (SIGHTS, "cheap"),
    "every sight": (SIGHTS, "Park 0, Park 1, Park 2"),
}


@pytest.mark.parametrize("exploit", EXPLOITS)
def test_exploits_earn_nothing(exploit):
    look_up, thought = EXPLOITS[exploit]
    assert worth(trip(), look_up, thought=thought) == 0.0


def test_a_pick_from_a_listing_that_failed_earns_nothing():
    failed = (Lookup(ToolCall(*HOTELS), "Error: Current tool SearchAccommodation is not available."),)
    assert value(trip(), failed, "Inn")[0] == 0.0


def test_what_an_earlier_thought_names_is_held_only_if_it_was_listed():
    """A name that no listing has shown ties nobody down, and pays nobody."""
    task = trip(600)
    assert worth(task, HOTELS, OUT, thoughts=["", "Elsewhere"], thought="F1") == 1.0


def test_a_call_that_is_not_needed_is_worth_nothing_whatever_is_picked():
    task = trip()
    before = looked_up(task, HOTELS)

    def verdict(thought: str, name: str, **arguments: str) -> float:
        turn = render_thought(thought) + call(name, **arguments)
        return functional("macro")(task, candidate(lookups=before), turn).value

    assert verdict("Tent", *MEALS[:1], **MEALS[1]) == 1.0
    assert 0 < verdict("Old Inn", *MEALS[:1], **MEALS[1]) < 1.0
    assert verdict("Loft", *MEALS[:1], **MEALS[1]) == 0.0
    assert verdict("Tent", *HOTELS[:1], **HOTELS[1]) == 0.0


def test_a_pick_outside_of_the_thought_is_none():
    task = trip()
    before = looked_up(task, HOTELS)
    for text in (call(MEALS[0], **MEALS[1]), "Tent" + call(MEALS[0], **MEALS[1]), call(MEALS[0], city="Tent")):
        assert functional("macro")(task, candidate(lookups=before), text).value == 0.0


def test_verdicts_are_pure():
    task = trip()
    before = looked_up(task, HOTELS)
    assert value(task, before, "Inn") == value(replace(task), before, "Inn")
