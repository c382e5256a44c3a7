"""What a plan costs is told by the jobs most like it."""

from pathlib import Path

import pytest
from starlab.costs import Pending, estimate, job_of, measured, table


@pytest.fixture
def results(tmp_path: Path) -> Path:
    times = {
        "cells/m-sum-grpo-mixed1000-noise0/seed0": 100,
        "cells/m-sum-dapo-mixed1000-noise0/seed0": 200,
        "cells/s-sum-grpo-mixed1000-noise0/seed0": 60,
        "databases": 3,
    }
    for place, seconds in times.items():
        path = tmp_path / "benchmarks" / f"{place}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\n{seconds}\t0:00:00\n")
    return tmp_path


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        ("cells/m-sum-grpo-mixed1000-noise0/seed0/evaluation.json", 100),  # itself
        ("cells/m-sum-grpo-mixed1000-noise0/seed1/evaluation.json", 100),  # its cell
        ("cells/m-sum-grpo-mixed1000-noise5/seed1/evaluation.json", 100),  # all but the last factor
        ("cells/m-macro-grpo-mixed1000-noise0/seed0/evaluation.json", 150),  # its scale
        ("cells/l-macro-grpo-mixed1000-noise0/seed0/evaluation.json", 120),  # any cell
        ("sft/m/seed0/done.json", None),
    ],
)
def test_the_nearest_measurement_counts(results: Path, target: str, seconds: float | None) -> None:
    assert estimate(job_of("run", Path(target)), measured(results)) == seconds


def test_jobs_that_snakemake_did_not_measure_are_passed_over(results: Path) -> None:
    (results / "benchmarks" / "teacher.tsv").write_text("s\th:m:s\nNA\tNA\n")
    assert estimate(job_of("teacher", Path("sft/trajectories.jsonl")), measured(results)) is None


def test_a_profile_and_the_report_on_it_have_times_of_their_own() -> None:
    assert job_of("profile", Path("pivot/m/seed0/profile.jsonl")).place == Path("pivot/m/seed0")
    assert job_of("profile_report", Path("pivot/m/seed0/card.json")).place == Path("profile_report/m/seed0")


def test_files_of_one_job_are_one_job() -> None:
    assert job_of("run", Path("cells/a/seed0/model.safetensors")) == job_of("run", Path("cells/a/seed0/train.json"))
    assert job_of("queries", Path("data/queries/test.card.json")) == job_of("queries", Path("data/queries/test.jsonl"))
    assert job_of("databases", Path("data/training")) == job_of("databases", Path("data/unseen"))


def test_the_table_counts_what_was_never_measured(results: Path) -> None:
    jobs = [Pending("databases", Path("databases")), Pending("findings", Path("findings"))]
    text = table(jobs, measured(results), cores=2)
    assert "findings" in text and "not measured" in text
    assert text.splitlines()[-1] == "2 jobs, about 0 minutes on 2 cores, 1 jobs without a measurement not counted"
    assert table([], {}, cores=2).endswith("nothing to do")
