"""Reinforcement learning: one run is one cell and one seed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .. import rewards
from ..errors import StarlabError, nearest
from ..rollout.episode import Decoding, Limits
from ..tasks import Task
from ..termination import Killed, deferred
from ..travel.faults import PAPER, Faults
from . import checkpoints
from .algorithms import Algorithm, make
from .arguments import trainer_arguments
from .lora import LoraSpec, peft_config
from .progress import COSTS, NOTHING_BEFORE, Measure, Progress
from .progress import publish as publish_progress
from .recording import Clock, Log, Record
from .schedule import schedule
from .watch import Alarm, StepWatch

SUMMARY = "train.json"

if TYPE_CHECKING:
    from .collection import Collected

logger = logging.getLogger(__name__)


BACKENDS = ("engine", "vllm_colocate", "vllm_server")


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
    fault_kind: str = PAPER
    """How they fail, see `travel.faults.FAILURES`."""
    steps: int = 80
    """Steps: collections of episodes."""
    prompts: int = 8
    group: int = 8
    lr: float = 3e-4
    decay: float = 0.0
    """Share of the steps, the last ones, over which the learning rate falls in a line to 0."""
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
    probe_every: int = 20
    """Steps between measurements of the policy in training; 0: none. They change nothing in the run."""
    rows: int = 64
    """Episodes that are generated at a time."""
    lora: LoraSpec | None = None
    backend: str = "engine"
    """Who generates: our engine, or vLLM on GPUs ("vllm_colocate", "vllm_server")."""

    def __post_init__(self) -> None:
        rewards.find(self.reward)
        self.build_algorithm()
        if self.backend not in BACKENDS:
            raise StarlabError(f"rl.backend: unknown {self.backend!r}; {nearest(self.backend, BACKENDS)}")
        if self.backend != "engine" and self.build_algorithm().branching(self.group):
            raise StarlabError(f"rl.backend: {self.algorithm} branches, which vLLM cannot; use `engine`")
        Faults(self.noise, self.seed, self.fault_kind)  # checks both
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
    """(trainer, tokenizer) -> what collects with the trainer's model."""
    trainer: type[Any]
    """A `RolloutTrainer`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the weights depend on beside an `RlSpec`."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """What it cost before the first step, by the names of `NOTHING_BEFORE`."""


def train_rl(
    spec: RlSpec,
    tasks: Sequence[Task],
    start: Path,
    out: Path,
    log: Log | None = None,
    checkpoint_folder: Path | None = None,
    alarm: Alarm | None = None,
    *,
    kind: Kind | None = None,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Train the model in folder `start` on `tasks` and write model, `metrics.jsonl` and `train.json` into
    `out`.

    Everything that must survive a kill is in `checkpoint_folder` (default: `out`/checkpoints): checkpoints,
    metrics so far, and what a finished training made. If it holds a whole checkpoint the run goes on from there, to the
    same bytes; if the training is finished already, only the outputs are written again. SIGTERM and Ctrl-C end it
    after the step in progress, with a checkpoint (`Killed`).

    `log` hears every step once, `alarm` every alarm (at a resume also the earlier ones). With `measure` and
    `spec.probe_every` the policy is measured now and then, into `progress.jsonl`. Returns the content of `train.json`.
    """
    folder = checkpoint_folder or out / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    summary = checkpoints.concluded(folder, SUMMARY, _identity(spec, kind))
    if summary is None:
        with deferred() as stop:
            progress = Progress(folder, spec.probe_every, spec.steps, measure, log)
            summary = _train(spec, tasks, start, folder, stop, log, alarm, kind, progress)
    checkpoints.publish(folder, out)
    publish_progress(folder, out)
    return summary


def _identity(spec: RlSpec, kind: Kind | None) -> dict[str, Any]:
    return {**asdict(spec), **(kind.settings if kind else {})}


