"""A key/value cache for ragged batches: every row has its own length, and rows are moved, copied and freed.

Layers hold preallocated [rows, kv_heads, capacity, head_dim] tensors. A forward pass feeds a *packed* batch:
all new tokens of all rows in one line, so that no computation is spent on padding. Its layout (`Plan`) is

    tokens 0..n-1     the last new token of rows 0..n-1, one each: the tokens whose logits are wanted
    tokens n..        the earlier new tokens (prompts, observations), row by row

so that attention is one dense call for the last tokens and one for the rows that have more to feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(frozen=True, slots=True)
class Batch:
    """Earlier new tokens of S rows of about the same number, padded to m each, as attention wants them."""

    rows: Tensor  # [S] rows of the cache
    index: Tensor  # [S, m] packed token of each place; padding points at any token
    filled: Tensor  # [S, m] bool, False at padding
    bias: Tensor  # [S, 1, m, longest], 0 where a token may look and -inf elsewhere


@dataclass(frozen=True, slots=True)
class Plan:
    """One packed forward pass. `ids`, `positions`, `rows` are [N] long; `rows` says whose token each is."""

    ids: Tensor
    positions: Tensor
    rows: Tensor
    count: int  # n: rows in the batch
    longest: int  # tokens in the longest row after this pass
    bias: Tensor  # [n, 1, 1, longest], 0 where a row has a token and -inf beyond its end
    batches: tuple[Batch, ...]

    @staticmethod
    def build(pending: Sequence[Sequence[int]], lengths: Sequence[int], dtype: torch.dtype, device: Any) -> Plan:
        """Plan feeding `pending[r]` (one token or more) to row r, which already holds `lengths[r]` tokens."""
        count = len(pending)
        ends = [length + len(tokens) for length, tokens in zip(lengths, pending, strict=True)]
        ids = [tokens[-1] for tokens in pending]
        positions = [end - 1 for end in ends]
        rows = list(range(count))
        spans: dict[int, list[tuple[int, int, int]]] = {}  # size class -> (row, first packed token, count)
        for row, tokens in enumerate(pending):
            extra = len(tokens) - 1
            if extra:
                spans.setdefault(extra.bit_length(), []).append((row, len(ids), extra))
                ids.extend(tokens[:-1])
                positions.extend(range(lengths[row], lengths[row] + extra))
                rows.extend([row] * extra)
        longest = max(ends)
        table = torch.tensor([ids, positions, rows], dtype=torch.long, device=device)
        places = torch.arange(longest, device=device)
        bias = _bias(places > table[1, :count, None], dtype)[:, None, None, :]
        batches = tuple(_batch(group, table[1], places, dtype) for group in spans.values())
        return Plan(table[0], table[1], table[2], count, longest, bias, batches)


def _batch(spans: list[tuple[int, int, int]], positions: Tensor, places: Tensor, dtype: torch.dtype) -> Batch:
    table = torch.tensor(spans, device=positions.device)
    rows, begins, counts = table.unbind(1)
    offsets = torch.arange(int(counts.max()), device=positions.device)
    filled = offsets < counts[:, None]
    index = torch.where(filled, begins[:, None] + offsets, begins[:, None])
    return Batch(rows, index, filled, _bias(places > positions[index][:, None, :, None], dtype))


def _bias(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where `hidden` is False, -inf where it is True."""
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(hidden, float("-inf"))


