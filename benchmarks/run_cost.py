"""What one step of a run costs, and how far that is from the machine's matrix-multiply rate.

    python benchmarks/run_cost.py --start results/sft/m/seed0 --queries results/data/queries/mixed1000.jsonl \
        --database results/data/training [--steps 5] [--json FILE]

Trains `--steps` steps from an SFT model on one thread and prints the medians of generation, training and whole step,
tokens a second, and the share of the measured fp32 rate that the training pass reaches (6 flops a weight and token,
attention left out). Machines are shared: compare ratios on one machine, not seconds between machines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path


def matmul_rate(size: int = 1024, repeats: int = 10) -> float:
    """Flops a processor second of a square fp32 matrix product on one thread, best of `repeats`."""
    import torch

    matrix = torch.randn(size, size)
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        matrix @ matrix
        best = min(best, time.process_time() - started)
    return 2 * size**3 / best


def measure(start: Path, queries: Path, database: Path, steps: int) -> dict[str, float]:
    """Medians over the steps after the first, which warms up."""
    import torch
    from sampled import load_tasks
    from starlab.training.checkpoints import load_model
    from starlab.training.rl import RlSpec, train_rl

    torch.set_num_threads(1)
    rate = matmul_rate()
    weights = sum(parameter.numel() for parameter in load_model(start)[0].parameters())
    tasks = load_tasks(queries, database)
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        train_rl(
            RlSpec(seed=1000, steps=steps, save_every=steps), tasks, start, Path(folder),
            log=lambda step, row: rows.append(dict(row)),
        )  # fmt: skip
    rows = rows[1:]
    result = {
        name: statistics.median(row[name] for row in rows)
        for name in ("rollout_seconds", "train_seconds", "step_seconds", "generated_tokens", "episode_tokens")
    }
    trained = statistics.median(row["episode_tokens"] * row["episodes"] for row in rows)
    result["weights"] = weights
    result["generated_tokens_per_second"] = result["generated_tokens"] / result["rollout_seconds"]
    result["trained_tokens_per_second"] = trained / result["train_seconds"]
    result["matmul_gflops"] = rate / 1e9
    result["training_share_of_matmul_rate"] = 6 * weights * result["trained_tokens_per_second"] / rate
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(options.start, options.queries, options.database, options.steps)
    for name, value in result.items():
        print(f"{name:32} {value:12.4g}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
