"""Verdicts on results whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from starlab.findings.claims import load_claims
from starlab.findings.collect import Tables
from starlab.findings.contrast import Contrast, Finding
from starlab.findings.verdicts import ContrastResult, FindingResult, Judge, Verdict, finding_verdict
from synthetic import World, paper_truth, results_of

CLAIMS = load_claims()
BASE = "m-curriculum-grpo-{}-noise0"


def finding(name: str) -> Finding:
    return next(entry for entry in CLAIMS.findings if entry.id == name)


def contrast(name: str, which: str) -> Contrast:
    return next(entry for entry in finding(name).contrasts if entry.id == which)


def judge(world: World, seeds: int, cells: Sequence[str]) -> Judge:
    results = results_of(world, range(seeds), cells)
    return Judge(results, Tables(results), CLAIMS)


def judged(name: str, which: str, truth: dict[str, float], seeds: int, seed_sd: float = 0.02) -> ContrastResult:
    """One contrast where cells have these successes, on travel and on questions alike."""
    world = World({cell: (value, value) for cell, value in truth.items()}, seed_sd, queries=150)
    return judge(world, seeds, list(truth)).contrast(contrast(name, which), contrast(name, which).metric)


def amounts(**values: float) -> dict[str, float]:
    return {BASE.format(mix): value for mix, value in values.items()}


@pytest.mark.parametrize(
    ("less", "more", "verdict"),
    [(0.30, 0.55, "supported"), (0.55, 0.30, "contradicted"), (0.40, 0.42, "undecided")],
)
def test_a_difference(less: float, more: float, verdict: str) -> None:
    result = judged("T4", "more_data_helps", amounts(mixed100=less, mixed1000=more), seeds=4)
    assert result.verdict == verdict
    assert (result.plan is not None) == (verdict == "undecided")


def test_a_difference_shown_to_be_under_the_margin_is_contradicted() -> None:
    result = judged("T4", "more_data_helps", amounts(mixed100=0.02, mixed1000=0.02), seeds=12, seed_sd=0.0)
    assert result.verdict == "contradicted"
    assert result.deciding is not None and result.deciding.interval is not None
    assert result.deciding.interval[1] < result.contrast.margin


@pytest.mark.parametrize(("first", "second", "verdict"), [(0.5, 0.5, "supported"), (0.3, 0.6, "contradicted")])
def test_an_equivalence(first: float, second: float, verdict: str) -> None:
    result = judged("T4", "plateau", amounts(mixed1000=first, mixed2000=second), seeds=16, seed_sd=0.005)
    assert result.verdict == verdict


def test_an_equivalence_with_three_noisy_seeds_is_undecided() -> None:
    result = judged("T4", "plateau", amounts(mixed1000=0.5, mixed2000=0.5), seeds=3, seed_sd=0.04)
    assert result.verdict == "undecided"
    assert result.plan is not None and (result.plan.seeds is None or result.plan.seeds > 3)


@pytest.mark.parametrize(("noisy", "verdict"), [(0.50, "supported"), (0.25, "contradicted")])
def test_a_noninferiority(noisy: float, verdict: str) -> None:
    cells = {"m-macro-grpo-mixed1000-noise0": 0.5, "m-macro-grpo-mixed1000-noise5": noisy}
    assert judged("T7", "tolerates_5", cells, seeds=16, seed_sd=0.005).verdict == verdict


ORDERED = amounts(mixed1000=0.85, easy1000=0.60, medium1000=0.35, hard1000=0.10)


def test_an_ordering_needs_every_step() -> None:
    assert judged("T5", "order", ORDERED, seeds=4).verdict == "supported"
    swapped = ORDERED | amounts(easy1000=0.35, medium1000=0.60)
    result = judged("T5", "order", swapped, seeds=4)
    assert result.verdict == "contradicted"
    assert result.deciding is not None and result.deciding.component.label == "easy − medium (m)"


def rewards(scale: str, **values: float) -> dict[str, float]:
    return {f"{scale}-{reward}-grpo-mixed1000-noise0": value for reward, value in values.items()}


@pytest.mark.parametrize(("at_l", "verdict"), [(0.40, "supported"), (0.90, "contradicted")])
def test_never_best_holds_at_every_scale_or_fails(at_l: float, verdict: str) -> None:
    truth = {}
    for scale in ("s", "m", "l"):
        truth |= rewards(scale, sum=0.3, macro=0.5, success=0.15, curriculum=0.65)
    truth |= rewards("l", success=at_l)
    assert judged("T1", "outcome_never_best", truth, seeds=4).verdict == verdict


def test_an_interaction_is_a_difference_of_differences() -> None:
    truth = rewards("s", curriculum=0.6, sum=0.3) | rewards("m", curriculum=0.7, sum=0.4)
    flipped = truth | rewards("l", curriculum=0.5, sum=0.8)
    parallel = truth | rewards("l", curriculum=0.9, sum=0.6)
    result = judged("T1", "reward_by_scale", flipped, seeds=4)
    assert result.verdict == "supported"
    assert result.deciding is not None and result.deciding.estimate == pytest.approx(0.6, abs=0.12)
    assert judged("T1", "reward_by_scale", parallel, seeds=4).verdict != "supported"


def test_a_trend_must_hold_in_every_group() -> None:
    rising = {}
    for scale, level in (("s", 0.2), ("m", 0.45), ("l", 0.7)):
        rising |= rewards(scale, sum=level, macro=level, success=level, curriculum=level)
    assert judged("T3", "scale_helps", rising, seeds=4).verdict == "supported"
    falling = rising | rewards("s", sum=0.7) | rewards("l", sum=0.2)
    assert judged("T3", "scale_helps", falling, seeds=4).verdict == "contradicted"


def test_questions_average_over_families() -> None:
    truth = {"sft-l": 0.9, "l-sum-grpo-mixed1000-noise0": 0.3}
    assert judged("T2", "sum_below_sft_l", truth, seeds=4).verdict == "supported"


def test_one_seed_is_undecided_and_says_why() -> None:
    result = judged("T4", "more_data_helps", amounts(mixed100=0.1, mixed1000=0.9), seeds=1)
    assert result.verdict == "undecided"
    assert "one seed" in result.reason
    assert result.plan is not None and result.plan.seeds is not None and "assuming" in result.plan.note


def difficulty(cells: Sequence[str]) -> FindingResult:
    world = World({cell: (value, value) for cell, value in ORDERED.items()}, queries=100)
    return judge(world, 4, cells).finding(finding("T5"))


def test_a_finding_with_everything_is_decided_with_companions() -> None:
    result = difficulty(list(ORDERED))
    assert result.verdict is Verdict.SUPPORTED
    assert [str(c.metric) for c in result.contrasts[0].companions] == [
        "test.sampled.success",
        "unseen.greedy.success",
    ]


def test_missing_cells_are_named_and_cap_the_verdict() -> None:
    cells = [cell for cell in ORDERED if "easy" not in cell]
    result = difficulty(cells)
    order, starves = result.contrasts[:2]
    assert order.verdict is Verdict.NOT_RUN and "easy1000-noise0: not in this" in order.reason
    assert starves.verdict is Verdict.SUPPORTED
    assert result.verdict is Verdict.UNDECIDED and "order not run" in result.reason


def test_contrasts_that_were_not_run_still_count_for_holm() -> None:
    full, part = difficulty(list(ORDERED)), difficulty([cell for cell in ORDERED if "easy" not in cell])
    by_id = {result.contrast.id: result for result in part.contrasts}
    assert by_id["hard_starves"].p_adjusted == pytest.approx(2 * by_id["hard_starves"].p)
    assert full.contrasts[1].p == by_id["hard_starves"].p


def test_nothing_run_is_not_run() -> None:
    result = difficulty([BASE.format("mixed1000")])
    assert result.verdict is Verdict.NOT_RUN
    assert all("not in this experiment's matrix" in c.reason for c in result.contrasts)


def test_the_papers_truth_with_many_quiet_seeds_supports_its_large_effects() -> None:
    truth = paper_truth()
    cells = [cell for cell in finding("T5").cells if cell in truth]
    result = judge(World(truth, seed_sd=0.01, queries=300), 12, cells).finding(finding("T5"))
    assert result.contrasts[1].verdict is Verdict.SUPPORTED
    assert result.verdict in (Verdict.SUPPORTED, Verdict.UNDECIDED)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("supported supported", "supported"),
        ("supported undecided", "undecided"),
        ("supported contradicted", "contradicted"),
        ("not run contradicted", "contradicted"),
        ("not run supported", "undecided"),
        ("not run not run", "not run"),
    ],
)
def test_the_rule_for_a_finding(verdicts: str, expected: str) -> None:
    names = [name.replace("_", " ") for name in verdicts.replace("not run", "not_run").split()]
    order = contrast("T5", "order")
    parts = [ContrastResult(order, order.metric, (), None, 1.0, 1.0, 1.0, Verdict(name), "") for name in names]
    assert finding_verdict(parts)[0] == expected
