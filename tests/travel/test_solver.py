"""The solver finds the cheapest accepted plan, or there is none: checked against plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations, product
from math import ceil

import pytest
from starlab.errors import StarlabError
from starlab.travel.cost import cost
from starlab.travel.database import Database, Restaurant
from starlab.travel.evidence import gather
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.plan import Day as PlanDay
from starlab.travel.plan import Drive, FlightRide, Move, Place, Plan, Ride, Stay, Taxi
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.scores import score_plan
from starlab.travel.solver import Infeasible, Solution, solve
from trips import random_query, rough, world

DAYS = [3, 5, 7]


@pytest.mark.parametrize("days", DAYS)
def test_every_solution_passes_all_checks_within_its_budget(days: int) -> None:
    rng = random.Random(days)
    solutions = 0
    for _ in range(40):
        query = random_query(rng, rough(), days, budget=rng.choice((800, 1500, 3000, 10**6)))
        solution = solve(query, rough())
        if isinstance(solution, Solution):
            solutions += 1
            assert score_plan(query, solution.plan, rough()).success == 1
            assert solution.cheapest <= solution.cost <= query.budget
        else:
            assert solution.reason
    assert solutions > 5


@pytest.mark.parametrize("days", DAYS)
def test_the_cheapest_cost_is_where_feasibility_ends(days: int) -> None:
    rng = random.Random(days)
    for _ in range(15):
        query = random_query(rng, rough(), days)
        solution = solve(query, rough())
        if not isinstance(solution, Solution):
            continue
        exact = solve(replace(query, budget=int(solution.cheapest)), rough())
        assert isinstance(exact, Solution)
        assert exact.cost == solution.cheapest
        less = solve(replace(query, budget=int(solution.cheapest) - 1), rough())
        assert isinstance(less, Infeasible)
        assert less.cheapest == solution.cheapest


# --- three days, enumerated plan by plan through the checker --------------------------------------


def _rides(query: Query, database: Database, where: Move, date: str) -> Iterator[Ride]:
    for flight in database.flights_on(where.origin, where.destination, date):
        yield FlightRide(flight.number, where.origin, where.destination)
    yield Drive(where.origin, where.destination)
    yield Taxi(where.origin, where.destination)


def _three_day_plans(query: Query, database: Database) -> Iterator[Plan]:
    """Every three-day plan with a full second day and one slot more than it has to fill."""
    city, home = query.dest, query.org
    there, back = Move(home, city), Move(city, home)
    meals = [Place(row.name, city) for row in database.restaurants_in(city)]
    sights = [Place(row.name, city) for row in database.attractions_in(city)]
    extras: list[dict[str, object]] = [{"dinner": meal} for meal in meals]
    extras += [{"lunch": Place(row.name, home)} for row in database.restaurants_in(home)]
    extras += [{"attractions": (sight,)} for sight in sights[1:]]
    extras += [{"attractions": (Place(row.name, home),)} for row in database.attractions_in(home)]
    hotels = [Place(row.name, city) for row in database.hotels_in(city)]
    beds = [None, *(Place(row.name, home) for row in database.hotels_in(home))]
    for outward, homeward, hotel, trio, (extra, bed) in product(
        _rides(query, database, there, query.date[0]),
        _rides(query, database, back, query.date[2]),
        hotels,
        combinations(meals, 3),
        [*((extra, None) for extra in extras), *(({}, bed) for bed in beds)],
    ):
        if extra.get("dinner") in trio:
            continue
        yield Plan(
            (
                PlanDay(1, there, outward, accommodation=hotel, **extra),  # type: ignore[arg-type]
                PlanDay(2, Stay(city), None, trio[0], (sights[0],), trio[1], trio[2], hotel),
                PlanDay(3, back, homeward, accommodation=bed),
            )
        )


@pytest.mark.parametrize("seed", range(6))
def test_no_three_day_plan_is_cheaper_than_the_solvers(seed: int) -> None:
    spec = MiniatureSpec(
        states=2, cities_per_state=1, dates=3, hotels=2, restaurants=4, attractions=1 + seed % 2, flights=1
    )
    database = generate(seed, "tiny", spec)
    if seed % 3 == 0:  # no free slot is left: the fourth meal has to be paid for
        home = database.cities[0]
        database = replace(database, attractions=tuple(a for a in database.attractions if a.city != home)[:1])
    rng = random.Random(seed)
    local = LocalConstraint(
        cuisine=tuple(sorted({c for r in database.restaurants_in(database.cities[1]) for c in r.cuisines}))[:2],
        transportation=rng.choice((None, "no flight", "no self-driving")),
    )
    dates = tuple(sorted({flight.date for flight in database.flights}) or ("2022-03-01",) * 3)
    query = Query("q", database.cities[0], database.cities[1], 3, 1, dates, rng.choice((1, 5)), local, 10**6, "hard")
    accepted = [
        cost(gather(query, plan, database)).total
        for plan in _three_day_plans(query, database)
        if score_plan(query, plan, database).success
    ]
    solution = solve(query, database)
    if accepted:
        assert isinstance(solution, Solution)
        assert solution.cheapest == min(total for total in accepted if total is not None)
    else:
        assert isinstance(solution, Infeasible)


# --- five days, enumerated by cost ----------------------------------------------------------------


def _menu_costs(rows: list[Restaurant], whole: int, query: Query) -> list[tuple[float, frozenset[str]]]:
    """Cost and cuisines of every set of meals: three a whole day, else up to three on the day of arrival."""
    wanted = query.local_constraint.cuisine or ()
    sizes = range(3 * whole, 4 if whole == 0 else 3 * whole + 1)
    return [
        (
            sum(row.average_cost for row in chosen) * query.people_number,
            frozenset(c for row in chosen for c in row.cuisines if c in wanted),
        )
        for size in sizes
        for chosen in combinations(rows, size)
    ]


def _ride_costs(query: Query, database: Database, origin: str, destination: str, date: str) -> dict[str, float]:
    """The least cost of each mode that is allowed."""
    people, asked = query.people_number, query.local_constraint.transportation
    costs: dict[str, float] = {}
    flights = database.flights_on(origin, destination, date)
    if flights and asked != "no flight":
        costs["flight"] = min(flight.price for flight in flights) * people
    leg = database.leg(origin, destination)
    if leg and leg.taxi_cost is not None and leg.driving_cost is not None:
        costs["taxi"] = leg.taxi_cost * ceil(people / 4)
        if asked != "no self-driving":
            costs["drive"] = leg.driving_cost * ceil(people / 5)
    return costs


def _least_five_day_cost(query: Query, database: Database) -> float | None:
    """The least cost of a five-day trip to two cities, by trying everything."""
    wanted, people = frozenset(query.local_constraint.cuisine or ()), query.people_number
    cities = database.states[query.dest]
    best: float | None = None
    for (one, other), split in product(permutations(cities, 2), (0, 1, 2)):
        stays = ((one, split), (other, 2 - split))
        days = (0, split + 1, 4)
        route = ((query.org, one), (one, other), (other, query.org))
        rides = [_ride_costs(query, database, *leg, query.date[day]) for leg, day in zip(route, days, strict=True)]
        fares = [
            sum(ride[mode] for ride, mode in zip(rides, modes, strict=True))
            for modes in product(*rides)
            if "drive" not in modes or set(modes) == {"drive"}
        ]
        nights = [
            [
                hotel.price * ceil(people / hotel.maximum_occupancy) * (whole + 1)
                for hotel in database.hotels_in(city)
                if hotel.minimum_nights <= whole + 1
            ]
            for city, whole in stays
        ]
        menus = [_menu_costs(list(database.restaurants_in(city)), whole, query) for city, whole in stays]
        meals = [a + b for (a, left), (b, right) in product(*menus) if left | right >= wanted]
        if fares and all(nights) and meals:
            total = min(fares) + sum(map(min, nights)) + min(meals)
            best = total if best is None else min(best, total)
    return best


@pytest.mark.parametrize("seed", range(4))
def test_no_five_day_trip_is_cheaper_than_the_solvers(seed: int) -> None:
    spec = MiniatureSpec(
        states=2, cities_per_state=3, dates=5, hotels=2, restaurants=6, flights=1, routes_without_flights=0.3
    )
    database = generate(seed, "tiny", spec)
    rng = random.Random(seed)
    served = sorted({c for r in database.restaurants for c in r.cuisines})
    for _ in range(2):
        query = random_query(rng, database, 5, constrained=False)
        local = LocalConstraint(
            cuisine=tuple(rng.sample(served, 3)),
            transportation=rng.choice((None, "no flight", "no self-driving")),
        )
        query = replace(query, local_constraint=local)
        solution, least = solve(query, database), _least_five_day_cost(query, database)
        if least is None:
            assert isinstance(solution, Infeasible)
        else:
            assert isinstance(solution, Solution)
            assert solution.cheapest == least


# --- what stands in the way -----------------------------------------------------------------------


def test_an_impossible_query_names_what_stands_in_the_way() -> None:
    rng = random.Random(0)
    query = random_query(rng, rough(), 3, constrained=False)
    no_roof = replace(rough(), hotels=tuple(row for row in rough().hotels if row.city != query.dest))
    no_sight = replace(rough(), attractions=tuple(row for row in rough().attractions if row.city != query.dest))
    hungry = replace(rough(), restaurants=tuple(row for row in rough().restaurants if row.city != query.dest))
    cut_off = replace(rough(), flights=(), legs=())
    strange = replace(query, local_constraint=LocalConstraint(cuisine=("Martian",)))
    for case, database, reason in (
        (query, no_roof, f"no suitable hotel in {query.dest}"),
        (query, no_sight, f"fewer than 1 attractions in {query.dest}"),
        (query, hungry, f"fewer than 3 restaurants in {query.dest}"),
        (query, cut_off, f"no ride from {query.org} to {query.dest}"),
        (strange, rough(), "no restaurants for all of Martian"),
        (replace(query, dest="Nowhere"), rough(), "no way through 1 cities"),
    ):
        answer = solve(case, database)
        assert isinstance(answer, Infeasible)
        assert reason in answer.reason
        assert answer.cheapest is None


def test_a_name_that_stands_for_two_rows_is_not_used() -> None:
    rng = random.Random(1)
    query = random_query(rng, world(), 3, constrained=False)
    solution = solve(query, world())
    assert isinstance(solution, Solution)
    twice = replace(world(), restaurants=(*world().restaurants, *world().restaurants_in(query.dest)[:1]))
    again = solve(query, twice)
    assert isinstance(again, Solution)
    assert score_plan(query, again.plan, twice).success == 1


def test_a_plan_copies_down_the_lists_of_the_tools() -> None:
    rng = random.Random(2)
    for _ in range(10):
        query = random_query(rng, world(), 3, constrained=False)
        solution = solve(query, world())
        assert isinstance(solution, Solution)
        listed = [
            Place(r.name, r.city) for r in sorted(world().restaurants_in(query.dest), key=lambda r: r.average_cost)
        ]
        first, second, _ = solution.plan.days
        eaten = [first.dinner, second.breakfast, second.lunch, second.dinner]
        places = [listed.index(meal) for meal in eaten if isinstance(meal, Place)]
        assert places == sorted(places)


def test_an_impossible_shape_of_trip_is_refused() -> None:
    query = random_query(random.Random(0), world(), 3)
    with pytest.raises(StarlabError, match="days, visiting_city_number"):
        solve(replace(query, visiting_city_number=2), world())


def test_more_cuisines_than_a_day_has_meals_are_served_on_the_day_of_arrival() -> None:
    rng = random.Random(4)
    seen = 0
    for _ in range(12):
        query = random_query(rng, world(), 3, constrained=False)
        served = sorted({c for row in world().restaurants_in(query.dest) for c in row.cuisines})
        query = replace(query, local_constraint=LocalConstraint(cuisine=tuple(served[:5])))
        solution = solve(query, world())
        if isinstance(solution, Solution):
            seen += len(solution.plan.days[0].meals()) > 1
            assert score_plan(query, solution.plan, world()).success == 1
    assert seen > 0
