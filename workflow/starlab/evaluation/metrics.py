"""From per-query results to the numbers of `evaluation.json`: pure functions, plain means.

Every mean is over all queries of a panel (or level), undelivered and unreadable answers counting 0, as in the
paper. A check that a query does not ask for is left out of that check's mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import StarlabError
from ..tasks import Status
from ..travel.constraints import HARD

SCORES = ("success", "delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro")
"""Metrics that are no checks, in the order of the paper's tables."""
HARD_CHECKS = tuple(check.name for check in HARD)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one query: the grade of its episode, and the episode's size."""

    query_id: str
    level: str
    status: Status
    metrics: Mapping[str, float]
    """As graded: scores and checks by name, each in [0, 1]."""
    format_error: str | None
    """Name of the `FormatError` that ended the episode, None when there was none."""
    stop: str
    """Name of the `StopReason`."""
    calls: int
    """Tool calls made."""
    tokens: int
    """Tokens sampled."""

    def row(self, panel: str, decoding: str) -> dict[str, Any]:
        """The line of `queries.jsonl`."""
        return {
            "panel": panel,
            "decoding": decoding,
            "query_id": self.query_id,
            "level": self.level,
            "status": str(self.status),
            **self.metrics,
            "format_error": self.format_error,
            "stop": self.stop,
            "calls": self.calls,
            "tokens": self.tokens,
        }


def aggregate(domain: str, results: Sequence[Result]) -> dict[str, Any]:
    """All numbers of a panel, and the same by level, levels in order of appearance.

    `success` of the knowledge panel is the mean over its families, as the paper averages over its seven sets.
    """
    if not results:
        raise StarlabError("evaluation: no results to aggregate")
    levels = dict.fromkeys(result.level for result in results)
    by_level = {level: _numbers([r for r in results if r.level == level]) for level in levels}
    numbers = _numbers(results)
    if domain == "knowledge":
        numbers["success"] = _mean(level["success"] for level in by_level.values())
    return numbers | {"by_level": by_level}


def _numbers(results: Sequence[Result]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for result in results for name in result.metrics))
    means = {n: _mean(r.metrics[n] for r in results if n in r.metrics) for n in names}
    numbers: dict[str, Any] = {"n": len(results)}
    numbers |= {name: means.pop(name) for name in SCORES if name in means}
    if "hard_micro" in numbers:
        numbers["hard_micro_total"] = hard_micro_total(results)
    if means:
        numbers["checks"] = means
    statuses = Counter(result.status for result in results)
    errors = Counter(result.format_error for result in results if result.format_error is not None)
    stops = Counter(result.stop for result in results)
    return numbers | {
        "statuses": {str(status): statuses[status] for status in Status},
        "format_errors": dict(sorted(errors.items())),
        "stops": dict(sorted(stops.items())),
        "calls_mean": _mean(result.calls for result in results),
        "tokens_mean": _mean(result.tokens for result in results),
    }


def hard_micro_total(results: Iterable[Result]) -> float:
    """Hard checks that hold / hard checks asked for, over all queries (the paper's file-level ratio).

    `hard_micro` is the mean of the per-query ratios, as in rewards; the two differ when queries ask for
    different numbers of constraints.
    """
    return _mean(result.metrics[name] for result in results for name in HARD_CHECKS if name in result.metrics)


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
