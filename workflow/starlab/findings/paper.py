"""The paper's numbers for our cells, from paper.yaml, as fractions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from starlab.findings.contrast import Component, Contrast, Metric, renamed

PAPER = Path(__file__).with_name("paper.yaml")


@dataclass(frozen=True)
class Paper:
    """scores: (cell, panel, key) -> fraction. The paper decodes once, at temperature 0.6; its numbers stand
    beside our greedy ones.
    """

    scores: Mapping[tuple[str, str, str], float]

    def renamed(self, scales: Mapping[str, str]) -> Paper:
        """The same under the names that an experiment gives to the scales."""
        return Paper({(renamed(cell, scales), panel, key): value for (cell, panel, key), value in self.scores.items()})

    def score(self, cell: str, metric: Metric) -> float | None:
        """The paper's value as a fraction; None when it gives none (and always on the unseen database, which
        it has not).
        """
        return self.scores.get((cell, metric.panel, metric.key))

    def component(self, component: Component, metric: Metric) -> float | None:
        values = [(self.score(cell, metric), weight) for cell, weight in component.weights]
        if any(value is None for value, _ in values):
            return None
        return sum(value * weight for value, weight in values if value is not None)

    def contrast(self, contrast: Contrast, metric: Metric) -> float | None:
        """The paper's value of a whole contrast: the weakest group, a group being its weakest ("all") or
        best ("any") component.
        """
        groups = []
        for group in contrast.groups:
            values = [self.component(component, metric) for component in group]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return None
            groups.append(min(known) if contrast.within == "all" else max(known))
        return min(groups)


@cache
def load_paper(path: Path = PAPER) -> Paper:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    scores = {
        (cell, panel, column): value / 100.0
        for panel, section in (("test", document["in_domain"]), ("knowledge", document["out_of_domain"]))
        for cell, row in section["cells"].items()
        for column, value in zip(section["columns"], row, strict=True)
        if value is not None
    }
    return Paper(scores)
