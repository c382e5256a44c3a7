"""The model ladder: tiny Qwen2 architectures, one spec a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, Qwen2ForCausalLM

ROPE_THETA = 1e6
"""As in Qwen2.5: most of a head's width turns slowly, which leaves it free to compare names over a whole episode."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A Qwen2 decoder; input and output embeddings are tied."""

    hidden: int
    """Width of the residual stream."""
    layers: int
    heads: int
    """Query heads."""
    kv_heads: int
    """Key and value heads; fewer of them make decoding faster, which is bound by reading the cache."""
    head_dim: int
    """Width of a head. Copying compares names within one head, so it is not hidden / heads."""
    intermediate: int
    """Width of the gated MLP."""


def build_model(architecture: Architecture, tokenizer: PreTrainedTokenizerBase, seed: int) -> Qwen2ForCausalLM:
    """A freshly initialised model that depends on its arguments only: weights of std 0.02, heads that look back."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=architecture.hidden,
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        num_key_value_heads=architecture.kv_heads,
        head_dim=architecture.head_dim,  # type: ignore[call-arg]  # Qwen2 reads it, its config class does not name it
        intermediate_size=architecture.intermediate,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        tie_word_embeddings=True,
        initializer_range=0.02,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(config)
    _look_back(model, architecture)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def _look_back(model: Qwen2ForCausalLM, architecture: Architecture) -> None:
    """Start head h of the first layer as one that attends h + 1 tokens back, through the biases on queries and keys.

    A rotated query bias meets the constant key bias with the score sum_f cos((distance - h - 1) * frequency_f),
    whose peak is where we want it. Copying needs such heads, and finding them is the slow part of learning to copy:
    with this start it comes in half the steps (docs/tuning.md). What the heads carry is learned as usual.
    """
    import torch

    width = architecture.head_dim
    frequencies = ROPE_THETA ** (-torch.arange(0, width, 2) / width)
    strength = 16.0 / width**0.5  # a score of about 1 less for every token off
    attention = model.model.layers[0].self_attn
    with torch.no_grad():
        for head in range(architecture.kv_heads):
            bias = torch.cat([torch.ones(width // 2), torch.zeros(width // 2)])
            attention.k_proj.bias[head * width : (head + 1) * width] = bias * strength
        for head in range(architecture.heads):
            angle = -(head + 1) * frequencies
            bias = torch.cat([torch.cos(angle), torch.sin(angle)])
            attention.q_proj.bias[head * width : (head + 1) * width] = bias * strength
