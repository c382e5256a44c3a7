"""Evaluate the model in a folder and write `evaluation.json` and `queries.jsonl`: the work of one job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StarlabError
from ..rollout.episode import Decoding, Limits
from . import results
from .evaluate import evaluate
from .panels import Panel

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WEIGHTS = "model.safetensors"


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

    policy, tokenizer = load(model)
    engine = Engine(policy, tokenizer, settings.limits(), settings.batch)
    measured = evaluate(engine, panels, settings.decodings(cool), seed)
    evaluation = {**(header or {}), "model_sha256": _sha256(model / WEIGHTS), "panels": measured.panels}
    results.write(output, evaluation, measured.rows)
    return evaluation


def load(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and tokenizer saved in `folder`; StarlabError says what is missing or damaged."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fix = "run the job that makes this model again"
    for name in (WEIGHTS, "config.json", "tokenizer.json"):
        if not (folder / name).is_file():
            raise StarlabError(f"{folder / name}: the file is missing, there is no model to load; {fix}")
    models: Any = AutoModelForCausalLM
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model, loaded = models.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:  # the libraries raise what their readers happen to meet in a damaged file
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise StarlabError(
            f"{folder}: the model is damaged and cannot be loaded ({reason}); {fix}"
        ) from error
    absent = sorted(loaded["missing_keys"])
    if absent:
        raise StarlabError(f"{folder / WEIGHTS}: weights are missing ({', '.join(absent[:3])}, ...); {fix}")
    return model, tokenizer


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
