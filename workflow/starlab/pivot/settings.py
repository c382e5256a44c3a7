"""What the jobs on demonstrations depend on, as plain values, cut from the experiment file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..config import Experiment
from ..fields import Section, per_scale
from .cells import PIVOTS, SFTLONG

if TYPE_CHECKING:
    from ..matrix import Cell


def of_cell(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    """All that a run of `cell`, one of `ON_DEMONSTRATIONS`, depends on beside its seed and its files."""
    lora = experiment.policy.ladder[cell.scale].lora
    override = experiment.matrix.overrides.get(cell.name)
    changed = override.model_dump(exclude_none=True) if override else {}
    own = {"scale": cell.scale, "algorithm": cell.algorithm, "lora": lora.model_dump() if lora else None}
    pivot, rl = experiment.pivot, experiment.rl
    if cell.algorithm == SFTLONG:
        lr = per_scale(experiment.sft.lr, cell.scale)
        return {**own, "lr": lr, "epochs": pivot.sft_epochs, "batch": experiment.sft.batch, "replay": 0.0, **changed}
    algorithms = {name for name in type(rl).model_fields if isinstance(getattr(rl, name), Section)}
    shared = rl.model_dump(exclude={"lr", "prompts", "max_calls", "fault_kind", "backend", *algorithms})
    settings: dict[str, Any] = {"candidates": pivot.candidates, "beta": pivot.beta}
    if PIVOTS[cell.algorithm].filtered:
        settings["mean_below"] = pivot.mean_below
    lr = per_scale(pivot.lr, cell.scale)
    return {**own, "reward": cell.reward, "lr": lr, **shared, "prompts": pivot.prompts, "settings": settings, **changed}


def of_profile(experiment: Experiment) -> dict[str, Any]:
    """All that a profile depends on beside scale, seed and files; what is made of it has settings of its own."""
    pivot, rl = experiment.pivot, experiment.rl
    return {
        "candidates": pivot.candidates,
        "samples": pivot.samples,
        "temperature": rl.temperature,
        "max_tokens": rl.max_tokens,
        "max_turn_tokens": rl.max_turn_tokens,
    }


def of_report(experiment: Experiment, cells: Iterable[Cell], scale: str) -> dict[str, Any]:
    """What the report on the profile of `scale` shows: the verifiers of the cells that use it."""
    named = [(PIVOTS[cell.algorithm].verifier, cell.reward) for cell in cells if uses_profile(cell, scale)]
    verifiers = {name if name == "strict" else f"{name}/{reward}": (name, reward) for name, reward in named}
    return {
        "verifiers": verifiers,
        "mean_below": experiment.pivot.mean_below,
        "candidates": experiment.pivot.candidates,
    }


def uses_profile(cell: Cell, scale: str) -> bool:
    """Whether `cell` is of that scale and trains on what passed the filter."""
    return cell.scale == scale and cell.algorithm in PIVOTS and PIVOTS[cell.algorithm].filtered
