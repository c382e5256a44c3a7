"""How good the policy is while it trains, beside what training has cost so far: `progress.jsonl`.

Measuring changes nothing in the run: greedy and sampled decoding draw from generators of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import write_atomically
from .recording import Log, append_row, keep_rows, step_rows

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
    never. The file lies in `folder`, beside the checkpoints."""

    def __init__(self, folder: Path, every: int, steps: int, measure: Measure | None, log: Log | None) -> None:
        self.path, self.every, self.steps, self._log = folder / FILE, every, steps, log
        self.measure = measure if every else None

    def resume(self, done: int, model: Any, tokenizer: Any) -> None:
        """Go on after step `done`; what was measured later comes again. A fresh run is measured as it starts."""
        kept = [row for row in step_rows(self.path) if row["step"] <= done]
        if self.path.exists():
            keep_rows(self.path, kept)
        if done == 0 and not kept:
            self.step(0, model, tokenizer, {})

    def step(self, step: int, model: Any, tokenizer: Any, totals: Mapping[str, float]) -> None:
        """Measure after step `step`, if it is time; `totals` is the line of `metrics.jsonl`."""
        if self.measure is None or (step % self.every and step != self.steps):
            return
        spent = {name: totals.get(total, 0.0) for name, total in COSTS.items()}
        numbers = {**spent, **self.measure(model, tokenizer)}
        append_row(self.path, {"step": step, **numbers})
        if self._log is not None:
            self._log(step, {name: value for name, value in numbers.items() if name not in spent})


def publish(folder: Path, out: Path) -> None:
    """Put the file that `folder` keeps beside the run's other outputs; an empty one where nothing was measured."""
    kept = folder / FILE
    write_atomically(out / FILE, kept.read_text(encoding="utf-8") if kept.exists() else "")
