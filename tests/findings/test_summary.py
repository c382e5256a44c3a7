"""The page of a reference run: every number on it is found in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.findings import summary
from starlab.findings.build import Findings, compute
from starlab.findings.claims import CLAIMS
from starlab.findings.tables import provenance_table
from starlab.runs import Folder, Run
from synthetic import World, paper_truth, write_world

CELL = "m-macro-grpo-mixed1000-noise0"
SEEDS = [0, 1]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    write_world(root, World(paper_truth(), queries=20, questions=7), SEEDS, [CELL])
    return root


@pytest.fixture
def findings(root: Path) -> Findings:
    return compute(root, CLAIMS, [CELL], SEEDS)


def greedy(root: Path, folder: str, seed: int) -> float:
    rows = [json.loads(line) for line in (root / folder / f"seed{seed}" / "queries.jsonl").read_text().splitlines()]
    values = [row["success"] for row in rows if (row["panel"], row["decoding"]) == ("test", "greedy")]
    return sum(values) / len(values)


def test_the_page_shows_each_seed_and_how_many_times_the_start(root: Path, findings: Findings) -> None:
    head, (sft, cell) = summary.learning_table(findings)
    column = head.index("travel greedy")
    for row, folder in ((sft, "references/sft-m"), (cell, f"cells/{CELL}")):
        values = [greedy(root, folder, seed) for seed in SEEDS]
        assert row[column].endswith(f"({100 * values[0]:.1f}, {100 * values[1]:.1f})")
    ratios = [greedy(root, f"cells/{CELL}", seed) / greedy(root, "references/sft-m", seed) for seed in SEEDS]
    assert cell[-1] == ", ".join(f"{ratio:.2f}" for ratio in ratios)
    assert sft[-1] == "1.00, 1.00"


def test_costs_are_summed_by_kind_of_job(root: Path) -> None:
    head = "s\th:m:s\n"
    places = {f"cells/{CELL}/seed0": 100, f"cells/{CELL}/seed1": 140, "sft/m/seed0": 60, "teacher": 12}
    for place, seconds in places.items():
        path = root / "benchmarks" / f"{place}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{seconds}\t0:00:01\n")
    _, rows = summary.cost_table(root)
    assert rows == [
        ["run: m, grpo", "2", "120 (100–140)", "4.0"],
        ["sft: m", "1", "60 (60–60)", "1.0"],
        ["teacher", "1", "12 (12–12)", "0.2"],
        ["all", "", "", "5.2"],
    ]


def test_skills_stand_side_by_side_and_a_base_without_a_card_has_none(tmp_path: Path) -> None:
    for scale, skills in {"s": {"rows": 0.5}, "m": {"rows": 0.75, "hotel_both": 1.0}}.items():
        (tmp_path / scale).mkdir()
        (tmp_path / scale / "card.json").write_text(json.dumps({"skills": skills}))
    head, rows = summary.skill_table({scale: tmp_path / scale for scale in "sml"})
    assert head == ["skill", "s", "m", "l"]
    assert rows == [["rows", "0.50", "0.75", "–"], ["hotel both", "–", "1.00", "–"]]


def test_the_page_is_written_with_its_figures(root: Path, tmp_path: Path) -> None:
    (root / "cells" / CELL / "seed1" / "evaluation.json").unlink()
    findings = compute(root, CLAIMS, [CELL], SEEDS)
    path = summary.write_summary(findings, {}, tmp_path / "docs", "starlab summary --out docs")
    text = path.read_text()
    assert "5 runs and references measured, 1 missing" in text
    assert "starlab summary --out docs" in text and "about the mechanism in the miniature world" in text
    for result in findings.found:
        name = f"figures/{result.finding.id}.png"
        assert f"]({name})" in text and (path.parent / name).stat().st_size > 5_000
    assert "[findings.md](findings.md)" in text and "# Findings" in (path.parent / "findings.md").read_text()


def test_the_page_names_the_code_that_made_the_runs(root: Path) -> None:
    for seed, code in zip(SEEDS, ("newer", "older"), strict=True):
        run = Run(CELL, "rl", seed, {}, {"code": code})
        Folder(root / "cells" / CELL / f"seed{seed}").write(run)
    _, rows = provenance_table(compute(root, CLAIMS, [CELL], SEEDS))
    assert ["code of the runs", "newer, older"] in rows


def test_without_a_run_the_way_to_one_is_told(tmp_path: Path) -> None:
    nothing = compute(tmp_path, CLAIMS, [CELL], SEEDS)
    with pytest.raises(StarlabError, match="no run has been measured yet; run `snakemake --cores all` first"):
        summary.write_summary(nothing, {}, tmp_path / "docs", "starlab summary")
    assert not (tmp_path / "docs").exists()
