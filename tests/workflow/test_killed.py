"""Snakemake is killed, and the same command goes on; one that is alive is left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, project
from starlab import workplace
from starlab.lock import Lock, Owner


def locked(folder: Path, **owner: object) -> list[Path]:
    """Snakemake's lock files in `folder`, and the sign of another process."""
    files = [folder / f".snakemake/locks/0.{kind}.lock" for kind in ("input", "output")]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("results/x\n")
    if owner:
        other = folder / ".snakemake/starlab/other.lock"
        other.parent.mkdir(parents=True)
        other.write_text(json.dumps(asdict(replace(Owner.here(), **owner))))
    return files


@pytest.fixture(autouse=True)
def departures(monkeypatch: pytest.MonkeyPatch) -> list[Lock]:
    """Locks that are given back when the process ends, which a test does not."""
    left: list[Lock] = []
    monkeypatch.setattr(workplace, "atexit", SimpleNamespace(register=lambda _, lock: left.append(lock)))
    return left


def test_the_lock_of_nobody_is_removed(tmp_path: Path, departures: list[Lock]) -> None:
    files = locked(tmp_path, born="1")
    assert workplace.enter(tmp_path) == 2
    assert not any(path.exists() for path in files)
    (own,) = departures
    assert list(own.path.parent.iterdir()) == [own.path]
    workplace.leave(own)
    assert not own.path.exists()


@pytest.mark.parametrize("owner", [{"pid": os.getppid(), "born": ""}, {"host": "elsewhere"}])
def test_the_lock_of_a_living_process_stays(tmp_path: Path, owner: dict[str, object]) -> None:
    files = locked(tmp_path, **owner)
    assert workplace.enter(tmp_path) == 0
    assert all(path.exists() for path in files)


def test_a_folder_without_a_lock_is_entered(tmp_path: Path) -> None:
    assert workplace.enter(tmp_path) == 0


def test_the_same_command_goes_on_after_snakemake_was_killed(tmp_path: Path) -> None:
    snakemake, target = project(tmp_path), "results/data/training"
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", target]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list(tmp_path.glob(".snakemake/locks/*.lock")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert list(tmp_path.glob(".snakemake/locks/*.lock")), "it should have been killed at work"
    outcome = snakemake(target)
    assert outcome.status == 0 and (tmp_path / target).is_dir(), outcome.text
    assert "an earlier snakemake was killed in this folder" in outcome.text
