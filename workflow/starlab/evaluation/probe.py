"""Measuring a policy while it trains, with the function that measures it at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..measures import evaluation_measures
from .evaluate import evaluate
from .panels import Panel
from .run import Settings

METRICS = ("success",)
"""What is worth a curve; everything else is measured at the end."""


def probe(panel: Panel, settings: Settings, seed: int) -> Callable[[Any, Any], dict[str, float]]:
    """(model, tokenizer) -> e.g. validation/greedy/success, on one panel and in both decodings."""

    def measure(model: Any, tokenizer: Any) -> dict[str, float]:
        from ..rollout.engine import Engine

        engine = Engine(model, tokenizer, settings.limits(), settings.batch)
        found = evaluate(engine, [panel], settings.decodings(cool=False), seed)
        numbers = evaluation_measures({"panels": found.panels})
        wanted = {f"{panel.name}/{decoding}/{metric}" for decoding in ("greedy", "sampled") for metric in METRICS}
        return {name: value for name, value in numbers.items() if name in wanted}

    return measure
