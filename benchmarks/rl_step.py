"""A step of reinforcement learning, side by side with what a user would pick instead.

    python benchmarks/rl_step.py --start results/sft/m/seed0 --queries results/data/queries/mixed1000.jsonl \
        --database results/data/training [--steps 3] [--only ours] [--json FILE]

Three trainers on one thread, with the same model, prompts, sampling and losses; every episode is really sampled:

    (a) stock    TRL's GRPOTrainer with `environment_factory`, fp32
    (b) bf16     the same with `bf16=True`
    (c) ours     the trainer and the rollout engine of this package, fp32

Prints the medians of generation (with tools and scoring), training (the rest: forward, backward, optimizer, logging)
and the whole step in processor seconds, so that other work on the machine distorts them less, their ratios to ours,
sampled tokens a second, and the share of the measured fp32 matrix-multiply rate that training reaches (6 flops a weight
and token that the trainer was given; attention left out). The first step warms up and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from run_cost import matmul_rate
from sampled import load_tasks
from starlab import protocol, rewards
from starlab.protocol import ToolCall
from starlab.training.rl import RlSpec, train_rl, trainer_arguments
from starlab.travel.task import TravelTask

TEMPLATE = (
    "{% for message in messages %}"
    "{{ ('' if loop.first else '\n') + '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\n' }}"
    "{% if message.role == 'assistant' %}{% generation %}"
    "{% if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif %}"
    "{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}"
    '{{ \'<tool_call>{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{ (call.function.arguments | tojson) + '}</tool_call>' }}"
    "{% endfor %}"
    "{{ '<|im_end|>' }}{% endgeneration %}"
    "{% elif message.role == 'tool' %}{{ '<tool_response>' + message.content + '</tool_response><|im_end|>' }}"
    "{% else %}{{ message.content + '<|im_end|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '\n<|im_start|>assistant\n' }}{% endif %}"
)
"""The package's chat template with the messages that TRL's tool loop makes: calls and tool results as such. A line
break opens a message here rather than ending one, since our tokens may span it and TRL wants prefixes preserved."""


@dataclass
class Meter:
    """Processor time of each generation and each step of a trainer, and the tokens it was given."""

    begins: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Listen to every GRPO trainer."""
        from trl import GRPOTrainer

        original = GRPOTrainer._generate_and_score_completions

        def watched(trainer: Any, inputs: Any) -> Any:
            self.begins.append(time.process_time())
            outputs = original(trainer, inputs)
            self.ends.append(time.process_time())
            spoken = outputs["completion_mask"] * outputs.get("tool_mask", 1)
            self.sampled.append(int(spoken.sum()))
            self.tokens.append(int(outputs["completion_mask"].sum() + outputs["prompt_mask"].sum()))
            return outputs

        GRPOTrainer._generate_and_score_completions = watched
        try:
            yield
        finally:
            GRPOTrainer._generate_and_score_completions = original

    def read(self, weights: int, rate: float) -> dict[str, float]:
        """Medians over the steps between the first, which warms up, and the last, which ends with saving."""
        steps = range(1, len(self.begins) - 1)
        generation = statistics.median(self.ends[i] - self.begins[i] for i in steps)
        whole = statistics.median(self.begins[i + 1] - self.begins[i] for i in steps)
        training = statistics.median(self.begins[i + 1] - self.ends[i] for i in steps)
        sampled = statistics.median(self.sampled[i] for i in steps)
        tokens = statistics.median(self.tokens[i] for i in steps)
        return {
            "generation_seconds": generation,
            "training_seconds": training,
            "step_seconds": whole,
            "sampled_tokens": sampled,
            "generated_tokens_per_second": sampled / generation,
            "trained_tokens_per_second": tokens / training,
            "training_share_of_matmul_rate": 6 * weights * tokens / training / rate,
        }


class TravelEnvironment:
    """The sandbox as TRL wants it: public methods are tools."""

    tasks: ClassVar[dict[str, TravelTask]] = {}

    def reset(self, **row: Any) -> None:
        self.task = self.tasks[row["query"]]

    def _call(self, name: str, **arguments: str) -> str:
        return self.task.call(ToolCall(name, arguments))

    def SearchCity(self, state: str) -> str:
        """Cities of a state.

        Args:
            state: Name of the state.
        """
        return self._call("SearchCity", state=state)

    def SearchFlight(self, departure: str, destination: str, date: str) -> str:
        """Flights of a day.

        Args:
            departure: City.
            destination: City.
            date: Day.
        """
        return self._call("SearchFlight", departure=departure, destination=destination, date=date)

    def GoogleDistanceMatrix(self, departure: str, destination: str, mode: str) -> str:
        """Distance, duration and cost by road.

        Args:
            departure: City.
            destination: City.
            mode: self-driving or taxi.
        """
        return self._call("GoogleDistanceMatrix", departure=departure, destination=destination, mode=mode)

    def SearchAccommodation(self, city: str) -> str:
        """Hotels of a city.

        Args:
            city: City.
        """
        return self._call("SearchAccommodation", city=city)

    def SearchRestaurant(self, city: str) -> str:
        """Restaurants of a city.

        Args:
            city: City.
        """
        return self._call("SearchRestaurant", city=city)

    def SearchAttraction(self, city: str) -> str:
        """Attractions of a city.

        Args:
            city: City.
        """
        return self._call("SearchAttraction", city=city)


