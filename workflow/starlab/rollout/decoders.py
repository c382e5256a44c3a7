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
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel

from ..errors import StarlabError
from .cache import Plan, RaggedCache, attend

ATTENTION = "starlab_ragged"


class Decoder(Protocol):
    """Logits for packed batches. `rows` and `capacity` bound the cache that it owns."""

    cache: RaggedCache

    def logits(self, plan: Plan) -> Tensor:
        """[plan.count, vocabulary] logits after the last new token of every row; states enter the cache."""


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
                logits_to_keep=torch.arange(plan.count, device=plan.ids.device),
                ragged_cache=self.cache,
            )
        return output.logits[0].float()  # type: ignore[no-any-return]


class LeanDecoder:
    """Llama and Qwen2 without the modelling code: fused projections, rotary table, one attention call."""

    FAMILIES = ("qwen2", "llama")

    def __init__(self, model: PreTrainedModel, rows: int, capacity: int, cache: RaggedCache | None = None) -> None:
        config = model.config
        self.heads: int = config.num_attention_heads
        self.shared: int = config.num_key_value_heads
        self.width: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.epsilon: float = config.rms_norm_eps
        self.size: int = config.hidden_size
        self.cache = RaggedCache.fitting(cache, config.num_hidden_layers, rows, capacity)
        self.embedding: Tensor = model.get_input_embeddings().weight  # type: ignore[assignment]
        self.head: Tensor = model.get_output_embeddings().weight
        body: Any = model.model
        self.norm: Tensor = body.norm.weight
        positions = torch.arange(capacity, device=self.embedding.device)
        cosine, sine = body.rotary_emb(self.embedding[:1, None], positions[None])
        self.cosine: Tensor = cosine[0, :, None]
        # rotate_half negates the first half of what it moves: put the sign into the table
        self.sine: Tensor = torch.cat([-sine[0, :, None, : self.width // 2], sine[0, :, None, self.width // 2 :]], -1)
        self.layers = [self._layer(layer) for layer in body.layers]

    @classmethod
    def supports(cls, model: Any) -> bool:
        """Whether this pass computes what the model's own forward would."""
        config = getattr(model, "config", None)
        return (
            config is not None
            and not hasattr(model, "get_base_model")
            and config.model_type in cls.FAMILIES
            and config.hidden_act == "silu"
            and not getattr(config, "use_sliding_window", False)
            and not getattr(config, "mlp_bias", False)
            and getattr(model.model.rotary_emb, "rope_type", "default") == "default"
        )

    @staticmethod
    def _layer(
        layer: Any,
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor | None, Tensor, Tensor, Tensor]:
        attention, mlp = layer.self_attn, layer.mlp
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        bias = None if attention.q_proj.bias is None else torch.cat([p.bias for p in projections])
        return (
            layer.input_layernorm.weight,
            torch.cat([p.weight for p in projections]),
            bias,
            attention.o_proj.weight,
            attention.o_proj.bias,
            layer.post_attention_layernorm.weight,
            torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]),
            mlp.down_proj.weight,
        )

    def logits(self, plan: Plan) -> Tensor:
        self.cache.set_plan(plan)
        hidden = F.embedding(plan.ids, self.embedding)
        cosine, sine = self.cosine[plan.positions], self.sine[plan.positions]
        rotated = self.heads + self.shared
        total = hidden.shape[0]
        for (norm, qkv, qkv_bias, out, out_bias, mlp_norm, gate_up, down), layer in zip(
            self.layers, self.cache.layers, strict=True
        ):
            states = F.linear(F.rms_norm(hidden, (self.size,), norm, self.epsilon), qkv, qkv_bias)
            states = states.view(total, rotated + self.shared, self.width)
            plain = states[:, :rotated]
            turned = torch.addcmul(plain * cosine, plain.roll(self.width // 2, -1), sine)
            if not layer.is_initialized:
                layer.lazy_initialization(
                    turned[None, :, self.heads :].transpose(1, 2), states[None, :, rotated:].transpose(1, 2)
                )
            layer.write(turned[:, self.heads :], states[:, rotated:])
            mixed = attend(turned[:, : self.heads], layer, plan, self.width**-0.5)
            hidden = hidden + F.linear(mixed.reshape(total, -1), out, out_bias)
            gate, up = F.linear(F.rms_norm(hidden, (self.size,), mlp_norm, self.epsilon), gate_up).chunk(2, -1)
            hidden = hidden + F.linear(F.silu(gate) * up, down)
        final = F.rms_norm(hidden[: plan.count], (self.size,), self.norm, self.epsilon)
        return F.linear(final, self.head).float()


def make_decoder(model: Any, rows: int, capacity: int, cache: RaggedCache | None = None) -> Decoder:
    """The faster decoder that is right for `model`, with a cache of `rows` rows of `capacity` tokens.

    `cache` is used again when it is large enough.
    """
    kind = LeanDecoder if LeanDecoder.supports(model) else HuggingFaceDecoder
    return kind(model, rows, capacity, cache)
