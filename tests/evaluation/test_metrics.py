"""Per-query results to aggregates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.evaluation.metrics import HARD_CHECKS, Result, aggregate, hard_micro_total
from starlab.tasks import Status


def made(
    level: str = "easy",
    status: Status = Status.OK,
    error: str | None = None,
    calls: int = 0,
    **metrics: float,
) -> Result:
    return Result("q", level, status, metrics, error, "ANSWERED", calls, tokens=10 * calls)


def test_both_hard_micros_on_a_worked_example() -> None:
    """Four of four and zero of one hold: per query (1 + 0) / 2, over all checks 4 / 5."""
    four = dict.fromkeys(HARD_CHECKS[:4], 1.0)
    results = [made(hard_micro=1.0, **four), made(hard_micro=0.0, **{HARD_CHECKS[4]: 0.0})]
    numbers = aggregate("travel", results)
    assert numbers["hard_micro"] == 0.5
    assert numbers["hard_micro_total"] == hard_micro_total(results) == 0.8


def test_a_check_nobody_asked_for_is_left_out_of_its_mean() -> None:
    results = [made(success=1.0, valid_cost=1.0, valid_cuisine=0.0), made(success=0.0, valid_cost=0.0)]
    assert aggregate("travel", results)["checks"] == {"valid_cost": 0.5, "valid_cuisine": 0.0}


def test_unreadable_undelivered_and_wrong_are_counted_apart() -> None:
    results = [
        made(status=Status.OK, success=0.0),
        made(status=Status.UNPARSEABLE, success=0.0),
        made(status=Status.UNDELIVERED, success=0.0, error="EMPTY"),
        made(status=Status.UNDELIVERED, success=0.0, error="EMPTY"),
    ]
    numbers = aggregate("travel", results)
    assert numbers["statuses"] == {"ok": 1, "unparseable": 1, "undelivered": 2}
    assert numbers["format_errors"] == {"EMPTY": 2}


def test_levels_have_the_same_numbers_as_the_whole() -> None:
    results = [
        made("easy", calls=2, success=1.0),
        made("easy", calls=4, success=0.0),
        made("hard", success=0.0),
    ]
    numbers = aggregate("travel", results)
    easy = numbers["by_level"]["easy"]
    assert list(numbers["by_level"]) == ["easy", "hard"]
    assert (easy["n"], easy["success"], easy["calls_mean"], easy["tokens_mean"]) == (2, 0.5, 3.0, 30.0)
    assert set(easy) == set(numbers) - {"by_level"}


def test_knowledge_success_is_the_mean_over_families_and_travel_success_over_queries() -> None:
    results = [made("chain", success=1.0)] * 3 + [made("triple", success=0.0)]
    assert aggregate("knowledge", results)["success"] == 0.5
    assert aggregate("travel", results)["success"] == 0.75


def test_no_results_are_an_error_and_not_a_zero() -> None:
    with pytest.raises(StarlabError, match="no results"):
        aggregate("travel", [])


@given(st.lists(st.tuples(st.sampled_from(["easy", "medium", "hard"]), st.booleans()), min_size=1))
def test_the_whole_is_the_weighted_mean_of_its_levels(drawn: list[tuple[str, bool]]) -> None:
    numbers = aggregate("travel", [made(level, success=float(success)) for level, success in drawn])
    weighted = sum(level["n"] * level["success"] for level in numbers["by_level"].values()) / numbers["n"]
    assert numbers["success"] == pytest.approx(weighted)
    assert sum(level["n"] for level in numbers["by_level"].values()) == numbers["n"] == len(drawn)
