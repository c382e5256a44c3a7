"""Proofs: a plan that the checker accepts, a refutation that holds whatever the flights, or an open question."""

import pytest
from handmade import DATES, database, hotel, restaurant
from starlab.errors import StarlabError
from starlab.synthesis.proof import Verdict, prove, summary
from starlab.travel.database import Attraction
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.scores import score_plan

MEALS = tuple(restaurant(10, name=name) for name in ("Fork", "Oven", "Pan", "Pot", "Grill"))


def world(**changes):
    """Like the tiny database, with enough to eat and to see."""
    base = database(restaurants=MEALS, **changes)
    sights = tuple(Attraction(name, "Bee", "", "", "", "", "") for name in ("Zoo", "Park", "Lake"))
    return type(base)(base.name, base.states, base.flights, base.hotels, base.restaurants, sights, base.legs)


def query(budget=10_000, dates=DATES, **asked):
    return Query("q", "Ay", "Bee", 3, 1, dates, 1, LocalConstraint(**asked), budget, "hard")


def test_a_solved_query_comes_with_a_plan_that_the_checker_accepts():
    base = world()
    proof = prove(query(), base)
    assert proof.verdict is Verdict.SOLVED and not proof.reason and not proof.lacking
    assert score_plan(proof.query, proof.solution.plan, base).success == 1
    row = proof.to_dict()
    assert row["cheapest"] == proof.solution.cheapest and len(row["witness"]) == 3
    assert "solved, from $" in proof.line()


def test_what_no_flight_can_mend_is_refuted():
    proof = prove(query(room_type="shared room"), world())
    assert proof.verdict is Verdict.REFUTED and proof.solution is None
    assert proof.reason.startswith("whatever the flights: no plan is possible: no suitable hotel in Bee")
    assert prove(query(budget=10), world()).verdict is Verdict.REFUTED  # the hotel alone costs more
    assert prove(query(transportation="no flight"), world(kilometres=None)).verdict is Verdict.REFUTED


def test_what_more_flights_may_mend_is_open_and_says_which_are_lacking():
    proof = prove(query(transportation="no self-driving"), world(out=(), kilometres=None))
    assert proof.verdict is Verdict.OPEN
    assert proof.lacking == (f"flight from Ay to Bee on {DATES[0]}",)
    assert "no flight from Ay to Bee" in proof.line()
    dear = prove(query(budget=400), world(out=(5000,), kilometres=None))
    assert dear.verdict is Verdict.OPEN and "the budget is $400" in dear.reason and not dear.lacking


def test_flights_may_lack_where_a_road_solves_the_query():
    proof = prove(query(), world(out=(), back=()))
    assert proof.verdict is Verdict.SOLVED
    assert len(proof.lacking) == 2
    assert proof.line().endswith(f"; no {proof.lacking[0]} and no {proof.lacking[1]}")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"room_type": "penthouse"}, "query q: local_constraint: room type 'penthouse'; valid: "),
        ({"house_rule": "pet"}, "query q: local_constraint: house rule 'pet'; did you mean 'pets'"),
        ({"transportation": "no fligth"}, "did you mean 'no flight'"),
        ({"dates": DATES[:2]}, "query q: date: 2 dates for 3 days"),
    ],
)
def test_a_query_for_what_does_not_exist_is_refused(asked, message):
    with pytest.raises(StarlabError, match=message.replace("(", r"\(")):
        prove(query(**asked), world())


def test_the_summary_counts():
    proofs = [prove(query(), world()), prove(query(), world(out=())), prove(query(budget=10), world(hotels=[hotel()]))]
    assert summary(proofs) == "3 queries: 2 solved, 1 refuted, 0 open; 1 lack flights on the way out or home"
