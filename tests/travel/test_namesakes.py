"""Rows that share a name in one city: an honest plan may name them, and nobody gains by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlab.travel.database import Hotel
from starlab.travel.namesakes import distinct
from starlab.travel.plan import Place, Plan, render
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.scores import score
from starlab.travel.solver import Solution, solve
from trips import failed, solved, stay_index, world


def test_the_least_favourable_of_the_restaurants_that_share_a_name_counts(trip: tuple[Query, Plan]) -> None:
    query, plan = trip
    lunch = plan.days[stay_index(plan)].lunch
    row = next(row for row in world().restaurants if Place(row.name, row.city) == lunch)
    asking = replace(query, local_constraint=LocalConstraint(cuisine=("Martian",)))
    rare = replace(row, cuisines=("Martian",))
    alone = replace(world(), restaurants=tuple(rare if one == row else one for one in world().restaurants))
    assert score(asking, render(plan), alone).success == 1
    for change, check in (({"average_cost": query.budget}, "valid_cost"), ({"cuisines": ("Tea",)}, "valid_cuisine")):
        other = replace(rare, **change)
        for rows in ((*alone.restaurants, other), (other, *alone.restaurants)):
            twice = replace(alone, restaurants=rows)
            assert failed(score(asking, render(plan), twice)) == {check}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("change", "asked", "check"),
    [
        ({"minimum_nights": 9}, LocalConstraint(), "is_valid_accommodation"),
        ({"price": 10**7}, LocalConstraint(), "valid_cost"),
        ({"house_rules": "No pets"}, LocalConstraint(house_rule="pets"), "valid_room_rule"),
        ({"room_type": "Shared room"}, LocalConstraint(room_type="not shared room"), "valid_room_type"),
        ({"room_type": "Private room"}, LocalConstraint(room_type="shared room"), "valid_room_type"),
    ],
)
def test_a_second_hotel_of_the_same_name_excuses_from_nothing(
    trip: tuple[Query, Plan], change: dict[str, Any], asked: LocalConstraint, check: str, first: bool
) -> None:
    query, plan = replace(trip[0], local_constraint=asked), trip[1]
    bed = plan.days[0].accommodation
    row = next(row for row in world().hotels if Place(row.name, row.city) == bed)
    other = replace(row, **change)
    hotels = (other, *world().hotels) if first else (*world().hotels, other)
    assert check in failed(score(query, render(plan), replace(world(), hotels=hotels)))


def test_rows_of_one_name_become_one_with_the_least_favourable_values() -> None:
    inn = Hotel("Inn", "Private room", 50.0, 1.0, 4.0, "No pets", 4, "A")
    other = replace(inn, room_type="Shared room", price=40.0, minimum_nights=3.0, house_rules="No smoking")
    single = replace(inn, name="Other")
    assert distinct([inn, single, other]) == [
        Hotel("Inn", "Private room or Shared room", 50.0, 3.0, 4.0, "No pets & No smoking", 4, "A"), single,
    ]  # fmt: skip


@pytest.mark.parametrize("days", [3, 5])
def test_the_solver_pays_for_namesakes_what_the_checker_does(days: int) -> None:
    query, plan = solved(days, 1)[0]
    named = {str(venue) for day in plan.days for _, venue in day.meals()}
    rows = [row for row in world().restaurants if str(Place(row.name, row.city)) in named]
    twins = [replace(row, average_cost=row.average_cost + 1) for row in rows]
    database = replace(world(), restaurants=(*twins, *world().restaurants))
    solution = solve(query, database)
    assert isinstance(solution, Solution)
    assert score(query, render(solution.plan), database).success == 1
