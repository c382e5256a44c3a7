"""A run folder: taken by one process, resumed only by the same run, and its record always whole."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.runs import Folder, Run, Status, folders

RUN = Run("m-macro-grpo-mixed1000-noise0", "rl", 0, {"lr": 1e-4, "settings": {}})


def test_a_fresh_folder_starts_and_a_killed_one_resumes(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "seed0")
    started, resumes = folder.claim(RUN)
    assert not resumes and folder.running()
    (folder.checkpoints / "checkpoint-2").mkdir()
    folder.finish(started, Status.KILLED)
    assert not folder.running()
    assert folder.claim(RUN)[1]


def test_checkpoints_of_other_settings_are_not_continued(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    started, _ = folder.claim(RUN)
    (folder.checkpoints / "checkpoint-2").mkdir()
    folder.finish(started, Status.FAILED)
    _, resumes = folder.claim(replace(RUN, settings={"lr": 2e-4, "settings": {}}))
    assert not resumes and not any(folder.checkpoints.iterdir())


def test_a_finished_run_leaves_no_checkpoints_and_starts_afresh(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    started, _ = folder.claim(RUN)
    (folder.checkpoints / "checkpoint-2").mkdir()
    folder.finish(started, Status.FINISHED)
    assert not folder.checkpoints.exists()
    assert not folder.claim(RUN)[1]


def test_a_folder_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.claim(RUN)
    with pytest.raises(StarlabError, match=f"is being written by process {os.getpid()}"):
        folder.claim(RUN)


def test_a_process_that_died_without_a_word_does_not_hold_the_folder(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    started, _ = folder.claim(RUN)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    folder.write(replace(started, pid=gone.pid))
    assert not folder.running()
    folder.claim(RUN)


def test_a_run_on_another_machine_is_alive_as_long_as_it_writes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    started, _ = folder.claim(RUN)
    folder.write(replace(started, host="elsewhere"))
    assert folder.running()
    for path in tmp_path.rglob("*"):
        os.utime(path, (1.0, 1.0))
    assert not folder.running()


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
