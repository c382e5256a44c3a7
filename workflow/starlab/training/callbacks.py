"""What happens between steps, for both kinds of training: a line in the record, a seal on a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..errors import StarlabError
from . import checkpoints


class StepCallback(TrainerCallback):
    """Turns the trainer's logs into one line per step, and seals checkpoints."""

    def __init__(self, every: int, write: Callable[[int, dict[str, float]], None]) -> None:
        self._every, self._write = every, write

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        logs: dict[str, float] = kwargs["logs"]
        if "grad_norm" not in logs:
            return  # the summary at the end of training
        step = state.global_step // self._every
        if not all(map(math.isfinite, (logs["loss"], logs["grad_norm"]))):
            raise StarlabError(f"step {step}: the loss is not finite; training diverged, lower the learning rate")
        self._write(step, logs)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        checkpoints.seal(Path(str(args.output_dir)) / f"checkpoint-{state.global_step}")
