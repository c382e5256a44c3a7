"""The names under which numbers are logged. One vocabulary, so that runs can be compared and MLflow accepts
every name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .training.metrics import STEP

EVALUATION = re.compile(r"(validation|test|unseen|knowledge)/(greedy|sampled|cool)/([a-z_0-9]+/)?[a-z_0-9]+")
"""Metrics of an evaluation: panel/decoding/metric, or panel/decoding/level/metric and
panel/decoding/check/name."""

PROFILE = re.compile(r"profile/((functional|calls)/[a-z]+|strict)/(zero_signal|kept|mean)")
"""Metrics of a profile: share of turns without signal, share kept by the filter, mean reward."""

DECODINGS = ("greedy", "sampled", "cool")


def known(name: str) -> bool:
    """Whether a metric of this name may be logged."""
    return name in STEP or any(pattern.fullmatch(name) for pattern in (EVALUATION, PROFILE))


def evaluation_measures(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an `evaluation.json` that are worth a curve: scores, checks, and success by level."""
    found: dict[str, float] = {}
    for panel, entry in evaluation["panels"].items():
        for decoding in (name for name in DECODINGS if name in entry):
            numbers = entry[decoding]
            place = f"{panel}/{decoding}"
            scores = {name: value for name, value in numbers.items() if isinstance(value, int | float)}
            found |= {f"{place}/{name}": float(value) for name, value in scores.items()}
            checks = numbers.get("checks", {})
            found |= {f"{place}/check/{word(name)}": float(value) for name, value in checks.items()}
            levels = numbers.get("by_level", {})
            found |= {f"{place}/{word(name)}/success": float(row["success"]) for name, row in levels.items()}
    return found


def profile_measures(card: Mapping[str, Any]) -> dict[str, float]:
    """The headline numbers of the `card.json` of a profile."""
    return {
        f"profile/{name}/{key}": found[key]
        for name, found in card["verifiers"].items()
        for key in ("zero_signal", "kept", "mean")
    }


def word(name: str) -> str:
    """`name` with nothing in it that MLflow refuses."""
    return re.sub(r"[^a-z0-9_]+", "_", name.lower())


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, numbers) of the lines of a `metrics.jsonl`; none if it is not there.

    A line that a kill cut off is passed over.
    """
    step = 0
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        step = int(row.pop("step", step + 1))
        yield step, {name: value for name, value in row.items() if isinstance(value, int | float)}


def read_records(folder: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, numbers), known names only, of the steps in `metrics.jsonl`, then of the learning curve in
    `progress.jsonl`.
    """
    for name in ("metrics.jsonl", "progress.jsonl"):
        for step, numbers in read_rows(folder / name):
            yield step, {key: value for key, value in numbers.items() if known(key)}


def read_steps(folder: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, numbers) of a run folder, all that was logged while it ran: its steps, its learning curve, and then its
    evaluation or the card of a profile at the last step.
    """
    last = 0
    for step, numbers in read_records(folder):
        last = max(last, step)
        yield step, numbers
    for name, measures in (("evaluation.json", evaluation_measures), ("card.json", profile_measures)):
        path = folder / name
        if path.exists():
            yield last, measures(json.loads(path.read_text(encoding="utf-8")))


def headline(evaluation: Mapping[str, Any]) -> str:
    """Success on every panel and decoding, in one line."""
    panels = []
    for panel, entry in evaluation["panels"].items():
        found = [f"{name} {entry[name]['success']:.2f}" for name in DECODINGS if name in entry]
        panels.append(f"{panel} {', '.join(found)}")
    return "success: " + "; ".join(panels)
