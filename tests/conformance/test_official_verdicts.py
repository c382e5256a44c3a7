"""Every verdict, cost and aggregate that the official evaluators gave on real and on perturbed plans."""

import math

import pytest
from starlab.tasks import Status
from starlab.travel.audit import aggregate, audit
from starlab.travel.plan_files import Submission
from starlab.travel.query import Query
from starlab.travel.rules import RULE_BOOKS, STRICT, TRAVELPLANNER

EVALUATORS = {
    "travelplanner": "travelplanner",
    "agentstar": "agentstar",
    "agentstar_relax_breakfast": "agentstar-relaxed",
}
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def submissions(records):
    """Every plan with its query."""
    queries = {row["query_id"]: row for row in records("queries.jsonl")}

    def submission(row):
        query = {**queries[row["query_id"]], **(row.get("query_override") or {})}
        return Submission(row["plan_id"], Query.from_official(query), row["plan"])

    return {kind: [submission(row) for row in records(f"plans_{kind}.jsonl")] for kind in ("real", "perturbed")}


@pytest.fixture(scope="module")
def audits(submissions, official):
    """(evaluator, real or perturbed) -> the audits, made once."""
    made = {}

    def of(evaluator, kind):
        if (evaluator, kind) not in made:
            rules = RULE_BOOKS[EVALUATORS[evaluator]]
            made[evaluator, kind] = [audit(submission, official, rules) for submission in submissions[kind]]
        return made[evaluator, kind]

    return of


@pytest.fixture(scope="module")
def verdicts(records):
    """(evaluator, plan) -> what it said."""
    rows = [*records("verdicts_real.jsonl"), *records("verdicts_perturbed.jsonl")]
    return {(row["evaluator"], row["plan_id"]): row for row in rows}


def said(verdict):
    """Where the official code crashed, the verdict is false."""
    return verdict.get("v", False)


@pytest.mark.parametrize("kind", ["real", "perturbed"])
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_every_check_called_alone_says_what_the_official_one_says(audits, verdicts, evaluator, kind):
    for one in audits(evaluator, kind):
        official = verdicts[evaluator, one.plan_id]
        for group, ours in one.to_dict()["checks"].items():
            theirs = {name: said(verdict) for name, verdict in official["checks"][group].items()}
            assert ours == theirs, one.plan_id


@pytest.mark.parametrize("kind", ["real", "perturbed"])
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_every_total_cost_is_the_official_one(audits, verdicts, evaluator, kind):
    for one in audits(evaluator, kind):
        cost = verdicts[evaluator, one.plan_id]["total_cost"]
        assert (one.total_cost is None) == (cost is None), one.plan_id
        assert cost is None or math.isclose(one.total_cost, cost), one.plan_id


@pytest.mark.parametrize("kind", ["real", "perturbed"])
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_the_gated_flow_is_the_official_one(audits, verdicts, evaluator, kind):
    for one in audits(evaluator, kind):
        theirs, ours = verdicts[evaluator, one.plan_id]["official"], one.to_dict()["official"]
        if "exception" in theirs:  # the official script stops here, so the plan cannot have passed
            assert not ours["final_pass"], one.plan_id
            continue
        for group in ("commonsense", "hard"):
            verdict = theirs[group] and {name: said(one) for name, one in theirs[group].items()}
            assert ours[group] == verdict, one.plan_id
        assert (ours["delivered"], ours["final_pass"]) == (theirs["delivered"], theirs["final_pass"]), one.plan_id


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_the_aggregates_are_the_official_ones(audits, records, document, evaluator):
    sources = {row["plan_id"]: row["source"] for row in records("plans_real.jsonl")}
    for source, counts in document("aggregates.json")["sets"].items():
        theirs = counts[evaluator]
        ours = aggregate(one for one in audits(evaluator, "real") if sources[one.plan_id] == source)
        plans = theirs["plans"]
        micro = theirs.get("commonsense_true", 8 * theirs.get("commonsense_micro_sum", 0))
        assert ours == {
            "delivery": (theirs["delivered"], plans),
            "commonsense micro": (micro, 8 * plans),
            "commonsense macro": (theirs.get("commonsense_macro", theirs.get("commonsense_macro_sum")), plans),
            "hard micro": (theirs["hard_true"], theirs["hard_total"]),
            "hard macro": (theirs.get("hard_macro", theirs.get("hard_macro_sum")), plans),
            "final pass": (theirs.get("final_pass", theirs.get("success_sum")), plans),
        }, source


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_every_false_has_a_reason(audits, evaluator):
    for one in (*audits(evaluator, "real"), *audits(evaluator, "perturbed")):
        row = one.to_dict()
        for name, verdict in {**row["checks"]["commonsense"], **row["checks"]["hard"]}.items():
            assert verdict is not False or all(reason["reason"] for reason in row["reasons"][name]), one.plan_id


def test_strict_accepts_every_annotated_plan(submissions, official):
    annotated = [one for one in submissions["real"] if one.plan_id.startswith("train_annot")]
    assert annotated
    for submission in annotated:
        assert audit(submission, official, STRICT).final_pass, submission.plan_id


def test_what_strict_accepts_travelplanner_accepts_but_for_its_slips(submissions, official):
    """Its slips: a query without all constraints or with one twice stops it, and breakfast at home hides the day."""
    slips = {"valid_cuisine", "valid_room_rule", "valid_room_type", "valid_transportation"}
    for submission in (*submissions["real"], *submissions["perturbed"]):
        if audit(submission, official, STRICT).final_pass:
            theirs = audit(submission, official, TRAVELPLANNER)
            assert {one.check for one in (*theirs.commonsense, *theirs.hard) if one.failures} <= slips


def test_what_is_not_delivered_and_what_is_no_list_of_days_have_their_status(submissions, official):
    for submission in submissions["real"]:
        status = audit(submission, official, STRICT).status
        assert (status is Status.UNDELIVERED) == (not submission.plan), submission.plan_id