def reward(completions: Sequence[Any], environments: Sequence[TravelEnvironment], **_: Any) -> list[float]:
    """The package's own score of what TRL's loop came to."""
    values = []
    for messages, environment in zip(completions, environments, strict=True):
        last = messages[-1] if messages else {}
        turn = protocol.parse_turn(last.get("content") or "")
        grade = environment.task.grade(turn.answer)
        values.append(rewards.score(rewards.find("macro"), grade, turn.error is None, rewards.Progress(0, 1)).value)
    return values


def stock(spec: RlSpec, tasks: Sequence[TravelTask], start: Path, folder: Path, bf16: bool) -> None:
    """Train with TRL's own trainer and tool loop."""
    import trl
    from datasets import Dataset
    from starlab.training import checkpoints
    from starlab.training.schedule import schedule
    from transformers import PrinterCallback
    from trl.chat_template_utils import qwen3_template

    model, tokenizer = checkpoints.load_model(start)
    tokenizer.chat_template, tokenizer.response_template = TEMPLATE, qwen3_template
    TravelEnvironment.tasks = {task.id: task for task in tasks}
    order = schedule([task.id for task in tasks], spec.steps, spec.prompts, spec.seed)
    rows = [{"prompt": TravelEnvironment.tasks[name].prompt(), "query": name} for name in order]
    given = trl.GRPOConfig
    changes = {"bf16": bf16, "use_cpu": True, "max_tool_calling_iterations": spec.max_calls}
    trl.GRPOConfig = lambda **settings: given(**settings | changes)
    try:
        arguments = trainer_arguments(spec, spec.build_algorithm(), folder)
    finally:
        trl.GRPOConfig = given
    trainer = trl.GRPOTrainer(
        model, [reward], arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer,
        environment_factory=TravelEnvironment,
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    trainer.train()


def measure(start: Path, queries: Path, database: Path, steps: int, only: Sequence[str]) -> dict[str, dict[str, float]]:
    """What each trainer needs, by name, and of the machine."""
    import torch
    from starlab.training import checkpoints

    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    torch.set_num_threads(1)
    rate = matmul_rate()
    weights = sum(parameter.numel() for parameter in checkpoints.load_model(start)[0].parameters())
    tasks = load_tasks(queries, database)
    spec = RlSpec(seed=1000, steps=steps + 2, save_every=steps + 2)
    trainers: dict[str, Callable[[Path], Any]] = {
        "stock": lambda folder: stock(spec, tasks, start, folder, bf16=False),
        "bf16": lambda folder: stock(spec, tasks, start, folder, bf16=True),
        "ours": lambda folder: train_rl(spec, tasks, start, folder),
    }
    found: dict[str, dict[str, float]] = {"machine": {"weights": weights, "matmul_gflops": rate / 1e9}}
    for name, train in trainers.items():
        if name in only:
            meter = Meter()
            with tempfile.TemporaryDirectory() as folder, meter.watching():
                train(Path(folder))
            found[name] = meter.read(weights, rate)
            print(f"{name}: {found[name]['step_seconds']:.3g} s a step", file=sys.stderr, flush=True)
    return found


def report(found: dict[str, dict[str, float]]) -> str:
    """A table, with ratios to ours where ours was measured."""
    names = [name for name in found if name != "machine"]
    lines = [", ".join(f"{key} {value:.4g}" for key, value in found["machine"].items())]
    ours = found.get("ours")
    lines.append(f"{'':32}" + "".join(f"{name:>12}{'/ ours':>8}" for name in names))
    for key in found[names[0]]:
        cells = ""
        for name in names:
            value = found[name][key]
            ratio = f"{value / ours[key]:8.2f}" if ours else " " * 8
            cells += f"{value:12.4g}{ratio}"
        lines.append(f"{key:32}{cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True, help="folder of an SFT model")
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3, help="steps that count")
    parser.add_argument("--only", nargs="+", choices=("stock", "bf16", "ours"), default=("stock", "bf16", "ours"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.start, options.queries, options.database, options.steps, options.only)
    print(report(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
