"""What every job of the workflow does around its work: its threads, its log file, and one clear line when it
fails."""

from __future__ import annotations

import gc
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .config import Experiment
from .errors import StarlabError, disk_full
from .experiment import validate
from .provenance import code_version, content_sha256
from .runs import MEASURED, Folder, Run
from .store import Store
from .termination import STOPPED
from .tracking import RunLogger

if TYPE_CHECKING:
    from .evaluation.panels import Panel

STAGES = {"run": "rl", "pivot": "rl", "reference": "evaluation", "profile_report": "profile"}
"""What a rule's runs are called; other rules are called as they are."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
PANELS = ("test", "training", "unseen", "unseen_world", "knowledge", "questions")
"""Names of the inputs that policies are measured on."""
GARBAGE = 50_000
"""Objects made between two garbage collections. Importing torch, transformers and TRL makes a million that stay: with
Python's 700 a tenth of a job's start goes into looking at them again and again."""


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
        gc.set_threshold(GARBAGE, 20, 50)
        self.log = Path(str(self.snakemake.log[0]))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.terminal = os.fdopen(os.dup(2), "w", encoding="utf-8")
        target = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in (1, 2):
            os.dup2(target, stream)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=FORMAT, force=True)
        return self

    def say(self, text: str) -> None:
        """One line to whoever watches, and to the log. That nobody watches any more, or a full disk, stops nothing."""
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)
        with suppress(OSError):
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
        self,
        name: str,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Path | Sequence[Path]],
        tags: Mapping[str, str],
    ) -> RunLogger:
        """The record of this job's run, in the folder of its first output; enter it to start the run.

        All that the run depends on is its identity: `settings`, what is in the files `inputs`, and, apart from those,
        how and on what it is evaluated. A run that was killed goes on only as the same run; what was trained is kept
        and measured again where only the evaluation has changed.
        """
        folder = Folder(Path(str(self.snakemake.output[0])).parent)
        seed = int(self.snakemake.wildcards.seed)
        stage = STAGES.get(self.snakemake.rule, self.snakemake.rule)
        identity = deepcopy(dict(settings))
        identity |= {"inputs": {key: content_sha256(*_listed(files)) for key, files in inputs.items()}}
        evaluation = self.snakemake.params.get("evaluation")
        if evaluation is not None:
            identity |= {MEASURED: {**evaluation, "panels": self._panel_hashes()}}
        run = Run(name, stage, seed, identity, {"code": code_version(), **tags})
        return RunLogger(self.store, folder, run, self.say)

    def _panel_hashes(self) -> dict[str, str]:
        """Hashes of what `panels` reads."""
        files = self.snakemake.input
        return {name: content_sha256(*_listed(files[name])) for name in PANELS}

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
        with suppress(OSError):  # a full disk: the line above has been said
            results = self.snakemake.config.get("results", Experiment.model_fields["results"].default)
            failures = Path(results, "logs", "failures.txt")
            failures.parent.mkdir(parents=True, exist_ok=True)
            with failures.open("a", encoding="utf-8") as file:
                file.write(told + "\n")
        # The traceback is in the log; a second copy on the terminal would bury the line above.
        raise SystemExit(STOPPED if isinstance(error, KeyboardInterrupt) else 1) from None


def _listed(files: Any) -> list[Path]:
    """One file or several, as Snakemake and scripts give them."""
    return [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]


def reason(error: BaseException, log: Path) -> str:
    """Why a job ended, in one line that says what to do."""
    if isinstance(error, StarlabError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "stopped; run the same command again and it goes on from its last checkpoint"
    if disk_full(error, log.parent):
        return "the disk is full; make room and run the same command again, finished results are kept"
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text[:300]} (traceback in {log})"
