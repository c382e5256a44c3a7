"""Log-probabilities of a minibatch's trained tokens, computed once where episodes agree.

Episodes of a group start alike: as a rule a third of their tokens or more stand behind the same tokens in a sibling.
The rows become a forest (`Forest`) whose nodes are distinct prefixes; projections, norms and MLPs work on nodes, only
attention sees rows, padded to rows of about their length. The gradient of a node is the sum of its rows' gradients, so
this is the same function as a pass over all rows. The output head, and what the last layer does behind its attention,
work at trained tokens only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..policy.lean import Lean

SIMILAR = 0.9
"""Rows are padded together down to this share of the longest."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Rows of similar length for attention: `index` [R, L] is the node at each place; padding points at any node."""

    index: Tensor


@dataclass(frozen=True, slots=True)
class Forest:
    """The distinct prefixes of some rows. N nodes; node i is the token `ids[i]` at `positions[i]`."""

    ids: Tensor  # [N]
    positions: Tensor  # [N]
    paths: list[list[int]]  # by row, the node at each place
    buckets: tuple[Bucket, ...]
    places: Tensor  # [N] a place of each node in the buckets, laid end to end

    @staticmethod
    def build(rows: Sequence[list[int]], device: Any = None) -> Forest:
        """The forest of `rows` of token ids, its tensors on `device`."""
        ids: list[int] = []
        positions: list[int] = []
        paths: list[list[int]] = [[] for _ in rows]
        before: list[int] = []
        path: list[int] = []  # in sorted order a row shares with its predecessor what it shares with any before
        for number in sorted(range(len(rows)), key=rows.__getitem__):
            row = rows[number]
            shared = _common(before, row)
            path = [*path[:shared], *range(len(ids), len(ids) + len(row) - shared)]
            ids.extend(row[shared:])
            positions.extend(range(shared, len(row)))
            paths[number], before = path, row
        buckets, places, offset = [], torch.zeros(len(ids), dtype=torch.long), 0
        for group in _similar(paths):
            longest = len(group[0])
            index = torch.tensor([path + path[-1:] * (longest - len(path)) for path in group])
            for number, path in enumerate(group):
                places[index[number, : len(path)]] = torch.arange(len(path)) + (offset + number * longest)
            offset += index.numel()
            buckets.append(Bucket(index.to(device)))
        table = torch.tensor([ids, positions], device=device)
        return Forest(table[0], table[1], paths, tuple(buckets), places.to(device))


def _common(one: list[int], other: list[int]) -> int:
    """The length of the longest common prefix."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _similar(paths: Sequence[list[int]]) -> list[list[list[int]]]:
    """The paths in groups, longest first, of lengths between `SIMILAR` times the longest and the longest."""
    groups: list[list[list[int]]] = []
    for path in sorted(paths, key=len, reverse=True):
        if not groups or len(path) < SIMILAR * len(groups[-1][0]):
            groups.append([])
        groups[-1].append(path)
    return groups


def logprobs(model: Any, rows: Sequence[list[int]], trained: Sequence[Sequence[int]], temperature: float) -> Tensor:
    """Log-probability under softmax(logits / temperature) of the tokens at the places `trained[r]` of row r.

    Returns [M], row after row; places are those of the tokens themselves, so 0 is not among them. Differentiable in
    the model's weights.
    """
    device = model.get_input_embeddings().weight.device
    forest = Forest.build(rows, device)
    lean = Lean(model, int(forest.positions.max()) + 1)
    sources = [path[place - 1] for path, places in zip(forest.paths, trained, strict=True) for place in places]
    targets = [row[place] for row, places in zip(rows, trained, strict=True) for place in places]
    pairs: dict[tuple[int, int], int] = {}
    numbers = [pairs.setdefault(pair, len(pairs)) for pair in zip(sources, targets, strict=True)]
    picked = torch.tensor(numbers, device=device)
    distinct = torch.tensor(list(pairs), device=device)  # the same token after the same prefix is scored once
    kept, line = distinct[:, 0].unique(return_inverse=True)  # nodes that the last layer has to go on with
    hidden = lean.hidden(forest.ids, forest.positions, _attention(lean, forest, kept), kept)
    logits = torch.mm(hidden.index_select(0, line) / temperature, lean.head)
    scores: Tensor = _LogProb.apply(logits.float(), distinct[:, 1])
    return scores.index_select(0, picked)


def _attention(lean: Lean, forest: Forest, kept: Tensor) -> Any:
    """Causal attention of every row over itself; a node takes what any of its rows computes, they are equal. The last
    layer's is for the nodes `kept`."""
    folds, last = lean.heads // lean.shared, len(lean.layers) - 1

    def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        outputs = []
        for bucket in forest.buckets:
            q, k, v = (_rows(states, bucket.index) for states in (queries, keys, values))
            if folds > 1:
                k, v = k.repeat_interleave(folds, 1), v.repeat_interleave(folds, 1)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            outputs.append(mixed.transpose(1, 2).flatten(2).flatten(0, 1))
        places = forest.places if layer < last else forest.places[kept]
        return torch.cat(outputs).index_select(0, places)

    return attend


def _rows(states: Tensor, index: Tensor) -> Tensor:
    """[R, heads, L, width] from nodes' states [N, heads, width]."""
    count, longest = index.shape
    picked = states.flatten(1).index_select(0, index.flatten())
    return picked.view(count, longest, states.shape[1], states.shape[2]).transpose(1, 2)


class _LogProb(torch.autograd.Function):
    """log_softmax(logits)[target], with one table in memory rather than three."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        table = torch.log_softmax(logits, -1)
        ctx.save_for_backward(table, targets)
        return table.gather(1, targets[:, None])[:, 0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        table, targets = ctx.saved_tensors
        (gradient,) = gradients
        result = table.exp().mul_(-gradient[:, None])
        result.scatter_add_(1, targets[:, None], gradient[:, None])
        return result, None
