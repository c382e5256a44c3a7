"""Difficulty, budgets and feasibility are those of the official scripts; every kept query has a plan on top."""

from collections import Counter
from dataclasses import replace

import pytest
from starlab.synthesis.balance import NO_PLAN, Synthesis, SynthesisSpec
from starlab.synthesis.budget import THRESHOLDS, Estimate, Rejection, Tables, estimate
from starlab.synthesis.card import card, constraint_kinds
from starlab.synthesis.elements import CUISINES, HARD_CUISINES, budget, trip_dates
from starlab.synthesis.feasibility import obstacle
from starlab.synthesis.proof import Verdict, prove
from starlab.travel import flightfile
from starlab.travel.query import HOUSE_RULES, ROOM_TYPES, LocalConstraint, Query
from starlab.travel.scores import score_plan

OFFICIAL = THRESHOLDS["official"]


@pytest.fixture(scope="module")
def official_synthesis(official, request):
    """The tables over which the records were made: with more flights, some invented."""
    folder = request.config.pluginmanager.get_plugin(str(request.path.with_name("conftest.py"))).FOLDER
    return replace(official, flights=flightfile.load(folder / "database_synthesis"))


@pytest.fixture(scope="module")
def tables(official_synthesis):
    return Tables(official_synthesis)


def constraint(local):
    local = local or {}
    cuisine = local.get("cuisine")
    return LocalConstraint(
        local.get("house rule"),
        tuple(cuisine) if cuisine else None,
        local.get("room type"),
        local.get("transportation"),
    )


def query(row, id="q"):
    return Query(
        id, row["org"], row["dest"], row["days"], row["visiting_city_number"], tuple(row["date"]),
        row["people_number"], constraint(row.get("local_constraint")), row["budget"], row["level"],
    )  # fmt: skip


def test_estimates_are_the_official_ones_to_the_last_digit(tables, records):
    for row in records("budget_calculation.jsonl"):
        found = estimate(
            tables, row["org"], row["dest"], row["date"], row["people_number"] or 1,
            constraint(row["local_constraint"]), OFFICIAL, days=row["days"],
        )  # fmt: skip
        if "exception" in row:
            assert isinstance(found, Rejection) and str(found) == row["exception_msg"], row["case_id"]
        else:
            assert found == Estimate(**row["budgets"]), row["case_id"]


def test_heuristic_verdicts_are_the_official_ones(tables, records):
    crashed = 0
    for row in records("step2_feasibility.jsonl"):
        if "exception" in row:  # no verdict: a query that lacks a field, or asks for what does not exist
            crashed += 1
            continue
        names_transportation = "transportation" in row["query_dict"].get("local_constraint", {})
        found = obstacle(tables, query(row["query_dict"]), OFFICIAL, names_transportation)
        verdict = (found is None, str(found) if found else "All constraints are feasible")
        assert verdict == (row["feasible"], row["message"]), row["case_id"]
    assert crashed < 30


def test_official_samples_obey_the_rules_of_their_level(tables, records):
    for row in records("step1_samples.jsonl"):
        if "exception" in row:
            continue
        sample = query(row["result"])
        asked, people = sample.local_constraint, sample.people_number
        kinds = set(constraint_kinds(asked))
        if sample.level == "easy":
            assert (people, kinds) == (1, set())
        else:
            assert 2 <= people <= 8
            assert len(kinds) == (1 if sample.level == "medium" else 3)
            assert ("transportation" in kinds) == (sample.level == "hard")
        assert asked.house_rule in (None, *HOUSE_RULES)
        assert asked.room_type in (None, *(ROOM_TYPES if people <= 2 else ("private room", "entire room")))
        assert set(asked.cuisine or ()) <= set(CUISINES if sample.level == "medium" else HARD_CUISINES)
        assert sample.date == trip_dates(sample.date[0], sample.days)
        costs = estimate(tables, sample.org, sample.dest, sample.date, people, asked, OFFICIAL)
        assert isinstance(costs, Estimate)
        assert budget(costs, sample.days, people, sample.level) == sample.budget, row["sample_id"]


def test_official_queries_are_solved_refuted_or_lack_flights(official, records):
    lacking, verdicts = [], Counter()
    for row in records("queries.jsonl"):
        if row["split"] != "train":
            continue
        proof = prove(query(row, row["query_id"]), official)
        verdicts[proof.verdict] += 1
        print(proof.line())
        if proof.solution:
            assert score_plan(proof.query, proof.solution.plan, official).success == 1
            assert proof.solution.cost <= proof.query.budget
        if proof.verdict is Verdict.OPEN:
            assert proof.lacking or "budget" in proof.reason
        if proof.lacking:
            lacking.append(row["query_id"])
    assert verdicts[Verdict.REFUTED] == 0  # the official queries all have annotated plans
    assert verdicts[Verdict.SOLVED] > 0 and lacking


def test_synthesis_over_the_official_tables_keeps_what_it_can_solve_and_counts_the_rest(official_synthesis):
    spec = SynthesisSpec(days=(3, 5, 7), thresholds="official", sft=6, test=6)
    synthesis = Synthesis(official_synthesis, official_synthesis, spec)
    made = synthesis.make("sft")
    for row in made.queries:
        assert score_plan(row.query, row.witness, official_synthesis).success == 1
    told = card(made, spec, "")["synthesis"]
    for level, counts in told.items():
        assert counts["passed_the_heuristic_without_a_plan"] == made.tally[level].get(NO_PLAN, 0)
        assert counts["draws"] == sum(made.tally[level].values())
