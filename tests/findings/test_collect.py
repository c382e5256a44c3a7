"""Reading runs: what is missing or damaged is listed with its reason and left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlab.findings.collect import Results, Tables, collect
from starlab.findings.contrast import Metric
from synthetic import World, write_run, write_world

CELL = "m-macro-grpo-mixed1000-noise0"
OTHER = "m-macro-grpo-mixed1000-noise5"
WORLD = World(
    {CELL: (0.5, 0.6), OTHER: (0.4, 0.5), "base-m": (0.0, 0.2), "sft-m": (0.2, 0.5)}, queries=20, questions=14
)
SUCCESS = Metric("test", "greedy", "success")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_world(tmp_path, WORLD, [0, 1], [CELL, OTHER])
    return tmp_path


def read(root: Path, seeds: tuple[int, ...] = (0, 1)) -> Results:
    return collect(root, [CELL, OTHER], seeds)


def reason(results: Results, cell: str = OTHER) -> str:
    (gap,) = results.gaps
    assert (gap.cell, gap.seed) == (cell, 1)
    assert results.why_not(cell) == f"seed 1 {gap.reason}"
    return gap.reason


def test_tables_are_tidy_and_scores_agree(root: Path) -> None:
    results = read(root)
    assert results.gaps == ()
    assert results.expected == ("base-m", "sft-m", CELL, OTHER)
    assert set(zip(results.runs["panel"], results.runs["decoding"], strict=True)) == {
        (panel, decoding) for panel in ("test", "unseen", "knowledge") for decoding in ("greedy", "sampled", "cool")
    }
    scores = Tables(results).scores(CELL, SUCCESS)
    assert scores is not None and scores.values.shape == (2, 20) and scores.seeds == (0, 1)
    stated = results.runs.query("cell == @CELL and panel == 'test' and decoding == 'greedy'").sort_values("seed")
    assert scores.values.mean(axis=1) == pytest.approx(stated["success"].tolist(), abs=1e-6)


def test_a_missing_run_is_listed(root: Path) -> None:
    (root / "cells" / OTHER / "seed1" / "evaluation.json").unlink()
    results = read(root)
    assert reason(results) == "is not evaluated yet"
    scores = Tables(results).scores(OTHER, SUCCESS)
    assert scores is not None and scores.seeds == (0,)


def test_an_empty_folder_is_all_missing(tmp_path: Path) -> None:
    results = read(tmp_path)
    assert len(results.gaps) == 8
    assert Tables(results).scores(CELL, SUCCESS) is None


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("evaluation.json", '{"cell": ', "unreadable evaluation.json"),
        ("evaluation.json", "[]", "unreadable evaluation.json"),
        ("queries.jsonl", '{"panel": "test"', "no readable queries.jsonl"),
        ("queries.jsonl", "", "queries.jsonl without"),
        ("queries.jsonl", '{"panel": "test"}', "queries.jsonl without decoding, level, query_id, success"),
    ],
)
def test_a_damaged_file_is_listed(root: Path, name: str, content: str, words: str) -> None:
    (root / "cells" / OTHER / "seed1" / name).write_text(content)
    assert words in reason(read(root))


def test_a_run_of_another_cell_is_not_taken(root: Path) -> None:
    source = write_run(root, WORLD, CELL, 1)
    target = root / "cells" / OTHER / "seed1"
    for name in ("evaluation.json", "queries.jsonl"):
        (target / name).write_bytes((source / name).read_bytes())
    assert "has an evaluation.json of" in reason(read(root))


def test_files_that_disagree_are_not_taken(root: Path) -> None:
    path = root / "cells" / OTHER / "seed1" / "evaluation.json"
    evaluation = json.loads(path.read_text())
    evaluation["panels"]["test"]["greedy"]["success"] += 0.05
    path.write_text(json.dumps(evaluation))
    assert "disagrees with itself: test.greedy" in reason(read(root))


def test_a_query_twice_is_not_taken(root: Path) -> None:
    path = root / "cells" / OTHER / "seed1" / "queries.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")
    assert "a query twice" in reason(read(root))


def test_a_run_on_another_panel_is_not_paired(root: Path) -> None:
    path = root / "cells" / OTHER / "seed1" / "evaluation.json"
    evaluation = json.loads(path.read_text())
    evaluation["panels"]["test"]["sha256"] = "another"
    path.write_text(json.dumps(evaluation))
    results = read(root)
    assert "another 'test' panel" in reason(results)
    scores = Tables(results).scores(OTHER, SUCCESS)
    assert scores is not None and scores.seeds == (0,)


def test_seeds_and_cells_outside_the_experiment_are_not_read(root: Path) -> None:
    write_run(root, WORLD, CELL, 1000)
    assert set(read(root).queries["seed"]) == {0, 1}
