"""A run that is killed, at any moment and as often as you like, ends in the bytes of one that is not.

Runs go in forked processes, which have everything imported already, and are really killed (SIGKILL). Where: before an
operation on a file of the results, drawn by a seed, or at a point that is named.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from starlab import store
from starlab.errors import StarlabError
from starlab.evaluation import evaluate as evaluating
from starlab.evaluation import run as evaluation
from starlab.evaluation.panels import Panel
from starlab.protocol import Message, ToolCall
from starlab.runs import MEASURED, Folder, Run, Status
from starlab.store import Store, initialise
from starlab.tasks import Grade, Task
from starlab.tasks import Status as Answered
from starlab.termination import STOPPED, Killed
from starlab.tracking import RunLogger
from starlab.training import checkpoints, rl
from starlab.training.callbacks import StepCallback
from starlab.training.recording import Record
from starlab.training.rl import RlSpec, train_rl

SPEC = RlSpec(
    seed=3, reward="adaptive", algorithm="dapo", settings={"refills": 1}, steps=4, prompts=2, group=4, lr=3e-3,
    max_tokens=120, max_turn_tokens=30, save_every=2, noise=0.2, decay=0.5,
)  # fmt: skip
OUTPUTS = ("model.safetensors", "config.json", "tokenizer.json", "evaluation.json", "queries.jsonl")
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.utime", "os.truncate"}


@dataclass(frozen=True)
class Quiz:
    """A task as it is asked in an evaluation: with success as its only metric."""

    task: Task
    level: str = "easy"
    domain: str = "travel"

    @property
    def id(self) -> str:
        return self.task.id

    def prompt(self) -> list[Message]:
        return self.task.prompt()

    def call(self, call: ToolCall) -> str:
        return self.task.call(call)

    def grade(self, answer: str | None) -> Grade:
        return Grade(Answered.OK if answer else Answered.UNDELIVERED, {"success": float(answer == "1")})


class Job:
    """What one job of the workflow does: train, then measure, in a process of its own."""

    def __init__(self, results: Path, start: Path, tasks: list[Task], spec: RlSpec = SPEC) -> None:
        self.results, self.start, self.tasks, self.spec = results, start, tasks, spec
        self.folder, self.temperature = Folder(results / "cells/cell/seed3"), 0.7

    def work(self) -> None:
        panel = Panel("test", "knowledge", "0", "0", tuple(map(Quiz, self.tasks)))
        how = evaluation.Settings(self.temperature, max_tokens=120, turn_tokens=30)
        run = Run("cell", "rl", 3, {"spec": asdict(self.spec), MEASURED: asdict(how)})
        with RunLogger(Store(self.results), self.folder, run) as log:
            out = self.folder.path
            train_rl(self.spec, self.tasks, self.start, out, log.step, self.folder.checkpoints, log.alarm)
            header = {"config_sha256": log.run.fingerprint}
            result = evaluation.run(out, [panel], how, 3, out, header=header)
            log.evaluation(result, self.spec.steps)

    def run(self, prepare: Callable[[], None] = lambda: None) -> int:
        """Run in a fork of this process, after `prepare`; the exit status, negative for the signal that ended it."""
        pid = os.fork()
        if pid == 0:
            try:
                os.environ.pop("MLFLOW_TRACKING_URI", None)
                torch.set_num_threads(1)  # a fork has only this one
                prepare()
                self.work()
                os._exit(0)
            except KeyboardInterrupt:
                os._exit(STOPPED)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def outputs(self) -> dict[str, bytes]:
        return {name: (self.folder.path / name).read_bytes() for name in OUTPUTS}

    def mlflow(self) -> tuple[list[str], list[tuple[int, float]], int]:
        """Status of every MLflow run, the points of the success curve, and the number of parameters."""
        with sqlite3.connect(self.results / "mlflow.db") as database:
            statuses = [row[0] for row in database.execute("select status from runs where lifecycle_stage = 'active'")]
            points = database.execute("select step, value from metrics where key = 'success' order by step, timestamp")
            return statuses, list(points), database.execute("select count(*) from params").fetchone()[0]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before_change(folder: Path, number: int) -> Callable[[], None]:
    """Kill before the `number`th operation that changes a file below `folder`."""

    def prepare() -> None:
        left = number

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if (event in CHANGES or writes) and str(arguments[0]).startswith(str(folder)):
                left -= 1
                if left == 0:
                    die()

        sys.addaudithook(hook)

    return prepare


def while_mlflow_makes_the_run() -> None:
    """It is there, without tags and parameters, and nobody was told its id."""
    store.describe = lambda *_: die()


def between_updates() -> None:
    """A step has two updates: its buffer is half used."""
    StepCallback.on_step_end = lambda self, args, state, control, **_: die() if state.global_step == 5 else None


def before_the_checkpoint() -> None:
    """The step is complete and on record."""
    write = Record.write
    Record.write = lambda self, step, numbers: (write(self, step, numbers), die() if step == 2 else None)[0]


def in_a_checkpoint() -> None:
    """The optimizer's half of the second checkpoint is on the disk."""
    save = torch.save

    def torn(what: object, path: str, *rest: object, **others: object) -> None:
        save(what, path, *rest, **others)
        if "checkpoint-8" in str(path):
            os.truncate(path, os.path.getsize(path) // 2)  # noqa: PTH202
            die()

    torch.save = torn


def in_the_evaluation() -> None:
    """Training is over, its outputs are written."""
    evaluating.aggregate = lambda *_: die()


def after_everything() -> None:
    """All outputs are there; only the record says that the run goes on."""
    Folder.finish = lambda self, run, status: die()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An empty MLflow store. Making it here also imports all that MLflow needs, once for all forks."""
    results = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        initialise(Store(results))
    return (results / "mlflow.db").read_bytes()


@pytest.fixture
def job(tmp_path: Path, start: Path, tasks: list[Task], database: bytes) -> Job:
    (tmp_path / "mlflow.db").write_bytes(database)
    return Job(tmp_path, start, tasks)


@pytest.fixture(scope="module")
def whole(start: Path, tasks: list[Task], database: bytes, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A run that nobody killed."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "mlflow.db").write_bytes(database)
    job = Job(folder, start, tasks)
    assert job.run() == 0
    return job


def check(job: Job, whole: Job) -> None:
    """`job` has ended as `whole` did, in one MLflow run with the whole curve."""
    assert job.outputs() == whole.outputs()
    statuses, curve, parameters = job.mlflow()
    assert statuses == ["FINISHED"] and dict(curve) == dict(whole.mlflow()[1]) and parameters == whole.mlflow()[2]
    record = job.folder.read()
    assert record is not None and record.status is Status.FINISHED and not job.folder.running()
    assert [path.name for path in job.folder.checkpoints.glob("checkpoint-*")] == []


@pytest.mark.parametrize("seed", [0])
def test_killed_again_and_again_at_random(job: Job, whole: Job, seed: int) -> None:
    rng = random.Random(seed)
    kills = 0
    while (status := job.run(before_change(job.results, rng.randint(1, 90) if kills < 5 else 10**9))) != 0:
        assert status == -signal.SIGKILL
        kills += 1
    assert kills >= 2
    check(job, whole)


@pytest.mark.parametrize(
    "point",
    [
        while_mlflow_makes_the_run,
        between_updates,
        before_the_checkpoint,
        in_a_checkpoint,
        in_the_evaluation,
        after_everything,
    ],
)
def test_killed_at(job: Job, whole: Job, point: Callable[[], None]) -> None:
    assert job.run(point) == -signal.SIGKILL
    assert job.run() == 0
    check(job, whole)


def test_a_run_that_is_told_to_stop_saves_its_step_first(job: Job, whole: Job) -> None:
    """SIGTERM between the two updates of step 3, whose checkpoint is not due."""

    def prepare() -> None:
        end = StepCallback.on_step_end

        def told(self: StepCallback, args: object, state: Any, control: object, **others: object) -> None:
            if state.global_step == 5:
                os.kill(os.getpid(), signal.SIGTERM)
            end(self, args, state, control, **others)

        StepCallback.on_step_end = told

    assert job.run(prepare) == STOPPED
    record = job.folder.read()
    assert record is not None and record.status is Status.KILLED and not job.folder.running()
    assert checkpoints.newest(job.folder.checkpoints).name == "checkpoint-6"
    assert job.run() == 0
    check(job, whole)


def test_told_twice_it_stops_at_once(start: Path, tasks: list[Task], tmp_path: Path) -> None:
    def log(step: int, numbers: dict[str, float]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second signal should have ended the run")

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Killed):
        train_rl(replace(SPEC, save_every=1), tasks, start, tmp_path, log)
    assert checkpoints.newest(tmp_path / "checkpoints") is None
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_evaluation_does_not_train_again(job: Job, whole: Job) -> None:
    assert job.run() == 0
    for path in job.folder.path.iterdir():  # as Snakemake does with outputs before it runs a job
        if path.is_file() and path.suffix != ".lock" and path.name != "run.json":
            path.unlink()

    def prepare() -> None:
        rl._train = lambda *_: die()

    job.temperature = 0.1
    assert job.run(prepare) == 0
    now, before = job.outputs(), whole.outputs()
    assert (
        now["model.safetensors"] == before["model.safetensors"] and now["evaluation.json"] != before["evaluation.json"]
    )
    statuses, curve, _ = job.mlflow()
    assert statuses == ["FINISHED"] and {step for step, _ in curve} >= {1, 2, 3, 4}


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("StorageFull: file write failed")]
)
def test_a_full_disk_keeps_the_checkpoint_before(
    whole: Job, start: Path, tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    save = torch.save

    def full(what: object, path: str, *rest: object, **others: object) -> None:
        if "checkpoint-8" in str(path):
            raise error
        save(what, path, *rest, **others)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        with pytest.raises(StarlabError, match="checkpoint-8: the disk is full, checkpoint-4 is kept; make room"):
            train_rl(SPEC, tasks, start, tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").glob("checkpoint-*")] == ["checkpoint-4"]
    assert train_rl(SPEC, tasks, start, tmp_path)["resumed_at"] == 2
    assert (tmp_path / "model.safetensors").read_bytes() == whole.outputs()["model.safetensors"]


def test_another_failure_to_write_is_not_called_a_full_disk(
    start: Path, tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **others: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(torch, "save", broken)
    with pytest.raises(PermissionError):
        train_rl(replace(SPEC, save_every=1), tasks, start, tmp_path)
    assert not list((tmp_path / "checkpoints").glob("checkpoint-*"))
