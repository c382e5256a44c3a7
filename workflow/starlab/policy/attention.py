"""Causal attention in a forest of prefixes, forward and backward, with nothing padded and nothing computed twice.

A row owns the nodes that no row before it has. Its queries are those, its keys and values those of its whole path; so
what siblings share is attended once, and its gradient gathers what every row's queries send to it. Queries go in blocks
that fit the processor's cache and see no more than the last of them may; the query heads of a key/value head are rows
of one matrix product, so that keys and values are never repeated. `F.scaled_dot_product_attention` on padded rows is
the same function, and slower with the few heads and short rows of tiny policies: see benchmarks/training_step.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

BLOCK = 96
"""Nodes whose queries are attended together."""
REMEMBERED = 2**24
"""Probabilities that a layer may keep for its backward pass; when there are more, it computes them again."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some queries of a row. They all see `seen` places of its path, the last of them sees `reach`."""

    queries: slice
    seen: int
    reach: int
    bias: Tensor  # [m, 1, reach - seen], 0 where a query may look and -inf elsewhere


@dataclass(frozen=True, slots=True)
class Stretch:
    """A row's own nodes. `path` are the ranges of nodes from the root through them, end to end."""

    path: tuple[tuple[int, int], ...]
    blocks: tuple[Block, ...]


def plan(paths: Sequence[tuple[tuple[int, int], ...]], queries: Sequence[int], device: Any) -> tuple[Stretch, ...]:
    """Who looks where, for the nodes `queries` (ascending); the last range of each path are the row's own nodes."""
    stretches = []
    for path in paths:
        first, end = path[-1]
        before = sum(last - start for start, last in path[:-1])
        span = bisect_left(queries, first), bisect_left(queries, end)
        blocks = []
        for start in range(*span, BLOCK):
            block = slice(start, min(start + BLOCK, span[1]))
            places = torch.tensor(queries[block], device=device) + (before - first)
            seen, reach = (before - first + queries[node] + 1 for node in (start, block.stop - 1))
            hidden = torch.arange(seen, reach, device=device) > places[:, None]
            bias = torch.zeros(hidden.shape, device=device).masked_fill_(hidden, float("-inf"))
            blocks.append(Block(block, seen, reach, bias[:, None]))
        if blocks:
            stretches.append(Stretch(path, tuple(blocks)))
    return tuple(stretches)


def attend(queries: Tensor, keys: Tensor, values: Tensor, stretches: tuple[Stretch, ...]) -> Tensor:
    """[M, heads * width] from queries [M, heads, width] and all nodes' keys and values [N, kv_heads, width]."""
    mixed: Tensor = _Attention.apply(queries, keys, values, stretches)
    return mixed


class _Attention(torch.autograd.Function):
    """Inside, queries and results are [kv_heads, M, folds, width], so that a block of them is a matrix."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, stretches: tuple[Stretch, ...]) -> Tensor:
        count, heads, width = queries.shape
        shared = keys.shape[1]
        folded = _folded(queries, shared).mul_(width**-0.5)
        mixed = torch.empty_like(folded)
        size = sum(heads * block.bias.shape[0] * block.reach for stretch in stretches for block in stretch.blocks)
        kept: list[Tensor] | None = [] if ctx.needs_input_grad[0] and size <= REMEMBERED else None
        for stretch, key, value in _stretches(stretches, keys, values):
            for block in stretch.blocks:
                table = _probabilities(folded, key, block)
                result = torch.bmm(table, value[:, : block.reach])
                mixed[:, block.queries] = result.view(shared, -1, heads // shared, width)
                if kept is not None:
                    kept.append(table)
        ctx.save_for_backward(folded, keys, values)
        ctx.stretches, ctx.kept = stretches, kept
        return mixed.transpose(0, 1).reshape(count, heads * width)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        folded, keys, values = ctx.saved_tensors
        shared, count, folds, width = folded.shape
        back = _folded(gradients[0].view(count, shared * folds, width), shared)
        to_queries, to_keys, to_values = torch.empty_like(folded), torch.zeros_like(keys), torch.zeros_like(values)
        tables = iter(ctx.kept) if ctx.kept is not None else None
        for stretch, key, value in _stretches(ctx.stretches, keys, values):
            path_keys, path_values = key.new_zeros(key.shape), key.new_zeros(key.shape)
            for block in stretch.blocks:
                table = _probabilities(folded, key, block) if tables is None else next(tables)
                asked = folded[:, block.queries].view(shared, -1, width)
                told = back[:, block.queries].view(shared, -1, width)
                path_values[:, : block.reach].baddbmm_(table.transpose(1, 2), told)
                slope = torch.bmm(told, value[:, : block.reach].transpose(1, 2))
                slope = torch._softmax_backward_data(slope, table, -1, slope.dtype)
                to_queries[:, block.queries] = torch.bmm(slope, key[:, : block.reach]).view(shared, -1, folds, width)
                path_keys[:, : block.reach].baddbmm_(slope.transpose(1, 2), asked)
            place = 0
            for start, end in stretch.path:
                span = slice(place, place + end - start)
                to_keys[start:end] += path_keys[:, span].transpose(0, 1)
                to_values[start:end] += path_values[:, span].transpose(0, 1)
                place = span.stop
        ctx.kept = None
        return to_queries.mul_(width**-0.5).transpose(0, 1).flatten(1, 2), to_keys, to_values, None


def _folded(states: Tensor, shared: int) -> Tensor:
    """[kv_heads, N, folds, width] of [N, heads, width], a copy."""
    count, heads, width = states.shape
    return (
        states.view(count, shared, heads // shared, width).transpose(0, 1).clone(memory_format=torch.contiguous_format)
    )


def _stretches(
    stretches: tuple[Stretch, ...], keys: Tensor, values: Tensor
) -> Iterator[tuple[Stretch, Tensor, Tensor]]:
    """Each stretch with the keys and values [kv_heads, L, width] of its path."""
    for stretch in stretches:
        key, value = (torch.cat([states[start:end] for start, end in stretch.path]) for states in (keys, values))
        yield stretch, key.transpose(0, 1), value.transpose(0, 1)


def _probabilities(folded: Tensor, key: Tensor, block: Block) -> Tensor:
    """[kv_heads, m * folds, reach]: where each query of a block looks."""
    shared, _, folds, width = folded.shape
    asked = folded[:, block.queries].view(shared, -1, width)
    table = torch.bmm(asked, key[:, : block.reach].transpose(1, 2))
    table.view(shared, -1, folds, block.reach)[..., block.seen :].add_(block.bias)
    return torch.softmax(table, -1, out=table)
