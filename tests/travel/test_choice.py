"""Choosing rows: what is asked holds, the cheapest is the cheapest, and any row that passes can come up."""

import random

from hypothesis import given
from hypothesis import strategies as st
from starlab.travel import miniature
from starlab.travel.choice import choose_hotel, choose_restaurants, dearer
from starlab.travel.database import Hotel, Restaurant
from starlab.travel.query import LocalConstraint
from starlab.travel.rendering import meal_note


def hotel(name: str, price: float, room: str = "Private room", forbids: str = "", nights: float = 1) -> Hotel:
    return Hotel(name, room, price, nights, 3.0, forbids, 2, "Aldford")


def restaurant(name: str, cost: int, *cuisines: str) -> Restaurant:
    return Restaurant(name, "Aldford", cuisines, cost, 3.0)


HOTELS = [
    hotel("shared", 10, "Shared room"),
    hotel("no pets", 20, forbids="No pets & No smoking"),
    hotel("too long", 30, nights=3),
    hotel("right", 50),
    hotel("dear", 60),
]
PRIVATE_WITH_PETS = LocalConstraint(house_rule="pets", room_type="private room")


def test_the_cheapest_hotel_that_passes_is_chosen() -> None:
    assert choose_hotel(HOTELS, PRIVATE_WITH_PETS, 2).name == "right"


def test_any_hotel_that_passes_can_be_chosen_and_no_other() -> None:
    rng = random.Random(0)
    assert {choose_hotel(HOTELS, PRIVATE_WITH_PETS, 2, rng).name for _ in range(50)} == {"right", "dear"}


def test_a_longer_stay_allows_more_hotels() -> None:
    assert choose_hotel(HOTELS, PRIVATE_WITH_PETS, 3).name == "too long"


def test_no_hotel_is_chosen_where_none_passes() -> None:
    assert choose_hotel([hotel("a", 10, "Shared room")], LocalConstraint(room_type="not shared room"), 2) is None


def test_the_dearer_rows_are_all_but_the_cheapest() -> None:
    assert [row.name for row in dearer(HOTELS)] == [row.name for row in HOTELS if row.name != "shared"]
    assert [row.name for row in dearer(HOTELS[:1])] == ["shared"]


def test_restaurants_cover_the_cuisines_in_listing_order() -> None:
    rows = [
        restaurant("a", 10, "BBQ"),
        restaurant("b", 20, "French"),
        restaurant("c", 30, "Italian"),
        restaurant("d", 40, "French"),
    ]
    chosen = choose_restaurants(rows, ("Italian", "French"), 3)
    assert [row.name for row in chosen] == ["a", "b", "c"]


def test_a_thought_says_each_cuisine_before_the_first_name_that_has_it() -> None:
    rows = [
        restaurant("a", 10, "BBQ"),
        restaurant("b", 20, "Thai", "French"),
        restaurant("c", 30, "French"),
        restaurant("d", 40, "Italian"),
    ]
    asked = LocalConstraint(cuisine=("Italian", "French"))
    assert meal_note(asked, True, rows) == "as asked, cheap, a, French food, b, c, Italian food, d"
    assert meal_note(asked, False, rows[1:2]) == "as asked, any price, French food, b"
    assert meal_note(LocalConstraint(), True, rows[:2]) == "anything, cheap, a, b"


def test_cuisines_that_the_city_lacks_cannot_be_covered() -> None:
    assert choose_restaurants([restaurant("a", 10, "BBQ")], ("French",), 1) is None


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_chosen_restaurants_are_different_rows_that_cover_what_was_asked(
    rng: random.Random, meals: int, wishes: int, cheap: bool
) -> None:
    rows = miniature.sample_restaurants(rng, "Aldford", 6)
    cuisines = tuple(rng.sample(("BBQ", "French", "Italian", "Indian"), wishes))
    chosen = choose_restaurants(rows, cuisines, meals, None if cheap else rng)
    if chosen is not None:
        assert len(set(chosen)) == meals
        assert set(cuisines) <= {cuisine for row in chosen for cuisine in row.cuisines}
        assert [row.average_cost for row in chosen] == sorted(row.average_cost for row in chosen)
