"""Evaluate the model in a folder and write `evaluation.json` and `queries.jsonl`: the work of one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..device import device
from ..provenance import content_sha256
from ..rollout.episode import Decoding, Limits
from ..training.checkpoints import load_model, weights
from . import results
from .evaluate import evaluate
from .panels import Panel


@dataclass(frozen=True, slots=True)
class Settings:
    """How a policy is measured; the names are those of the config section `evaluation`."""

    temperature: float = 0.7
    """Of the decoding "sampled", beside "greedy"."""
    cool_temperature: float = 0.3
    """Of the decoding "cool" of SFT references: what sharpening alone would gain."""
    top_p: float = 1.0
    """Nucleus of the sampled decodings."""
    max_calls: int = 60
    """Tool calls an episode may make."""
    max_tokens: int = 1024
    """Longest episode, prompt and tool texts included."""
    turn_tokens: int = 256
    """Longest turn."""
    batch: int = 64
    """Episodes played at a time; a matter of speed only."""

    def limits(self) -> Limits:
        return Limits(turn_tokens=self.turn_tokens, total_tokens=self.max_tokens, calls=self.max_calls)

    def decodings(self, cool: bool) -> dict[str, Decoding]:
        """Name -> decoding, in reporting order; "cool" only where asked for."""
        decodings = {"greedy": Decoding(0.0), "sampled": Decoding(self.temperature, self.top_p)}
        return decodings | ({"cool": Decoding(self.cool_temperature, self.top_p)} if cool else {})


def run(
    model: Path,
    panels: Sequence[Panel],
    settings: Settings,
    seed: int,
    output: Path,
    cool: bool = False,
    header: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure the model in the folder `model` and write both files into `output`.

    `header`: further fields of `evaluation.json` (cell, seed, scale, config_sha256). Returns its content.
    """
    from ..rollout.engine import Engine

    policy, tokenizer = load_model(model)
    engine = Engine(policy.to(device()), tokenizer, settings.limits(), settings.batch)
    measured = evaluate(engine, panels, settings.decodings(cool), seed)
    evaluation = {**(header or {}), "model_sha256": content_sha256(*weights(model)), "panels": measured.panels}
    results.write(output, evaluation, measured.rows)
    return evaluation
