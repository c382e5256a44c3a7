"""The recipes of the shipped base models: one a scale."""

from __future__ import annotations

from pathlib import Path

from ..errors import StarlabError, nearest
from .ladder import Architecture
from .pretraining import PretrainingSpec, pretrain

WEIGHTS = {
    "repeat": 0.3, "recall": 0.3, "filter": 0.7, "rows": 2.0, "travel": 1.5, "cities": 0.2, "hotel": 0.5,
    "hotel_rule": 1.0, "hotel_room": 1.0, "hotel_both": 1.5, "meals": 0.7, "cuisine": 1.0, "cuisines": 1.5,
    "stay": 1.5, "questions": 2.5,
}  # fmt: skip
"""Share of every skill in the pretraining mixture, up to a factor."""


def _architecture(hidden: int, layers: int) -> Architecture:
    return Architecture(hidden, layers, heads=4, kv_heads=2, head_dim=32, intermediate=3 * hidden)


RECIPES = {
    "s": PretrainingSpec(_architecture(hidden=48, layers=3), WEIGHTS, steps=5000),
    "m": PretrainingSpec(_architecture(hidden=64, layers=4), WEIGHTS, steps=5000),
    "l": PretrainingSpec(_architecture(hidden=96, layers=4), WEIGHTS, steps=5000),
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
