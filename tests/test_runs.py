"""A run folder: taken by one process, resumed only by the same run, and its record always whole."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.lock import Owner
from starlab.runs import MEASURED, Claim, Folder, Run, Status, folders

RUN = Run("m-macro-grpo-mixed1000-noise0", "rl", 0, {"lr": 1e-4, "settings": {}, MEASURED: {"temperature": 0.7}})


def end(folder: Folder, claim: Claim, status: Status) -> None:
    """What a run does last."""
    folder.finish(claim.run, status)
    claim.lock.release()


def vanish(claim: Claim) -> None:
    """What a run does that is killed: nothing. Its process is gone, its lock and its record are as they were."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    claim.lock._done.set()
    claim.lock.path.write_text(json.dumps(asdict(replace(Owner.here(), pid=gone.pid))))


def test_a_fresh_folder_starts_and_a_killed_one_resumes_as_the_same_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "seed0")
    first = folder.claim(RUN)
    assert first.run.key and folder.running()
    (folder.checkpoints / "checkpoint-2").mkdir()
    end(folder, first, Status.KILLED)
    assert not folder.running()
    second = folder.claim(RUN)
    assert (folder.checkpoints / "checkpoint-2").exists() and second.run.key == first.run.key
    assert not second.replaced and second.taken_from is None


def test_checkpoints_of_another_training_are_not_continued(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first = folder.claim(RUN)
    (folder.checkpoints / "checkpoint-2").mkdir()
    end(folder, first, Status.FAILED)
    second = folder.claim(replace(RUN, settings=RUN.settings | {"lr": 2e-4}))
    assert not any(folder.checkpoints.iterdir())
    assert second.run.key != first.run.key == second.replaced


@pytest.mark.parametrize("status", list(Status))
def test_what_was_trained_is_kept_for_another_evaluation(tmp_path: Path, status: Status) -> None:
    folder = Folder(tmp_path)
    first = folder.claim(RUN)
    (folder.checkpoints / "trained").mkdir()
    end(folder, first, status)
    second = folder.claim(replace(RUN, settings=RUN.settings | {MEASURED: {"temperature": 0.1}}))
    assert (folder.checkpoints / "trained").exists()
    assert second.run.key != first.run.key == second.replaced, "MLflow's parameters cannot be changed"


def test_a_finished_run_keeps_no_checkpoints_and_starts_afresh_when_nothing_has_changed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first = folder.claim(RUN)
    for name in ("checkpoint-2", "trained"):
        (folder.checkpoints / name).mkdir()
    end(folder, first, Status.FINISHED)
    assert [path.name for path in folder.checkpoints.iterdir()] == ["trained"]
    second = folder.claim(RUN)
    assert not any(folder.checkpoints.iterdir()) and second.replaced == first.run.key


def test_a_run_that_is_not_measured_keeps_nothing(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    claim = folder.claim(replace(RUN, settings={}))
    (folder.checkpoints / "trained").mkdir()
    end(folder, claim, Status.FINISHED)
    assert not folder.checkpoints.exists()


def test_a_folder_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.claim(RUN)
    with pytest.raises(StarlabError, match=rf"is being written by process {os.getpid()} on .* \(last sign of life"):
        folder.claim(RUN)


def test_a_process_that_died_without_a_word_does_not_hold_the_folder(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first = folder.claim(RUN)
    vanish(first)
    assert not folder.running()
    second = folder.claim(RUN)
    assert second.taken_from is not None and second.taken_from.pid != os.getpid()
    assert second.run.key == first.run.key and folder.running()


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"name": "x"})])
def test_a_record_that_was_cut_off_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert Folder(tmp_path).read() is None
    assert not Folder(tmp_path).running()


def test_all_run_folders_are_found(tmp_path: Path) -> None:
    for place in ("cells/a/seed0", "cells/a/seed1", "sft/m/seed0", "references/base-m/seed0", "data/x/seed0"):
        (tmp_path / place).mkdir(parents=True)
    found = [str(folder.path.relative_to(tmp_path)) for folder in folders(tmp_path)]
    assert found == ["sft/m/seed0", "references/base-m/seed0", "cells/a/seed0", "cells/a/seed1"]
