"""A component's differences, paired across cells by seed and query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from starlab.findings.collect import Results, Scores, Tables, strata_of
from starlab.findings.contrast import REFERENCE, Component, Metric
from starlab.findings.statistics import Array


@dataclass(frozen=True)
class Paired:
    """values: shape (n_seeds, n_queries), the weighted sum of the cells' scores for each seed and query.

    strata: length n_queries, what the mean over queries averages over; seeds: length n_seeds.
    """

    values: Array
    strata: list[str]
    seeds: tuple[int, ...]


def pair(
    tables: Tables, results: Results, component: Component, metric: Metric, baseline: Metric | None = None
) -> Paired | str:
    """The seeds and queries that all cells of the component have; or, in words, why there are none.

    References (base, SFT) are scored by `baseline` where it is given, every other cell by `metric`.
    """
    found = []
    absent = []
    for cell in component.cells:
        scores = tables.scores(cell, baseline if baseline is not None and REFERENCE.fullmatch(cell) else metric)
        if scores is None:
            absent.append(f"{cell}: {results.why_not(cell)}")
        else:
            found.append(scores)
    if absent:
        return "; ".join(absent)
    seeds = [seed for seed in found[0].seeds if all(seed in scores.seeds for scores in found)]
    shared = set.intersection(*(set(scores.queries) for scores in found))
    queries = [query for query in found[0].queries if query in shared]
    if not seeds or len(queries) < 2:
        return f"{', '.join(component.cells)} share no {'queries' if seeds else 'seed'}"
    values = np.zeros((len(seeds), len(queries)))
    for (_, weight), scores in zip(component.weights, found, strict=True):
        values += weight * _select(scores, seeds, queries)
    return Paired(values, strata_of(metric.panel, [level for level, _ in queries]), tuple(seeds))


def _select(scores: Scores, seeds: list[int], queries: list[tuple[str, str]]) -> Array:
    """The rows of `seeds` and the columns of `queries`, shape (n_seeds, n_queries)."""
    rows = scores.values[[scores.seeds.index(seed) for seed in seeds]]
    if len(queries) == len(scores.queries):
        return rows
    place = {query: index for index, query in enumerate(scores.queries)}
    return rows[:, [place[query] for query in queries]]
