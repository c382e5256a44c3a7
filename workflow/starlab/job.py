"""What every job of the workflow does around its work: its threads, its log file, and one clear line when it
fails."""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .config import Experiment
from .errors import StarlabError
from .experiment import validate
from .provenance import code_version, file_sha256
from .runs import Folder, Run
from .tracking import RunLogger, Store

if TYPE_CHECKING:
    from .evaluation.panels import Panel

STAGES = {"run": "rl", "pivot": "rl", "reference": "evaluation", "profile_report": "profile"}
"""What a rule's runs are called; other rules are called as they are."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass
class Job:
    """`with Job(snakemake) as job:`; a script opens it before it imports anything heavy.

    Whatever is printed or logged goes to the rule's log file; `say` and the reason of a failure go to the
    terminal.
    """

    snakemake: Any

    def __enter__(self) -> Job:
        threads = str(self.snakemake.threads)
        # Read once, when the numeric libraries are first imported.
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = threads
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        self.log = Path(str(self.snakemake.log[0]))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.terminal = os.fdopen(os.dup(2), "w", encoding="utf-8")
        target = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in (1, 2):
            os.dup2(target, stream)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=FORMAT, force=True)
        return self

    def say(self, text: str) -> None:
        """One line to whoever watches, and to the log."""
        print(text, file=sys.stderr, flush=True)
        print(f"starlab: {text}", file=self.terminal, flush=True)

    @property
    def experiment(self) -> Experiment:
        """The whole experiment, for what is logged only: what a result depends on reaches a job through
        params."""
        return validate(self.snakemake.config)

    @property
    def store(self) -> Store:
        """Where this experiment's runs are logged."""
        experiment = self.experiment
        return Store(Path(experiment.results), **experiment.tracking.model_dump())

    def run(
        self, name: str, settings: Mapping[str, Any], inputs: Mapping[str, Path], tags: Mapping[str, str]
    ) -> RunLogger:
        """The record of this job's run, in the folder of its first output; enter it to start the run.

        All that the run depends on is its identity: `settings`, how it is evaluated, and what is in the files
        `inputs`. A run that was killed goes on only as the same run.
        """
        folder = Folder(Path(str(self.snakemake.output[0])).parent)
        seed = int(self.snakemake.wildcards.seed)
        stage = STAGES.get(self.snakemake.rule, self.snakemake.rule)
        identity = deepcopy(dict(settings))
        identity |= {"evaluation": dict(self.snakemake.params.get("evaluation", {}))}
        identity |= {"inputs": {key: file_sha256(path) for key, path in inputs.items()}}
        return RunLogger(self.store, folder, Run(name, stage, seed, identity, {"code": code_version(), **tags}))

    def panels(self) -> list[Panel]:
        """What policies are measured on: trips in both databases, and knowledge questions."""
        from .evaluation.panels import knowledge_panel, travel_panel

        files = self.snakemake.input
        return [
            travel_panel("test", Path(files.test), Path(files.training)),
            travel_panel("unseen", Path(files.unseen), Path(files.unseen_world)),
            knowledge_panel("knowledge", Path(files.questions[0]).parent, Path(files.knowledge)),
        ]

    @property
    def title(self) -> str:
        """What the job is about: its rule and the values of its wildcards."""
        values = " ".join(str(value) for value in self.snakemake.wildcards)
        return f"{self.snakemake.rule} {values}".strip()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if not isinstance(error, StarlabError):
            traceback.print_exception(error)
        told = f"{self.title}: {reason(error, self.log)}"
        self.say(told)
        failures = Path(self.snakemake.config["results"], "logs", "failures.txt")
        failures.parent.mkdir(parents=True, exist_ok=True)
        with failures.open("a", encoding="utf-8") as file:
            file.write(told + "\n")
        # The traceback is in the log; a second copy on the terminal would bury the line above.
        raise SystemExit(143 if isinstance(error, KeyboardInterrupt) else 1) from None


def reason(error: BaseException, log: Path) -> str:
    """Why a job ended, in one line that says what to do."""
    if isinstance(error, StarlabError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "stopped; run the same command again and it goes on from its last checkpoint"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; make room and run the same command again, finished results are kept"
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text[:300]} (traceback in {log})"
