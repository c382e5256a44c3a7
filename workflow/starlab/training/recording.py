"""A run's own record: JSON lines, one a step, which survive kills and resumes; whoever wants them live gets a
call.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..errors import StarlabError
from ..files import write_atomically

Log = Callable[[int, dict[str, float]], None]
"""(step, numbers): told once per step, e.g. to MLflow."""


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
        kept = [row for row in self.rows() if row["step"] <= step]
        if [row["step"] for row in kept] != list(range(1, step + 1)):
            raise StarlabError(
                f"{self.path}: there is a checkpoint of step {step}, but not a line for each step up to it;"
                f" remove {self.path.parent} and run again, the run then starts afresh"
            )
        self.history = kept
        write_atomically(self.path, "".join(json.dumps(row) + "\n" for row in kept))

    def rows(self) -> Iterator[dict[str, float]]:
        """The lines written so far; one that a kill cut off ends them."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                return

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Append a line and pass it on."""
        row = {"step": step, **numbers}
        with self.path.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(row, allow_nan=False) + "\n")
            handle.flush()
            os.fsync(handle.fileno())
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
