"""Log-probabilities of a minibatch's trained tokens, computed once where episodes agree.

Episodes of a group start alike: as a rule a third of their tokens or more stand behind the same tokens in a sibling.
The rows become a forest (`Forest`) whose nodes are distinct prefixes; projections, norms and MLPs work on nodes, and
attention has one query a node (`attention`). The gradient of a node is the sum of its rows' gradients, so this is the
same function as a pass over all rows. The output head, and the last layer from its queries on, work at trained tokens
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .attention import attend, plan
from .lean import Attend, Lean


@dataclass(frozen=True, slots=True)
class Forest:
    """The distinct prefixes of some rows. N nodes; node i is the token `ids[i]` at `positions[i]`."""

    ids: Tensor  # [N]
    positions: Tensor  # [N]
    paths: list[list[int]]  # by row, the node at each place
    stretches: list[
        tuple[tuple[int, int], ...]
    ]  # paths as ranges of nodes; the last is new, by rows that have new ones

    @staticmethod
    def build(rows: Sequence[list[int]], device: Any = None) -> Forest:
        """The forest of `rows` of token ids, its tensors on `device`."""
        ids: list[int] = []
        positions: list[int] = []
        paths: list[list[int]] = [[] for _ in rows]
        stretches: list[tuple[tuple[int, int], ...]] = []
        before: list[int] = []
        path: list[int] = []  # in sorted order a row shares with its predecessor what it shares with any before
        ranges: list[tuple[int, int]] = []
        for number in sorted(range(len(rows)), key=rows.__getitem__):
            row = rows[number]
            shared = _common(before, row)
            if shared < len(row):
                own = len(ids), len(ids) + len(row) - shared
                ranges = [*_first(ranges, shared), own]
                stretches.append(tuple(ranges))
                path = [*path[:shared], *range(*own)]
                ids.extend(row[shared:])
                positions.extend(range(shared, len(row)))
            paths[number], before = path, row
        table = torch.tensor([ids, positions], device=device)
        return Forest(table[0], table[1], paths, stretches)


def _first(ranges: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """The first `count` numbers of some ranges laid end to end."""
    taken: list[tuple[int, int]] = []
    for start, end in ranges:
        if count > 0:
            taken.append((start, min(end, start + count)))
            count -= end - start
    return taken


def _common(one: list[int], other: list[int]) -> int:
    """The length of the longest common prefix."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def logprobs(model: Any, rows: Sequence[list[int]], trained: Sequence[Sequence[int]], temperature: float) -> Tensor:
    """Log-probability under softmax(logits / temperature) of the tokens at the places `trained[r]` of row r.

    Returns [M], row after row; places are those of the tokens themselves, so 0 is not among them. Differentiable in
    the model's weights.
    """
    return score(model, rows, trained, temperature)[0]


def score(
    model: Any, rows: Sequence[list[int]], trained: Sequence[Sequence[int]], temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """`logprobs`, and [M] which of the tokens are the most likely ones."""
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
    scores, first = _LogProb.apply(logits.float(), distinct[:, 1])
    return scores.index_select(0, picked), first.index_select(0, picked)


def _attention(lean: Lean, forest: Forest, kept: Tensor) -> Attend:
    """Attention of all nodes, and in the last layer of the nodes `kept` only."""
    everywhere = plan(forest.stretches, range(len(forest.ids)), forest.ids.device)
    chosen = plan(forest.stretches, kept.tolist(), forest.ids.device)
    last = len(lean.layers) - 1

    def attention(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        if layer < last:
            return attend(queries, keys, values, everywhere)
        return attend(queries.index_select(0, kept), keys, values, chosen)

    return attention


class _LogProb(torch.autograd.Function):
    """log_softmax(logits)[target] and whether the target is the most likely token, with one table in memory rather
    than three."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        above = logits.gather(1, targets[:, None])[:, 0] - logits.amax(1)
        table = torch.softmax(logits, -1)
        first = above >= 0.0
        ctx.save_for_backward(table, targets)
        ctx.mark_non_differentiable(first)
        return above + table.amax(1).log(), first  # the most likely token has exp(0) over the sum

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        table, targets = ctx.saved_tensors
        gradient, _ = gradients
        result = table * -gradient[:, None]
        result.scatter_add_(1, targets[:, None], gradient[:, None])
        return result, None
