"""The profile report, on rewards that are known."""

from __future__ import annotations

import pytest
from starlab.errors import StarlabError
from starlab.measures import known, profile_measures
from starlab.pivot import report
from starlab.pivot.profiling import Profile, pivots
from starlab.pivot.verifiers import Verdict


@pytest.fixture(scope="module")
def turns(trips):
    return trips.turns[:8]


@pytest.fixture(scope="module")
def profile(turns):
    """State i of 8 succeeds i times of 8: 0 to 7; the last always does."""
    successes = [0, 1, 2, 3, 4, 5, 6, 8]
    samples = {turn.id: {"good": n, "bad": 8 - n} for turn, n in zip(turns, successes, strict=True)}
    return Profile(samples, 64, 640)


def verify(task, candidate, text):
    return Verdict(float(text == "good"), "")


@pytest.fixture(scope="module")
def found(profile, turns):
    return report.build(profile, turns, {"functional/success": verify}, 0.6)


def test_shares_of_all_turns(found):
    row = found["verifiers"]["functional/success"]
    assert row["zero_signal"] == 2 / 8 and row["always_zero"] == row["always_one"] == 1 / 8
    assert row["kept"] == 4 / 8 and row["mean"] == pytest.approx(29 / 64)
    assert found["samples"] == 8 and found["turns"] == 64


def test_the_histogram_counts_every_state_once(found):
    assert found["verifiers"]["functional/success"]["histogram"] == [1, 1, 1, 1, 0, 1, 1, 1, 0, 1]


def test_groups_add_up(found, turns):
    for key in ("by_action", "by_level"):
        groups = found["verifiers"]["functional/success"][key]
        assert sum(row["states"] for row in groups.values()) == len(turns)
    assert set(found["verifiers"]["functional/success"]["by_action"]) == {turn.candidate.action for turn in turns}


def test_what_is_kept_is_what_is_trained_on(profile, turns):
    kept = pivots(turns, profile.statistics(turns, verify), 0.6)
    assert [turn.id for turn in kept] == [turn.id for turn in turns[1:5]]


def test_a_filter_that_keeps_nothing_names_its_settings(profile, turns):
    with pytest.raises(StarlabError, match="none has mixed results and a mean below"):
        pivots(turns, profile.statistics(turns, verify), 0.1)


def test_its_numbers_have_names_that_are_logged(found):
    measures = profile_measures(found)
    assert measures["profile/functional/success/zero_signal"] == 0.25
    assert all(map(known, measures))
    assert known("profile/strict/kept") and known("profile/calls/macro/kept") and not known("profile/other/kept")


def test_table_and_figure(found, tmp_path):
    text = report.as_markdown(found, "Profile")
    assert "| all | 8 | 25.0% | 12.5% | 12.5% | 0.45 | 50.0% |" in text and "71%" in text
    for name in ("one.svg", "two.svg"):
        report.draw(found, "Profile", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "one.svg").read_bytes()
