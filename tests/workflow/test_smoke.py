"""The whole path for real: the smoke preset through the real Snakefile, from nothing to findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Outcome, Snakemake, project
from starlab.cli import main
from starlab.runs import Folder, Status
from starlab.store import Store

TINY = """
data: {panels: {sft: 120, validation: 4, test: 6, unseen: 4, questions: 1}}
sft: {teacher: {trajectories: 24}}
rl: {steps: 2, prompts: 2, save_every: 1, probe_every: 1}
matrix:
  axes:
    - {axis: algorithm, algorithm: [grpo, dapo]}
    - {axis: noise, noise: [0, 10]}
    - {axis: pivot, algorithm: [grpo, pivot]}
"""
PRESETS = ("--configfile", "presets/smoke.yaml", "tiny.yaml")
CELLS = {
    "s-macro-grpo-mixed20-noise0",
    "s-macro-dapo-mixed20-noise0",
    "s-macro-grpo-mixed20-noise10",
    "s-macro-pivot-mixed20-noise0",
}
REFERENCES = {"base-s", "sft-s"}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Snakemake, Outcome]:
    """(results folder, Snakemake in its project, what the run said)."""
    folder = tmp_path_factory.mktemp("smoke")
    snakemake = project(folder)
    (folder / "models").symlink_to(ROOT / "models")
    (folder / "tiny.yaml").write_text(TINY)
    outcome = snakemake(*PRESETS)
    assert outcome.status == 0, outcome.text
    return folder / "results/smoke", snakemake, outcome


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_every_run_leaves_its_artifacts(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, _ = smoke
    assert {path.name for path in (results / "cells").iterdir()} == CELLS
    for cell in CELLS:
        run = results / "cells" / cell / "seed0"
        steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert steps == [1, 2] and read(run / "train.json")["step"] == 2
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            assert (run / name).stat().st_size > 0
        assert not list((run / "checkpoints").glob("checkpoint-*"))
        record = Folder(run).read()
        assert record is not None and record.status is Status.FINISHED


def test_every_run_and_reference_is_measured_on_every_panel(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, _ = smoke
    places = {f"cells/{cell}" for cell in CELLS} | {f"references/{name}" for name in REFERENCES}
    hashes = set()
    for place in places:
        evaluation = read(results / place / "seed0/evaluation.json")
        panels = evaluation["panels"]
        assert {name: panel["n"] for name, panel in panels.items()} == {"test": 6, "unseen": 4, "knowledge": 7}
        decodings = {"greedy", "sampled"} | ({"cool"} if place == "references/sft-s" else set())
        for panel in panels.values():
            assert decodings <= set(panel) and all(0 <= panel[name]["success"] <= 1 for name in decodings)
        rows = (results / place / "seed0/queries.jsonl").read_text().splitlines()
        assert len(rows) == 17 * len(decodings)
        hashes.add(tuple(panel["sha256"] for panel in panels.values()))
    assert len(hashes) == 1, "all were measured on the same panels"


def test_tool_failures_happen_in_the_noisy_cell_only(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, _ = smoke
    for cell in CELLS:
        spec = read(results / "cells" / cell / "seed0/train.json")["spec"]
        assert spec["noise"] == (0.1 if cell.endswith("noise10") else 0.0)
        assert spec["algorithm"] == ("dapo" if "dapo" in cell else "grpo")


def test_every_run_counts_its_cost_and_single_turns_are_profiled_first(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, _ = smoke
    for cell in CELLS:
        run = results / "cells" / cell / "seed0"
        compute = read(run / "train.json")["compute"]
        assert compute["train_turns"] > 0 and compute["generated_tokens"] > 0
        assert compute["train_seconds"] > 0 and compute["train_processor_seconds"] > 0
        assert (compute["profile_turns"] > 0) == ("pivot" in cell)
        points = [json.loads(line) for line in (run / "progress.jsonl").read_text().splitlines()]
        assert [point["step"] for point in points] == [0, 1, 2]
        assert all(0 <= point["validation/greedy/success"] <= 1 for point in points)
    pivot = read(results / "cells/s-macro-pivot-mixed20-noise0/seed0/train.json")["compute"]
    assert pivot["train_turns"] == 2 * 4 * 8, "steps x states x group"
    profile = read(results / "pivot/s/seed0/card.json")
    assert profile["turns"] == profile["states"] * 4 == pivot["profile_turns"]
    assert 0 <= profile["verifiers"]["functional/macro"]["zero_signal"] <= 1
    assert "## What success costs" in (results / "findings.md").read_text()


def test_findings_are_told(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, _ = smoke
    assert len(read(results / "findings.json")["findings"]) == 11
    for name in ("findings.md", "overview.html", "figures/T1.svg"):
        assert (results / name).stat().st_size > 0


def test_mlflow_has_one_finished_run_for_each(
    smoke: tuple[Path, Snakemake, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client, experiment = Store(smoke[0]).open()
    runs = {run.info.run_name: run for run in client.search_runs([experiment])}
    assert set(runs) == {f"{name}/seed0" for name in CELLS | REFERENCES | {"sft-s", "profile-s"}}
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    run = runs["s-macro-grpo-mixed20-noise10/seed0"]
    wanted = {"reward": "macro", "noise": "10", "axes": "noise", "stage": "rl", "seed": "0"}
    assert wanted.items() <= run.data.tags.items() and run.data.tags["code"]
    assert run.data.params["steps"] == "2" and "test/greedy/success" in run.data.metrics


def test_every_job_has_a_log_and_a_benchmark(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    results, _, outcome = smoke
    jobs = sum(outcome.jobs.values())
    assert len(list((results / "logs").rglob("*.log"))) == jobs
    assert len(list((results / "benchmarks").rglob("*.tsv"))) == jobs


def test_progress_can_be_followed(smoke: tuple[Path, Snakemake, Outcome]) -> None:
    text = smoke[2].text
    assert "rl: s-macro-dapo-mixed20-noise0 seed 0" in text and "(100%) done" in text
    assert "starlab: s-macro-dapo-mixed20-noise0/seed0: success: test greedy" in text


def test_nothing_is_left_to_do(
    smoke: tuple[Path, Snakemake, Outcome], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results, snakemake, _ = smoke
    assert snakemake("--dry-run", *PRESETS).jobs == {}
    monkeypatch.chdir(results.parents[1])
    words = ["cells", "--json", "--configfile", "presets/smoke.yaml", "--configfile", "tiny.yaml"]
    assert main(words) == 0
    assert {record["state"] for record in json.loads(capsys.readouterr().out)} == {"done"}
