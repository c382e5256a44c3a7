"""Reinforcement learning on pivots: turn-level GRPO with the trainer, checkpoints and records of whole episodes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..rollout.episode import Decoding
from ..training.progress import Measure
from ..training.recording import Log
from ..training.rl import Kind, RlSpec, train_rl
from ..training.watch import Alarm
from . import profiling, verifiers
from .candidates import Turn
from .cells import PIVOTS
from .profiling import Profile

logger = logging.getLogger(__name__)

BY_TOKEN = "dapo"
"""TRL's name for a loss that is the mean over all tokens. In a whole episode every token counts alike, whichever turn
it is in. A mean over turns would give each token of a call, which has nine of them, six times the weight of a token of
an answer, which has 54 and is where most mistakes are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotSpec:
    """What a run on pivots depends on beside `rl`, of which everything but calls, their faults and the backend
    holds here too; `rl.algorithm` is the loss, `rl.reward` scores answers, `rl.prompts` counts states."""

    rl: RlSpec
    verifier: str = "functional"
    filtered: bool = True
    """Whether training is on pivots only, or on all candidates."""
    mean_below: float = 0.6
    """A pivot's mean reward is strictly below this (lambda)."""

    @staticmethod
    def of(algorithm: str, *, seed: int, mean_below: float, beta: float, **rl: Any) -> PivotSpec:
        """The spec of a cell's algorithm, one of `PIVOTS`."""
        if algorithm not in PIVOTS:
            raise StarlabError(f"pivot: {algorithm!r} is no algorithm on pivots; valid: {', '.join(PIVOTS)}")
        kind = PIVOTS[algorithm]
        spec = RlSpec(seed=seed, algorithm="grpo", settings={"beta": beta, "loss_type": BY_TOKEN}, **rl)
        return PivotSpec(rl=spec, verifier=kind.verifier, filtered=kind.filtered, mean_below=mean_below)


def train_pivot(
    spec: PivotSpec,
    turns: Sequence[Turn],
    profile: Profile | None,
    start: Path,
    out: Path,
    log: Log | None = None,
    checkpoint_folder: Path | None = None,
    alarm: Alarm | None = None,
    *,
    spent: Mapping[str, float] | None = None,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Train the model in `start` on `turns`, or on the pivots among them, as `train_rl` does, to the same outputs.

    `profile` is needed where the spec filters; `spent` says what it cost. Returns the content of `train.json`.
    """
    from .collector import TurnCollector
    from .trainer import PivotTrainer
    from .turns import TurnEngine

    verifier = verifiers.find(spec.verifier, spec.rl.reward)
    chosen = list(turns)
    if spec.filtered:
        if profile is None:
            raise StarlabError("pivot: the filter needs a profile; make it first")
        chosen = profiling.pivots(turns, profile.statistics(turns, verifier), spec.mean_below)
        spent = {"profile_turns": profile.turns, "profile_tokens": profile.tokens, **(spent or {})}
        logger.info("pivots: %d of %d turns", len(chosen), len(turns))

    def gather(trainer: Any, tokenizer: Any) -> TurnCollector:
        rl = spec.rl
        engine = TurnEngine(trainer.model, tokenizer, rl.max_turn_tokens, rl.max_tokens, rl.rows)
        table = {turn.id: turn for turn in chosen}
        return TurnCollector(engine, table, verifier, Decoding(rl.temperature), rl.group, rl.seed)

    kind = Kind(
        gather=gather,
        trainer=PivotTrainer,
        settings={"verifier": spec.verifier, "mean_below": spec.mean_below if spec.filtered else None},
        spent=dict(spent or {}) if spec.filtered else {},
    )
    return train_rl(spec.rl, chosen, start, out, log, checkpoint_folder, alarm, kind=kind, measure=measure)
