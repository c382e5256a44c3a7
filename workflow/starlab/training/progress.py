"""How good the policy is while it trains, beside what training has cost so far: `progress.jsonl`.

Measuring changes nothing in the run: greedy and sampled decoding draw from generators of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .recording import Log, Record

Measure = Callable[[Any, Any], Mapping[str, float]]
"""(model, tokenizer) -> numbers by the names of an evaluation, such as validation/greedy/success."""

COSTS: Mapping[str, str] = {
    "train_turns": "total_rollout_turns",
    "generated_tokens": "total_generated_tokens",
    "train_seconds": "total_seconds",
    "train_processor_seconds": "total_processor_seconds",
}
"""A run's cost in its steps: name in `progress.jsonl` and `train.json` -> running total in `metrics.jsonl`."""
NOTHING_BEFORE: Mapping[str, float] = dict.fromkeys(
    ("profile_turns", "profile_tokens", "profile_seconds", "profile_processor_seconds"), 0.0
)
"""What a run that needs no profile spends before its first step."""
FILE = "progress.jsonl"


class Progress:
    """Measures before the first step, every `every` steps, and after the last. Without `measure` or with `every` 0,
    never."""

    def __init__(self, path: Path, every: int, steps: int, measure: Measure | None, log: Log | None) -> None:
        self.record = Record(path, log)
        self.every, self.steps = every, steps
        self.measure = measure if every else None

    def resume(self, done: int, model: Any, tokenizer: Any) -> None:
        """Go on after step `done`; a run that starts afresh is measured as it starts."""
        self.record.resume(done)
        if done == 0 and not self.record.last:
            self.step(0, model, tokenizer, {})

    def step(self, step: int, model: Any, tokenizer: Any, totals: Mapping[str, float]) -> None:
        """Measure after step `step`, if it is time; `totals` is the line of `metrics.jsonl`."""
        if self.measure is None or (step % self.every and step != self.steps):
            return
        spent = {name: totals.get(total, 0.0) for name, total in COSTS.items()}
        self.record.write(step, {**spent, **self.measure(model, tokenizer)})

    def publish(self, out: Path) -> None:
        """Put the file beside the run's other outputs, if anything was measured."""
        if self.record.path.exists():
            shutil.copyfile(self.record.path, out / FILE)
