"""The arithmetic of the Llama and Qwen2 families without the modelling code around it.

At a few hundred thousand parameters the many small operations of the general modelling code cost more than the
matrix products. Here the three input projections are one product, so are gate and up, the weights of the norms are
folded into the projections that follow them, biases and residuals ride along in the products, and the two numbers that
a rotary position turns together lie side by side, so that turning them is one complex product. It is the same function
of the same weights, and differentiable in them; rollouts and training both use it, on a *packed* line of tokens
[N, hidden] with positions of their own; attention, which alone looks across tokens, is the caller's.
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
        self.turns: Tensor = torch.complex(cosine[0, :, None, :half], sine[0, :, None, :half])  # [capacity, 1, half]
        self.layers = [self._layer(layer) for layer in body.layers]

    def _after(self, norm: Any, *weights: Tensor) -> Tensor:
        """Projections [outputs, inputs] behind a norm as one [inputs, outputs], the norm's weight inside."""
        folded: Tensor = torch.cat(weights) * (norm.weight * math.sqrt(self.size))
        return folded.t()

    def _layer(self, layer: Any) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        q, k, v = attention.q_proj, attention.k_proj, attention.v_proj
        return Layer(
            qkv=self._after(layer.input_layernorm, self._paired(q.weight), self._paired(k.weight), v.weight),
            qkv_bias=None if q.bias is None else torch.cat([self._paired(q.bias), self._paired(k.bias), v.bias]),
            out=attention.o_proj.weight.t(),
            out_bias=attention.o_proj.bias,
            gate_up=self._after(layer.post_attention_layernorm, mlp.gate_proj.weight, mlp.up_proj.weight),
            down=mlp.down_proj.weight.t(),
        )

    def _paired(self, weights: Tensor) -> Tensor:
        """Outputs of a projection [heads * width, ...] in an order in which those turned together are neighbours."""
        pairs: Tensor = weights.unflatten(0, (-1, 2, self.width // 2))
        return pairs.transpose(1, 2).flatten(0, 2)

    def hidden(self, ids: Tensor, positions: Tensor, attend: Attend, kept: Tensor | slice | None = None) -> Tensor:
        """The normed states [M, hidden] that `head` is applied to, for tokens [N] at `positions` [N].

        M is N, or the tokens `kept` if the last layer's `attend` returns only those.
        """
        states = self.embedding.index_select(0, ids)
        turns = self.turns.index_select(0, positions)
        for index, layer in enumerate(self.layers):
            projected = _linear(self._norm(states), layer.qkv, layer.qkv_bias)
            queries, keys, values = _Turn.apply(
                projected.view(len(ids), -1, self.width), turns, self.heads, self.shared
            )
            mixed = attend(index, queries, keys, values)
            if kept is not None and index == len(self.layers) - 1:
                states = states[kept] if isinstance(kept, slice) else states.index_select(0, kept)
            states = torch.addmm(states, mixed, layer.out)
            if layer.out_bias is not None:
                states = states + layer.out_bias
            opened = _Gate.apply(torch.mm(self._norm(states), layer.gate_up))
            states = torch.addmm(states, opened, layer.down)
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


class _Turn(torch.autograd.Function):
    """Queries, keys and values [N, heads, width] of what was projected, the former two turned to their positions."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, turns: Tensor, heads: int, shared: int) -> tuple[Tensor, Tensor, Tensor]:
        ctx.save_for_backward(turns)
        turned = torch.view_as_real(_pairs(projected[:, : heads + shared]) * turns).flatten(2)
        queries, keys = turned.split([heads, shared], 1)
        return queries, keys, projected[:, heads + shared :]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (turns,) = ctx.saved_tensors
        result = torch.cat(gradients, 1)
        turned = _pairs(result)[:, : -gradients[2].shape[1]]
        turned.mul_(turns.conj())
        return result, None, None, None


def _pairs(states: Tensor) -> Tensor:
    """[..., width / 2] complex numbers, in the same memory."""
    return torch.view_as_complex(states.unflatten(-1, (-1, 2)))


class _Gate(torch.autograd.Function):
    """silu(gate) * up of both in one line [N, 2 * size]."""

    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        gate, up = both.chunk(2, -1)
        opened = F.silu(gate)
        ctx.save_for_backward(both, opened)
        return opened * up

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        both, opened = ctx.saved_tensors
        (gradient,) = gradients
        gate, up = both.chunk(2, -1)
        result = torch.empty_like(both)
        to_gate, to_up = result.chunk(2, -1)
        torch.mul(gradient, opened, out=to_up)
        torch.ops.aten.silu_backward.grad_input(gradient * up, gate, grad_input=to_gate)
        return result
