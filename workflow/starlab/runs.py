"""The folder of a run: what it is a run of, whether it is done, and what a run that takes it goes on from.

Everything a run makes lies in its folder, and that is the truth; MLflow is a copy. Beside the outputs that
the workflow declares there are `run.json` (what runs here, since when, how it ended), `run.lock` (who is at work,
see `lock`) and `checkpoints/`. They are undeclared on purpose: Snakemake deletes declared outputs when a job fails or
starts again, and these must survive.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import uuid4

from .files import write_atomically
from .lock import Lock, Owner
from .provenance import text_sha256

MEASURED = "evaluation"
"""Key of the settings that say how and on what a trained run is measured: its weights do not depend on them."""


class Status(StrEnum):
    """How a run stands; the words are MLflow's."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"


@dataclass(frozen=True)
class Run:
    """What runs in a folder. `settings` is all it depends on; `tags` are for people and searches."""

    name: str
    stage: str
    seed: int
    settings: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)
    status: Status = Status.RUNNING
    key: str = ""
    """Names the run in MLflow; kept when it goes on after a kill."""
    started: float = 0.0
    ended: float | None = None
    host: str = ""
    pid: int = 0

    @property
    def title(self) -> str:
        """Name and seed, as MLflow shows it."""
        return f"{self.name}/seed{self.seed}"

    @property
    def fingerprint(self) -> str:
        """Hash of what the results depend on."""
        return self._hash(self.settings)

    @property
    def training(self) -> str:
        """Hash of what the weights depend on: a checkpoint of another one is not continued."""
        return self._hash({name: value for name, value in self.settings.items() if name != MEASURED})

    def _hash(self, settings: Mapping[str, Any]) -> str:
        identity = [self.name, self.stage, self.seed, settings]
        return text_sha256(json.dumps(identity, sort_keys=True))


@dataclass(frozen=True)
class Claim:
    """A folder that was taken for a run: `run` as it starts, the lock to release when it is over."""

    run: Run
    lock: Lock
    replaced: str = ""
    """Key of the run that this one takes the place of; empty if there was none, or it is the same one."""
    taken_from: Owner | None = None
    """The process whose lock was found, and which is gone."""


@dataclass(frozen=True)
class Folder:
    """Where a run writes."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """What a killed run resumes from."""
        return self.path / "checkpoints"

    @property
    def lock(self) -> Lock:
        """Who is at work here."""
        return Lock(self.path / "run.lock")

    @property
    def measured(self) -> bool:
        """Whether the run of a cell has all its outputs: this is the last."""
        return (self.path / "evaluation.json").exists()

    def read(self) -> Run | None:
        """What runs or ran here; None if nothing did or the record was cut off."""
        try:
            record = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            return Run(**{**record, "status": Status(record["status"])})
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, run: Run) -> None:
        """Replace the record in one step, so that a reader never sees half of it."""
        write_atomically(self.path / "run.json", json.dumps(asdict(run), indent=1) + "\n")

    def running(self) -> bool:
        """Whether a process is at work here."""
        return self.lock.held

    def last_write(self) -> float:
        """Time of the newest file of the run."""
        files = [self.path / "run.json", self.path / "metrics.jsonl", *self.checkpoints.glob("*")]
        return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)

    def claim(self, run: Run) -> Claim:
        """Take the folder for `run`; StarlabError if a process is at work in it.

        Checkpoints of another training are thrown away; those of the same are kept and continued, also if it is to be
        measured in another way. A finished run that is run once more, with nothing changed, starts from nothing.
        """
        lock = self.lock
        taken_from = lock.take()
        previous = self.read()
        again = previous is not None and previous.fingerprint == run.fingerprint
        over = previous is not None and previous.status is Status.FINISHED
        same = previous is not None and previous.training == run.training and not (again and over)
        if not same:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.checkpoints.mkdir(exist_ok=True)
        earlier = previous.key if previous is not None else ""
        key = earlier if again and not over and earlier else uuid4().hex
        started = replace(run, key=key, started=time.time(), host=socket.gethostname(), pid=os.getpid())
        self.write(started)
        return Claim(started, lock, "" if key == earlier else earlier, taken_from)

    def finish(self, run: Run, status: Status) -> Run:
        """Record how the run ended. Of a finished one only what was trained is kept, to be measured in another way."""
        ended = replace(run, status=status, ended=time.time())
        if status is Status.FINISHED:
            if MEASURED not in run.settings or not any(self.checkpoints.glob("*")):
                shutil.rmtree(self.checkpoints, ignore_errors=True)
            for checkpoint in self.checkpoints.glob("checkpoint-*"):
                shutil.rmtree(checkpoint, ignore_errors=True)
        self.write(ended)
        return ended


def folders(results: Path) -> Iterator[Folder]:
    """Every run folder under `results`, of all stages, in a stable order."""
    for pattern in ("sft/*/seed*", "pivot/*/seed*", "references/*/seed*", "cells/*/seed*"):
        for path in sorted(results.glob(pattern)):
            if path.is_dir():
                yield Folder(path)


def cell_folder(results: Path, cell: str, seed: int) -> Folder:
    """Folder of one cell and seed."""
    return Folder(results / "cells" / cell / f"seed{seed}")
