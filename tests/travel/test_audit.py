"""Audits: that no plan stops them, and the files and commands around them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.cli import main
from starlab.errors import StarlabError
from starlab.tasks import Status
from starlab.travel.audit import Audit, aggregate
from starlab.travel.explain import explain
from starlab.travel.plan import FIELDS, Drive, Plan, to_json
from starlab.travel.plan_files import as_typed, read_answer, read_plans, read_query
from starlab.travel.query import LocalConstraint, Query
from starlab.travel.rules import RULE_BOOKS
from trips import BOOKS, judged, solved, with_day, with_field, world

# --- nothing stops an audit -----------------------------------------------------------------------------

_any_text = st.text(max_size=8) | st.text(st.characters(categories=["Cs", "L"]), max_size=3)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def assert_sound(result: Audit) -> None:
    """Verdicts for all thirteen checks, a reason for every false one, and a line that can be written."""
    row = json.loads(json.dumps(result.to_dict()))
    checks = {**row["checks"]["commonsense"], **row["checks"]["hard"]}
    assert len(checks) == 13
    assert None not in row["checks"]["commonsense"].values()
    for name, verdict in checks.items():
        assert (verdict is False) <= bool(row["reasons"].get(name)), name
        assert (verdict is True) <= (name not in row["reasons"]), name
    official = row["official"]
    assert official["final_pass"] <= (official["commonsense_pass"] and bool(official["hard_pass"]))
    assert (row["reason"] is None) == (result.status is Status.OK)
    for count, total in aggregate([result]).values():
        assert 0 <= count <= total


@settings(max_examples=60, deadline=None)
@given(value=_json)
def test_any_json_gets_a_verdict_from_every_rule_book(value: object) -> None:
    query = solved(3, 1)[0][0]
    for book in BOOKS:
        assert_sound(judged(book, query, value))


_words = st.sampled_from(
    ["from", " to ", "Taxi", "flight number: ", "Flight Number: ", ",", ";", "(", ")", "-", "\n", " ", "A"]
)
_text = st.lists(_words, max_size=6).map("".join)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_day_gets_a_verdict_and_an_explanation_from_every_rule_book(data: st.DataObject) -> None:
    query, plan = solved(3, 1)[0]
    query = replace(query, local_constraint=data.draw(_constraints))
    rows: list[Any] = to_json(plan)
    texts = st.sampled_from(sorted({str(value) for row in rows for value in row.values()}))
    for index, field, value in data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from(FIELDS), texts | _text | _json), max_size=4)
    ):
        rows[index][field] = value
    for index, field in data.draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(FIELDS)), max_size=2)):
        rows[index].pop(field, None)
    rows[data.draw(st.integers(0, 2))] = data.draw(st.sampled_from(rows) | _json)
    for book in BOOKS:
        assert_sound(judged(book, query, rows))
        assert explain(query, json.dumps(rows), world(), RULE_BOOKS[book])


@pytest.mark.parametrize("number", ["", "\ud800", "F\0", "F" * 10_000, "F1 OR 1=1", "\n"])
def test_a_flight_number_that_is_none_is_just_not_there(number: str) -> None:
    query, plan = solved(3, 1)[0]
    rows = with_field(plan, 0, "transportation", f"Flight Number: {number}, {plan.days[0].where}")
    for book in BOOKS:
        assert_sound(judged(book, query, rows))
        assert "is_valid_information_in_sandbox" in judged(book, query, rows).to_dict()["reasons"]


_constraints = st.builds(
    LocalConstraint,
    house_rule=st.sampled_from([None, "pets", "", "noise"]),
    cuisine=st.sampled_from([None, ("Indian",), ("Indian", "Indian"), ("Tea", "BBQ")]),
    room_type=st.sampled_from([None, "shared room", "entire room", "castle"]),
    transportation=st.sampled_from([None, "no flight", "no self-driving", "no bus"]),
    missing=st.sampled_from([(), ("cuisine",), ("house_rule", "room_type")]),
    fault=st.sampled_from([None, "there are no constraints"]),
)


# --- files ----------------------------------------------------------------------------------------------


@pytest.fixture
def files(taxi_trip: tuple[Query, Plan], tmp_path: Path) -> dict[str, str]:
    """A database, a query and four plans: two honest, one in the official form, one empty, one broken."""
    query, plan = taxi_trip
    world().save(tmp_path / "database")
    row = {**query.to_dict(), "query_id": query.id}
    row.pop("id")
    row["local_constraint"] = str(row["local_constraint"])
    (tmp_path / "queries.jsonl").write_text(json.dumps(row) + "\n")
    official = [{"days" if key == "day" else key: value for key, value in day.items()} for day in to_json(plan)]
    lines = [
        {"plan_id": "honest", "query_id": query.id, "plan": to_json(plan)},
        {"plan_id": "official", "query_id": query.id, "plan": [*official, {}, {}]},
        {"plan_id": "poor", "query_id": query.id, "plan": to_json(plan), "query_override": {"budget": 1}},
        {"plan_id": "nothing", "query_id": query.id, "plan": None},
        {"plan_id": "odd", "query_id": query.id, "plan": "abc"},
        {"plan_id": "half a letter", "query_id": query.id, "plan": with_field(plan, 0, "dinner", "\ud800, \udfff")},
    ]
    (tmp_path / "plans.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    names = {"database": "database", "queries": "queries.jsonl", "plans": "plans.jsonl", "out": "out.jsonl"}
    return {option: str(tmp_path / name) for option, name in names.items()}


@pytest.mark.parametrize("book", BOOKS)
def test_check_writes_a_line_a_plan_and_prints_the_aggregates(
    files: dict[str, str], book: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for name, value in files.items() for word in (f"--{name}", value)]
    assert main(["check", *words, "--rules", book]) == 0
    rows = [json.loads(line) for line in Path(files["out"]).read_text().splitlines()]
    found = {row["plan_id"]: (row["status"], row["official"]["final_pass"]) for row in rows}
    assert found == {
        "honest": ("ok", True),
        "official": ("ok", True),
        "poor": ("ok", False),
        "nothing": ("undelivered", False),
        "odd": ("unparseable", False),
        "half a letter": ("ok", False),
    }
    assert rows[2]["reasons"]["valid_cost"]
    printed = capsys.readouterr().out
    assert "6 plans: 4 ok, 1 unparseable, 1 undelivered" in printed
    assert "final pass" in printed and "33.33 %" in printed and "2 / 6" in printed


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"plan_id": "x"}', "no 'query_id'"),
        ('{"plan_id": "x", "query_id": "who", "plan": []}', "no query 'who'"),
        ("[]", "a line is a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_plan_file_that_is_wrong_is_named_with_its_line(files: dict[str, str], line: str, says: str) -> None:
    plans = Path(files["plans"])
    plans.write_text(plans.read_text() + line + "\n")
    with pytest.raises(StarlabError, match=rf"plans\.jsonl:7: .*{says}"):
        list(read_plans(plans, Path(files["queries"])))


def test_a_query_that_lacks_a_field_is_named_with_its_line(files: dict[str, str]) -> None:
    queries = Path(files["queries"])
    row = json.loads(queries.read_text())
    for change, says in (({"days": None}, "bad field"), ({"budget": "much"}, "bad field")):
        queries.write_text(json.dumps({**row, **change}))
        with pytest.raises(StarlabError, match=rf"queries\.jsonl:1: {says}"):
            list(read_plans(Path(files["plans"]), queries))


def test_plans_of_the_official_files_become_typed_ones() -> None:
    assert as_typed([{"days": 1}, {}, {"day": 3}, {}, {}]) == [{"day": 1}, {}, {"day": 3}]
    assert as_typed([{"days": 1, "day": 2}]) == [{"days": 1, "day": 2}]
    for value in (None, "x", {"a": 1}, [None, 3], 3):
        assert as_typed(value) == value


def test_explain_reads_a_line_of_a_plan_file_and_a_query_of_the_official_files(
    files: dict[str, str], taxi_trip: tuple[Query, Plan], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(Path(files["plans"]).read_text().splitlines()[1])
    assert json.loads(read_answer(plan)) == to_json(taxi_trip[1])
    assert read_query(Path(files["queries"]), None).org == taxi_trip[0].org
    drive = with_day(taxi_trip[1], 0, ride=Drive(taxi_trip[0].org, taxi_trip[0].dest))
    plan.write_text(json.dumps(to_json(drive)))
    assert main(["explain", str(plan), "--query", files["queries"], "--database", files["database"]]) == 0
    text = capsys.readouterr().out
    first, last = text.index("Day 1"), text.index("Day 3")
    assert "FAILS          is_valid_transportation: modes that do not go together" in text[last:]
    assert "holds          is_reasonable_visiting_city, " in text[first:last]
    assert "Success: no" in text
    plan.write_text(Path(files["plans"]).read_text().splitlines()[5])
    for book in BOOKS:
        words = [str(plan), "--query", files["queries"], "--database", files["database"], "--rules", book]
        assert main(["explain", *words]) == 0
        assert "\\ud800" in capsys.readouterr().out
