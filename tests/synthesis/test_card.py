"""Sets on disk: what is written can be read again, and the card tells what is in it."""

import hashlib
import json

import pytest
from starlab.errors import StarlabError
from starlab.synthesis.card import load_set, write_set
from starlab.travel.query import load_queries


@pytest.fixture
def written(synthesis, spec, tmp_path):
    made = synthesis.make("mixed50")
    path = tmp_path / "queries" / "mixed50.jsonl"
    card = write_set(made, spec, path, path.with_suffix(".card.json"))
    return made, path, card


def test_queries_and_witnesses_come_back(written):
    made, path, _ = written
    assert load_set(path) == list(made.queries)
    assert load_queries(path) == [row.query for row in made.queries]


def test_rows_have_the_official_keys(written):
    _, path, _ = written
    row = json.loads(path.read_text().splitlines()[0])
    assert {
        "org",
        "dest",
        "days",
        "date",
        "people_number",
        "local_constraint",
        "budget",
        "query",
        "level",
    } < set(row)
    assert set(row["local_constraint"]) == {"house rule", "cuisine", "room type", "transportation"}
    assert [day["day"] for day in row["witness"]] == [1, 2, 3]


def test_the_card_counts_what_the_file_holds(written):
    made, path, card = written
    assert json.loads(path.with_suffix(".card.json").read_text()) == card
    assert card["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert card["database"]["sha256"] == made.database.fingerprint()
    assert card["by_level"] == {"easy": 20, "medium": 15, "hard": 15}
    assert card["by_days"] == {"3": 50}
    assert sum(card["by_people"].values()) == 50
    # medium queries have one constraint, hard ones three of which one is transportation
    assert card["by_constraint"]["transportation"] == 15
    assert sum(card["by_constraint"].values()) == 15 + 3 * 15


def test_the_card_tells_what_was_thrown_away(written):
    _, _, card = written
    for numbers in card["synthesis"].values():
        assert numbers["draws"] == sum(numbers["outcomes"].values())
        assert numbers["kept"] <= numbers["draws"]
    assert {"duplicates_dropped", "passed_the_heuristic_without_a_plan"} < set(card["synthesis"]["hard"])


def test_writing_twice_gives_the_same_bytes(written, spec, tmp_path):
    made, path, _ = written
    again = tmp_path / "again.jsonl"
    write_set(made, spec, again, tmp_path / "again.card.json")
    assert again.read_bytes() == path.read_bytes()


def test_unreadable_sets_are_reported_with_file_and_line(written, tmp_path):
    _, path, _ = written
    with pytest.raises(StarlabError, match=r"gone\.jsonl: no such file"):
        load_set(tmp_path / "gone.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][: len(lines[1]) // 2]]))
    with pytest.raises(StarlabError, match=r"mixed50\.jsonl:2: .*delete the file"):
        load_set(path)
    row = json.loads(lines[0])
    path.write_text(json.dumps(row | {"witness": []}))
    with pytest.raises(StarlabError, match=r"mixed50\.jsonl:1: bad witness"):
        load_set(path)
    del row["budget"]
    path.write_text(json.dumps(row))
    with pytest.raises(StarlabError, match=r"mixed50\.jsonl:1: .*budget"):
        load_set(path)
