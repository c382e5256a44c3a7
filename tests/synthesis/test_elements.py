"""Query elements follow the paper's rules for easy, medium and hard."""

import random
from collections import Counter

import pytest
from starlab.errors import StarlabError
from starlab.synthesis.budget import THRESHOLDS, Estimate, Rejection
from starlab.synthesis.card import constraint_kinds
from starlab.synthesis.elements import (
    CUISINES,
    HARD_CUISINES,
    Sampler,
    budget,
    kilometres,
    sample_constraint,
    sample_people,
)
from starlab.travel.query import Query


def draw(world, level, days=(3,), count=300):
    sampler, rng = Sampler(world, THRESHOLDS["miniature"], days), random.Random(level)
    drawn = [sampler.sample(level, rng) for _ in range(count)]
    return [query for query in drawn if isinstance(query, Query)]


def constraints(level, people=2, count=3000):
    rng = random.Random(7)
    return [sample_constraint(rng, level, people) for _ in range(count)]


def test_easy_queries_are_for_one_person_without_constraints(world):
    for query in draw(world, "easy"):
        assert query.people_number == 1
        assert constraint_kinds(query.local_constraint) == ()


def test_medium_queries_have_exactly_one_constraint_evenly_drawn():
    kinds = Counter(constraint_kinds(asked) for asked in constraints("medium"))
    assert set(kinds) == {("house rule",), ("cuisine",), ("room type",)}
    assert all(0.3 < count / 3000 < 0.37 for count in kinds.values())


def test_hard_queries_have_transportation_and_two_more():
    for asked in constraints("hard"):
        kinds = constraint_kinds(asked)
        assert asked.transportation in ("no flight", "no self-driving")
        assert len(kinds) == 3
    # without replacement and with weights .35, .30, .35, the cuisine is among the two with probability .63
    with_cuisine = sum(asked.cuisine is not None for asked in constraints("hard")) / 3000
    assert 0.59 < with_cuisine < 0.67


def test_cuisines_are_two_of_eight_or_for_hard_queries_two_or_three_of_nine():
    medium = [asked.cuisine for asked in constraints("medium") if asked.cuisine]
    hard = [asked.cuisine for asked in constraints("hard") if asked.cuisine]
    assert {len(cuisine) for cuisine in medium} == {2}
    assert {name for cuisine in medium for name in cuisine} == set(CUISINES)
    assert {name for cuisine in hard for name in cuisine} == set(HARD_CUISINES) == {*CUISINES, "Fast Food"}
    assert 0.55 < sum(len(cuisine) == 2 for cuisine in hard) / len(hard) < 0.65
    assert all(len(set(cuisine)) == len(cuisine) for cuisine in medium + hard)


def test_groups_of_more_than_two_ask_for_private_or_entire_rooms_only():
    rooms = {asked.room_type for asked in constraints("medium", people=5) if asked.room_type}
    assert rooms == {"private room", "entire room"}
    rooms = {asked.room_type for asked in constraints("medium", people=2) if asked.room_type}
    assert rooms == {"shared room", "not shared room", "private room", "entire room"}


def test_half_of_the_groups_are_two_people_the_rest_three_to_eight():
    rng = random.Random(0)
    people = Counter(sample_people(rng) for _ in range(4000))
    assert set(people) == set(range(2, 9))
    assert 0.46 < people[2] / 4000 < 0.54


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_trips_leave_the_state_and_last_as_long_as_they_say(world, level):
    queries = draw(world, level, days=(3, 5, 7))
    assert {query.days for query in queries} == {3, 5, 7}
    for query in queries:
        assert len(query.date) == query.days
        assert query.visiting_city_number == {3: 1, 5: 2, 7: 3}[query.days]
        state = world.state_of(query.dest) if query.days == 3 else query.dest
        assert state in world.states
        assert state != world.state_of(query.org)


def test_hard_trips_are_possible_by_the_transportation_that_is_left(world):
    for query in draw(world, "hard", count=600):
        if query.local_constraint.transportation == "no flight":
            leg = world.leg(query.org, query.dest)
            assert leg.driving_cost is not None
            assert kilometres(leg.distance) <= 600
        else:
            assert len(world.flights_on(query.org, query.dest, query.date[0])) >= 3
            assert len(world.flights_on(query.dest, query.org, query.date[-1])) >= 3


def test_one_easy_trip_in_ten_is_drawn_from_the_roads(world):
    """The others can all be flown, so at most those cannot."""
    queries = draw(world, "easy", count=600)
    flown = [query for query in queries if world.flights_on(query.org, query.dest, query.date[0])]
    assert len(flown) > 0.9 * len(queries)


@pytest.mark.parametrize(
    ("days", "people", "level", "expected"),
    [
        (3, 1, "easy", 800),  # (1004 + 500) / 2 = 752
        (5, 1, "easy", 1000),  # 1004
        (7, 1, "easy", 1300),  # (1004 + 1600) / 2 = 1302
        (3, 4, "medium", 2300),  # 752 x 4 x .75 = 2256
        (3, 4, "hard", 1500),  # 752 x 4 x .5 = 1504
    ],
)
def test_budgets_are_b_times_people_times_the_factor_of_the_level_to_the_nearest_hundred(days, people, level, expected):
    assert budget(Estimate(lowest=500, average=1004, highest=1600), days, people, level) == expected


def test_elements_without_enough_rows_are_rejected_with_a_reason(world):
    sampler, rng = Sampler(world, THRESHOLDS["official"], (3,)), random.Random(0)
    drawn = [sampler.sample("hard", rng) for _ in range(200)]
    assert {Rejection.FEW_HOTELS, Rejection.FEW_RESTAURANTS} & set(drawn)


def test_the_same_seed_draws_the_same_queries(world):
    assert draw(world, "hard") == draw(world, "hard")


def test_unknown_levels_and_lengths_are_reported(world):
    with pytest.raises(StarlabError, match=r"'hrd'.*did you mean 'hard'"):
        Sampler(world, THRESHOLDS["miniature"]).sample("hrd", random.Random(0))
    with pytest.raises(StarlabError, match=r"data\.days: 4"):
        Sampler(world, THRESHOLDS["miniature"], (3, 4))
