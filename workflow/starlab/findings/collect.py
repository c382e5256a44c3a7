"""Every evaluated run, read into tidy tables. Missing or damaged runs are listed, never a crash and never a
zero.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from starlab.findings.contrast import REFERENCE, Metric, factors_of
from starlab.runs import Folder

# Largest gap between a score in evaluation.json and the mean of the queries beside it: above rounding, far
# below one query
TOLERANCE = 5e-4


@dataclass(frozen=True)
class Gap:
    """A run that was expected and cannot be used, and why."""

    cell: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Results:
    """What is there.

    runs: one row per run, panel and decoding (cell, seed, panel, decoding, sha256 of the panel, n, every
    scalar metric). queries: one row per run, panel, decoding and query (cell, seed, panel, decoding,
    query_id, level, status, metrics 0..1).
    """

    root: Path
    expected: tuple[str, ...]
    seeds: tuple[int, ...]
    runs: pd.DataFrame
    queries: pd.DataFrame
    gaps: tuple[Gap, ...]
    versions: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)

    def path(self, cell: str, seed: int) -> Path:
        return run_folder(self.root, cell, seed)

    def why_not(self, cell: str) -> str:
        """Why `cell` cannot be used, in words that follow its name."""
        if cell not in self.expected:
            return "not in this experiment's matrix"
        reasons = [f"seed {gap.seed} {gap.reason}" for gap in self.gaps if gap.cell == cell]
        return "; ".join(reasons) or "has no such panel, decoding or metric"


def run_folder(root: Path, cell: str, seed: int) -> Path:
    """Where the evaluation of a cell, or of a reference such as sft-m, lies."""
    return root / ("references" if REFERENCE.fullmatch(cell) else "cells") / cell / f"seed{seed}"


def with_references(cells: Iterable[str]) -> tuple[str, ...]:
    """`cells`, preceded by the base and SFT references of every scale that they use."""
    cells = list(cells)
    scales = dict.fromkeys(factors_of(cell)["scale"] for cell in cells)
    references = [f"{stage}-{scale}" for stage in ("base", "sft") for scale in scales]
    return tuple(dict.fromkeys([*references, *cells]))


def collect(root: Path, cells: Iterable[str], seeds: Sequence[int]) -> Results:
    """Read the runs of `cells` (and their references) x `seeds` under `root`. Other folders there are not
    looked at.
    """
    expected = with_references(cells)
    runs: list[dict[str, Any]] = []
    queries: list[pd.DataFrame] = []
    gaps: list[Gap] = []
    versions: dict[tuple[str, int], dict[str, str]] = {}
    for cell in expected:
        for seed in seeds:
            try:
                evaluation = _read_evaluation(run_folder(root, cell, seed), cell, seed)
                rows = _read_queries(run_folder(root, cell, seed), cell, seed)
                scores = _scores(evaluation, cell, seed)
                _compare(scores, rows)
            except _UnusableError as reason:
                gaps.append(Gap(cell, seed, str(reason)))
                continue
            runs.extend(scores)
            queries.append(rows)
            versions[cell, seed] = {
                key: str(evaluation[key]) for key in ("model_sha256", "config_sha256") if key in evaluation
            }
            if (run := Folder(run_folder(root, cell, seed)).read()) and "code" in run.tags:
                versions[cell, seed]["code"] = str(run.tags["code"])
    run_table = pd.DataFrame(runs, columns=None if runs else ["cell", "seed", "panel", "decoding", "sha256"])
    query_table = (
        pd.concat(queries, ignore_index=True)
        if queries
        else pd.DataFrame(columns=["cell", "seed", "panel", "decoding", "query_id", "level", "status"])
    )
    odd = _odd_panels(run_table)
    gaps.extend(
        Gap(cell, seed, f"was evaluated on another {panel!r} panel than most runs") for cell, seed, panel in odd
    )
    bad = {(cell, seed) for cell, seed, _ in odd}
    return Results(
        root=root,
        expected=expected,
        seeds=tuple(seeds),
        runs=_without(run_table, bad),
        queries=_without(query_table, bad),
        gaps=tuple(gaps),
        versions={key: value for key, value in versions.items() if key not in bad},
    )


class _UnusableError(Exception):
    """Why one run cannot be used; caught by `collect`."""


def _read_evaluation(folder: Path, cell: str, seed: int) -> dict[str, Any]:
    path = folder / "evaluation.json"
    if not path.exists():
        raise _UnusableError("is not evaluated yet")
    try:
        evaluation = json.loads(path.read_text(encoding="utf-8"))
        panels = evaluation["panels"]
        found = (evaluation["cell"], evaluation["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _UnusableError(f"has an unreadable evaluation.json ({type(error).__name__}: {error})") from error
    if found != (cell, seed) or not isinstance(panels, dict):
        raise _UnusableError(f"has an evaluation.json of {found[0]} seed {found[1]}")
    return dict(evaluation)


def _read_queries(folder: Path, cell: str, seed: int) -> pd.DataFrame:
    path = folder / "queries.jsonl"
    try:
        with path.open(encoding="utf-8") as lines:
            table = pd.DataFrame([json.loads(line) for line in lines if line.strip()])
    except (OSError, ValueError) as error:
        raise _UnusableError(f"has no readable queries.jsonl ({type(error).__name__}: {error})") from error
    needed = {"panel", "decoding", "query_id", "level", "success"}
    if absent := needed - set(table.columns):
        raise _UnusableError(f"has a queries.jsonl without {', '.join(sorted(absent))}")
    if table.duplicated(["panel", "decoding", "query_id"]).any():
        raise _UnusableError("has a queries.jsonl with a query twice")
    table.insert(0, "cell", cell)
    table.insert(1, "seed", seed)
    return table


def _scores(evaluation: dict[str, Any], cell: str, seed: int) -> list[dict[str, Any]]:
    rows = []
    for panel, content in evaluation["panels"].items():
        for decoding, scores in content.items():
            if isinstance(scores, dict) and "success" in scores:
                scalars = {key: value for key, value in scores.items() if isinstance(value, int | float)}
                head = {"cell": cell, "seed": seed, "panel": panel, "decoding": decoding}
                rows.append({**head, "sha256": str(content.get("sha256", "")), **scalars})
    if not rows:
        raise _UnusableError("has an evaluation.json without scores")
    return rows


def _compare(scores: list[dict[str, Any]], queries: pd.DataFrame) -> None:
    """Both files of a run must tell the same story; they are written together, so a gap means a damaged or
    mixed-up folder.
    """
    means = {
        key: query_mean(group["success"].to_numpy(dtype=float), list(group["level"]), str(key[0]))
        for key, group in queries.groupby(["panel", "decoding"], sort=False)
    }
    for row in scores:
        mean = means.get((row["panel"], row["decoding"]))
        place = f"{row['panel']}.{row['decoding']}"
        if mean is None:
            raise _UnusableError(f"has no queries for {place}")
        if abs(mean - row["success"]) > TOLERANCE:
            raise _UnusableError(
                f"disagrees with itself: {place} success is {row['success']:.4f} in evaluation.json, "
                f"{mean:.4f} in queries.jsonl"
            )


def strata_of(panel: str, levels: Sequence[str]) -> list[str]:
    """The strata that a panel's score averages over: families of questions for knowledge, one stratum for
    travel.
    """
    return list(levels) if panel == "knowledge" else ["all"] * len(levels)


def query_mean(values: NDArray[np.float64], levels: Sequence[str], panel: str) -> float:
    """Score of a panel from its queries, `values` of shape (n_queries,): mean over strata of the mean
    within.
    """
    by_stratum = pd.Series(values).groupby(strata_of(panel, levels)).mean()
    return float(by_stratum.mean())


def _odd_panels(runs: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Runs whose panel has another hash than the most common one: their queries cannot be paired with the
    rest.
    """
    odd: list[tuple[str, int, str]] = []
    for panel, group in runs.groupby("panel", sort=False):
        counts = Counter(group["sha256"])
        usual = max(counts, key=lambda sha: (counts[sha], sha))
        rows = group.loc[group["sha256"] != usual, ["cell", "seed"]].drop_duplicates()
        odd.extend((str(row.cell), int(row.seed), str(panel)) for row in rows.itertuples())
    return odd


