"""Supervised fine-tuning on the teacher's successes: a weak start that knows the protocol.

TRL's SFTTrainer on examples that we tokenised, loss on assistant tokens only.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import write_atomically
from ..termination import Killed, deferred
from . import checkpoints
from .arguments import sft_arguments
from .dataset import Example, mixture, read_trajectories
from .lora import LoraSpec
from .progress import COSTS, NOTHING_BEFORE
from .progress import publish as publish_progress
from .recording import Clock, Log, Record, step_rows

SUMMARY = "done.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SftSpec:
    """Everything that an SFT model depends on, besides the trajectories and the base model."""

    seed: int
    replay: float = 0.5
    """Share of general tool-use dialogues in the mixture."""
    epochs: float = 6.0
    lr: float = 1e-3
    """Peak rate; warm-up, then cosine to zero."""
    batch: int = 16
    warmup: float = 0.1
    """Share of the steps over which the rate rises."""
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    save_every: int = 200
    """Steps between checkpoints."""
    lora: LoraSpec | None = None


def train_sft(
    spec: SftSpec,
    trajectories: Path,
    start: Path,
    out: Path,
    log: Log | None = None,
    checkpoint_folder: Path | None = None,
) -> dict[str, Any]:
    """Fine-tune the model in folder `start` and write model, `metrics.jsonl` and `done.json` into `out`.

    Resumes from the newest whole checkpoint in `checkpoint_folder` (default: `out`/checkpoints), to the same
    bytes; if the training is finished already, only the outputs are written again. SIGTERM and Ctrl-C end it after the
    step in progress, with a checkpoint (`Killed`). Returns the content of `done.json`.
    """
    folder = checkpoint_folder or out / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    summary = checkpoints.concluded(folder, SUMMARY, asdict(spec))
    if summary is None:
        with deferred() as stop:
            summary = _train(spec, trajectories, start, folder, stop, log)
    checkpoints.publish(folder, out)
    return summary


def _train(
    spec: SftSpec, trajectories: Path, start: Path, folder: Path, stop: Callable[[], bool], log: Log | None
) -> dict[str, Any]:
    """Train to the end and conclude in `folder`; `Killed` if `stop` says so before."""
    clock = Clock()
    model, tokenizer = checkpoints.load_model(start)
    examples = mixture(
        tokenizer, read_trajectories(trajectories),
        replay=spec.replay, epochs=spec.epochs, batch=spec.batch, seed=spec.seed,
    )  # fmt: skip
    steps = -(-len(examples) // spec.batch)
    record = Record(folder / "metrics.jsonl", log)
    trainer = _trainer(spec, model, tokenizer, examples, steps, folder, record, stop)
    newest = checkpoints.newest(folder)
    done = int(newest.name.rpartition("-")[2]) if newest else 0
    record.resume(done)
    if newest:
        logger.info("resuming after step %d of %d", done, steps)
    if stop():  # while it was being built
        raise Killed("terminated")
    trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    if trainer.state.global_step != steps:
        if stop():
            raise Killed("terminated")
        raise StarlabError(f"{folder}: training ended after {trainer.state.global_step} of {steps} steps; run it again")
    summary = {
        "spec": asdict(spec), "step": steps, "examples": len(examples), "resumed_at": done,
        "final_loss": record.last.get("loss"), **clock.read(),
    }  # fmt: skip
    model = trainer.model if spec.lora is None else trainer.model.merge_and_unload()
    checkpoints.conclude(folder, model, tokenizer, record.path, SUMMARY, summary)
    return summary


def continue_sft(
    spec: SftSpec,
    trajectories: Path,
    start: Path,
    out: Path,
    log: Log | None = None,
    checkpoint_folder: Path | None = None,
) -> dict[str, Any]:
    """`train_sft` from a model that was fine-tuned already, as a cell of the matrix: also writes an empty
    `progress.jsonl`, and `train.json`, with what it cost under the names of an RL run. Returns the content of that."""
    done = train_sft(spec, trajectories, start, out, log, checkpoint_folder)
    publish_progress(checkpoint_folder or out / "checkpoints", out)
    rows = list(step_rows(out / "metrics.jsonl"))
    compute = {
        **dict.fromkeys(COSTS, 0.0),
        "train_seconds": sum(row["step_seconds"] for row in rows),
        "train_processor_seconds": sum(row["processor_seconds"] for row in rows),
    }
    summary = {**done, "compute": {**compute, **NOTHING_BEFORE}}
    write_atomically(out / "train.json", json.dumps(summary, indent=1) + "\n")
    return summary


def _trainer(
    spec: SftSpec,
    model: Any,
    tokenizer: Any,
    examples: list[Example],
    steps: int,
    folder: Path,
    record: Record,
    stop: Callable[[], bool],
) -> Any:
    from datasets import Dataset
    from transformers import PrinterCallback

    from .callbacks import StepCallback
    from .lora import peft_config
    from .supervised import SupervisedTrainer

    started = worked = 0.0

    def write(step: int, logs: dict[str, float]) -> None:
        nonlocal started, worked
        now, work = time.perf_counter(), time.process_time()
        record.write(
            step,
            {
                "loss": logs["loss"],
                "token_accuracy": logs["mean_token_accuracy"],
                "grad_norm": logs["grad_norm"],
                "lr": logs["learning_rate"],
                "total_tokens": logs["num_tokens"],
                "step_seconds": now - started,
                "processor_seconds": work - worked,
            },
        )
        started, worked = now, work

    dataset = Dataset.from_dict({"input_ids": [e.input_ids for e in examples], "labels": [e.labels for e in examples]})
    trainer = SupervisedTrainer(
        model,
        sft_arguments(spec, steps, folder),
        train_dataset=dataset,
        processing_class=tokenizer,
        callbacks=[StepCallback(1, write, stop)],
        peft_config=peft_config(spec.lora),
    )
    trainer.remove_callback(PrinterCallback)
    started, worked = time.perf_counter(), time.process_time()  # the first step begins where building ends
    return trainer
