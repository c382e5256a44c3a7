"""A run's own record: JSON lines, one a step, which survive kills and resumes; whoever wants them live gets a
call.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Log = Callable[[int, dict[str, float]], None]
"""(step, numbers): told once per step, e.g. to MLflow."""


class Record:
    """`metrics.jsonl` of a run in progress. Values are finite floats; `step` counts from 1."""

    def __init__(self, path: Path, log: Log | None = None) -> None:
        self.path, self._log = path, log
        self.last: dict[str, float] = {}

    def resume(self, step: int) -> None:
        """Keep the lines up to `step`: what came after them will be computed again."""
        kept = [row for row in self.rows() if row["step"] <= step]
        self.last = kept[-1] if kept else {}
        part = self.path.with_name(self.path.name + ".part")
        part.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        part.replace(self.path)

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
        self.last = row
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
