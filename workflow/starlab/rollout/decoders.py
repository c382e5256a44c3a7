"""How the engine turns a packed batch into logits: through any `transformers` model, or a lean pass for small
ones.

`HuggingFaceDecoder` calls the model's own forward with our cache and our attention function: right for every
decoder-only model with a pluggable attention. `LeanDecoder` is the same arithmetic for the Llama and Qwen2
families without the per-operation overhead of the modelling code, which at a few hundred thousand parameters
costs more than the arithmetic. Both are tested against a plain forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel

from ..errors import StarlabError
from ..policy import lean
from .cache import Plan, RaggedCache, attend

ATTENTION = "starlab_ragged"


class Decoder(Protocol):
    """Logits for packed batches. `rows` and `capacity` bound the cache that it owns."""

    cache: RaggedCache

    def logits(self, plan: Plan) -> Tensor:
        """[plan.wanted, vocabulary] logits after the wanted tokens; states enter the cache."""


def _ragged_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """An attention function for `transformers`: query [1, heads, N, head_dim] -> [1, N, heads, head_dim]."""
    cache: RaggedCache = kwargs["ragged_cache"]
    layer = cache.layers[module.layer_idx]  # type: ignore[index]
    assert layer.plan is not None
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    return attend(query[0].transpose(0, 1), layer, layer.plan, scale)[None], None


AttentionInterface.register(ATTENTION, _ragged_attention)


def _inner(model: Any) -> PreTrainedModel:
    """The causal language model inside a PEFT wrapper, or the model itself."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return inner  # type: ignore[no-any-return]


class HuggingFaceDecoder:
    """The model's own forward over a packed batch of one line."""

    def __init__(self, model: Any, rows: int, capacity: int, cache: RaggedCache | None = None) -> None:
        self.model = model
        self.config = _inner(model).config
        if getattr(self.config, "use_sliding_window", False):
            raise StarlabError(f"model {self.config.model_type}: sliding-window attention is not supported")
        self.cache = RaggedCache.fitting(cache, self.config.num_hidden_layers, rows, capacity)

    @contextmanager
    def _attention(self) -> Iterator[None]:
        """Our attention function for the time of a pass; training keeps its own."""
        before = self.config._attn_implementation
        self.config._attn_implementation = ATTENTION
        try:
            yield
        finally:
            self.config._attn_implementation = before

    def logits(self, plan: Plan) -> Tensor:
        self.cache.set_plan(plan)
        with self._attention():
            output = self.model(
                input_ids=plan.ids[None],
                position_ids=plan.positions[None],
                cache=self.cache,
                use_cache=True,
                logits_to_keep=torch.arange(plan.wanted, device=plan.ids.device),
                ragged_cache=self.cache,
            )
        return output.logits[0].float()  # type: ignore[no-any-return]


class LeanDecoder:
    """Llama and Qwen2 without the modelling code (`policy.lean`), on our cache."""

    supports = staticmethod(lean.supports)

    def __init__(self, model: PreTrainedModel, rows: int, capacity: int, cache: RaggedCache | None = None) -> None:
        self.lean = lean.Lean(model, capacity)
        self.cache = RaggedCache.fitting(cache, len(self.lean.layers), rows, capacity)

    def logits(self, plan: Plan) -> Tensor:
        self.cache.set_plan(plan)
        layers, last, scale = self.cache.layers, len(self.cache.layers) - 1, self.lean.width**-0.5

        def attention(index: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            layer = layers[index]
            if not layer.is_initialized:
                layer.lazy_initialization(keys[None].transpose(1, 2), values[None].transpose(1, 2))
            layer.write(keys, values)
            return attend(queries, layer, plan, scale, wanted_only=index == last).flatten(1)

        states = self.lean.hidden(plan.ids, plan.positions, attention, slice(plan.wanted))
        return torch.mm(states, self.lean.head).float()


def make_decoder(model: Any, rows: int, capacity: int, cache: RaggedCache | None = None) -> Decoder:
    """The faster decoder that is right for `model`, with a cache of `rows` rows of `capacity` tokens.

    `cache` is used again when it is large enough.
    """
    kind = LeanDecoder if LeanDecoder.supports(model) else HuggingFaceDecoder
    return kind(model, rows, capacity, cache)
