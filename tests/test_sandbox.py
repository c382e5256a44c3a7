"""Commands on the sandbox: what a tool says, to the letter; what can be solved; how scripted dialogues go."""

import json
from pathlib import Path

import pytest
from starlab.cli import main
from starlab.protocol import ToolCall
from starlab.travel import official, tools
from starlab.travel.database import Database
from starlab.travel.miniature import MiniatureSpec, generate


@pytest.fixture
def world(tmp_path: Path) -> Path:
    generate(0, "world", MiniatureSpec(states=2, cities_per_state=2, dates=3)).save(tmp_path / "world")
    return tmp_path / "world"


def test_a_tool_prints_what_the_agent_sees_and_nothing_else(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = Database.load(world)
    arguments = {"city": database.cities[0]}
    words = ["tool", "SearchRestaurant", "--database", str(world), "--args", json.dumps(arguments)]
    assert main(words) == 0
    assert capsys.readouterr().out == tools.call(database, ToolCall("SearchRestaurant", arguments))
    assert main([*words, "--rendering", "official"]) == 0
    assert capsys.readouterr().out == official.call(database, "SearchRestaurant", arguments)
    assert main(["tool", "SearchFlight", "--database", str(world), "--rendering", "official", "--args", "null"]) == 0
    assert capsys.readouterr().out.startswith("Tool calling error: ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--args", "{city: Boise}"], "--args: not JSON"),
        (["--args", "[]"], "the arguments of a tool call are a JSON object"),
        (["--rendering", "offical"], "no rendering 'offical'; did you mean 'official'?"),
        (["--database", "nowhere"], "nowhere"),
    ],
)
def test_a_tool_call_that_cannot_be_made_is_one_message(
    words: list[str], complaint: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tool", "SearchCity", "--database", str(world), *words]) == 1
    told = capsys.readouterr()
    assert told.out == "" and complaint in told.err and len(told.err.splitlines()) == 1


def test_proofs_are_printed_and_written(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, *_, away = Database.load(world).cities
    dates = ["2022-03-01", "2022-03-02", "2022-03-03"]
    local = dict.fromkeys(("house rule", "cuisine", "room type", "transportation"))
    row = {"org": home, "dest": away, "days": 3, "visiting_city_number": 1, "date": dates, "people_number": 1}
    rows = [
        row | {"query_id": f"{split}_001", "local_constraint": local, "budget": budget, "level": "easy"}
        for split, budget in (("train", 10**6), ("train", 1), ("val", 5))
    ]
    queries, out = tmp_path / "queries.jsonl", tmp_path / "proofs.jsonl"
    queries.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ["prove", "--database", str(world), "--queries", str(queries), "--prefix", "train_", "--out", str(out)]
    assert main(words) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"train_001: easy, 3 days, {home} to {away}: solved, from $")
    assert told[2].startswith("2 queries: 1 solved, 1 refuted, 0 open; ")
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["verdict"] for row in written] == ["solved", "refuted"]
    assert len(written[0]["witness"]) == 3 and written[1]["witness"] is None


def test_scripted_dialogues_are_played(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scripts, out = tmp_path / "scripts.jsonl", tmp_path / "played.jsonl"
    row = {"case_id": "c", "system_prompt": "S", "user": "U", "max_turns": 3, "max_context": 99}
    row["model_replies"] = ['<tool_call>{"name": "Book", "arguments": {}}</tool_call>', "<answer>x</answer>"]
    scripts.write_text(json.dumps(row) + "\n")
    words = ["replay", "--database", str(world), "--scripts", str(scripts), "--out", str(out)]
    assert main(words) == 0
    played = json.loads(out.read_text())
    assert (played["plan"], played["termination"], played["model_calls"]) == ("x", "answer", 2)
    assert "Tool Book not found" in played["messages"][3]["content"]
    capsys.readouterr()
    scripts.write_text(json.dumps(row | {"model_replies": ["hm"]}) + "\n")
    assert main(words) == 1
    assert "scripts.jsonl:1: model_replies: the dialogue goes on after them" in capsys.readouterr().err
    scripts.write_text(json.dumps(row) + "\n{}\n")
    assert main(words) == 1
    assert "scripts.jsonl:2: bad or missing field 'system_prompt'" in capsys.readouterr().err
