"""The training half of a step, with each of its measures switched off in turn.

    python benchmarks/training_step.py --start results/sft/m/seed0 --queries results/data/queries/mixed1000.jsonl \
        --database results/data/training [--repeats 10] [--json FILE]

Forward and backward pass of the policy loss over one minibatch of really sampled episodes, in alternation on one
thread, fp32 unless said otherwise:

    ours            `policy.forward`
    all logits      logits, and the whole last layer, at every place
    no sharing      every row by itself, also where siblings agree
    sdpa            attention by F.scaled_dot_product_attention on rows padded to rows of like length
    longest         the same, all rows padded to the longest
    eager           as sdpa, but by plain products and softmax
    modelling code  the forward of `transformers` with SDPA, logits where there is loss, 16 rows of like length together
    bf16            the same under autocast to bf16
    stock           the forward of `transformers` as a trainer would call it: one batch, eager attention, all logits

Prints the best processor time of each as a ratio to ours, how far its log-probabilities and gradients are from ours,
the share of the machine's fp32 matrix-multiply rate that ours reaches (6 flops a weight and token that the trainer was
given; attention left out), and what the time of ours is spent on.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from run_cost import matmul_rate
from sampled import Minibatch, minibatches
from starlab.policy import forward
from starlab.training import checkpoints, trainer
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

SIMILAR = 0.9
"""Rows of one bucket have this share of its longest at least."""

KINDS = {
    "projections": ("mm", "addmm"),
    "attention": ("bmm", "baddbmm_", "softmax", "_softmax_backward_data"),
    "copies": ("cat", "clone", "copy_", "index_select", "index_add", "new_zeros", "zeros", "zeros_like"),
    "views": ("slice", "view", "transpose", "t", "alias", "unsqueeze", "detach", "split", "select", "expand"),
}
"""Kinds of work by the names of operations; the output head is told by its width, and the rest is elementwise."""


def padded(similar: float, eager: bool) -> Callable[..., Any]:
    """In place of `forward._attention`: rows padded to the longest of those that are `similar` times as long."""

    def build(lean: Any, forest: Any, kept: Tensor) -> Any:
        folds, last = lean.heads // lean.shared, len(lean.layers) - 1
        groups: list[list[list[int]]] = []
        for path in sorted(forest.paths, key=len, reverse=True):
            if not groups or len(path) < similar * len(groups[-1][0]):
                groups.append([])
            groups[-1].append(path)
        tables, places, offset = [], torch.zeros(len(forest.ids), dtype=torch.long), 0
        for group in groups:
            longest = len(group[0])
            tables.append(torch.tensor([path + path[-1:] * (longest - len(path)) for path in group]))
            for number, path in enumerate(group):
                places[path] = torch.arange(len(path)) + (offset + number * longest)
            offset += tables[-1].numel()

        def attention(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            outputs = []
            for index in tables:
                q, k, v = (
                    states.flatten(1).index_select(0, index.flatten()).view(*index.shape, *states.shape[1:])
                    for states in (queries, keys, values)
                )
                k, v = (states.repeat_interleave(folds, 2) for states in (k, v))
                mix = plain if eager else causal
                outputs.append(mix(*(states.transpose(1, 2) for states in (q, k, v))).transpose(1, 2).flatten(2))
            laid = torch.cat([output.flatten(0, 1) for output in outputs])
            return laid.index_select(0, places if layer < last else places[kept])

        return attention

    return build


def causal(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


def plain(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
    hidden = torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return torch.softmax(scores + hidden, -1) @ values


def everywhere(model: Any, batch: Minibatch) -> Tensor:
    """Log-probabilities of all tokens, and of them those that are trained."""
    places = [range(1, len(row)) for row in batch.rows]
    table = forward.logprobs(model, batch.rows, places, batch.temperature).split([len(row) - 1 for row in batch.rows])
    return torch.cat([scores[torch.tensor(own) - 1] for scores, own in zip(table, batch.trained, strict=True)])


def stock(model: Any, batch: Minibatch) -> Tensor:
    """One padded batch through the model, log_softmax of all its logits."""
    longest = max(map(len, batch.rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch.rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch.rows])
    model.set_attn_implementation("eager")
    try:
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1] / batch.temperature
    finally:
        model.set_attn_implementation("sdpa")
    scores = torch.log_softmax(logits, -1).gather(2, ids[:, 1:, None])[..., 0]
    return torch.cat([line[torch.tensor(own) - 1] for line, own in zip(scores, batch.trained, strict=True)])


@contextmanager
def instead(name: str, value: Any) -> Iterator[None]:
    """Something else in place of a part of `forward`."""
    with mock.patch.object(forward, name, value):
        yield


def ours(model: Any, batch: Minibatch) -> Tensor:
    return forward.logprobs(model, batch.rows, batch.trained, batch.temperature)


def modelling(model: Any, batch: Minibatch) -> Tensor:
    return trainer.padded_logprobs(model, batch.rows, batch.trained, batch.temperature)


def in_bf16(model: Any, batch: Minibatch) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return modelling(model, batch)


def with_part(name: str, value: Any) -> Callable[[Any, Minibatch], Tensor]:
    def scored(model: Any, batch: Minibatch) -> Tensor:
        with instead(name, value):
            return ours(model, batch)

    return scored


VARIANTS: dict[str, Callable[[Any, Minibatch], Tensor]] = {
    "ours": ours,
    "all logits": everywhere,
    "no sharing": with_part("_common", lambda one, other: 0),
    "sdpa": with_part("_attention", padded(SIMILAR, eager=False)),
    "longest": with_part("_attention", padded(0.0, eager=False)),
    "eager": with_part("_attention", padded(SIMILAR, eager=True)),
    "modelling code": modelling,
    "bf16": in_bf16,
    "stock": stock,
}


class Meter(TorchDispatchMode):
    """Processor time of every operation, in order."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.spent: list[tuple[str, float]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.thread_time()
        result = function(*args, **(kwargs or {}))
        spent = time.thread_time() - started
        name = function.name().removeprefix("aten::").partition(".")[0]
        kind = next((kind for kind, names in KINDS.items() if name in names), "elementwise")
        if any(isinstance(part, Tensor) and self.vocabulary in part.shape for part in (*args, result)):
            kind = "views" if kind == "views" else "head"
        self.spent.append((kind, spent))
        return result


