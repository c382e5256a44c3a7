"""What happens between steps, for both kinds of training: a line in the record, and stopping when asked to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..errors import StarlabError


class StepCallback(TrainerCallback):
    """Turns the trainer's logs into one line per step of `every` updates.

    When `stop` says so, training ends after the step in progress, with a checkpoint: between the updates of a step
    there must be none, since a resumed run would collect the step's episodes again, with other weights.
    """

    def __init__(
        self, every: int, write: Callable[[int, dict[str, float]], None], stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._every, self._write, self._stop = every, write, stop

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        logs: dict[str, float] = kwargs["logs"]
        if "grad_norm" not in logs:
            return  # the summary at the end of training
        step = state.global_step // self._every
        if not all(map(math.isfinite, (logs["loss"], logs["grad_norm"]))):
            raise StarlabError(f"step {step}: the loss is not finite; training diverged, lower the learning rate")
        self._write(step, logs)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self._every == 0 and self._stop():
            control.should_save = control.should_training_stop = True
