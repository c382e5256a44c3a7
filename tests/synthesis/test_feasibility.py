"""The paper's feasibility heuristic names the first obstacle it finds."""

import pytest
from handmade import DATES, database, hotel
from starlab.synthesis.budget import THRESHOLDS, Tables
from starlab.synthesis.feasibility import Obstacle, obstacle
from starlab.travel.query import LocalConstraint, Query


def query(budget=10_000, people=2, **asked):
    return Query("q", "Ay", "Bee", 3, 1, DATES, people, LocalConstraint(**asked), budget, "hard")


def found(base, request, thresholds="miniature"):
    return obstacle(Tables(base), request, THRESHOLDS[thresholds])


def test_a_query_with_rows_and_money_to_spare_passes():
    assert found(database(), query()) is None


def test_no_flight_needs_a_road():
    assert found(database(kilometres=None), query(transportation="no flight")) is Obstacle.NO_ROAD


@pytest.mark.parametrize("asked", [{}, {"transportation": "no self-driving"}])
def test_without_a_road_three_flights_each_way_are_needed(asked):
    assert found(database(kilometres=None), query(**asked)) is None
    assert found(database(kilometres=None, out=(50, 70)), query(**asked)) is Obstacle.NO_FLIGHT
    assert found(database(kilometres=None, back=(50, 70)), query(**asked)) is Obstacle.NO_FLIGHT


def test_a_road_makes_up_for_missing_flights_unless_driving_is_ruled_out():
    assert found(database(out=()), query()) is None
    assert found(database(out=()), query(transportation="no self-driving")) is Obstacle.NO_FLIGHT


def test_hotels_must_take_everybody_and_pass_all_constraints():
    assert found(database(), query(people=3)) is Obstacle.FEW_HOTELS
    both = [hotel(room="Shared room", rules="No smoking"), hotel(rules="No pets", name="Lodge")]
    assert found(database(hotels=both), query(room_type="private room", house_rule="pets")) is Obstacle.FEW_HOTELS
    assert found(database(), query(), "official") is Obstacle.FEW_HOTELS


def test_restaurants_must_serve_one_of_the_cuisines():
    assert found(database(), query(cuisine=("BBQ", "French"))) is Obstacle.FEW_RESTAURANTS
    assert found(database(), query(cuisine=("BBQ", "Indian"))) is None


def test_seventy_per_cent_of_the_mean_cost_is_the_least_budget():
    # by car: 2 x 20 + 3 x 150 + 9 x 20 x 2 people x .6 = 706; times .7 = 494.2
    assert found(database(), query(budget=495)) is None
    assert found(database(), query(budget=494)) is Obstacle.BUDGET
    # by air: 2 x (70 + 60) / 2 x 2 people + 450 + 216 = 926; times .7 = 648.2
    air = {"transportation": "no self-driving"}
    assert found(database(), query(budget=649, **air)) is None
    assert found(database(), query(budget=648, **air)) is Obstacle.BUDGET


def test_a_number_of_restaurants_is_asked_for_only_with_a_cuisine():
    three = [hotel(name=name) for name in ("Inn", "Lodge", "Loft")]
    assert found(database(hotels=three), query(), "official") is None
    assert found(database(hotels=three), query(cuisine=("Indian",)), "official") is Obstacle.FEW_RESTAURANTS
    # without any, the script's mean is not a number and stops nothing, however small the budget
    assert found(database(hotels=three, restaurants=()), query(budget=1), "official") is None


def test_a_query_without_the_key_transportation_rides_for_free():
    base = Tables(database(kilometres=None, out=()))
    # 3 x 150 + 9 x 20 x 2 people x .6 = 666; times .7 = 466.2
    for budget, expected in ((467, None), (466, Obstacle.BUDGET)):
        assert obstacle(base, query(budget), THRESHOLDS["miniature"], names_transportation=False) is expected
