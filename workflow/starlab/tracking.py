"""MLflow: a copy of the run folders that people can look at while runs go.

Nothing here may stop a run: whatever MLflow throws becomes one warning, and the run goes on with its files
alone. `rebuild` makes the store again from the run folders. The store is created under a file lock, because
several processes that open a fresh SQLite store at once crash in its migration.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIG_IGN, SIGTERM
from types import TracebackType
from typing import Any, TypeVar

from .errors import StarlabError
from .lock import Lock
from .measures import evaluation_measures, known, read_rows, read_steps
from .runs import Claim, Folder, Run, Status, folders
from .termination import at_once, handled

FLUSH_EVERY = 200
"""Metrics that are collected before a batch is sent; one batch costs what one metric does."""
FLUSH_AFTER = 10.0
"""Seconds after which a batch is sent anyway, so that the web page follows the run."""
KEY = "run"
"""The tag that holds a run's key."""
ARTIFACTS = (
    "metrics.jsonl", "progress.jsonl", "train.json", "evaluation.json", "queries.jsonl", "card.json", "done.json",
    "profile.md", "profile.svg",
)  # fmt: skip

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Store:
    """Where runs are logged. Without a `uri` a SQLite file in the results folder."""

    results: Path
    uri: str | None = None
    experiment: str = "starlab"
    enabled: bool = True
    file: str = "mlflow.db"

    @property
    def address(self) -> str:
        """The tracking URI; MLFLOW_TRACKING_URI wins, as MLflow's users expect."""
        return os.environ.get("MLFLOW_TRACKING_URI") or self.uri or f"sqlite:///{self.database.absolute()}"

    @property
    def local(self) -> bool:
        """Whether the store is the file in the results folder."""
        return self.address == f"sqlite:///{self.database.absolute()}"

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.results / self.file

    @property
    def artifacts(self) -> Path:
        """Copies of the runs' small files."""
        return self.results / "mlartifacts"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among the processes of this machine."""
        self.results.mkdir(parents=True, exist_ok=True)
        with (self.results / ".mlflow.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def open(self) -> tuple[Any, str]:
        """(MlflowClient, id of the experiment); creates both when they are not there yet."""
        # MLflow would retry a dead server for minutes and report usage to its makers.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.ERROR)
        from mlflow import MlflowClient

        with self.locked():
            client = MlflowClient(tracking_uri=self.address)
            found = client.get_experiment_by_name(self.experiment)
            if found is not None:
                return client, found.experiment_id
            location = self.artifacts.absolute().as_uri() if self.local else None
            return client, client.create_experiment(self.experiment, artifact_location=location)


@dataclass
class RunLogger:
    """One run in one folder: `with RunLogger(store, folder, run) as log: log.step(1, {"reward": 0.4})`.

    Entering claims the folder (StarlabError if another process has it); leaving records in the folder and in
    MLflow whether the run FINISHED, FAILED or was KILLED. `resumes` says whether checkpoints of the same training
    are there. A run that goes on after a kill is the same MLflow run: what the kill kept from MLflow is sent again.
    """

    store: Store
    folder: Folder
    run: Run
    say: Callable[[str], None] = logger.warning
    """Tells the user a line."""
    resumes: bool = False
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
        self.run, self.resumes, self._lock = claim.run, claim.resumes, claim.lock
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
        for step, numbers in read_rows(self.folder.checkpoints / "metrics.jsonl"):
            if step > self._logged_until:
                self._collect(step, numbers)
                self._logged_until = step

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


def find(client: Any, experiment: str, key: str) -> list[str]:
    """Ids of the MLflow runs of that key: one, or none. The key is ours, so that a kill right after MLflow has made a
    run does not leave it an orphan."""
    if not key:
        return []
    return [run.info.run_id for run in client.search_runs([experiment], f"tags.`{KEY}` = '{key}'", max_results=10)]


def create(client: Any, experiment: str, run: Run) -> str:
    """A new MLflow run for `run`, named and described by it."""
    start = int(run.started * 1000)
    made = client.create_run(experiment, start_time=start, tags={KEY: run.key}, run_name=run.title)
    describe(client, made.info.run_id, run)
    return str(made.info.run_id)


def describe(client: Any, run_id: str, run: Run) -> None:
    """Tag an MLflow run with what `run` is, with the settings as parameters; to say the same twice is no error."""
    from mlflow.entities import Param, RunTag

    tags = {"cell": run.name, "seed": str(run.seed), "stage": run.stage, **run.tags}
    client.log_batch(
        run_id,
        params=[Param(name, str(value)) for name, value in flat(run.settings)],
        tags=[RunTag(name, str(value)) for name, value in tags.items()],
    )


def flat(settings: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings as `section.name`, values as they are."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def upload(client: Any, run_id: str, folder: Folder) -> None:
    """Copy the small files of a run to MLflow; weights stay in the folder only."""
    client.set_tag(run_id, "folder", str(folder.path))
    for name in ARTIFACTS:
        if (folder.path / name).exists():
            client.log_artifact(run_id, str(folder.path / name))


def rebuild(store: Store) -> int:
    """Make the local store again from the run folders; the number of runs in it.

    The new database is complete before it takes the place of the old one.
    """
    from mlflow.entities import Metric

    if not store.local:
        raise StarlabError(f"only the store in {store.results} can be rebuilt, not {store.address}")
    busy = [folder.path for folder in folders(store.results) if folder.running()]
    if busy:
        raise StarlabError(f"{busy[0]} is being written; rebuild when no run is going")
    draft = replace(store, file=".mlflow-rebuild.db", uri=None)
    draft.database.unlink(missing_ok=True)
    client, experiment = draft.open()
    made = set()
    for folder in folders(store.results):
        run = folder.read()
        if run is None:
            continue
        run_id = create(client, experiment, run)
        points = [
            Metric(name, float(value), int(run.started * 1000) + step, step)
            for step, measured in read_steps(folder.path)
            for name, value in measured.items()
            if known(name)
        ]
        for start in range(0, len(points), 1000):
            client.log_batch(run_id, metrics=points[start : start + 1000])
        upload(client, run_id, folder)
        status = Status.KILLED if run.status is Status.RUNNING else run.status
        client.set_terminated(run_id, status, end_time=int((run.ended or folder.last_write()) * 1000))
        made.add(run_id)
    draft.database.replace(store.database)
    for path in store.artifacts.glob("*"):
        if path.name not in made:
            shutil.rmtree(path)
    return len(made)


def initialise(store: Store) -> None:
    """Create the store before anything logs. A failure is a warning, as everywhere in tracking."""
    try:
        if store.enabled:
            store.open()
    except Exception as error:
        logger.warning("MLflow store %s cannot be created, runs go on without it: %s", store.address, error)
