"""A step's line of the record, and the alarms that it raises."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from .alarms import ALARMS, meaning, raised
from .recording import Record

Alarm = Callable[[str, int, str], None]
"""(name, step, what it means): told when an alarm is raised, e.g. to MLflow."""

logger = logging.getLogger(__name__)


class StepWatch:
    """Joins what the collector counted with what the trainer logged into a line of the record, and raises alarms."""

    def __init__(self, record: Record, alarm: Alarm | None) -> None:
        self.record, self._alarm = record, alarm
        self.alarms: dict[str, int] = {}
        self.numbers: dict[str, float] = {}
        self.begun = self.gathered = self.processor = 0.0

    def resume(self, step: int) -> None:
        """Go on after `step`."""
        self.record.resume(step)
        for name, first in raised(self.record.history).items():
            self._raise(name, first)

    def _raise(self, name: str, step: int) -> None:
        self.alarms[name] = step
        logger.warning("alarm %s at step %d: %s", name, step, meaning(name))
        if self._alarm is not None:
            self._alarm(name, step, meaning(name))

    def begin(self) -> None:
        self.begun, self.processor = time.perf_counter(), time.process_time()

    def collected(self, numbers: dict[str, float]) -> None:
        self.numbers = numbers
        self.gathered = time.perf_counter()

    def end(self, step: int, logs: dict[str, float]) -> None:
        now, processor = time.perf_counter(), time.process_time() - self.processor
        last, numbers = self.record.last, self.numbers
        self.record.write(
            step,
            {
                **numbers,
                "total_episodes": last.get("total_episodes", 0.0) + numbers["episodes"],
                "total_generated_tokens": last.get("total_generated_tokens", 0.0) + numbers["generated_tokens"],
                "total_rollout_turns": last.get("total_rollout_turns", 0.0) + numbers["rollout_turns"],
                "total_seconds": last.get("total_seconds", 0.0) + now - self.begun,
                "total_processor_seconds": last.get("total_processor_seconds", 0.0) + processor,
                **({"kl": logs["kl"]} if "kl" in logs else {}),
                "loss": logs["loss"],
                "clip_share": logs["clip_ratio/region_mean"],
                "clip_low_share": logs["clip_ratio/low_mean"],
                "clip_high_share": logs["clip_ratio/high_mean"],
                "ratio_mean": logs.get("ratio/mean", 1.0),
                "ratio_min": logs.get("ratio/min", 1.0),
                "ratio_max": logs.get("ratio/max", 1.0),
                "grad_norm": logs["grad_norm"],
                "lr": logs["learning_rate"],
                "train_seconds": now - self.gathered,
                "step_seconds": now - self.begun,
                "processor_seconds": processor,
            },
        )
        for name, check in ALARMS.items():
            if name not in self.alarms and check(self.record.history):
                self._raise(name, step)