def _without(table: pd.DataFrame, bad: set[tuple[str, int]]) -> pd.DataFrame:
    if not bad or table.empty:
        return table
    keep = [(cell, seed) not in bad for cell, seed in zip(table["cell"], table["seed"], strict=True)]
    return table[keep].reset_index(drop=True)


class Tables:
    """Per-query scores as matrices, made once per cell and metric."""

    def __init__(self, results: Results) -> None:
        self._groups = dict(tuple(results.queries.groupby(["cell", "panel", "decoding"], sort=False)))
        self._cache: dict[tuple[str, Metric], Scores | None] = {}

    def scores(self, cell: str, metric: Metric) -> Scores | None:
        """The scores of `cell`; None when it has none on this metric."""
        if (cell, metric) not in self._cache:
            group = self._groups.get((cell, metric.panel, metric.decoding))
            known = group is not None and metric.key in group.columns
            self._cache[cell, metric] = _matrix(group, metric.key) if group is not None and known else None
        return self._cache[cell, metric]


@dataclass(frozen=True)
class Scores:
    """values: shape (n_seeds, n_queries), 0..1. queries: length n_queries, (level, query id), sorted."""

    values: NDArray[np.float64]
    seeds: tuple[int, ...]
    queries: tuple[tuple[str, str], ...]


def _matrix(group: pd.DataFrame, key: str) -> Scores | None:
    """Seeds that lack the metric altogether are left out, then queries that some seed lacks."""
    wide = group.pivot(index="seed", columns=["level", "query_id"], values=key).astype(float)
    wide = wide.dropna(axis="index", how="all").dropna(axis="columns", how="any").sort_index(axis="columns")
    if wide.empty:
        return None
    levels, ids = wide.columns.get_level_values(0), wide.columns.get_level_values(1)
    queries = tuple((str(level), str(query)) for level, query in zip(levels, ids, strict=True))
    return Scores(wide.to_numpy(), tuple(int(seed) for seed in wide.index), queries)
