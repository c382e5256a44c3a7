"""What success costs: interpolation, ratios with and without profiling, and runs without counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlab.findings import compute, figures, report
from starlab.findings.build import Findings
from starlab.findings.build import compute as judge
from starlab.findings.claims import CLAIMS
from synthetic import World, write_world

GRPO, PIVOT, SFT = (f"m-macro-{name}-mixed1000-noise0" for name in ("grpo", "pivot", "sftlong"))
CELLS = [GRPO, PIVOT, SFT]


def write_costs(root: Path, cell: str, seed: int, per_step: float, profile: float, success: list[float]) -> None:
    """Costs that are `per_step` of everything in each of 10 steps between measurements."""
    folder = root / "cells" / cell / f"seed{seed}"
    total = per_step * (len(success) - 1)
    names = [name for pair in compute.COSTS.values() for name in pair]
    spent = {name: profile if name.startswith("profile") else total for name in names}
    (folder / "train.json").write_text(json.dumps({"compute": spent}))
    lines = [
        {"step": 10 * i, compute.SUCCESS: value, **{pair[0]: per_step * i for pair in compute.COSTS.values()}}
        for i, value in enumerate(success)
    ]
    if success:
        (folder / "progress.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    truth = dict.fromkeys((*CELLS, "base-m", "sft-m"), (0.5, 0.3))
    write_world(root, World(truth, queries=20, questions=14), [0, 1], CELLS)
    for seed in (0, 1):
        write_costs(root, GRPO, seed, 400.0, 0.0, [0.2, 0.3, 0.4, 0.5])
        write_costs(root, PIVOT, seed, 100.0, 150.0, [0.2, 0.4, 0.4])
        write_costs(root, SFT, seed, 0.0, 0.0, [])
    (root / "cells" / PIVOT / "seed1" / "train.json").write_text("{}")
    return root


@pytest.fixture(scope="module")
def findings(root: Path) -> Findings:
    return judge(root, CLAIMS, CELLS, [0, 1])


@pytest.mark.parametrize(("target", "x"), [(0.1, 0.0), (0.2, 0.0), (0.3, 5.0), (0.4, 10.0), (0.5, None), (0.35, 7.5)])
def test_the_first_time_a_curve_is_that_high(target: float, x: float | None) -> None:
    assert compute.first_reach([(0.0, 0.2), (10.0, 0.4), (20.0, 0.3)], target) == (
        None if x is None else pytest.approx(x)
    )


def test_a_curve_without_points_reaches_nothing() -> None:
    assert compute.first_reach([], 0.0) is None


def test_the_twin_differs_in_the_algorithm_alone() -> None:
    assert compute.twin(PIVOT) == compute.twin(GRPO) == GRPO


def test_turns_for_the_same_success_with_and_without_profiling(findings: Findings) -> None:
    """Both reach 0.4: after 800 turns end to end, after 100 on pivots and 150 before them."""
    head, rows = compute.reach_table(findings)
    assert [row[:5] for row in rows] == [[f"`{PIVOT}`", "0", "40.0", "800", "100"]]
    ratios = dict(zip(head[5:], rows[0][5:], strict=True))
    assert ratios["assistant turns, ratio"] == "8.00"
    assert ratios["assistant turns, with profiling"] == "3.20"


def test_costs_are_told_for_every_run_that_counted_them(findings: Findings) -> None:
    _, rows = compute.cost_table(findings)
    assert [row[0] for row in rows] == [f"`{cell}`" for cell in CELLS]
    assert rows[0][1] == "1,200" and rows[1][1] == "200 + 150" and rows[2][1] == "0"
    assert [row[-1] for row in rows] == ["2", "1", "2"], "a run without counts is left out"


def test_reports_have_the_section_under_the_system_s_own_heading(findings: Findings, tmp_path: Path) -> None:
    text = report.as_markdown(findings)
    assert text.index("\n# PivotRL") < text.index("\n## P1 ") < text.index("\n## What success costs")
    document = json.loads(json.dumps(report.as_json(findings)))
    assert document["compute"][0]["success_by_turns"][-1] == [1200.0, 50.0]
    drawn = []
    for name in ("one", "two"):
        assert compute.draw(findings, lambda figure, name=name: figures.save(figure, tmp_path / name, "compute"))
        drawn.append((tmp_path / name / "compute.svg").read_bytes())
    assert drawn[0] == drawn[1] and len(drawn[0]) > 5_000


def test_without_single_turns_there_is_no_such_section(root: Path) -> None:
    assert "## What success costs" not in report.as_markdown(judge(root, CLAIMS, [GRPO], [0, 1]))
