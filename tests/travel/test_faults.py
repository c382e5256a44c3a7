"""Injected failures: shared between runs, nested in their probability, worded as in the paper."""

from __future__ import annotations

import pytest
from starlab.errors import StarlabError
from starlab.travel.faults import FAILURES, PAPER, Faults
from starlab.travel.rendering import NO_RESULT

CALLS = [(f"q{query}", episode, call) for query in range(50) for episode in range(8) for call in range(10)]


def failing(faults: Faults) -> set[tuple[str, int, int]]:
    return {key for key in CALLS if faults.text("SearchFlight", *key) is not None}


def test_a_failed_call_reads_as_in_the_paper() -> None:
    text = Faults(1.0, seed=0).text("SearchFlight", "q", 0, 0)
    assert text == "Error: Current tool SearchFlight is not available."


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.05, 0.1, 1.0])
def test_calls_fail_at_the_given_rate(probability: float) -> None:
    rate = len(failing(Faults(probability, seed=1))) / len(CALLS)
    assert rate == pytest.approx(probability, abs=0.015)


def test_runs_with_one_seed_share_their_faults_and_a_low_rate_is_part_of_a_high_one() -> None:
    rare, often = failing(Faults(0.05, seed=1)), failing(Faults(0.2, seed=1))
    assert rare == failing(Faults(0.05, seed=1))
    assert rare < often
    assert rare != failing(Faults(0.05, seed=2))


def test_the_tool_does_not_change_which_calls_fail() -> None:
    faults = Faults(0.5, seed=3)
    for call in range(20):
        one, other = (faults.text(tool, "q", 0, call) for tool in ("SearchFlight", "SearchCity"))
        assert (one is None) == (other is None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("unavailable", "Error: Current tool SearchFlight is not available."),
        ("timeout", "Error: Current tool SearchFlight timed out."),
        ("empty", NO_RESULT),
        ("truncated", "ten le"),
    ],
)
def test_what_an_agent_sees_by_kind(kind: str, text: str) -> None:
    assert Faults(1.0, seed=0, kind=kind).text("SearchFlight", "q", 0, 0, lambda: "ten letters.") == text
    assert PAPER == "unavailable" and kind in FAILURES


def test_every_kind_hits_the_same_calls() -> None:
    hit = {kind: {key for key in CALLS if Faults(0.1, 1, kind).text("x", *key) is not None} for kind in FAILURES}
    assert all(calls == hit[PAPER] for calls in hit.values())


def test_only_a_truncated_result_asks_the_tool() -> None:
    asked = []
    for kind in FAILURES:
        Faults(1.0, seed=0, kind=kind).text("x", "q", 0, 0, lambda kind=kind: asked.append(kind) or "")
    assert asked == ["truncated"]


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_outside_its_range_is_refused(probability: float) -> None:
    with pytest.raises(StarlabError, match="probability"):
        Faults(probability, seed=0)


def test_an_unknown_kind_of_failure_is_refused_with_a_hint() -> None:
    with pytest.raises(StarlabError, match="did you mean 'unavailable'"):
        Faults(0.1, seed=0, kind="unavailible")
