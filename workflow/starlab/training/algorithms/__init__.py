"""Reinforcement-learning algorithms, one file each. To add one: a frozen dataclass in a file, and a line in
`ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...errors import StarlabError, nearest
from .arpo import Arpo, ArpoRandom
from .base import Algorithm, Selection
from .dapo import Dapo
from .grpo import Grpo

ALGORITHMS: Mapping[str, type[Algorithm]] = {
    "grpo": Grpo,
    "dapo": Dapo,
    "arpo": Arpo,
    "arpo_random": ArpoRandom,
}


def make(name: str, settings: Mapping[str, Any]) -> Algorithm:
    """The algorithm of that name with some of its fields set."""
    if name not in ALGORITHMS:
        raise StarlabError(f"algorithm: unknown {name!r}; {nearest(name, ALGORITHMS)}")
    known = {field.name for field in fields(ALGORITHMS[name])}
    for key in settings:
        if key not in known:
            raise StarlabError(f"algorithm {name}: unknown setting {key!r}; {nearest(key, known)}")
    return ALGORITHMS[name](**settings)


__all__ = ["ALGORITHMS", "Algorithm", "Arpo", "ArpoRandom", "Dapo", "Grpo", "Selection", "make"]
