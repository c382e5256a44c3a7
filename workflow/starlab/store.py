"""The MLflow store: made before anything logs, and made again from the run folders.

It is created under a file lock, because several processes that open a fresh SQLite store at once crash in its
migration.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import StarlabError
from .measures import read_steps
from .runs import Folder, Run, Status, folders

KEY = "run"
"""The tag that holds a run's key."""
ARTIFACTS = (
    "metrics.jsonl", "progress.jsonl", "train.json", "evaluation.json", "queries.jsonl", "card.json", "done.json",
    "profile.md", "profile.svg",
)  # fmt: skip

logger = logging.getLogger(__name__)


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
