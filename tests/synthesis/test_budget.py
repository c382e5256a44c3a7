"""Budget estimates: the paper's formula on rows that can be added up by hand."""

import pytest
from handmade import DATES, database, flights, hotel, restaurant
from starlab.synthesis.budget import THRESHOLDS, Estimate, Rejection, Tables, estimate
from starlab.travel.query import LocalConstraint

MINIATURE, OFFICIAL = THRESHOLDS["miniature"], THRESHOLDS["official"]
ANYTHING = LocalConstraint()


def of(base, asked=ANYTHING, people=1, thresholds=MINIATURE, days=None, destination="Bee"):
    return estimate(Tables(base), "Ay", destination, DATES, people, asked, thresholds, days)


def test_a_three_day_trip_is_two_flights_three_nights_and_nine_meals():
    # 2 x (50, 70, 90) + 3 x (100, 150, 200) + 9 x (10, 20, 30)
    assert of(database()) == Estimate(lowest=490, average=770, highest=1050)


def test_prices_of_three_day_flights_are_those_of_any_date():
    base = database(out=())
    assert of(base) is Rejection.NO_PRICE
    later = flights((10,), date="2022-05-01")
    base = type(base)(base.name, base.states, later, base.hotels, base.restaurants, base.attractions, base.legs)
    assert of(base).lowest == 2 * 10 + 3 * 100 + 9 * 10


def test_longer_trips_look_at_all_cities_of_the_state_and_flights_on_the_days_of_the_trip():
    # 3 x (50, 70, 90) + 5 x (100, 150, 200) + 15 x (10, 20, 30)
    assert of(database(), days=5, destination="Beeland") == Estimate(800, 1260, 1720)
    # 4 x (50, 70, 90) + 7 x (100, 150, 200) + 21 x (10, 20, 30)
    assert of(database(), days=7, destination="Beeland") == Estimate(1110, 1750, 2390)


def test_without_flights_the_price_is_that_of_the_car():
    # int(400 km x 0.05) = 20 a ride
    assert of(database(out=()), LocalConstraint(transportation="no flight")).lowest == 2 * 20 + 3 * 100 + 9 * 10
    assert of(database(kilometres=None), LocalConstraint(transportation="no flight")) is Rejection.NO_DRIVE


def test_a_state_that_does_not_exist_has_no_cities():
    assert of(database(), days=5, destination="Nowhere") is Rejection.NO_CITY


def test_constraints_and_occupancy_leave_out_rows():
    hotels = (hotel(100.0, occupancy=2, room="Shared room"), hotel(300.0, occupancy=8, rules="No smoking"))
    base = database(hotels=hotels)
    assert of(base, people=5).lowest == 2 * 50 + 3 * 300 + 9 * 10
    assert of(base, LocalConstraint(room_type="not shared room")).lowest == 2 * 50 + 3 * 300 + 9 * 10
    assert of(base, LocalConstraint(room_type="shared room")).highest == 2 * 90 + 3 * 100 + 9 * 30
    assert of(base, LocalConstraint(house_rule="pets")).lowest == 2 * 50 + 3 * 300 + 9 * 10
    assert of(base, LocalConstraint(house_rule="smoking")).highest == 2 * 90 + 3 * 100 + 9 * 30


def test_one_of_the_cuisines_is_enough_for_a_restaurant_to_count():
    rows = (restaurant(10, ("Indian", "BBQ")), restaurant(20, ("French",)), restaurant(90, ("Mexican",)))
    asked = LocalConstraint(cuisine=("BBQ", "French"))
    assert of(database(restaurants=rows), asked) == Estimate(
        2 * 50 + 3 * 100 + 9 * 10, 2 * 70 + 3 * 150 + 9 * 15, 2 * 90 + 3 * 200 + 9 * 20
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (LocalConstraint(room_type="entire room"), Rejection.FEW_HOTELS),
        (LocalConstraint(house_rule="pets"), Rejection.FEW_HOTELS),
        (LocalConstraint(cuisine=("BBQ", "French")), Rejection.FEW_RESTAURANTS),
        (LocalConstraint(transportation="no self-driving"), None),
    ],
)
def test_too_few_rows_are_a_reason_to_reject(asked, reason):
    result = of(database(), asked)
    assert result is reason if reason else isinstance(result, Estimate)


def test_no_self_driving_wants_two_flights_to_the_city_or_ten_to_the_state_on_the_first_day():
    asked = LocalConstraint(transportation="no self-driving")
    assert of(database(out=(50,)), asked) is Rejection.NO_FLIGHT
    assert of(database(), asked, days=5, destination="Beeland") is Rejection.NO_FLIGHT
    assert isinstance(of(database(out=(50,) * 10), asked, days=5, destination="Beeland"), Estimate)


def test_official_thresholds_run_the_same_code_and_ask_for_more_rows():
    asked = LocalConstraint(room_type="private room")
    assert isinstance(of(database(), asked), Estimate)
    assert of(database(), asked, thresholds=OFFICIAL) is Rejection.FEW_HOTELS
    assert isinstance(of(database(hotels=[hotel()] * 3), asked, thresholds=OFFICIAL), Estimate)
