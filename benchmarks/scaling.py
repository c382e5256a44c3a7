"""How the cost of a step grows, with the exponents that fit it.

    python benchmarks/scaling.py --start models/s models/m models/l [--quick] [--json FILE]

Three sweeps in processor seconds, on one thread: groups in a step (8 episodes each), tool calls in an episode (its
length), and model size. Episodes are scripted, since sampled ones have the length that they have: the tokens are
forced, everything else (cache, sampling arithmetic, parsing, tools, forward, backward) is done as in a run. Siblings
differ from their first token on, so nothing that they could share flatters the figures. An exponent of 1 is linear;
generation and training must not be worse than that in the number of episodes.
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
from starlab import protocol
from starlab.protocol import Message, ToolCall
from starlab.rollout import engine as engine_module
from starlab.rollout import paths as paths_module
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Decoding, Episode, Limits, Request
from starlab.rollout.sampling import Choice
from starlab.tasks import Grade, Status
from starlab.training import checkpoints, forward

GROUP = 8
CALLS = 6


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


def cost(folder: Path, groups: int, calls: int, repeats: int) -> dict[str, float]:
    """Processor seconds of generating `groups` x 8 episodes and of a forward and backward pass over them."""
    model, tokenizer = checkpoints.load_model(folder)
    engine = Engine(model, tokenizer, Limits(turn_tokens=256, total_tokens=4000, calls=60))
    requests = [Request(Errand(f"q{i}", calls), GROUP) for i in range(groups)]
    generation = training = math.inf
    episodes: list[Episode] = []
    with scripted(tokenizer, calls):
        for _ in range(repeats + 1):  # the first warms up the memory
            started = time.process_time()
            episodes = engine.generate(requests, Decoding(0.7), seed=0)
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


def sweep(folders: Sequence[Path], quick: bool) -> dict[str, list[dict[str, float]]]:
    """The points of each sweep, by what it is against; the middle model where that is not swept."""
    middle = folders[len(folders) // 2]
    groups, calls, repeats = ((2, 4, 8), (3, 6, 12), 1) if quick else ((2, 4, 8, 16, 32), (3, 6, 12, 24), 3)
    found = {
        "episodes": [cost(middle, count, CALLS, repeats) for count in groups],
        "tokens": [cost(middle, 8, count, repeats) for count in calls],
    }
    if len(folders) > 1:
        found["weights"] = [cost(folder, 8, CALLS, repeats) for folder in folders]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, nargs="+", required=True, help="folders of models, smallest first")
    parser.add_argument("--quick", action="store_true", help="fewer points, once each")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = sweep(options.start, options.quick)
    fits = {
        against: {value: exponent(points, against, value) for value in ("generation", "training")}
        for against, points in found.items()
    }
    for against, points in found.items():
        print(f"{against:>12} {'generation':>12} {'training':>12}   (processor seconds)")
        for point in points:
            print(f"{point[against]:12.0f} {point['generation']:12.3f} {point['training']:12.3f}")
        print(f"{'exponent':>12} {fits[against]['generation']:12.2f} {fits[against]['training']:12.2f}\n")
    if options.json:
        options.json.write_text(json.dumps({"points": found, "exponents": fits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
