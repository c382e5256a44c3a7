"""The arithmetic of the Llama and Qwen2 families without the modelling code around it.

At a few hundred thousand parameters the many small operations of the general modelling code cost more than the
matrix products. Here the three input projections are one product, so are gate and up, the weights of the norms are
folded into the projections that follow them, and biases and residuals ride along in the products. It is the same
function of the same weights, and differentiable in them; rollouts and training both use it, on a *packed* line of
tokens [N, hidden] with positions of their own; attention, which alone looks across tokens, is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

FAMILIES = ("qwen2", "llama")

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [N, heads, width], keys [N, kv_heads, width], values) -> [M, heads * width], M as many as go on."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer, [inputs, outputs] each."""

    qkv: Tensor
    qkv_bias: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    gate_up: Tensor
    down: Tensor


def supports(model: Any) -> bool:
    """Whether `Lean(model)` computes what the model's own forward would."""
    config = getattr(model, "config", None)
    return (
        config is not None
        and not hasattr(model, "get_base_model")
        and config.model_type in FAMILIES
        and config.hidden_act == "silu"
        and model.dtype == torch.float32  # norms of lower precision are computed in float32 by the modelling code
        and not getattr(config, "use_sliding_window", False)
        and not getattr(config, "mlp_bias", False)
        and getattr(model.model.rotary_emb, "rope_type", "default") == "default"
    )


class Lean:
    """A model's weights as they are now, with a rotary table for `capacity` positions."""

    def __init__(self, model: Any, capacity: int) -> None:
        config, body = model.config, model.model
        self.heads: int = config.num_attention_heads
        self.shared: int = config.num_key_value_heads
        self.width: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.size: int = config.hidden_size
        self.embedding: Tensor = model.get_input_embeddings().weight
        # |x| * sqrt(1 / size) is the root of the mean square; the constant under it enters as one more coordinate
        self.floor = torch.tensor(
            math.sqrt(self.size * config.rms_norm_eps), dtype=self.embedding.dtype, device=self.embedding.device
        )
        self.head = self._after(body.norm, model.get_output_embeddings().weight)
        with torch.no_grad():
            positions = torch.arange(capacity, device=self.embedding.device)
            cosine, sine = body.rotary_emb(self.embedding[:1, None], positions[None])
        half = self.width // 2
        self.cosine: Tensor = cosine[0, :, None]
        # rotate_half negates the first half of what it moves: put the sign into the table
        self.sine: Tensor = torch.cat([-sine[0, :, None, :half], sine[0, :, None, half:]], -1)
        self.layers = [self._layer(layer) for layer in body.layers]

    def _after(self, norm: Any, *weights: Tensor) -> Tensor:
        """Projections [outputs, inputs] behind a norm as one [inputs, outputs], the norm's weight inside."""
        folded: Tensor = torch.cat(weights) * (norm.weight * math.sqrt(self.size))
        return folded.t()

    def _layer(self, layer: Any) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        inputs = (attention.q_proj, attention.k_proj, attention.v_proj)
        return Layer(
            qkv=self._after(layer.input_layernorm, *(p.weight for p in inputs)),
            qkv_bias=None if attention.q_proj.bias is None else torch.cat([p.bias for p in inputs]),
            out=attention.o_proj.weight.t(),
            out_bias=attention.o_proj.bias,
            gate_up=self._after(layer.post_attention_layernorm, mlp.gate_proj.weight, mlp.up_proj.weight),
            down=mlp.down_proj.weight.t(),
        )

    def hidden(self, ids: Tensor, positions: Tensor, attend: Attend, kept: Tensor | slice | None = None) -> Tensor:
        """The normed states [M, hidden] that `head` is applied to, for tokens [N] at `positions` [N].

        M is N, or the tokens `kept` if the last layer's `attend` returns only those.
        """
        states = self.embedding.index_select(0, ids)
        cosine, sine = self.cosine.index_select(0, positions), self.sine.index_select(0, positions)
        rotated, total = self.heads + self.shared, len(ids)
        for index, layer in enumerate(self.layers):
            projected = _linear(self._norm(states), layer.qkv, layer.qkv_bias)
            projected = projected.view(total, rotated + self.shared, self.width)
            plain, values = projected.split([rotated, self.shared], 1)
            turned = torch.addcmul(plain * cosine, plain.roll(self.width // 2, -1), sine)
            queries, keys = turned.split([self.heads, self.shared], 1)
            mixed = attend(index, queries, keys, values)
            if kept is not None and index == len(self.layers) - 1:
                states = states[kept] if isinstance(kept, slice) else states.index_select(0, kept)
            states = torch.addmm(states, mixed, layer.out)
            if layer.out_bias is not None:
                states = states + layer.out_bias
            gate, up = torch.mm(self._norm(states), layer.gate_up).chunk(2, -1)
            states = torch.addmm(states, F.silu(gate) * up, layer.down)
        return self._norm(states)

    def _norm(self, states: Tensor) -> Tensor:
        """RMS norm up to its weight and the factor sqrt(size), which the next projection has."""
        if torch.is_grad_enabled():
            normed: Tensor = _Norm.apply(states, self.floor)
            return normed
        return states / torch.hypot(torch.linalg.vector_norm(states, dim=-1, keepdim=True), self.floor)


def _linear(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.mm(inputs, weight) if bias is None else torch.addmm(bias, inputs, weight)


class _Norm(torch.autograd.Function):
    """x / hypot(|x|, floor) for rows x. With result y and factor f its gradient is f * (g - y * (g . y))."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, floor: Tensor) -> Tensor:
        factor = torch.hypot(torch.linalg.vector_norm(states, dim=-1, keepdim=True), floor).reciprocal_()
        normed = states * factor
        ctx.save_for_backward(normed, factor)
        return normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        normed, factor = ctx.saved_tensors
        (gradient,) = gradients
        along = torch.linalg.vecdot(gradient, normed)[:, None]
        return torch.addcmul(gradient, normed, along, value=-1.0).mul_(factor), None
