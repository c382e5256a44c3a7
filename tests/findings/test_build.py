"""The whole of it on a partial matrix, as a smoke run has it, and reproducible bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlab.findings import figures, learning, provenance, report, tables
from starlab.findings.build import Findings, build_findings, compute
from starlab.findings.claims import CLAIMS
from synthetic import World, paper_truth, write_world

CELLS = ["m-macro-grpo-mixed1000-noise0", "m-macro-grpo-mixed1000-noise5", "m-macro-grpo-mixed1000-noise10"]


@pytest.fixture(scope="module", autouse=True)
def still_checkout() -> Iterator[None]:
    """The commit is part of the report; someone may commit while the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "code_version", lambda: "a commit")
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    write_world(root, World(paper_truth(), queries=30, questions=21), [0, 1], CELLS)
    (root / "cells" / CELLS[2] / "seed1" / "evaluation.json").unlink()
    return root


@pytest.fixture(scope="module")
def findings(root: Path) -> Findings:
    return compute(root, CLAIMS, CELLS, [0, 1])


def test_a_partial_matrix_gives_all_files(root: Path, tmp_path: Path) -> None:
    build_findings(root, CLAIMS, tmp_path, CELLS, [0, 1])
    document = json.loads((tmp_path / "findings.json").read_text())
    assert document["verdicts"] == {f"T{n}": "not run" for n in range(1, 7)} | {"T7": "undecided"} | {
        f"P{n}": "not run" for n in range(1, 5)
    }
    assert {entry["verdict"] for f in document["findings"] for entry in f["contrasts"]} == {
        "undecided",
        "not run",
    }
    assert [run["cell"] for run in document["runs"]["missing"]] == [CELLS[2]]
    for number in range(1, 8):
        for ending in ("svg", "png"):
            assert (tmp_path / "figures" / f"T{number}.{ending}").stat().st_size > 5_000
    page = (tmp_path / "overview.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 11
    assert "not about Qwen2.5" in page
    text = (tmp_path / "findings.md").read_text()
    for words in (
        "not about Qwen2.5",
        "is not evaluated yet",
        "snakemake --cores all -f ",
    ):
        assert words in text
    assert not list(tmp_path.glob("**/.*"))


def test_reports_and_figures_have_the_same_bytes_twice(root: Path, findings: Findings, tmp_path: Path) -> None:
    again = compute(root, CLAIMS, CELLS, [0, 1])
    assert report.as_markdown(findings) == report.as_markdown(again)
    assert json.dumps(report.as_json(findings)) == json.dumps(report.as_json(again))
    drawn = []
    for run, made in enumerate((findings, again)):
        scores = {key: score for key in figures.wanted(made.found[6].finding) if (score := made.score(*key))}
        paths = figures.save(figures.draw(made.found[6], scores, made.paper), tmp_path / str(run), "T7")
        drawn.append([path.read_bytes() for path in paths])
    assert drawn[0] == drawn[1]
    assert b"<dc:date>" not in drawn[0][0]


def test_sft_at_a_lower_temperature_stands_beside_every_cell(findings: Findings) -> None:
    sft = next(entry for entry in report.as_json(findings)["levels"] if entry["cell"] == "sft-m")
    assert {"test.greedy.success", "test.sampled.success", "test.cool.success"} <= set(sft)
    assert "`sft-m`" in report.as_markdown(findings)


def test_gains_over_sft_are_given_for_each_decoding(findings: Findings) -> None:
    gains = {(gain.cell, str(gain.baseline)): gain for gain in learning.gains(findings)}
    assert len(gains) == 3 * len(CELLS) and "sampled − SFT cool" in report.as_markdown(findings)
    gain = gains[CELLS[0], "test.cool.success"]
    cell, sft = findings.score(CELLS[0], learning.SAMPLED), findings.score("sft-m", learning.COOL)
    assert cell is not None and sft is not None
    assert gain.estimate == pytest.approx(cell.mean - sft.mean)
    assert gain.interval is not None and gain.interval[0] < cell.mean - sft.mean < gain.interval[1]


def test_the_power_table_lists_what_is_undecided(findings: Findings) -> None:
    text = tables.plain(tables.power_table(findings)).splitlines()
    assert text[0].split()[0] == "contrast"
    assert any(line.startswith("T7  tolerates_5") for line in text)


def test_the_provenance_card_names_what_was_used(findings: Findings) -> None:
    card = findings.provenance
    assert set(card["panels"]) == {"test", "unseen", "knowledge"}
    assert len(card["claims_sha256"]) == len(card["paper_sha256"]) == 64
    assert f"{CELLS[0]}/seed0" in card["models"]


def test_findings_never_import_torch() -> None:
    code = "import sys, starlab.findings.build, starlab.findings.page; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
