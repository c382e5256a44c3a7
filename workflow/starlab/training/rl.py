"""Reinforcement learning: one run is one cell and one seed."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .. import rewards
from ..errors import StarlabError
from ..rollout.episode import Decoding, Limits
from ..seeds import derive
from ..tasks import Task
from . import checkpoints
from .algorithms import Algorithm, make
from .lora import LoraSpec, peft_config
from .progress import COSTS, NOTHING_BEFORE, Measure, Progress
from .progress import publish as publish_progress
from .recording import Clock, Log, Record
from .schedule import schedule

if TYPE_CHECKING:
    from .collection import Collected

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RlSpec:
    """Everything that a run's weights depend on, besides its prompts and the model it starts from."""

    seed: int
    reward: str = "macro"
    algorithm: str = "grpo"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the algorithm that differ from its defaults."""
    noise: float = 0.0
    """Share of tool calls that fail."""
    steps: int = 80
    """Steps: collections of episodes."""
    prompts: int = 8
    group: int = 8
    lr: float = 2e-4
    minibatches: int = 2
    """Optimizer updates that a step's episodes are split into."""
    temperature: float = 0.7
    clip_low: float = 0.2
    clip_high: float = 0.28
    max_grad_norm: float = 1.0
    max_calls: int = 60
    max_tokens: int = 1024
    max_turn_tokens: int = 256
    save_every: int = 20
    """Steps between checkpoints."""
    probe_every: int = 0
    """Steps between measurements of the policy in training; 0: none. They change nothing in the run."""
    rows: int = 64
    """Episodes that are generated at a time."""
    lora: LoraSpec | None = None

    def __post_init__(self) -> None:
        rewards.find(self.reward)
        self.build_algorithm()
        if self.prompts * self.group % self.minibatches:
            raise StarlabError(
                f"rl.minibatches: {self.minibatches} does not divide prompts x group ="
                f" {self.prompts * self.group}; choose a divisor"
            )

    def build_algorithm(self) -> Algorithm:
        shared = {"epsilon_low": self.clip_low, "epsilon_high": self.clip_high}
        return make(self.algorithm, {**shared, **self.settings})


class Collects(Protocol):
    """What gathers a step's groups."""

    def collect(self, ids: Sequence[str], step: int) -> Collected: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of rollout other than whole episodes, with what it needs."""

    gather: Callable[[Any, Any], Collects]
    """(model in training, tokenizer) -> what collects with it."""
    trainer: type[Any]
    """A `RolloutTrainer`."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """What it cost before the first step, by the names of `NOTHING_BEFORE`."""


def train_rl(
    spec: RlSpec,
    tasks: Sequence[Task],
    start: Path,
    out: Path,
    log: Log | None = None,
    checkpoint_folder: Path | None = None,
    *,
    kind: Kind | None = None,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Train the model in folder `start` on `tasks` and write model, `metrics.jsonl` and `train.json` into
    `out`.

    Everything that must survive a kill is in `checkpoint_folder` (default: `out`/checkpoints): checkpoints
    and metrics so far. If it holds a whole checkpoint the run goes on from there, to the same bytes. `log`
    hears every step once. With `measure` and `spec.probe_every` the policy is measured now and then, into
    `progress.jsonl`. Returns the content of `train.json`.
    """
    folder = checkpoint_folder or out / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    progress = Progress(folder, spec.probe_every, spec.steps, measure, log)
    trainer, record = _build(spec, tasks, start, folder, log, kind, progress)
    updates = trainer.updates_per_step
    newest = checkpoints.newest(folder)
    done = int(newest.name.rpartition("-")[2]) // updates if newest else 0
    record.resume(done)
    progress.resume(done, trainer.model, trainer.processing_class)
    if newest:
        logger.info("resuming after step %d of %d", done, spec.steps)
    trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    if trainer.state.global_step != spec.steps * updates:
        raise StarlabError(f"{folder}: training ended after {trainer.state.global_step} updates; run it again")
    model = trainer.model
    if spec.lora is not None:
        model = model.merge_and_unload()
    checkpoints.save_model(model, trainer.processing_class, out)
    checkpoints.prune(folder)
    shutil.copyfile(record.path, out / "metrics.jsonl")
    publish_progress(folder, out)
    summary = {
        "spec": asdict(spec),
        "step": spec.steps,
        "resumed_at": done,
        **clock.read(),
        **_totals(record),
        "compute": _compute(record, kind),
    }
    checkpoints.write_atomically(out / "train.json", json.dumps(summary, indent=1) + "\n")
    return summary


