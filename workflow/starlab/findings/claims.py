"""The claims, read from claims.yaml and checked before anything is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import yaml

from starlab.errors import StarlabError, nearest
from starlab.findings.contrast import (
    CELL,
    CELL_FORM,
    FORMS,
    REFERENCE,
    Claims,
    Component,
    Contrast,
    FigureSpec,
    Finding,
    Kind,
    Metric,
    Settings,
    label_difference,
    renamed,
)

CLAIMS = Path(__file__).with_name("claims.yaml")
DECODINGS = ("greedy", "sampled", "cool")
PANELS = ("test", "unseen", "knowledge")


def load_claims(
    path: Path = CLAIMS, known_cells: Iterable[str] | None = None, scales: Mapping[str, str] | None = None
) -> Claims:
    """Read and check `path`. With `known_cells` (a whole matrix) every cell named must be one of them, or a
    reference. `scales`: what an experiment calls the scales of the file, where it calls them differently.

    Raises StarlabError naming file, claim, field and the nearest valid name.
    """
    try:
        raw = path.read_bytes()
        document = yaml.safe_load(raw)
    except OSError as error:
        raise StarlabError(f"{path}: cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise StarlabError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from error
    known = set(known_cells) if known_cells is not None else None
    return _Reader(path, known, scales or {}).claims(document, hashlib.sha256(raw).hexdigest())


class _Reader:
    """Checks one file. Every message starts with the file and the place in it."""

    def __init__(self, path: Path, known: set[str] | None, scales: Mapping[str, str]) -> None:
        self.path = path
        self.known = known
        self.scales = scales
        self.factors: dict[str, list[str]] = {}

    def fail(self, place: str, message: str) -> NoReturn:
        raise StarlabError(f"{self.path}: {place}: {message}")

    def mapping(
        self, value: object, place: str, required: Iterable[str], optional: Iterable[str] = ()
    ) -> dict[str, object]:
        if not isinstance(value, dict):
            self.fail(place, f"expected named fields, found {value!r}")
        allowed = [*required, *optional]
        for key in value:
            if key not in allowed:
                self.fail(place, f"unknown field {key!r}; {nearest(str(key), allowed)}")
        for key in required:
            if key not in value:
                self.fail(place, f"field {key!r} is missing")
        return value

    def items(self, value: object, place: str) -> list[object]:
        if not isinstance(value, list) or not value:
            self.fail(place, f"expected a list with at least one entry, found {value!r}")
        return value

    def number(self, value: object, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(place, f"expected a number, found {value!r}")
        return float(value)

    def choice(self, value: object, place: str, valid: Iterable[str]) -> str:
        names = list(valid)
        if value not in names:
            self.fail(place, f"{value!r} is not known; {nearest(str(value), names)}")
        return str(value)

    def text(self, value: object, place: str) -> str:
        if not isinstance(value, str) or not value.strip():
            self.fail(place, f"expected a text, found {value!r}")
        return value.strip()

    def cell(self, value: object, place: str) -> str:
        name = str(value)
        if match := REFERENCE.fullmatch(name):
            self.choice(match["scale"], f"{place}: scale of {name!r}", self.factors["scale"])
            return renamed(name, self.scales)
        match = CELL.fullmatch(name)
        if match is None:
            candidates = self.known or set()
            hint = f"; {nearest(name, candidates)}" if candidates else ""
            self.fail(place, f"{name!r} is not a cell name ({CELL_FORM}){hint}")
        for factor, level in match.groupdict().items():
            self.choice(level, f"{place}: {factor} of {name!r}", self.factors[factor])
        name = renamed(name, self.scales)
        if self.known is not None and name not in self.known:
            self.fail(place, f"{name!r} is not a cell of the matrix; {nearest(name, self.known)}")
        return name

    def metric(self, value: object, place: str) -> Metric:
        parts = str(value).split(".")
        if len(parts) != 3:
            self.fail(place, f"{value!r} is not panel.decoding.key, such as test.greedy.success")
        panel, decoding, key = parts
        return Metric(self.choice(panel, place, PANELS), self.choice(decoding, place, DECODINGS), key)

    def claims(self, document: object, sha256: str) -> Claims:
        top = self.mapping(document, "top level", ("statistics", "companions", "factors", "findings"))
        settings = self.mapping(
            top["statistics"], "statistics", ("alpha", "power", "assumed_seed_sd", "bootstrap_draws")
        )
        numbers = {key: self.number(value, f"statistics.{key}") for key, value in settings.items()}
        factors = self.mapping(top["factors"], "factors", ("scale", "reward", "algorithm", "mix", "size", "noise"))
        self.factors = {
            key: [str(level) for level in self.items(value, f"factors.{key}")] for key, value in factors.items()
        }
        for scale in self.scales:
            self.choice(scale, "findings.scales of the experiment", self.factors["scale"])
        companions = self.mapping(top["companions"], "companions", (), PANELS)
        findings = tuple(
            self.finding(entry, index) for index, entry in enumerate(self.items(top["findings"], "findings"))
        )
        self.unique((finding.id for finding in findings), "findings")
        return Claims(
            findings=findings,
            settings=Settings(
                numbers["alpha"],
                numbers["power"],
                numbers["assumed_seed_sd"] / 100.0,
                int(numbers["bootstrap_draws"]),
            ),
            companions=tuple((panel, self.companion_pairs(value, panel)) for panel, value in companions.items()),
            sha256=sha256,
        )

    def companion_pairs(self, value: object, panel: str) -> tuple[tuple[str, str], ...]:
        metrics = (
            self.metric(f"{entry}.success", f"companions.{panel}") for entry in self.items(value, f"companions.{panel}")
        )
        return tuple((metric.panel, metric.decoding) for metric in metrics)

    def unique(self, ids: Iterable[str], place: str) -> None:
        seen: set[str] = set()
        for name in ids:
            if name in seen:
                self.fail(place, f"two entries are called {name!r}")
            seen.add(name)

    def finding(self, value: object, index: int) -> Finding:
        place = f"findings[{index}]"
        fields = self.mapping(value, place, ("id", "title", "text", "contrasts", "figure"), ("system",))
        name = self.text(fields["id"], f"{place}.id")
        contrasts = tuple(
            self.contrast(entry, name, position)
            for position, entry in enumerate(self.items(fields["contrasts"], f"{name}.contrasts"))
        )
        self.unique((contrast.id for contrast in contrasts), f"{name}.contrasts")
        if not any(contrast.primary for contrast in contrasts):
            self.fail(name, "no contrast is primary, so nothing decides the finding")
        title, text = (self.text(fields[key], f"{name}.{key}") for key in ("title", "text"))
        figure = self.figure(fields["figure"], f"{name}.figure")
        system = self.text(fields.get("system", Finding.system), f"{name}.system")
        return Finding(name, title, text, contrasts, figure, system)

    def figure(self, value: object, place: str) -> FigureSpec:
        fields = self.mapping(value, place, ("x", "metrics", "cells"), ("hue", "style"))
        return FigureSpec(
            x=self.choice(fields["x"], f"{place}.x", self.factors),
            hue=self.choice(fields["hue"], f"{place}.hue", self.factors) if "hue" in fields else "",
            style=self.choice(fields.get("style", "points"), f"{place}.style", ("points", "lines")),
            metrics=tuple(
                self.metric(entry, f"{place}.metrics") for entry in self.items(fields["metrics"], f"{place}.metrics")
            ),
            cells=tuple(self.cell(entry, f"{place}.cells") for entry in self.items(fields["cells"], f"{place}.cells")),
        )

    def contrast(self, value: object, finding: str, position: int) -> Contrast:
        name = value.get("id", f"contrasts[{position}]") if isinstance(value, dict) else f"contrasts[{position}]"
        place = f"{finding}.{name}"
        fields = self.mapping(
            value,
            place,
            ("id", "title", "kind", "metric", "primary", "margin", "reason", "paper"),
            ("form", "weights", "groups", "paper_note"),
        )
        kind = Kind(self.choice(fields["kind"], f"{place}.kind", [*Kind]))
        margin = self.number(fields["margin"], f"{place}.margin")
        if margin < 0 or (margin == 0 and kind in (Kind.EQUIVALENCE, Kind.NONINFERIORITY)):
            self.fail(
                f"{place}.margin",
                f"{margin} points cannot be a margin of kind {kind}; give a positive number",
            )
        if not isinstance(fields["primary"], bool):
            self.fail(f"{place}.primary", f"expected true or false, found {fields['primary']!r}")
        form = self.choice(fields.get("form"), f"{place}.form", FORMS) if kind is Kind.ORDERING else ""
        title = self.text(fields["title"], f"{place}.title")
        if kind in (Kind.ORDERING, Kind.TREND):
            groups = self.grouped(fields, place, kind, form)
        else:
            groups = ((Component(title, self.weights(fields, place, kind)),),)
        return Contrast(
            id=self.text(fields["id"], f"{place}.id"),
            title=title,
            kind=kind,
            form=form,
            metric=self.metric(fields["metric"], f"{place}.metric"),
            primary=fields["primary"],
            margin=margin / 100.0,
            reason=self.text(fields["reason"], f"{place}.reason"),
            paper=None if fields["paper"] is None else self.number(fields["paper"], f"{place}.paper") / 100.0,
            paper_note=str(fields.get("paper_note", "")),
            groups=groups,
        )

    def weights(self, fields: Mapping[str, object], place: str, kind: Kind) -> tuple[tuple[str, float], ...]:
        raw = fields.get("weights")
        if not isinstance(raw, dict) or "groups" in fields:
            self.fail(place, f"kind {kind} needs the field 'weights' (cell: weight) and no 'groups'")
        weights = tuple(
            (self.cell(cell, f"{place}.weights"), self.number(weight, f"{place}.weights.{cell}"))
            for cell, weight in raw.items()
        )
        if abs(sum(weight for _, weight in weights)) > 1e-9:
            self.fail(f"{place}.weights", "the weights must sum to zero")
        least = 4 if kind is Kind.INTERACTION else 2
        if len(weights) < least:
            self.fail(f"{place}.weights", f"kind {kind} needs at least {least} cells, found {len(weights)}")
        return weights

    def grouped(
        self, fields: Mapping[str, object], place: str, kind: Kind, form: str
    ) -> tuple[tuple[Component, ...], ...]:
        if "weights" in fields or "groups" not in fields:
            self.fail(place, f"kind {kind} needs the field 'groups' (lists of cells) and no 'weights'")
        groups = []
        for index, entry in enumerate(self.items(fields["groups"], f"{place}.groups")):
            where = f"{place}.groups[{index}]"
            cells = [self.cell(cell, where) for cell in self.items(entry, where)]
            if len(cells) < 2 or len(set(cells)) < len(cells):
                self.fail(where, "a group needs at least two cells, each named once")
            groups.append(_trend(cells) if kind is Kind.TREND else _pairs(cells, form))
        return tuple(groups)


def _trend(cells: list[str]) -> tuple[Component, ...]:
    """Least-squares slope over equally spaced steps: weight (i - mean) / sum of squares."""
    centred = [index - (len(cells) - 1) / 2.0 for index in range(len(cells))]
    total = sum(value * value for value in centred)
    weights = tuple((cell, value / total) for cell, value in zip(cells, centred, strict=True) if value)
    return (Component(f"per step, {label_difference(cells[-1], cells[0]).common}", weights),)


def _pairs(cells: list[str], form: str) -> tuple[Component, ...]:
    match form:
        case "chain":
            pairs = list(pairwise(cells))
        case "best":
            pairs = [(cells[0], other) for other in cells[1:]]
        case _:
            pairs = [(other, cells[0]) for other in cells[1:]]
    return tuple(
        Component(str(label_difference(first, second)), ((first, 1.0), (second, -1.0))) for first, second in pairs
    )
