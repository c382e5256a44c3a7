"""MLflow holds a copy of what run folders hold, several processes may log at once, and MLflow never stops a run."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlab.errors import StarlabError
from starlab.measures import evaluation_measures, headline, known
from starlab.runs import Folder, Run, Status
from starlab.store import Store, initialise, rebuild
from starlab.termination import Killed
from starlab.tracking import RunLogger
from starlab.training.metrics import STEP

CELL = "m-macro-grpo-mixed1000-noise0"
EVALUATION = {
    "panels": {
        "test": {
            "sha256": "0",
            "n": 2,
            "greedy": {
                "success": 0.5,
                "checks": {"is_not_absent": 1.0},
                "by_level": {"easy": {"success": 1.0}, "hard": {"success": 0.0}},
            },
            "sampled": {"success": 0.25, "by_level": {}},
        }
    }
}


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without runs; making one takes MLflow seconds."""
    store = Store(tmp_path_factory.mktemp("empty"))
    initialise(store)
    return store.database


@pytest.fixture
def store(tmp_path: Path, empty: Path) -> Store:
    """A store of its own that was initialised."""
    shutil.copy(empty, tmp_path / "mlflow.db")
    return Store(tmp_path)


def run(seed: int = 0, **settings: Any) -> Run:
    return Run(CELL, "rl", seed, {"lr": 1e-4, "settings": {"refills": 4}, **settings}, {"axes": "reward,noise"})


def place(results: Path, seed: int = 0) -> Folder:
    return Folder(results / "cells" / CELL / f"seed{seed}")


def logged(store: Store) -> list[Any]:
    client, experiment = store.open()
    return list(client.search_runs([experiment]))


def finish(store: Store, seed: int = 0, steps: int = 3) -> None:
    """A small run: metrics in its folder and in MLflow."""
    folder = place(store.results, seed)
    with RunLogger(store, folder, run(seed)) as log:
        rows = [{"step": step, "reward": step / 10} for step in range(1, steps + 1)]
        for row in rows:
            log.step(int(row["step"]), {"reward": row["reward"]})
        (folder.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        curve = {"validation/greedy/success": 0.4}
        log.step(2, curve)
        (folder.path / "progress.jsonl").write_text(json.dumps({"step": 2, "train_turns": 90.0, **curve}) + "\n")
        (folder.path / "evaluation.json").write_text(json.dumps(EVALUATION))
        log.evaluation(EVALUATION, steps)


def test_a_run_is_named_tagged_and_measured(tmp_path: Path, store: Store) -> None:
    finish(store)
    (found,) = logged(store)
    assert found.info.run_name == f"{CELL}/seed0" and found.info.status == "FINISHED"
    assert found.data.params == {"lr": "0.0001", "settings.refills": "4"}
    wanted = {"cell": CELL, "seed": "0", "stage": "rl", "axes": "reward,noise"}
    assert wanted.items() <= found.data.tags.items()
    assert found.data.metrics["reward"] == pytest.approx(0.3)
    assert found.data.metrics["test/greedy/easy/success"] == 1.0
    client, _ = store.open()
    assert {file.path for file in client.list_artifacts(found.info.run_id)} == {
        "metrics.jsonl",
        "progress.jsonl",
        "evaluation.json",
    }
    assert place(tmp_path).read().status is Status.FINISHED  # type: ignore[union-attr]


def test_four_processes_that_start_at_once_all_log(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from starlab.runs import Folder, Run
        from starlab.store import Store
        from starlab.tracking import RunLogger
        results, seed = Path(sys.argv[1]), int(sys.argv[2])
        with RunLogger(Store(results), Folder(results / "cells/c" / f"seed{seed}"), Run("c", "rl", seed, {})) as log:
            for step in range(1, 30):
                log.step(step, {"reward": 0.1})
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    processes = [subprocess.Popen([*command, str(seed)], stderr=subprocess.PIPE, text=True) for seed in range(4)]
    told = [process.communicate(timeout=600)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, told
    runs = logged(Store(tmp_path))
    assert {item.info.run_name for item in runs} == {f"c/seed{seed}" for seed in range(4)}
    assert all(item.info.status == "FINISHED" and "reward" in item.data.metrics for item in runs)


@pytest.mark.parametrize("how", ["no database", "no server", "dies later"])
def test_a_broken_store_costs_one_warning(
    tmp_path: Path, store: Store, how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "no database":
        store.database.write_text("this is no database")
    if how == "no server":
        store = Store(tmp_path, uri="http://127.0.0.1:9")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    initialise(store)
    caplog.clear()
    with caplog.at_level(logging.WARNING), RunLogger(store, place(tmp_path), run()) as log:
        for step in range(1, 500):
            if step == 10 and how == "dies later":
                monkeypatch.setattr(log._client, "log_batch", lambda *a, **k: 1 / 0)
            log.step(step, {"reward": 0.0})
        log.evaluation(EVALUATION, 500)
    warnings = [record for record in caplog.records if record.name == "starlab.tracking"]
    assert len(warnings) == 1 and "MLflow failed" in warnings[0].message
    assert place(tmp_path).read().status is Status.FINISHED  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("a bug"), "FAILED"), (KeyboardInterrupt(), "KILLED"), (Killed(), "KILLED")]
)
def test_how_a_run_ended_is_on_record(tmp_path: Path, store: Store, error: BaseException, status: str) -> None:
    with pytest.raises(type(error)), RunLogger(store, place(tmp_path), run()) as log:
        log.step(1, {"reward": 0.5})
        raise error
    (found,) = logged(store)
    assert found.info.status == status == place(tmp_path).read().status  # type: ignore[union-attr]
    assert found.data.metrics == {"reward": 0.5}


def test_a_killed_run_goes_on_as_the_same_mlflow_run(tmp_path: Path, store: Store) -> None:
    folder = place(tmp_path)
    with pytest.raises(Killed), RunLogger(store, folder, run()) as log:
        (folder.checkpoints / "checkpoint-2").mkdir()
        for step in (1, 2, 3):
            log.step(step, {"reward": step / 10})
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal should have ended the run")
    with RunLogger(store, folder, run()) as log:
        for step in (3, 4):  # the step after the last checkpoint is done again
            log.step(step, {"reward": step / 10})
    (found,) = logged(store)
    assert found.info.status == "FINISHED"
    client, _ = store.open()
    assert [point.step for point in client.get_metric_history(found.info.run_id, "reward")] == [1, 2, 3, 4]


def test_an_alarm_tags_the_run_and_tells_the_user(tmp_path: Path, store: Store) -> None:
    told: list[str] = []
    with RunLogger(store, place(tmp_path), run(), told.append) as log:
        log.alarm("zero_spread", 12, "Little is left to learn from.")
    assert told == [f"{CELL}/seed0: alarm zero_spread at step 12: Little is left to learn from."]
    assert logged(store)[0].data.tags["alarm.zero_spread"] == "step 12"
    assert place(tmp_path).read().tags["alarm.zero_spread"] == "step 12"  # type: ignore[union-attr]


def test_a_run_whose_folder_was_taken_over_stops_at_its_next_step(tmp_path: Path, store: Store) -> None:
    with pytest.raises(StarlabError, match="was taken over by process 1 on elsewhere; this process stops"):  # noqa: SIM117
        with RunLogger(store, place(tmp_path), run()) as log:
            log.step(1, {"reward": 0.5})
            log.folder.lock.path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "born": "", "since": 0.0}))
            log.step(2, {"reward": 0.5})


