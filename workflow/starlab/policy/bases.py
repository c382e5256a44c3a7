"""The recipes of the shipped base models: one a scale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import StarlabError, nearest
from .ladder import Architecture
from .pretraining import PretrainingSpec, pretrain

WEIGHTS = {
    "repeat": 0.6, "recall": 0.4, "filter": 0.7, "rows": 2.3, "fares": 0.7, "travel": 3.2, "cities": 0.2, "hotel": 0.4,
    "hotel_rule": 0.6, "hotel_room": 0.6, "hotel_both": 1.5, "meals": 1.0, "cuisine": 1.7, "cuisines": 3.5,
    "stay": 2.5, "questions": 1.5,
}  # fmt: skip
"""Share of every skill in the pretraining mixture, up to a factor."""


def _recipe(hidden: int, layers: int, steps: int) -> PretrainingSpec:
    architecture = Architecture(hidden, layers, heads=4, kv_heads=2, head_dim=32, intermediate=3 * hidden)
    return PretrainingSpec(architecture, WEIGHTS, steps, decay_steps=3 * steps // 4, copying_steps=700, long_steps=1500)


RECIPES = {
    "s": _recipe(48, 3, steps=2500),
    "m": _recipe(64, 4, steps=4500),
    "l": replace(_recipe(80, 5, steps=5000), cheap=0.6),  # five layers learn to copy slots all the same
}
"""How every base model of the tiny ladder was made."""


def build(scale: str, out: Path, threads: int = 1) -> None:
    """Pretrain the base model of `scale` into `out`: weights, tokenizer, card and curve."""
    from .tokenizer import build_tokenizer

    if scale not in RECIPES:
        raise StarlabError(
            f"policy.ladder: there is no recipe for the base model of {scale!r}; {nearest(scale, RECIPES)}"
        )
    pretrain(RECIPES[scale], out, build_tokenizer(), threads)