class RaggedLayer(CacheLayerMixin):
    """Keys and values of one layer, [rows, kv_heads, capacity, head_dim]; the plan says where new ones go."""

    is_sliding = False

    def __init__(self, rows: int, capacity: int) -> None:
        super().__init__()
        self.rows, self.capacity = rows, capacity
        self.plan: Plan | None = None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate for the shapes of the first pass. Zeros, since masked garbage could be NaN."""
        shape = (self.rows, key_states.shape[1], self.capacity)
        self.keys = key_states.new_zeros(*shape, key_states.shape[-1])
        self.values = value_states.new_zeros(*shape, value_states.shape[-1])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the packed states [1, kv_heads, N, head_dim] and return the whole buffers."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.write(key_states[0].transpose(0, 1), value_states[0].transpose(0, 1))
        return self.buffers()

    def buffers(self) -> tuple[Tensor, Tensor]:
        """Keys and values of all rows, once they are allocated."""
        assert self.keys is not None and self.values is not None
        return self.keys, self.values

    def write(self, keys: Tensor, values: Tensor) -> None:
        """Write packed states [N, kv_heads, head_dim] to the rows and positions of the plan."""
        assert self.plan is not None and self.keys is not None and self.values is not None
        self.keys[self.plan.rows, :, self.plan.positions] = keys
        self.values[self.plan.rows, :, self.plan.positions] = values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.capacity, 0

    def get_seq_length(self) -> int:
        return 0  # rows have lengths of their own; positions always come with the pass

    def get_max_length(self) -> int:
        return self.capacity


class RaggedCache(Cache):
    """The layers of one model, and the row operations of a batch whose rows come and go."""

    layers: list[RaggedLayer]  # type: ignore[assignment]  # lists are invariant

    def __init__(self, layers: int, rows: int, capacity: int) -> None:
        super().__init__(layers=[RaggedLayer(rows, capacity) for _ in range(layers)])
        self.rows, self.capacity = rows, capacity

    @staticmethod
    def fitting(cache: RaggedCache | None, layers: int, rows: int, capacity: int) -> RaggedCache:
        """`cache` when it fits, or a new one. What an old one still holds is masked or overwritten."""
        if cache is not None and len(cache.layers) == layers and cache.rows >= rows and cache.capacity >= capacity:
            return cache
        return RaggedCache(layers, rows, capacity)

    def set_plan(self, plan: Plan) -> None:
        for layer in self.layers:
            layer.plan = plan

    def copy_row(self, source: int, targets: Sequence[int], length: int) -> None:
        """Make `targets` hold the first `length` tokens of `source` (a shared prompt, a branch, a freed
        slot).
        """
        if not targets:
            return
        low, high = min(targets), max(targets) + 1
        index: Any = slice(low, high) if len(targets) == high - low else list(targets)
        for layer in self.layers:
            if layer.is_initialized:
                for buffer in layer.buffers():
                    buffer[index, :, :length] = buffer[source, :, :length]


def attend(query: Tensor, layer: RaggedLayer, plan: Plan, scale: float) -> Tensor:
    """Attention of packed queries [N, heads, head_dim] over the cached keys and values of their rows.

    Returns [N, heads, head_dim]. Query heads that share a key/value head are folded into the query length, so
    that keys and values are read once and never repeated.
    """
    keys, values = layer.keys, layer.values
    assert keys is not None and values is not None
    total, heads, width = query.shape
    shared, count, longest = keys.shape[1], plan.count, plan.longest
    last = F.scaled_dot_product_attention(
        query[:count].reshape(count, shared, heads // shared, width),
        keys[:count, :, :longest],
        values[:count, :, :longest],
        attn_mask=plan.bias,
        scale=scale,
    ).reshape(count, heads, width)
    if not plan.batches:
        return last
    output = query.new_empty(total, heads, width)
    output[:count] = last
    for batch in plan.batches:
        size, padded = batch.index.shape
        folded = query[batch.index].view(size, padded, shared, heads // shared, width).permute(0, 2, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(
            folded.reshape(size, shared, -1, width),
            keys[batch.rows, :, :longest],
            values[batch.rows, :, :longest],
            attn_mask=batch.bias.repeat(1, 1, heads // shared, 1),
            scale=scale,
        )
        mixed = mixed.view(size, shared, heads // shared, padded, width).permute(0, 3, 1, 2, 4)
        output[batch.index[batch.filled]] = mixed.reshape(size, padded, heads, width)[batch.filled]
    return output