def _build(
    spec: RlSpec,
    tasks: Sequence[Task],
    start: Path,
    folder: Path,
    log: Log | None,
    kind: Kind | None,
    progress: Progress,
) -> tuple[Any, Record]:
    from .callbacks import StepCallback

    if not tasks:
        raise StarlabError("rl: there are no training queries")
    model, tokenizer = checkpoints.load_model(start)
    algorithm = spec.build_algorithm()
    kind = kind or _whole_episodes(spec, tasks, algorithm)
    order = schedule([task.id for task in tasks], spec.steps, spec.prompts, spec.seed)
    record = Record(folder / "metrics.jsonl", log)
    watch = _StepWatch(record)

    def collect(ids: Sequence[str], step: int) -> Collected:
        watch.begin()
        collected = collector.collect(ids, step)
        watch.collected(collected.numbers)
        return collected

    def end(step: int, logs: dict[str, float]) -> None:
        watch.end(step, logs)
        progress.step(step, trainer.model, tokenizer, record.last)

    updates = spec.minibatches * algorithm.num_iterations
    trainer = kind.trainer(
        model,
        trainer_arguments(spec, algorithm, folder),
        order,
        collect,
        processing_class=tokenizer,
        callbacks=[StepCallback(updates, end)],
        peft_config=peft_config(spec.lora),
    )
    # the trainer's model: PEFT has wrapped it by now
    collector = kind.gather(trainer.model, tokenizer)
    return trainer, record


def _whole_episodes(spec: RlSpec, tasks: Sequence[Task], algorithm: Algorithm) -> Kind:
    """Rollouts from the query to the answer."""
    from ..rollout.engine import Engine
    from .collection import Collector
    from .trainer import RolloutTrainer

    def gather(model: Any, tokenizer: Any) -> Collector:
        limits = Limits(turn_tokens=spec.max_turn_tokens, total_tokens=spec.max_tokens, calls=spec.max_calls)
        return Collector(
            engine=Engine(model, tokenizer, limits, rows=spec.rows),
            tasks={task.id: task for task in tasks},
            algorithm=algorithm,
            reward=rewards.find(spec.reward),
            decoding=Decoding(spec.temperature),
            group=spec.group,
            steps=spec.steps,
            seed=spec.seed,
            fault_probability=spec.noise,
        )

    return Kind(gather=gather, trainer=RolloutTrainer)


def trainer_arguments(spec: RlSpec, algorithm: Algorithm, folder: Path) -> Any:
    """Every argument that matters is set here; TRL's defaults change between versions."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from trl import GRPOConfig

    episodes = spec.prompts * spec.group
    updates = spec.minibatches * algorithm.num_iterations
    return GRPOConfig(
        output_dir=str(folder),
        seed=derive("trainer", spec.seed) % 2**32,
        max_steps=spec.steps * updates,
        per_device_train_batch_size=episodes // spec.minibatches,
        gradient_accumulation_steps=1,
        steps_per_generation=spec.minibatches,
        num_generations=spec.group,
        num_iterations=algorithm.num_iterations,
        shuffle_dataset=False,
        loss_type=algorithm.loss_type,
        epsilon=algorithm.epsilon_low,
        epsilon_high=algorithm.epsilon_high,
        beta=algorithm.beta,
        scale_rewards=algorithm.scale_rewards,
        importance_sampling_level=algorithm.importance_sampling_level,
        mask_truncated_completions=False,  # cut-off episodes are masked by us: they stay in the statistics
        temperature=spec.temperature,
        top_p=1.0,
        max_completion_length=spec.max_tokens,
        learning_rate=spec.lr,
        lr_scheduler_type="constant",
        warmup_steps=0,
        weight_decay=0.0,
        max_grad_norm=spec.max_grad_norm,
        optim="adamw_torch",
        bf16=False,
        gradient_checkpointing=False,
        logging_strategy="steps",
        logging_steps=updates,
        # a checkpoint between the updates of one step would generate the step again on resume
        save_strategy="steps",
        save_steps=spec.save_every * updates,
        save_total_limit=2,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


class _StepWatch:
    """Joins what the collector counted with what the trainer logged into a line of the record."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.numbers: dict[str, float] = {}
        self.begun = self.gathered = self.processor = 0.0

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
                "grad_norm": logs["grad_norm"],
                "lr": logs["learning_rate"],
                "train_seconds": now - self.gathered,
                "step_seconds": now - self.begun,
                "processor_seconds": processor,
            },
        )


def _totals(record: Record) -> dict[str, float]:
    names = ("total_episodes", "total_generated_tokens")
    return {name: record.last[name] for name in names if name in record.last}


def _compute(record: Record, kind: Kind | None) -> dict[str, float]:
    """What the run cost, over all its processes: in its steps, and before them (profiling)."""
    spent = {name: record.last.get(total, 0.0) for name, total in COSTS.items()}
    return {**spent, **NOTHING_BEFORE, **(kind.spent if kind else {})}
