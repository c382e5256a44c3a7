"""A key/value cache for ragged batches: every row has its own length, and rows are moved, copied and freed.

Layers hold preallocated [rows, capacity, kv_heads, head_dim] tensors. A forward pass feeds a *packed* batch:
all new tokens of all rows in one line, so that no computation is spent on padding. Its layout (`Plan`) is

    tokens 0..n*w-1   the last w new tokens of rows 0..n-1: those whose logits are wanted
    tokens n*w..      the earlier new tokens (prompts, observations), row by row

Attention is one dense call for the wanted tokens of all rows, on the cache as it lies, and one call for every row
that needs another: it has more to feed, or it is so much longer than the others that padding them to it would cost
more than the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

CALL = 200
"""What one more attention call costs, in cached tokens that could be read in its time."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive packed tokens of one row that are attended by themselves."""

    row: int
    tokens: slice  # of the packed batch
    end: int  # tokens that the row has after the last of them
    bias: Tensor | None  # [m, end], 0 where a token may look and -inf elsewhere; None for a single token


@dataclass(frozen=True, slots=True)
class Plan:
    """One packed forward pass. `ids`, `positions`, `rows` are [N] long; `rows` says whose token each is."""

    ids: Tensor
    positions: Tensor
    rows: Tensor
    count: int  # n: rows in the batch
    width: int  # w: wanted tokens of each row
    reach: int  # cached tokens that the dense call looks at; longer rows are among the stretches
    bias: Tensor  # [n, 1, w, reach], 0 where a token may look and -inf elsewhere
    stretches: tuple[Stretch, ...]
    _folded: dict[int, Tensor] = field(default_factory=dict)

    def bias_of(self, folds: int) -> Tensor:
        """`bias` for `folds` query heads in a line, [n, 1, folds * w, reach]."""
        if self.width == 1:
            return self.bias
        if folds not in self._folded:
            self._folded[folds] = self.bias.repeat(1, 1, folds, 1)
        return self._folded[folds]

    @property
    def wanted(self) -> int:
        """Tokens whose logits are wanted; they come first."""
        return self.count * self.width

    @staticmethod
    def build(
        pending: Sequence[Sequence[int]], lengths: Sequence[int], dtype: torch.dtype, device: Any, width: int = 1
    ) -> Plan:
        """Plan feeding `pending[r]` (`width` tokens or more) to row r, which already holds `lengths[r]` tokens."""
        count = len(pending)
        ends = [length + len(tokens) for length, tokens in zip(lengths, pending, strict=True)]
        reach = _reach(ends)
        ids: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        for row, (tokens, end) in enumerate(zip(pending, ends, strict=True)):
            ids.extend(tokens[-width:])
            positions.extend(range(end - width, end))
            rows.extend([row] * width)
        spans = [(row, row * width, width, end) for row, end in enumerate(ends) if end > reach]
        for row, tokens in enumerate(pending):
            extra = len(tokens) - width
            if extra:
                spans.append((row, len(ids), extra, lengths[row] + extra))
                ids.extend(tokens[:extra])
                positions.extend(range(lengths[row], lengths[row] + extra))
                rows.extend([row] * extra)
        table = torch.tensor([ids, positions, rows], dtype=torch.long, device=device)
        places = torch.arange(max(ends), device=device)
        hidden = places[:reach] > table[1, : count * width, None]
        stretches = tuple(
            Stretch(row, slice(first, first + size), end, _causal(size, places[:end], dtype))
            for row, first, size, end in spans
        )
        return Plan(
            table[0], table[1], table[2], count, width, reach,
            _bias(hidden, dtype).view(count, 1, width, reach), stretches,
        )  # fmt: skip


def _reach(ends: Sequence[int]) -> int:
    """How far the dense call looks: what it costs all rows against one more call for each longer row."""
    ordered = sorted(ends)
    count, calls, best, reach = len(ordered), 0, float("inf"), ordered[-1]
    for index in range(count - 1, -1, -1):
        cost = count * ordered[index] + calls
        if cost < best:
            best, reach = cost, ordered[index]
        calls += CALL + ordered[index]
    return reach


def _causal(size: int, places: Tensor, dtype: torch.dtype) -> Tensor | None:
    """What the last `size` tokens of a row may see of its `places`."""
    if size == 1:
        return None
    return _bias(places > places[-size:, None], dtype)


def _bias(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where `hidden` is False, -inf where it is True."""
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(hidden, float("-inf"))


class RaggedLayer(CacheLayerMixin):
    """Keys and values of one layer, [rows, capacity, kv_heads, head_dim]; the plan says where new ones go."""

    is_sliding = False

    def __init__(self, rows: int, capacity: int) -> None:
        super().__init__()
        self.rows, self.capacity = rows, capacity
        self.plan: Plan | None = None
        self.slots: Tensor | None = None  # [N] row * capacity + position of each new token

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate for the shapes of the first pass. Zeros, since masked garbage could be NaN."""
        for name, states in (("keys", key_states), ("values", value_states)):
            setattr(self, name, states.new_zeros(self.rows, self.capacity, states.shape[1], states.shape[-1]))
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
        assert self.slots is not None
        for buffer, states in zip(self.buffers(), (keys, values), strict=True):
            buffer.view(self.rows * self.capacity, -1).index_copy_(0, self.slots, states.flatten(1))

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
        slots = plan.rows * self.capacity + plan.positions
        for layer in self.layers:
            layer.plan, layer.slots = plan, slots

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
                    buffer[index, :length] = buffer[source, :length]


def attend(query: Tensor, layer: RaggedLayer, plan: Plan, scale: float, wanted_only: bool = False) -> Tensor:
    """Attention of packed queries [N, heads, head_dim] over the cached keys and values of their rows.

    Returns [N, heads, head_dim], or the wanted tokens' part of it. Query heads that share a key/value head are folded
    into the query length (or the batch), so that keys and values are read once and never repeated.
    """
    keys, values = (buffer.transpose(1, 2) for buffer in layer.buffers())
    heads, width = query.shape[1:]
    shared, count, reach, wanted = keys.shape[1], plan.count, plan.reach, plan.wanted
    folds = heads // shared
    folded = query[:wanted].view(count, plan.width, shared, folds, width).permute(0, 2, 3, 1, 4)
    dense = F.scaled_dot_product_attention(
        folded.reshape(count, shared, folds * plan.width, width),
        keys[:count, :, :reach],
        values[:count, :, :reach],
        attn_mask=plan.bias_of(folds),
        scale=scale,
    ).view(count, shared, folds, plan.width, width)
    dense = dense.permute(0, 3, 1, 2, 4).reshape(wanted, heads, width)
    if not plan.stretches:
        return dense
    total = wanted if wanted_only else len(query)
    output = query.new_empty(total, heads, width)
    output[:wanted] = dense
    for stretch in plan.stretches:
        if stretch.tokens.start >= total:
            break
        own = query[stretch.tokens].view(-1, shared, folds, width).permute(2, 1, 0, 3)
        row = slice(stretch.row, stretch.row + 1)
        mixed = F.scaled_dot_product_attention(
            own,
            keys[row, :, : stretch.end].expand(folds, -1, -1, -1),
            values[row, :, : stretch.end].expand(folds, -1, -1, -1),
            attn_mask=stretch.bias,
            scale=scale,
        )
        output[stretch.tokens].view(-1, shared, folds, width).copy_(mixed.permute(2, 1, 0, 3))
    return output
