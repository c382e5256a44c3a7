"""What a change reruns: that and what depends on it, nothing else. Dry runs of the real Snakefile."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from conftest import Snakemake, project

MATRIX = """
seeds: [0, 1]
matrix:
  held: {scale: s, size: 100}
  overrides: OVERRIDES
  axes:
    - {axis: reward, reward: [sum, macro]}
    - {axis: algorithm, algorithm: [grpo, dapo, arpo]}
    - {axis: noise, noise: [0, 5]}
    - {axis: amount, size: SIZES}
"""
CELL = "s-macro-grpo-mixed100-noise5"
TARGET = f"results/cells/{CELL}/seed0/evaluation.json"


def matrix(overrides: str = "{}", sizes: str = "[100]") -> str:
    return MATRIX.replace("OVERRIDES", overrides).replace("SIZES", sizes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Snakemake]:
    """A project in which everything was made (empty files stand for the results)."""
    folder = tmp_path_factory.mktemp("finished")
    snakemake = project(folder)
    (folder / "preset.yaml").write_text(matrix())
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / "models/s").mkdir(parents=True, exist_ok=True)
        (folder / "models/s" / name).touch()
    summary = snakemake("--configfile", "preset.yaml", "--summary").text
    rows = csv.DictReader(summary[summary.index("output_file") :].splitlines(), delimiter="\t")
    for row in rows:
        if row["rule"]:
            path = folder / row["output_file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if path.suffix else path.mkdir()
    assert snakemake("--configfile", "preset.yaml", "--touch", "--forceall").status == 0
    return folder, snakemake


def dry(finished: tuple[Path, Snakemake], preset: str, *words: str) -> dict[str, int]:
    """The jobs that would run under `preset`."""
    folder, snakemake = finished
    (folder / "changed.yaml").write_text(preset)
    outcome = snakemake("--dry-run", "--configfile", "changed.yaml", *words)
    assert outcome.status == 0, outcome.text
    return outcome.jobs


def test_nothing_changed_nothing_runs(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix()) == {}


def test_a_changed_row_reruns_its_own_runs(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix(f"{{{CELL}: {{lr: 1.0e-5}}}}")) == {"run": 2, "findings": 1}


def test_a_new_row_makes_its_queries_and_its_runs(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix(sizes="[100, 200]")) == {"queries": 1, "run": 2, "findings": 1}


def test_an_axis_over_cells_that_exist_costs_nothing(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix() + "    - {axis: again, reward: [sum, macro]}\n") == {}


def test_forcing_a_run_s_target_reruns_that_run(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix(), "--force", TARGET) == {"run": 1}


def test_forcing_a_run_in_the_whole_reruns_what_depends_on_it_too(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix(), "--forcerun", TARGET) == {"run": 1, "findings": 1}


def test_an_algorithm_s_setting_reruns_its_cells_only(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix() + "rl: {dapo: {refills: 9}}\n") == {"run": 2, "findings": 1}


def test_a_larger_panel_is_measured_on_again(finished: tuple[Path, Snakemake]) -> None:
    jobs = dry(finished, matrix() + "data: {panels: {test: 150}}\n")
    assert jobs == {"queries": 1, "run": 10, "reference": 4, "findings": 1}


def test_a_tracking_setting_reruns_nothing(finished: tuple[Path, Snakemake]) -> None:
    assert dry(finished, matrix() + "tracking: {enabled: false}\n") == {}


def test_the_default_experiment_is_33_cells_of_three_seeds_from_shipped_models(
    tmp_path: Path, fresh: Snakemake
) -> None:
    for scale in "sml":
        for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
            (tmp_path / "models" / scale).mkdir(parents=True, exist_ok=True)
            (tmp_path / "models" / scale / name).touch()
    jobs = fresh("--dry-run").jobs
    assert jobs["run"] == 29 * 3 and jobs["pivot"] == 4 * 3 and jobs["reference"] == 6 * 3 and jobs["sft"] == 3 * 3
    assert jobs["profile"] == jobs["profile_report"] == 3, "the two cells that filter share the profile of their seed"
    assert "pretrain" not in jobs


def test_base_models_are_rebuilt_on_demand_only(fresh: Snakemake) -> None:
    assert fresh("--dry-run", "base_models").jobs == {"pretrain": 3, "base_models": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["results/cells/m-macro-grpo-mixed1000-noise4/seed0/evaluation.json"],
            "no cell of this matrix is called 'm-macro-grpo-mixed1000-noise4';"
            " did you mean 'm-macro-grpo-mixed1000-noise5'?",
        ),
        (["--config", "sed=3"], "config.yaml:1: sed: unknown key; did you mean 'seeds'?"),
        ([], "models/s/model.safetensors is missing; restore it with `git checkout -- models`"),
    ],
)
def test_a_mistake_ends_before_any_job_with_its_reason(fresh: Snakemake, words: list[str], message: str) -> None:
    outcome = fresh("--dry-run", *words)
    assert outcome.status != 0 and message in " ".join(outcome.text.split())
    assert outcome.jobs == {}
