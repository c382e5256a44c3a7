"""Each check fails for its own reason, and only for that."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from starlab.travel.checks import Outcome
from starlab.travel.cost import cost
from starlab.travel.database import Database, Hotel
from starlab.travel.evidence import gather
from starlab.travel.names import CUISINES
from starlab.travel.plan import Drive, FlightRide, Move, Place, Plan, Taxi
from starlab.travel.query import HOUSE_RULES, LocalConstraint, Query
from starlab.travel.scores import Score, score_plan
from trips import failed, random_query, solved, stay_index, with_day, world

DAYS = [3, 5, 7]
Situation = tuple[Query, Plan, Database]


def judge(situation: Situation) -> Score:
    return score_plan(*situation)


def first_hotel(plan: Plan) -> Place:
    place = plan.days[0].accommodation
    assert isinstance(place, Place)
    return place


def hotel_row(plan: Plan) -> Hotel:
    place = first_hotel(plan)
    return next(row for row in world().hotels_in(place.city) if row.name == place.name)


def changed_hotel(plan: Plan, **changes: object) -> Database:
    row = hotel_row(plan)
    hotels = tuple(replace(one, **changes) if one == row else one for one in world().hotels)
    return replace(world(), hotels=hotels)


def asking(query: Query, **constraints: object) -> Query:
    return replace(query, local_constraint=replace(LocalConstraint(), **constraints))


def elsewhere(query: Query, plan: Plan) -> Situation:
    state = next(state for state in world().states if state not in (query.dest, world().state_of(query.dest)))
    dest = state if query.days > 3 else world().states[state][0]
    return replace(query, dest=dest), plan, world()


def repeated_restaurant(query: Query, plan: Plan) -> Situation:
    index = stay_index(plan)
    return query, with_day(plan, index, lunch=plan.days[index].breakfast), world()


def repeated_sight(query: Query, plan: Plan) -> Situation:
    index = stay_index(plan)
    return query, with_day(plan, index, attractions=plan.days[index].attractions * 2), world()


def short_stay(query: Query, plan: Plan) -> Situation:
    return query, plan, changed_hotel(plan, minimum_nights=9.0)


def mixed_modes(query: Query, plan: Plan) -> Situation:
    last = plan.days[-1]
    assert isinstance(last.where, Move)
    other = Taxi if isinstance(last.ride, Drive) else Drive
    return query, with_day(plan, -1, ride=other(last.where.origin, last.where.destination)), world()


def meal_at_home(query: Query, plan: Plan) -> Situation:
    meal = Place(world().restaurants_in(query.org)[0].name, query.org)
    return query, with_day(plan, stay_index(plan), lunch=meal), world()


def hotel_at_home(query: Query, plan: Plan) -> Situation:
    row = min(world().hotels_in(query.org), key=lambda row: row.minimum_nights)
    return query, with_day(plan, -2, accommodation=Place(row.name, row.city)), world()


def invented_restaurant(query: Query, plan: Plan) -> Situation:
    index = stay_index(plan)
    lunch = plan.days[index].lunch
    assert isinstance(lunch, Place)
    return query, with_day(plan, index, lunch=Place("Nowhere", lunch.city)), world()


def invented_sight(query: Query, plan: Plan) -> Situation:
    index = stay_index(plan)
    sights = (*plan.days[index].attractions, Place("Nowhere", str(plan.days[index].where)))
    return query, with_day(plan, index, attractions=sights), world()


def empty_lunch(query: Query, plan: Plan) -> Situation:
    return query, with_day(plan, stay_index(plan), lunch=None), world()


def nowhere_to_sleep(query: Query, plan: Plan) -> Situation:
    return query, with_day(plan, -2, accommodation=None), world()


def more_cities_asked(query: Query, plan: Plan) -> Situation:
    return replace(query, visiting_city_number=query.visiting_city_number + 1), plan, world()


def over_budget(query: Query, plan: Plan) -> Situation:
    total = cost(gather(query, plan, world())).total
    assert total is not None
    return replace(query, budget=int(total) - 1), plan, world()


def forbidden_rule(query: Query, plan: Plan) -> Situation:
    rule = next(rule for rule in HOUSE_RULES if f"No {rule}" in hotel_row(plan).house_rules)
    return asking(query, house_rule=rule), plan, world()


def wrong_room(query: Query, plan: Plan) -> Situation:
    shared = hotel_row(plan).room_type == "Shared room"
    return asking(query, room_type="not shared room" if shared else "shared room"), plan, world()


def missing_cuisine(query: Query, plan: Plan) -> Situation:
    case = gather(query, plan, world())
    served = {c for day in case.days for _, _, row in day.meals for c in getattr(row, "cuisines", ())}
    return asking(query, cuisine=(next(c for c in (*CUISINES, "Thai") if c not in served),)), plan, world()


def excluded_mode(query: Query, plan: Plan) -> Situation:
    drives = any(isinstance(day.ride, Drive) for day in plan.days)
    if drives or any(isinstance(day.ride, FlightRide) for day in plan.days):
        return asking(query, transportation="no self-driving" if drives else "no flight"), plan, world()
    last = plan.days[-1].where
    assert isinstance(last, Move)
    flights = world().flights_on(last.origin, last.destination, query.date[-1])
    if not flights:
        pytest.skip("no flight on this route")
    ride = FlightRide(flights[0].number, last.origin, last.destination)
    return asking(query, transportation="no flight"), with_day(plan, -1, ride=ride), world()


BREAKS: list[tuple[Callable[[Query, Plan], Situation], set[str]]] = [
    (elsewhere, {"is_reasonable_visiting_city"}),
    (repeated_restaurant, {"is_valid_restaurants"}),
    (repeated_sight, {"is_valid_attractions"}),
    (short_stay, {"is_valid_accommodation"}),
    (mixed_modes, {"is_valid_transportation"}),
    (meal_at_home, {"is_valid_information_in_current_city"}),
    (hotel_at_home, {"is_valid_information_in_current_city"}),
    (invented_restaurant, {"is_valid_information_in_sandbox"}),
    (invented_sight, {"is_valid_information_in_sandbox"}),
    (empty_lunch, {"is_not_absent"}),
    (nowhere_to_sleep, {"is_not_absent"}),
    (more_cities_asked, {"is_not_absent"}),
    (over_budget, {"valid_cost"}),
    (forbidden_rule, {"valid_room_rule"}),
    (wrong_room, {"valid_room_type"}),
    (missing_cuisine, {"valid_cuisine"}),
    (excluded_mode, {"valid_transportation"}),
]


@pytest.mark.parametrize("days", DAYS)
@pytest.mark.parametrize(("spoil", "checks"), BREAKS, ids=[spoil.__name__ for spoil, _ in BREAKS])
def test_breaking_one_constraint_flips_its_check_and_no_other(
    days: int, spoil: Callable[[Query, Plan], Situation], checks: set[str]
) -> None:
    for query, plan in solved(days, 3):
        assert failed(score_plan(query, plan, world())) == set()
        result = judge(spoil(query, plan))
        # a hotel that is left after one night may break its minimum of nights as well
        excused = {"is_valid_accommodation"} if spoil in (nowhere_to_sleep, hotel_at_home) else set()
        assert failed(result) - excused == checks
        assert result.success == 0
        assert all(f.reason for verdict in (*result.commonsense, *result.hard) for f in verdict.failures)


@settings(max_examples=40, deadline=None)
@given(spoil=st.sampled_from([spoil for spoil, _ in BREAKS]), days=st.sampled_from(DAYS), index=st.integers(0, 5))
def test_what_is_broken_once_is_broken_once_in_any_plan(
    spoil: Callable[[Query, Plan], Situation], days: int, index: int
) -> None:
    query, plan = solved(days, 6)[index]
    try:
        result = judge(spoil(query, plan))
    except pytest.skip.Exception:
        reject()
    excused = {"is_valid_accommodation"} if spoil in (nowhere_to_sleep, hotel_at_home) else set()
    assert failed(result) - excused == dict(BREAKS)[spoil]


@pytest.mark.parametrize("days", DAYS)
def test_a_budget_of_exactly_the_cost_is_enough(days: int) -> None:
    for query, plan in solved(days, 2):
        total = cost(gather(query, plan, world())).total
        assert total is not None
        assert score_plan(replace(query, budget=int(total)), plan, world()).success == 1


@pytest.mark.parametrize("gate", [empty_lunch, invented_restaurant])
def test_hard_checks_of_an_incomplete_or_unreal_plan_are_not_evaluated_and_count_as_zero(
    gate: Callable[[Query, Plan], Situation],
) -> None:
    for query, plan in solved(3, 3, constrained=True):
        result = judge(gate(query, plan))
        assert not result.hard_evaluated
        assert (result.hard_micro, result.hard_macro) == (0, 0)
        for verdict in result.hard:
            asked = verdict in result.applicable
            assert verdict.outcome is (Outcome.NOT_EVALUATED if asked else Outcome.NOT_APPLICABLE)


def test_the_cost_counts_seats_cars_taxis_units_and_meals_for_the_party() -> None:
    query, plan = solved(3, 1)[0]
    query = replace(query, people_number=6)
    origin, destination = query.org, query.dest
    flight = world().flights_on(origin, destination, query.date[0])
    leg = world().leg(origin, destination)
    assert leg is not None

    def total(ride: object) -> float:
        spent = cost(gather(query, with_day(plan, 0, ride=ride), world())).total
        assert spent is not None
        return spent

    nothing = total(None)
    assert total(Drive(origin, destination)) - nothing == 2 * (leg.driving_cost or 0)
    assert total(Taxi(origin, destination)) - nothing == 2 * (leg.taxi_cost or 0)
    if flight:
        assert total(FlightRide(flight[0].number, origin, destination)) - nothing == 6 * flight[0].price
    hotel = hotel_row(plan)
    spent = cost(gather(query, plan, world()))
    assert spent.hotels == 2 * hotel.price * -(-6 // hotel.maximum_occupancy)
    rows = [row for day in gather(query, plan, world()).days for _, _, row in day.meals]
    assert spent.meals == 6 * sum(getattr(row, "average_cost", 0) for row in rows)


def test_what_has_no_known_price_is_not_free() -> None:
    query, plan = solved(3, 1)[0]
    spent = cost(gather(query, with_day(plan, 0, ride=Taxi(query.org, "Nowhere")), world()))
    assert spent.total is None
    assert spent.unpriced


@pytest.mark.parametrize("days", DAYS)
def test_a_flight_is_in_the_sandbox_on_its_own_date_only(days: int) -> None:
    seen = 0
    for query, plan in solved(days, 4):
        for index, day in enumerate(plan.days):
            if not isinstance(day.where, Move):
                continue
            route = (day.where.origin, day.where.destination)
            today = {flight.number for flight in world().flights_on(*route, query.date[index])}
            for flight in (flight for date in world().dates(*route) for flight in world().flights_on(*route, date)):
                seen += flight.number not in today
                flying = with_day(plan, index, ride=FlightRide(flight.number, *route))
                unreal = "is_valid_information_in_sandbox" in failed(score_plan(query, flying, world()))
                assert unreal == (flight.number not in today)
    assert seen > 0


def test_only_what_the_query_asks_for_is_applicable() -> None:
    rng = random.Random(5)
    _, plan = solved(3, 1)[0]
    for _ in range(20):
        query = random_query(rng, world(), 3)
        local = query.local_constraint
        asked = {
            "valid_cuisine": local.cuisine,
            "valid_room_rule": local.house_rule,
            "valid_transportation": local.transportation,
            "valid_room_type": local.room_type,
            "valid_cost": True,
        }
        result = score_plan(query, plan, world())
        assert {verdict.check for verdict in result.applicable} == {name for name, value in asked.items() if value}
