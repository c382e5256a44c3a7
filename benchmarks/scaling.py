"""How the cost of a step grows, with the exponents that fit it.

    python benchmarks/scaling.py --start results/sft/s/seed0 results/sft/m/seed0 results/sft/l/seed0 \
        --queries results/data/queries/mixed1000.jsonl --database results/data/training [--quick] [--json FILE]

Three sweeps in processor seconds, on one thread: groups in a step (8 episodes each), tool calls in an episode (its
length), and model size. Episodes of the first two are scripted, since sampled ones have the length that they have: the
tokens are forced, everything else (cache, sampling arithmetic, parsing, tools, forward, backward) is done as in a run.
Siblings differ from their first token on, so nothing that they could share flatters the figures. Episodes of the third
are really sampled, 8 for each of 8 queries, and its seconds are those of a thousand tokens, since each model says what
it says. An exponent of 1 is linear; generation and training must not be worse than that in the number of episodes.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sampled import load_tasks
from starlab import protocol
from starlab.policy import forward
from starlab.protocol import Message, ToolCall
from starlab.rollout import engine as engine_module
from starlab.rollout import paths as paths_module
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Decoding, Episode, Limits, Request
from starlab.rollout.sampling import Choice
from starlab.tasks import Grade, Status
from starlab.training import checkpoints

GROUP = 8
CALLS = 6
LINEAR = 1.05
"""Exponents up to this are called linear, since measurements scatter."""


@dataclass(frozen=True)
class Errand:
    """A task whose tool answers every call with a listing of some 40 tokens."""

    id: str
    calls: int
    domain: str = "travel"
    level: str = "easy"

    def prompt(self) -> list[Message]:
        return protocol.prompt(self.domain, "Plan a trip from A to B for 3 days with a budget of 1200.")

    def call(self, call: ToolCall) -> str:
        return "\n".join(f"{call.arguments['state']}, {100 + i}" for i in range(6))

    def grade(self, answer: str | None) -> Grade:
        return Grade(Status.OK, {})


@contextmanager
def scripted(tokenizer: Any, calls: int) -> Iterator[None]:
    """Force what every episode says; sampling is paid for and then overruled."""
    choose, noise = engine_module.choose, paths_module.Noise

    class Script(noise):  # type: ignore[misc, valid-type]
        def __init__(self, seed: int, query_id: str, index: int) -> None:
            super().__init__(seed, query_id, index)
            rng = random.Random(f"{query_id}/{index}")
            names = ["".join(rng.choices("abcdefgh", k=rng.randint(3, 9))) for _ in range(calls)]
            turns = [protocol.render_call(ToolCall("SearchCity", {"state": name})) for name in names]
            turns.append(protocol.render_answer("".join(rng.choices("abcdefgh", k=60))))
            opening = protocol.render_thought("".join(rng.choices("abcdefgh", k=4)))
            text = [opening + turn + protocol.IM_END for turn in turns]
            self.script = [token for turn in text for token in tokenizer.encode(turn, add_special_tokens=False)]
            self.said = 0

        def drop(self, count: int) -> None:
            super().drop(count)
            self.said += count

    def forced(logits: torch.Tensor, decoding: Decoding, sources: Sequence[Sequence[Any]], width: int = 1) -> Choice:
        choice = choose(logits, decoding, sources, width)
        for row, column_of in enumerate(sources):
            for column, source in enumerate(column_of):
                coming = source.script[source.said : source.said + width]
                for line, token in enumerate(coming):
                    choice.tokens[row * width + line][column] = token
        return choice

    engine_module.choose, paths_module.Noise = forced, Script  # type: ignore[misc]
    try:
        yield
    finally:
        engine_module.choose, paths_module.Noise = choose, noise  # type: ignore[misc]


def scripted_cost(folder: Path, groups: int, calls: int, repeats: int) -> dict[str, float]:
    """What `groups` x 8 scripted episodes of `calls` calls cost."""
    model, tokenizer = checkpoints.load_model(folder)
    with scripted(tokenizer, calls):
        return cost(model, tokenizer, [Request(Errand(f"q{i}", calls), GROUP) for i in range(groups)], repeats, 4000)


def sampled_cost(folder: Path, tasks: Sequence[Any], repeats: int) -> dict[str, float]:
    """What a thousand tokens of sampled episodes cost."""
    found = cost(*checkpoints.load_model(folder), [Request(task, GROUP) for task in tasks], repeats)
    thousands = found["episodes"] * found["tokens"] / 1000
    return {**found, **{name: found[name] / thousands for name in ("generation", "training")}}


def cost(model: Any, tokenizer: Any, requests: Sequence[Request], repeats: int, room: int = 1024) -> dict[str, float]:
    """Processor seconds of generating episodes of up to `room` tokens and of a forward and backward pass over them."""
    engine = Engine(model, tokenizer, Limits(turn_tokens=256, total_tokens=room, calls=60))
    generation = training = math.inf
    episodes: list[Episode] = []
    for _ in range(repeats + 1):  # the first warms up the memory
        started = time.process_time()
        episodes = engine.generate(requests, Decoding(0.7), seed=1000)
        generation = min(generation, time.process_time() - started)
    rows = [episode.prompt_ids + episode.completion_ids for episode in episodes]
    trained = [[len(e.prompt_ids) + i for i, spoken in enumerate(e.mask) if spoken] for e in episodes]
    half = max(1, len(rows) // 2)  # two updates a step
    for _ in range(repeats):
        started = time.process_time()
        for part in (slice(half), slice(half, None)):
            forward.logprobs(model, rows[part], trained[part], 0.7).mean().backward()
        training = min(training, time.process_time() - started)
    return {
        "weights": sum(parameter.numel() for parameter in model.parameters()),
        "episodes": len(episodes),
        "tokens": sum(map(len, rows)) / len(rows),
        "generation": generation,
        "training": training,
    }


def exponent(points: Sequence[dict[str, float]], against: str, value: str) -> float:
    """Slope of log(value) over log(against): least squares."""
    xs = [math.log(point[against]) for point in points]
    ys = [math.log(point[value]) for point in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


def sweep(folders: Sequence[Path], tasks: Sequence[Any], quick: bool) -> dict[str, list[dict[str, float]]]:
    """The points of each sweep, by what it is against; the middle model where that is not swept."""
    middle = folders[len(folders) // 2]
    groups, calls, repeats = ((2, 4, 8), (3, 6, 12), 1) if quick else ((2, 4, 8, 16, 32), (3, 6, 12, 24), 3)
    found = {
        "episodes": [scripted_cost(middle, count, CALLS, repeats) for count in groups],
        "tokens": [scripted_cost(middle, GROUP, count, repeats) for count in calls],
    }
    if len(folders) > 1:
        found["weights"] = [sampled_cost(folder, tasks, repeats) for folder in folders]
    return found


def sentence(value: str, against: str, slope: float) -> str:
    """What an exponent says."""
    what = {"episodes": "the number of episodes", "tokens": "their length", "weights": "the number of weights"}[against]
    verdict = "WORSE than" if slope > LINEAR else "not worse than"
    return f"{value} grows with {what} to the power {slope:.2f}: {verdict} linear"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, nargs="+", required=True, help="folders of models, smallest first")
    parser.add_argument("--queries", type=Path, help="of the sweep over models")
    parser.add_argument("--database", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer points, once each")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if len(options.start) > 1 and (options.queries is None or options.database is None):
        parser.error("several models need --queries and --database: their episodes are sampled")
    torch.set_num_threads(1)
    tasks = load_tasks(options.queries, options.database)[:GROUP] if len(options.start) > 1 else []
    found = sweep(options.start, tasks, options.quick)
    fits = {
        against: {value: exponent(points, against, value) for value in ("generation", "training")}
        for against, points in found.items()
    }
    for against, points in found.items():
        unit = "processor seconds a thousand tokens" if against == "weights" else "processor seconds a step"
        print(f"{against:>12} {'generation':>12} {'training':>12}   ({unit}; episodes of so many tokens)")
        for point in points:
            cells = f"{point['generation']:12.3f} {point['training']:12.3f} {point['tokens']:12.0f}"
            print(f"{point[against]:12.0f} {cells}")
        for value, slope in fits[against].items():
            print(sentence(value, against, slope))
        print()
    if options.json:
        options.json.write_text(json.dumps({"points": found, "exponents": fits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
