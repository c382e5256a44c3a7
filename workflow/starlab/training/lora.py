"""Low-rank adapters through PEFT, merged into the weights before a model is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSpec:
    """Adapters on every linear layer but the output head; they count for alpha / rank."""

    rank: int = 16
    alpha: float = 32.0
    dropout: float = 0.0


def peft_config(spec: LoraSpec | None) -> Any:
    """PEFT's configuration, or None to train all weights."""
    if spec is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=spec.rank,
        lora_alpha=spec.alpha,
        lora_dropout=spec.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