def _train(
    spec: RlSpec,
    tasks: Sequence[Task],
    start: Path,
    folder: Path,
    stop: Callable[[], bool],
    log: Log | None,
    alarm: Alarm | None,
    kind: Kind | None,
    progress: Progress,
) -> dict[str, Any]:
    """Train to the end and conclude in `folder`; `Killed` if `stop` says so before."""
    clock = Clock()
    watch = StepWatch(Record(folder / "metrics.jsonl", log), alarm)
    trainer, collector = _build(spec, tasks, start, folder, watch, stop, kind, progress)
    updates = trainer.updates_per_step
    newest = checkpoints.newest(folder)
    done = int(newest.name.rpartition("-")[2]) // updates if newest else 0
    watch.resume(done)
    progress.resume(done, trainer.model, trainer.processing_class)
    if kind is None:  # whole episodes may follow a reward that looks back
        collector.signals[:] = [row["success_spread"] for row in watch.record.history]
    if newest:
        logger.info("resuming after step %d of %d", done, spec.steps)
    if stop():  # while it was being built
        raise Killed("terminated")
    trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    if trainer.state.global_step != spec.steps * updates:
        if stop():
            raise Killed("terminated")
        raise StarlabError(f"{folder}: training ended after {trainer.state.global_step} updates; run it again")
    summary = {
        "spec": _identity(spec, kind),
        "step": spec.steps,
        "resumed_at": done,
        "alarms": watch.alarms,
        **clock.read(),
        **_totals(watch.record),
        "compute": _compute(watch.record, kind),
    }
    model = trainer.model
    if spec.lora is not None:
        model = model.merge_and_unload()
    checkpoints.conclude(folder, model, trainer.processing_class, watch.record.path, SUMMARY, summary)
    return summary


def _build(
    spec: RlSpec,
    tasks: Sequence[Task],
    start: Path,
    folder: Path,
    watch: StepWatch,
    stop: Callable[[], bool],
    kind: Kind | None,
    progress: Progress,
) -> tuple[Any, Any]:
    """(trainer, collector) of a run."""
    from .callbacks import StepCallback

    if not tasks:
        raise StarlabError("rl: there are no training queries")
    model, tokenizer = checkpoints.load_model(start)
    algorithm = spec.build_algorithm()
    kind = kind or _whole_episodes(spec, tasks, algorithm)
    order = schedule([task.id for task in tasks], spec.steps, spec.prompts, spec.seed)

    def collect(ids: Sequence[str], step: int) -> Collected:
        watch.begin()
        collected = collector.collect(ids, step)
        watch.collected(collected.numbers)
        return collected

    def end(step: int, logs: dict[str, float]) -> None:
        watch.end(step, logs)
        progress.step(step, trainer.model, tokenizer, watch.record.last)

    updates = spec.minibatches * algorithm.num_iterations
    trainer = kind.trainer(
        model,
        trainer_arguments(spec, algorithm, folder),
        order,
        collect,
        attribution=algorithm.attribution,
        processing_class=tokenizer,
        callbacks=[StepCallback(updates, end, stop)],
        peft_config=peft_config(spec.lora),
    )
    collector = kind.gather(trainer, tokenizer)
    return trainer, collector


def _whole_episodes(spec: RlSpec, tasks: Sequence[Task], algorithm: Algorithm) -> Kind:
    """Rollouts from the query to the answer."""
    from ..rollout.engine import Engine
    from ..rollout.vllm import VllmEngine, together
    from .collection import Collector
    from .trainer import RolloutTrainer

    def gather(trainer: Any, tokenizer: Any) -> Collector:
        limits = Limits(turn_tokens=spec.max_turn_tokens, total_tokens=spec.max_tokens, calls=spec.max_calls)
        engine: Engine | VllmEngine
        if spec.backend == "engine":
            # the trainer's model: PEFT has wrapped it by now
            engine = Engine(trainer.model, tokenizer, limits, rows=spec.rows)
        else:
            engine = VllmEngine(trainer.vllm_generation, tokenizer, limits, together)
        return Collector(
            engine=engine,
            tasks={task.id: task for task in tasks},
            algorithm=algorithm,
            reward=rewards.find(spec.reward),
            decoding=Decoding(spec.temperature),
            group=spec.group,
            steps=spec.steps,
            seed=spec.seed,
            fault_probability=spec.noise,
            fault_kind=spec.fault_kind,
        )

    return Kind(gather=gather, trainer=RolloutTrainer)


def _totals(record: Record) -> dict[str, float]:
    names = ("total_episodes", "total_generated_tokens")
    return {name: record.last[name] for name in names if name in record.last}


def _compute(record: Record, kind: Kind | None) -> dict[str, float]:
    """What the run cost, over all its processes: in its steps, and before them (profiling)."""
    spent = {name: record.last.get(total, 0.0) for name, total in COSTS.items()}
    return {**spent, **NOTHING_BEFORE, **(kind.spent if kind else {})}
