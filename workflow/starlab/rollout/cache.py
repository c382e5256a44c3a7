"""A key/value cache for ragged batches: every row has its own length, and rows are moved, copied and freed.

Layers hold preallocated [rows, kv_heads, capacity, head_dim] tensors. A forward pass feeds a *packed* batch:
all new tokens of all rows in one line, so that no computation is spent on padding. Its layout (`Plan`) is

    tokens 0..n-1     the last new token of rows 0..n-1, one each: the tokens whose logits are wanted
    tokens n..        the earlier new tokens (prompts, observations), row by row

so that attention is one dense call for the last tokens and one small call per row that has more to feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(frozen=True, slots=True)
class Span:
    """Earlier new tokens of one row: packed tokens [begin, begin + count) at positions [start, start +
    count).
    """

    row: int
    begin: int
    start: int
    count: int


@dataclass(slots=True)
class Plan:
    """One packed forward pass. `ids`, `positions`, `rows` are [N] long; `rows` says whose token each is."""

    ids: Tensor
    positions: Tensor
    rows: Tensor
    count: int  # n: rows in the batch
    longest: int  # tokens in the longest row after this pass
    spans: list[Span]
    bias: Tensor  # [n, 1, 1, longest], 0 where a row has a token and -inf beyond its end
    causal: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    @staticmethod
    def build(
        pending: Sequence[Sequence[int]], lengths: Sequence[int], dtype: torch.dtype, device: Any
    ) -> Plan:
        """Plan feeding `pending[r]` (one token or more) to row r, which already holds `lengths[r]` tokens."""
        count = len(pending)
        ends = [length + len(tokens) for length, tokens in zip(lengths, pending, strict=True)]
        ids = [tokens[-1] for tokens in pending]
        positions = [end - 1 for end in ends]
        rows = list(range(count))
        spans: list[Span] = []
        for row, tokens in enumerate(pending):
            extra = len(tokens) - 1
            if extra:
                spans.append(Span(row, len(ids), lengths[row], extra))
                ids.extend(tokens[:-1])
                positions.extend(range(lengths[row], lengths[row] + extra))
                rows.extend([row] * extra)
        longest = max(ends)
        table = torch.tensor([ids, positions, rows], dtype=torch.long, device=device)
        beyond = torch.arange(longest, device=device) > table[1, :count, None]
        bias = torch.zeros(count, longest, dtype=dtype, device=device).masked_fill_(beyond, float("-inf"))
        return Plan(table[0], table[1], table[2], count, longest, spans, bias[:, None, None, :])


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

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the packed states [1, kv_heads, N, head_dim] and return the whole buffers."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.write(key_states[0].transpose(0, 1), value_states[0].transpose(0, 1))
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

    layers: list[RaggedLayer]

    def __init__(self, layers: int, rows: int, capacity: int) -> None:
        super().__init__(layers=[RaggedLayer(rows, capacity) for _ in range(layers)])
        self.rows, self.capacity = rows, capacity

    @staticmethod
    def fitting(cache: RaggedCache | None, layers: int, rows: int, capacity: int) -> RaggedCache:
        """`cache` when it fits, or a new one. What an old one still holds is masked or overwritten."""
        if (
            cache is not None
            and len(cache.layers) == layers
            and cache.rows >= rows
            and cache.capacity >= capacity
        ):
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
                layer.keys[index, :, :length] = layer.keys[source, :, :length]
                layer.values[index, :, :length] = layer.values[source, :, :length]


def attend(query: Tensor, layer: RaggedLayer, plan: Plan, scale: float) -> Tensor:
    """Attention of packed queries [N, heads, head_dim] over the cached keys and values of their rows.

    Returns [N, heads, head_dim]. Query heads that share a key/value head are folded into the query length, so
    that keys and values are read once and never repeated.
    """
    keys, values = layer.keys, layer.values
    assert keys is not None and values is not None
    total, heads, width = query.shape
    shared = keys.shape[1]
    last = F.scaled_dot_product_attention(
        query[: plan.count].reshape(plan.count, shared, heads // shared, width),
        keys[: plan.count, :, : plan.longest],
        values[: plan.count, :, : plan.longest],
        attn_mask=plan.bias,
        scale=scale,
    ).reshape(plan.count, heads, width)
    if not plan.spans:
        return last
    output = query.new_empty(total, heads, width)
    output[: plan.count] = last
    for span in plan.spans:
        end = span.start + span.count
        piece = query[span.begin : span.begin + span.count].transpose(0, 1)[None]
        row_keys, row_values = (
            keys[span.row : span.row + 1, :, :end],
            values[span.row : span.row + 1, :, :end],
        )
        if heads != shared:
            row_keys = row_keys.repeat_interleave(heads // shared, dim=1)
            row_values = row_values.repeat_interleave(heads // shared, dim=1)
        if span.start == 0:
            result = F.scaled_dot_product_attention(piece, row_keys, row_values, is_causal=True, scale=scale)
        else:
            bias = _causal_bias(plan, span, query.dtype, query.device)
            result = F.scaled_dot_product_attention(piece, row_keys, row_values, attn_mask=bias, scale=scale)
        output[span.begin : span.begin + span.count] = result[0].transpose(0, 1)
    return output


def _causal_bias(plan: Plan, span: Span, dtype: torch.dtype, device: torch.device) -> Tensor:
    """[count, start + count]: token i of the span sees everything up to itself. Shared by the layers of a
    pass.
    """
    key = (span.start, span.count)
    if key not in plan.causal:
        bias = torch.zeros(span.count, span.start + span.count, dtype=dtype, device=device)
        plan.causal[key] = bias.masked_fill_(
            torch.ones_like(bias, dtype=torch.bool).triu_(span.start + 1), float("-inf")
        )
    return plan.causal[key]
