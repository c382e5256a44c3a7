"""The recipes of the shipped base models: one a scale."""

from __future__ import annotations

from pathlib import Path

from ..errors import StarlabError, nearest
from .ladder import Architecture
from .pretraining import PretrainingSpec, pretrain

WEIGHTS = {
    "repeat": 0.5, "recall": 0.5, "filter": 0.7, "rows": 2.0, "travel": 2.0, "cities": 0.2, "hotel": 0.7,
    "hotel_rule": 1.0, "hotel_room": 1.0, "hotel_both": 2.0, "meals": 1.0, "cuisine": 1.0, "cuisines": 2.5,
    "stay": 2.5, "questions": 1.8,
}  # fmt: skip
"""Share of every skill in the pretraining mixture, up to a factor."""


def _recipe(hidden: int, layers: int) -> PretrainingSpec:
    architecture = Architecture(hidden, layers, heads=4, kv_heads=2, head_dim=32, intermediate=3 * hidden)
    return PretrainingSpec(architecture, WEIGHTS, steps=2500, decay_steps=1920, copying_steps=700)


RECIPES = {"s": _recipe(hidden=48, layers=3), "m": _recipe(hidden=64, layers=4), "l": _recipe(hidden=96, layers=4)}
"""How every base model of the tiny ladder was made."""


def build(scale: str, out: Path, threads: int = 1) -> None:
    """Pretrain the base model of `scale` into `out`: weights, tokenizer, card and curve."""
    from .tokenizer import build_tokenizer

    if scale not in RECIPES:
        raise StarlabError(
            f"policy.ladder: there is no recipe for the base model of {scale!r}; {nearest(scale, RECIPES)}"
        )
    pretrain(RECIPES[scale], out, build_tokenizer(), threads)
