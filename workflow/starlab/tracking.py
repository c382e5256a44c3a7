"""MLflow: a copy of the run folders that people can look at while runs go.

Nothing here may stop a run: whatever MLflow throws becomes one warning, and the run goes on with its files
alone; `store.rebuild` makes the store again from the run folders.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from signal import SIG_IGN, SIGTERM
from types import TracebackType
from typing import Any, TypeVar

from .lock import Lock
from .measures import evaluation_measures, known, read_records
from .runs import Claim, Folder, Run, Status
from .store import Store, create, describe, find, upload
from .termination import at_once, handled

FLUSH_EVERY = 200
"""Metrics that are collected before a batch is sent; one batch costs what one metric does."""
FLUSH_AFTER = 10.0
"""Seconds after which a batch is sent anyway, so that the web page follows the run."""

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass
class RunLogger:
    """One run in one folder: `with RunLogger(store, folder, run) as log: log.step(1, {"reward": 0.4})`.

    Entering claims the folder (StarlabError if another process has it); leaving records in the folder and in
    MLflow whether the run FINISHED, FAILED or was KILLED. A run that goes on after a kill is the same MLflow run: what
    the kill kept from MLflow is sent again.
    """

    store: Store
    folder: Folder
    run: Run
    say: Callable[[str], None] = logger.warning
    """Tells the user a line."""
    _lock: Lock | None = None
    _client: Any = None
    _id: str = ""
    _batch: list[Any] = field(default_factory=list)
    _sent: float = 0.0
    _logged_until: int = -1
    _unknown: set[str] = field(default_factory=set)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> RunLogger:
        claim = self.folder.claim(self.run)
        self.run, self._lock = claim.run, claim.lock
        if claim.taken_from is not None:
            self.say(f"{self.run.title}: {claim.taken_from} left without a word; this one goes on in its place")
        self._stack.enter_context(handled(at_once, SIGTERM))
        if self.store.enabled:
            self._attempt(lambda: self._begin(claim))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with handled(SIG_IGN, SIGTERM):  # what is written below is whole
            if kind is None:
                status = Status.FINISHED
            else:
                status = Status.KILLED if issubclass(kind, KeyboardInterrupt) else Status.FAILED
            self._attempt(lambda: self._end(status))
            try:  # last: a kill before this line leaves a run that goes on, not one that starts again
                self.run = self.folder.finish(self.run, status)
            except OSError as problem:  # a full disk, most likely: the run counts as killed
                logger.warning("%s: cannot record how the run ended (%s)", self.folder.path, problem)
            if self._lock is not None:
                self._lock.release()
        self._stack.close()

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Metrics of one step, by the names of `measures.py`; others are left out with one warning."""
        if self._lock is not None:
            self._lock.check()
        if step > self._logged_until:
            self._attempt(lambda: self._collect(step, metrics))

    def evaluation(self, result: Mapping[str, Any], step: int) -> None:
        """All numbers of an evaluation."""
        self._attempt(lambda: self._collect(step, evaluation_measures(result)))

    def alarm(self, name: str, step: int, meaning: str) -> None:
        """Tag the run, here and in MLflow, with an alarm and the step it was raised at, and tell the user."""
        self.say(f"{self.run.title}: alarm {name} at step {step}: {meaning}")
        tag = f"alarm.{name}"
        self.run = replace(self.run, tags={**self.run.tags, tag: f"step {step}"})
        self.folder.write(self.run)
        if self._client is not None:
            self._attempt(lambda: self._client.set_tag(self._id, tag, f"step {step}"))

    def _attempt(self, action: Callable[[], T]) -> T | None:
        """Do something with MLflow; the first failure turns it off for this run."""
        if not self.store.enabled:
            return None
        try:
            return action()
        except Exception as error:
            self.store = replace(self.store, enabled=False)
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            logger.warning("MLflow failed; the run goes on, `starlab tracking rebuild` adds it later: %s", reason)
            return None

    def _begin(self, claim: Claim) -> None:
        client, experiment = self.store.open()
        # One run for each cell and seed: a run that starts afresh takes the place of the earlier one.
        for replaced in find(client, experiment, claim.replaced):
            client.delete_run(replaced)
        found = find(client, experiment, self.run.key)
        if found:
            self._id = found[0]
            client.update_run(self._id, status=Status.RUNNING)
            describe(client, self._id, self.run)
            history = [client.get_metric_history(self._id, name) for name in ("reward", "loss")]
            self._logged_until = max((point.step for points in history for point in points), default=-1)
        else:
            self._id = create(client, experiment, self.run)
        self._client, self._sent = client, time.monotonic()
        sent = self._logged_until
        for step, numbers in read_records(self.folder.checkpoints):
            if step > sent:
                self._collect(step, numbers)
                self._logged_until = max(self._logged_until, step)

    def _collect(self, step: int, metrics: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        if self._client is None:
            return
        now = int(time.time() * 1000)
        for name, value in metrics.items():
            if known(name):
                self._batch.append(Metric(name, float(value), now, step))
            elif name not in self._unknown:
                self._unknown.add(name)
                logger.warning("metric %r is not in the vocabulary (measures.py) and is not logged", name)
        if len(self._batch) >= FLUSH_EVERY or time.monotonic() - self._sent > FLUSH_AFTER:
            self._flush()

    def _flush(self) -> None:
        for start in range(0, len(self._batch), 1000):  # MLflow takes at most 1000 at a time
            self._client.log_batch(self._id, metrics=self._batch[start : start + 1000])
        self._batch, self._sent = [], time.monotonic()

    def _end(self, status: Status) -> None:
        if self._client is None:
            return
        self._flush()
        upload(self._client, self._id, self.folder)
        self._client.set_terminated(self._id, status)
