"""What agents see: the official texts, however odd the call; the compact texts, pinned to the byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.protocol import ToolCall
from starlab.travel import official
from starlab.travel.database import Attraction, Database, Flight, Hotel, Leg, Restaurant
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.renderings import RENDERINGS, tool
from starlab.travel.task import TravelTask
from starlab.travel.tools import PARAMETERS

DAY = "2022-03-01"


def flight(number: str, price: int, date: str = DAY) -> Flight:
    return Flight(number, price, "08:00", "09:05", "1 hours 5 minutes", date, "Ay", "Bee", 317.0)


WORLD = Database(
    name="two towns",
    states={"Aland": ("Ay",), "Beeland": ("Bee", "Cee")},
    flights=(flight("F2", 90), flight("F1", 70), flight("F3", 50, "2022-03-02")),
    hotels=(
        Hotel("Inn", "Private room", 69.0, 2.0, 4.0, "No pets & No smoking", 2, "Bee"),
        Hotel("Loft", "Entire home/apt", 30.5, 1.0, 2.0, "No parties", 4, "Bee"),
    ),
    restaurants=(Restaurant("Fork", "Bee", ("Tea", "Fast Food"), 23, 0.0),),
    attractions=(Attraction("Zoo", "Bee", "1", "2", "1 Zoo Street", "Unknown", "https://zoo.example"),),
    legs=(
        Leg("Ay", "Bee", "10 hours 5 mins", "1,144 km"),
        Leg("Bee", "Ay", "1 day 3 hours", "2,900 km"),
        Leg("Ay", "Cee", None, None),
        Leg("Ay", "Bee", "1 hour 5 mins", "9 km"),
    ),
)


def said(name: str, arguments: Any) -> str:
    return official.call(WORLD, name, arguments)


def fly(**changes: Any) -> str:
    return said("SearchFlight", {"departure": "Ay", "destination": "Bee", "date": DAY} | changes)


def drive(departure: str = "Ay", destination: str = "Bee", **more: Any) -> str:
    return said("GoogleDistanceMatrix", {"departure": departure, "destination": destination} | more)


def test_rows_come_in_file_order_numbered_with_an_empty_line_between() -> None:
    assert fly() == (
        "A SearchFlight for Ay to Bee on 2022-03-01 found the following 2 flights:\n"
        "1. [F2] $90. Departure: 08:00, Arrival: 09:05, Actual Elapsed Time: 1 hours 5 minutes, Distance: 317.0 miles\n"
        "\n"
        "2. [F1] $70. Departure: 08:00, Arrival: 09:05, Actual Elapsed Time: 1 hours 5 minutes, Distance: 317.0 miles\n"
    )
    assert said("SearchAccommodation", {"city": "Bee"}) == (
        "A SearchAccommodation for Bee found the following 2 accommodations:\n"
        "1. [Inn] $69.0. Room Type: Private room, House Rules: No pets & No smoking, Minimum Nights: 2.0, "
        "Maximum Occupancy: 2, Review Rate Number: 4.0\n"
        "\n"
        "2. [Loft] $30.5. Room Type: Entire home/apt, House Rules: No parties, Minimum Nights: 1.0, "
        "Maximum Occupancy: 4, Review Rate Number: 2.0\n"
    )
    assert said("SearchRestaurant", {"city": "Bee"}) == (
        "A SearchRestaurant for city Bee found the following 1 restaurants:\n"
        "1. [Fork] Avg. Cost $23. Cuisines: Tea, Fast Food. Rating: 0.0\n"
    )
    assert said("SearchAttraction", {"city": "Bee"}) == (
        "A SearchAttraction for city Bee found the following 1 attractions:\n"
        "1. [Zoo](https://zoo.example) Address: 1 Zoo Street. Contact: Unknown\n"
    )
    assert said("SearchCity", {"state": "Beeland"}) == (
        "A SearchCity for state Beeland found the following 2 cities:\nBee, Cee"
    )


@pytest.mark.parametrize(
    ("mode", "cost"), [("driving", 57), ("self-driving", 57), ("taxi", 1144), ("Driving", 1144), ("", 1144)]
)
def test_a_drive_is_what_says_driving_and_all_else_a_taxi(mode: str, cost: int) -> None:
    assert drive(mode=mode) == (
        "A GoogleDistanceMatrix found the following information:\n"
        f"{mode}, from Ay to Bee, duration: 10 hours 5 mins, distance: 1,144 km, cost: ${cost}"
    )


def test_a_road_may_be_too_long_without_length_or_not_there() -> None:
    assert "driving, from Ay to Bee" in drive()  # driving unless said otherwise; the first of two rows
    assert drive("Bee", "Ay").startswith("The required time exceeds a single day")
    assert drive("Ay", "Cee") == "Sorry, we cannot find the distance between Ay and Cee."
    assert drive("Cee", "Ay") == "No valid information found. Please rethink your distance search and try again."
    assert drive(mode=None).startswith("Tool calling error: argument of type 'NoneType' is not")


@pytest.mark.parametrize("city", ["bee", "Bee ", "", "Bee(Beeland)", None, 5, {"city": "Bee"}, True])
def test_what_is_not_a_city_is_not_found_and_named(city: Any) -> None:
    for name, what in (
        ("SearchAccommodation", "accommodation"),
        ("SearchRestaurant", "restaurant"),
        ("SearchAttraction", "attraction"),
    ):
        assert (
            said(name, {"city": city})
            == f"There is no {what} in {city}. Please rethink your {what} search and try again."
        )
    assert fly(departure=city).startswith(f"There is no available flight from {city} to Bee on {DAY}. Please")


def test_a_list_is_compared_row_by_row_as_in_pandas() -> None:
    assert said("SearchRestaurant", {"city": ["Bee", "Cee"]}) == (
        "Tool calling error: ('Lengths must match to compare', (1,), (2,))"
    )
    assert fly(date=[DAY]) == "Tool calling error: ('Lengths must match to compare', (3,), (1,))"
    dates = [DAY, "2022-03-05", "2022-03-02"]
    assert fly(date=dates).startswith(
        f"A SearchFlight for Ay to Bee on {dates} found the following 2 flights:\n1. [F2] $90."
    )
    assert fly(departure="Cee", date=[]).startswith("There is no available flight from Cee to Bee on []")
    assert "unhashable type: 'list'" in said("SearchCity", {"state": ["Aland"]})


@pytest.mark.parametrize("name", PARAMETERS)
def test_missing_arguments_are_asked_for(name: str) -> None:
    *first, last = PARAMETERS[name]
    asked = f"{', '.join(first)} and {last}" if first else last
    for arguments in ({}, [], "", {"wrong": "name"}):
        assert said(name, arguments) == f"Invalid parameters. Please provide {asked}."


def test_an_unknown_tool_is_not_found() -> None:
    for call in RENDERINGS.values():
        assert call(WORLD, "searchcity", {"state": "Aland"}) == (
            "Tool searchcity not found, please rethink your tool call and try again."
        )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(("Ay", "Bee", "Beeland", DAY, "driving", "")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("city", "state", "x")), inner),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(sorted(PARAMETERS)),
    json_values | st.fixed_dictionaries({name: json_values for names in PARAMETERS.values() for name in names}),
)
def test_any_json_gets_a_text(name: str, arguments: Any) -> None:
    assert isinstance(said(name, arguments), str)


def test_a_task_speaks_in_its_rendering() -> None:
    query = Query("q", "Ay", "Bee", 3, 1, (DAY, "2022-03-02", "2022-03-03"), 1, LocalConstraint(), 900, "easy")
    call = ToolCall("SearchFlight", {"departure": "Ay", "destination": "Bee", "date": DAY})
    assert TravelTask(query, WORLD).call(call) == "\n$90, F2\n$70, F1"
    assert TravelTask(query, WORLD, "official").call(call) == fly()
    with pytest.raises(StarlabError, match="no rendering 'offical'; did you mean 'official'"):
        tool("offical")
    with pytest.raises(StarlabError, match="a JSON object"):
        tool("compact")(WORLD, "SearchCity", ["state"])


def test_the_compact_texts_are_what_the_shipped_models_learned() -> None:
    world = generate(0, "pinned", MiniatureSpec(states=2, cities_per_state=2, dates=2, hotels=2, restaurants=2))
    home, away = world.cities[0], world.cities[-1]
    calls = [
        ("SearchCity", {"state": next(iter(world.states))}),
        ("SearchFlight", {"departure": home, "destination": away, "date": "2022-03-01"}),
        ("SearchFlight", {"departure": home, "destination": away, "date": "2022-05-01"}),
        ("GoogleDistanceMatrix", {"departure": home, "destination": away, "mode": "taxi"}),
        ("GoogleDistanceMatrix", {"departure": home, "destination": away, "mode": "driving"}),
        ("SearchAccommodation", {"city": away}),
        ("SearchRestaurant", {"city": away}),
        ("SearchAttraction", {"city": away}),
    ]
    assert [RENDERINGS["compact"](world, *call) for call in calls] == PINNED


PINNED = [
    "\nDunhaven\nMillbury",
    "\n$250, F102\n$250, F171\n$250, F136",
    "No result.",
    "\n$600, taxi",
    "\n$30, driving",
    "\n$40, sleeps 8, 2+ nights, children ok, entire room, Garden Rooms"
    "\n$80, sleeps 4, smoking ok, children ok, shared room, Cedar House",
    "\n$60, American, BBQ, Sunny Spoon\n$60, BBQ, Golden Oven",
    "\nStone Gallery\nLake Tower\nGrand Gallery",
]
