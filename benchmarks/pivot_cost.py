"""What profiling costs, and what sharing the prefill of a state among its K samples saves.

    python benchmarks/pivot_cost.py --start results/sft/m/seed0 --trajectories results/sft/trajectories.jsonl \
        --queries results/data/queries/sft.jsonl --database results/data/training [--states 100] [--samples 8]

Samples the same turns twice on one thread, with the K samples of a state as one request and in K separate calls, which
is what sampling each by itself costs, and prints processor seconds and turns a second of both. Machines are shared:
compare ratios on one machine.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("start", "trajectories", "queries", "database"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()

    import torch
    from starlab.pivot.stage import travel_turns
    from starlab.pivot.turns import TurnEngine
    from starlab.rollout.episode import Decoding
    from starlab.training.checkpoints import load_model

    torch.set_num_threads(1)
    model, tokenizer = load_model(options.start)
    files = (options.trajectories, options.queries, options.database)
    turns = travel_turns(*files, tokenizer, options.states, 1000)
    engine, decoding, count = TurnEngine(model, tokenizer, 256, 1024), Decoding(0.7), options.samples
    engine.sample([(turns[0], count, 0)], decoding, 0)  # warm
    seconds = {}
    started = time.process_time()
    together = engine.sample([(turn, count, 0) for turn in turns], decoding, 0)
    seconds["one request of K a state"] = time.process_time() - started
    started = time.process_time()
    apart = [engine.sample([(turn, 1, index) for turn in turns], decoding, 0) for index in range(count)]
    seconds["K requests a state"] = time.process_time() - started
    flat = [apart[index][state] for state in range(len(turns)) for index in range(count)]
    same = sum(a.completion_ids == b.completion_ids for a, b in zip(together, flat, strict=True))
    for name, spent in seconds.items():
        print(f"{name:28} {spent:8.2f} s {len(flat) / spent:10.0f} turns/s")
    print(f"{same} of {len(flat)} turns are the same in both")


if __name__ == "__main__":
    main()