def test_a_run_that_starts_afresh_takes_the_place_of_the_earlier_one(store: Store) -> None:
    finish(store)
    finish(store)
    assert len(logged(store)) == 1


def test_names_outside_the_vocabulary_are_left_out(
    tmp_path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), RunLogger(store, place(tmp_path), run()) as log:
        for step in (1, 2):
            log.step(step, {"reward": 0.5, "pass@k (mean)": 1.0})
    assert logged(store)[0].data.metrics == {"reward": 0.5}
    assert sum("not in the vocabulary" in record.message for record in caplog.records) == 1


def test_the_vocabulary_holds_every_step_metric_and_evaluation_number() -> None:
    assert all(known(name) for name in STEP)
    assert all(known(name) for name in evaluation_measures(EVALUATION))
    assert not known("test/greedy/pass@k") and not known("rewards")
    assert headline(EVALUATION) == "success: test greedy 0.50, sampled 0.25"


def test_rebuilding_gives_the_same_store_from_the_folders(tmp_path: Path, store: Store) -> None:
    for seed in (0, 1):
        finish(store, seed)
    before = {item.info.run_name: (item.data.metrics, item.data.params) for item in logged(store)}
    store.database.unlink()
    assert rebuild(store) == 2
    # MLflow keeps a connection to every address it has seen: look at the new file under another name
    again = Store(tmp_path / ".." / tmp_path.name)
    after = {item.info.run_name: (item.data.metrics, item.data.params) for item in logged(again)}
    assert after == before
    ids = {folder.name for folder in store.artifacts.iterdir()}
    assert ids == {item.info.run_id for item in logged(again)}
    assert {place(tmp_path, seed).read().key for seed in (0, 1)} == {item.data.tags["run"] for item in logged(again)}


def test_rebuilding_finds_the_numbers_of_a_profile(tmp_path: Path, store: Store) -> None:
    folder = Folder(store.results / "pivot" / "m" / "seed0")
    logged_keys = ("zero_signal", "kept", "mean")
    card = {"verifiers": {"strict": {"zero_signal": 0.5, "kept": 0.25, "mean": 0.75, "histogram": [1]}}}
    with RunLogger(store, folder, replace(run(), name="profile-m", stage="profile")):
        (folder.path / "card.json").write_text(json.dumps(card))
    assert rebuild(store) == 1
    (found,) = logged(Store(tmp_path / ".." / tmp_path.name))
    assert found.data.metrics == {f"profile/strict/{key}": card["verifiers"]["strict"][key] for key in logged_keys}


def test_a_run_that_is_measured_again_shows_its_training_again(tmp_path: Path, store: Store) -> None:
    folder, first = place(tmp_path), run(evaluation={"temperature": 0.7})
    with RunLogger(store, folder, first):
        (folder.checkpoints / "metrics.jsonl").write_text(json.dumps({"step": 1, "reward": 0.5}) + "\n")
        line = {"step": 0, "train_turns": 0.0, "validation/greedy/success": 0.4}
        (folder.checkpoints / "progress.jsonl").write_text(json.dumps(line) + "\n")
        (folder.checkpoints / "trained").mkdir()
    with RunLogger(store, folder, run(evaluation={"temperature": 0.1})):
        pass
    (found,) = logged(store)
    assert found.data.metrics == {"reward": 0.5, "validation/greedy/success": 0.4}


def test_a_run_is_recorded_without_mlflow_when_tracking_is_off(tmp_path: Path) -> None:
    finish(Store(tmp_path, enabled=False))
    assert not (tmp_path / "mlflow.db").exists()
    assert place(tmp_path).read().status is Status.FINISHED  # type: ignore[union-attr]