def profile(step: Callable[[], Any], vocabulary: int, repeats: int, whole: float) -> dict[str, float]:
    """Shares of the `whole` seconds of a step by kind of work; views count as overhead, with Python and autograd."""
    runs = []
    for _ in range(repeats):
        with Meter(vocabulary) as meter:
            step()
        runs.append(meter.spent)
    total: Counter[str] = Counter()
    for events in zip(*runs, strict=True):
        total[events[0][0]] += min(spent for _, spent in events)
    del total["views"]
    return {kind: spent / whole for kind, spent in total.most_common()} | {"overhead": 1 - total.total() / whole}


def measure(start: Path, queries: Path, database: Path, repeats: int, only: Sequence[str]) -> dict[str, Any]:
    """By variant: seconds, and the differences from ours; what was measured of the machine; shares of ours."""
    torch.set_num_threads(1)
    rate = matmul_rate()
    batch = minibatches(start, queries, database)[0]
    model, _ = checkpoints.load_model(start)
    weights = list(model.parameters())
    with torch.no_grad():
        before = ours(model, batch)

    def step(variant: Callable[[Any, Minibatch], Tensor]) -> tuple[Tensor, Tensor]:
        scores = variant(model, batch)
        loss = -(batch.pulls * (scores - before).exp()).sum()
        return scores.detach(), torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)])

    names = [name for name in VARIANTS if name == "ours" or name in only]
    results = {name: step(VARIANTS[name]) for name in names}  # also warms up
    best = dict.fromkeys(names, math.inf)
    for _ in range(repeats):
        for name in names:
            started = time.thread_time()
            step(VARIANTS[name])
            best[name] = min(best[name], time.thread_time() - started)
    scores, gradient = results["ours"]
    size = sum(part.numel() for part in weights)
    return {
        "machine": {"matmul_gflops": rate / 1e9, "bf16": bf16_instructions()},
        "minibatch": {
            "weights": size, "tokens": batch.tokens, "rows": len(batch.rows), "in_rows": sum(map(len, batch.rows)),
            "nodes": len(forward.Forest.build(batch.rows).ids), "trained": sum(map(len, batch.trained)),
        },
        "variants": {
            name: {
                "seconds": best[name],
                "ratio": best[name] / best["ours"],
                "logprobs": float((results[name][0] - scores).abs().max()),
                "gradient": float((results[name][1] - gradient).norm() / gradient.norm()),
            }
            for name in names
        },
        "share_of_matmul_rate": 6 * size * batch.tokens / best["ours"] / rate,
        "profile": profile(lambda: step(ours), model.config.vocab_size, max(3, repeats // 2), best["ours"]),
    }  # fmt: skip


def bf16_instructions() -> list[str]:
    """Those that this machine has for products in bf16."""
    path = Path("/proc/cpuinfo")
    words = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    return sorted(words & {"avx512_bf16", "amx_bf16", "bf16", "svebf16"})


def report(found: dict[str, Any]) -> str:
    lines = [", ".join(f"{key} {value}" for key, value in found["minibatch"].items())]
    lines.append(
        f"{'':16}{'seconds':>10}{'/ ours':>8}{'logprobs':>11}{'gradient':>11}   (largest and relative difference)"
    )
    for name, row in found["variants"].items():
        cells = f"{row['seconds']:10.3f}{row['ratio']:8.2f}{row['logprobs']:11.1e}{row['gradient']:11.1e}"
        lines.append(f"{name:16}{cells}")
    rate, bf16 = found["machine"]["matmul_gflops"], found["machine"]["bf16"]
    lines.append(f"{found['share_of_matmul_rate']:.0%} of the measured fp32 rate, {rate:.1f} GFLOP/s")
    lines.append("spent on " + ", ".join(f"{kind} {share:.0%}" for kind, share in found["profile"].items()))
    if "bf16" in found["variants"]:
        given = f"has {', '.join(bf16)}" if bf16 else "has no instructions"
        ratio = found["variants"]["bf16"]["seconds"] / found["variants"]["ours"]["seconds"]
        lines.append(f"this machine {given} for products in bf16; there a pass takes {ratio:.2f} times as long as ours")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, nargs="+", required=True, help="folders of SFT models")
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for start in options.start:
        found[str(start)] = measure(start, options.queries, options.database, options.repeats, options.only)
        print(f"{start}\n{report(found[str(start)])}\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
