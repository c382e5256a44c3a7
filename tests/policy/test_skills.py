import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab.policy.picks import pick_hotel, pick_restaurants
from starlab.policy.skills import MEASURED, SKILLS
from starlab.protocol import ANSWER_OPEN, CALL_OPEN, TurnKind, parse_turn
from starlab.travel import miniature
from starlab.travel.database import Hotel, Restaurant
from starlab.travel.query import LocalConstraint


def hotel(name: str, price: float, room: str = "Private room", forbids: str = "", nights: float = 1) -> Hotel:
    return Hotel(name, room, price, nights, 3.0, forbids, 2, "Aldford")


def restaurant(name: str, cost: int, *cuisines: str) -> Restaurant:
    return Restaurant(name, "Aldford", cuisines, cost, 3.0)


def test_the_cheapest_hotel_that_passes_is_picked() -> None:
    hotels = [
        hotel("shared", 10, "Shared room"),
        hotel("no pets", 20, forbids="No pets & No smoking"),
        hotel("too long", 30, nights=3),
        hotel("right", 50),
        hotel("dear", 60),
    ]
    assert pick_hotel(hotels, LocalConstraint(house_rule="pets", room_type="private room")).name == "right"


def test_no_hotel_is_picked_where_none_passes() -> None:
    assert pick_hotel([hotel("a", 10, "Shared room")], LocalConstraint(room_type="not shared room")) is None


def test_restaurants_cover_the_cuisines_in_listing_order() -> None:
    rows = [
        restaurant("a", 10, "BBQ"),
        restaurant("b", 20, "French"),
        restaurant("c", 30, "Italian"),
        restaurant("d", 40, "French"),
    ]
    picked = pick_restaurants(rows, ("Italian", "French"), 3)
    assert [row.name for row in picked] == ["a", "b", "c"]


def test_cuisines_that_the_city_lacks_cannot_be_covered() -> None:
    assert pick_restaurants([restaurant("a", 10, "BBQ")], ("French",), 1) is None


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(0, 3))
def test_picked_restaurants_are_different_rows_that_cover_what_was_asked(
    rng: random.Random, meals: int, wishes: int
) -> None:
    rows = miniature.sample_restaurants(rng, "Aldford", 6)
    cuisines = tuple(rng.sample(("BBQ", "French", "Italian", "Indian"), wishes))
    picked = pick_restaurants(rows, cuisines, meals)
    if picked is not None:
        assert len(set(picked)) == meals
        assert set(cuisines) <= {cuisine for row in picked for cuisine in row.cuisines}


@pytest.mark.parametrize("skill", sorted(MEASURED))
def test_every_tool_turn_of_a_skill_keeps_to_the_protocol(skill: str) -> None:
    rng = random.Random(skill)
    for _ in range(30):
        for message in MEASURED[skill](rng):
            text = message["content"]
            if message["role"] == "assistant" and (CALL_OPEN in text or ANSWER_OPEN in text):
                turn = parse_turn(text)
                assert turn.kind is not TurnKind.MALFORMED
                if turn.kind is TurnKind.ANSWER and "travel" in skill:
                    assert json.loads(turn.answer)


def test_no_skill_shows_a_full_plan() -> None:
    """The base knows the steps, never the task: at most four slots of the eighteen that a three-day plan has."""
    rng = random.Random(0)
    for name, sample in SKILLS.items():
        if name == "questions":
            continue
        for _ in range(50):
            answers = [m["content"] for m in sample(rng) if m["role"] == "assistant" and "[{" in m["content"]]
            for answer in answers:
                days = json.loads(parse_turn(answer).answer)
                assert sum(len(set(day) - {"day", "current_city"}) for day in days) <= 4


def test_skills_depend_on_the_generator_only() -> None:
    assert all(SKILLS[name](random.Random(7)) == SKILLS[name](random.Random(7)) for name in SKILLS)
