"""What a claim is made of: metrics, components, contrasts, findings, and the names of cells.

A contrast becomes components: weighted sums of cells, grouped. A difference has one component, an ordering
one per pair. `within` says how the components of a group combine ("all" must hold, or "any"); every group
must hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from starlab.errors import StarlabError

CELL = re.compile(
    r"(?P<scale>[^-]+)-(?P<reward>[^-]+)-(?P<algorithm>[^-]+)-(?P<mix>[a-z]+)(?P<size>\d+)-noise(?P<noise>\d+)"
)
CELL_FORM = "{scale}-{reward}-{algorithm}-{mix}{size}-noise{percent}"
REFERENCE = re.compile(r"(?P<stage>base|sft)-(?P<scale>[^-]+)")


class Kind(StrEnum):
    DIFFERENCE = "difference"
    INTERACTION = "interaction"
    TREND = "trend"
    ORDERING = "ordering"
    NONINFERIORITY = "noninferiority"
    EQUIVALENCE = "equivalence"


FORMS = ("chain", "best", "not_best")


@dataclass(frozen=True)
class Metric:
    """Where a score stands in evaluation.json: panels[panel][decoding][key]."""

    panel: str
    decoding: str
    key: str

    def __str__(self) -> str:
        return f"{self.panel}.{self.decoding}.{self.key}"


@dataclass(frozen=True)
class Component:
    """One weighted sum of cells; `weights` are (cell, weight) pairs that sum to zero."""

    label: str
    weights: tuple[tuple[str, float], ...]

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(cell for cell, _ in self.weights)


@dataclass(frozen=True)
class Contrast:
    """One preregistered statement. margin is a fraction (the file has percentage points); paper likewise,
    None if not given.
    """

    id: str
    title: str
    kind: Kind
    form: str
    metric: Metric
    primary: bool
    margin: float
    reason: str
    paper: float | None
    paper_note: str
    groups: tuple[tuple[Component, ...], ...]

    @property
    def within(self) -> Literal["all", "any"]:
        return "any" if self.form == "not_best" else "all"

    @property
    def threshold(self) -> float:
        """What a component must exceed, a fraction (of an equivalence: its upper limit)."""
        return -self.margin if self.kind is Kind.NONINFERIORITY else self.margin

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(component for group in self.groups for component in group)

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell for component in self.components for cell in component.cells))


@dataclass(frozen=True)
class FigureSpec:
    """What a finding's figure shows: the factor on the x axis, the one told by colour ("" for none), metrics
    and cells.
    """

    x: str
    hue: str
    style: str
    metrics: tuple[Metric, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    id: str
    title: str
    text: str
    contrasts: tuple[Contrast, ...]
    figure: FigureSpec
    system: str = "Agent-STAR"
    """The system that the finding is about; findings of one system stand together under its name."""

    @property
    def primaries(self) -> tuple[Contrast, ...]:
        return tuple(contrast for contrast in self.contrasts if contrast.primary)

    @property
    def cells(self) -> tuple[str, ...]:
        named = [cell for contrast in self.contrasts for cell in contrast.cells]
        return tuple(dict.fromkeys([*self.figure.cells, *named]))


@dataclass(frozen=True)
class Settings:
    """alpha: level of each test. power: wanted chance of a verdict. assumed_seed_sd: fraction, for planning
    from one seed.
    """

    alpha: float
    power: float
    assumed_seed_sd: float
    bootstrap_draws: int


@dataclass(frozen=True)
class Claims:
    findings: tuple[Finding, ...]
    settings: Settings
    companions: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    sha256: str

    def companions_of(self, metric: Metric) -> tuple[Metric, ...]:
        """The metrics reported beside `metric`: the same key on other panels or decodings."""
        pairs = dict(self.companions).get(metric.panel, ())
        return tuple(Metric(panel, decoding, metric.key) for panel, decoding in pairs)

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell for finding in self.findings for cell in finding.cells))


def factors_of(cell: str) -> dict[str, str]:
    """The factors that a cell's name spells; a reference such as sft-m has `scale` and `reward` (its stage)
    only.
    """
    if match := CELL.fullmatch(cell):
        return match.groupdict()
    if match := REFERENCE.fullmatch(cell):
        return {"scale": match["scale"], "reward": match["stage"]}
    raise StarlabError(f"{cell!r} is not the name of a cell ({CELL_FORM}) or of a reference (sft-{{scale}})")


def renamed(cell: str, scales: Mapping[str, str]) -> str:
    """The name of a cell or reference with its scale called as `scales` says; the same where it says nothing."""
    match = CELL.fullmatch(cell) or REFERENCE.fullmatch(cell)
    if match is None or match["scale"] not in scales:
        return cell
    start, end = match.span("scale")
    return f"{cell[:start]}{scales[match['scale']]}{cell[end:]}"


@dataclass(frozen=True)
class PairLabel:
    first: str
    second: str
    common: str

    def __str__(self) -> str:
        return f"{self.first} − {self.second} ({self.common})"


def label_difference(first: str, second: str) -> PairLabel:
    """What differs between two cells in words: "curriculum − sum (s)". `common` is the scale, or the reward
    across scales.
    """
    a, b = factors_of(first), factors_of(second)
    varying = [factor for factor in a if a.get(factor) != b.get(factor) and factor in b] or ["scale"]
    common = b["reward"] if "scale" in varying else b["scale"]
    return PairLabel(" ".join(a[factor] for factor in varying), " ".join(b[factor] for factor in varying), common)
