"""A run's own record: JSON lines, one a step, which survive kills and resumes; whoever wants them live gets a
call.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ..errors import StarlabError
from ..files import write_atomically

Log = Callable[[int, dict[str, float]], None]
"""(step, numbers): told once per step, e.g. to MLflow."""


def step_rows(path: Path) -> Iterator[dict[str, float]]:
    """The lines of a file that `append_row` wrote, none if it is not there; a line that a kill cut off ends them."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            row["step"]
        except (ValueError, KeyError, TypeError):
            return
        yield row


def keep_rows(path: Path, rows: Iterable[Mapping[str, float]]) -> None:
    """Put `rows` in the place of the lines of the file."""
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))


def append_row(path: Path, row: Mapping[str, float]) -> None:
    """Add a line, which a power cut does not take away again."""
    with path.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(row, allow_nan=False) + "\n")
        handle.flush()
        os.fsync(handle.fileno())


class Record:
    """`metrics.jsonl` of a run in progress. Values are finite floats; `step` counts from 1."""

    def __init__(self, path: Path, log: Log | None = None) -> None:
        self.path, self._log = path, log
        self.history: list[dict[str, float]] = []
        """The lines so far."""

    @property
    def last(self) -> dict[str, float]:
        """The newest line; empty before the first."""
        return self.history[-1] if self.history else {}

    def resume(self, step: int) -> None:
        """Keep the lines up to `step`: what came after them will be computed again.

        StarlabError if one of them is missing, since what follows may depend on it.
        """
        kept = [row for row in step_rows(self.path) if row["step"] <= step]
        if [row["step"] for row in kept] != list(range(1, step + 1)):
            raise StarlabError(
                f"{self.path}: there is a checkpoint of step {step}, but not a line for each step up to it;"
                f" remove {self.path.parent} and run again, the run then starts afresh"
            )
        self.history = kept
        keep_rows(self.path, kept)

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Append a line and pass it on."""
        row = {"step": step, **numbers}
        append_row(self.path, row)
        self.history.append(row)
        if self._log is not None:
            self._log(step, dict(numbers))


class Clock:
    """Wall and processor seconds of this process since it was made."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {
            "wall_seconds": round(time.perf_counter() - self.wall, 3),
            "processor_seconds": round(time.process_time() - self.processor, 3),
        }
