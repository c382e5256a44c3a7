"""The folder of a run: what it is a run of, whether it is done, and that no two processes write it at once.

Everything a run makes lies in its folder, and that is the truth; MLflow is a copy. Beside the outputs that
the workflow declares there is `run.json` (what runs here, since when, how it ended) and `checkpoints/`. Both
are undeclared on purpose: Snakemake deletes declared outputs when a job fails, and these must survive.
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
from hashlib import sha256
from pathlib import Path
from typing import Any

from .errors import StarlabError

HEARTBEAT = 900.0
"""Seconds without a sign of life after which a run on another machine counts as dead."""


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
        """Hash of what the run depends on: a checkpoint of another fingerprint is not continued."""
        identity = [self.name, self.stage, self.seed, self.settings]
        return sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    @property
    def alive(self) -> bool:
        """Whether the process that wrote this still runs; only this machine's processes can be asked."""
        if self.status is not Status.RUNNING or self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


@dataclass(frozen=True)
class Folder:
    """Where a run writes."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """What a killed run resumes from."""
        return self.path / "checkpoints"

    @property
    def done(self) -> bool:
        """Whether the run has all its outputs: each stage writes one of these last."""
        return (self.path / "evaluation.json").exists() or (self.path / "done.json").exists()

    def read(self) -> Run | None:
        """What runs or ran here; None if nothing did or the record was cut off."""
        try:
            record = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            return Run(**{**record, "status": Status(record["status"])})
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, run: Run) -> None:
        """Replace the record in one step, so that a reader never sees half of it."""
        draft = self.path / f"run.json.{os.getpid()}"
        draft.write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")
        draft.replace(self.path / "run.json")

    def running(self) -> bool:
        """Whether a process is at work here: on this machine by its id, elsewhere by how lately it wrote."""
        run = self.read()
        if run is None or run.status is not Status.RUNNING:
            return False
        if run.host == socket.gethostname():
            return run.alive
        return time.time() - self.last_write() < HEARTBEAT

    def last_write(self) -> float:
        """Time of the newest file of the run."""
        files = [self.path / "run.json", self.path / "metrics.jsonl", *self.checkpoints.glob("*")]
        return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)

    def claim(self, run: Run) -> tuple[Run, bool]:
        """Take the folder for `run`: (the run as started, whether it resumes). StarlabError if it is taken.

        Checkpoints of a run with other settings are thrown away; those of the same run are kept and
        continued.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        previous = self.read()
        if self.running():
            assert previous is not None
            raise StarlabError(
                f"{self.path} is being written by process {previous.pid} on {previous.host};"
                " wait for it or end it, then run again"
            )
        same = previous is not None and previous.fingerprint == run.fingerprint
        resumes = same and self.checkpoints.is_dir() and any(self.checkpoints.iterdir())
        if not resumes:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.checkpoints.mkdir(exist_ok=True)
        started = replace(run, started=time.time(), host=socket.gethostname(), pid=os.getpid())
        self.write(started)
        return started, resumes

    def finish(self, run: Run, status: Status) -> Run:
        """Record how the run ended; the checkpoints of a finished one are no longer needed."""
        ended = replace(run, status=status, ended=time.time())
        if status is Status.FINISHED:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
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
