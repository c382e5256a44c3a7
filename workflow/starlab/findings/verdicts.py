"""Contrasts judged against the runs, and findings judged by their contrasts.

The rule, in full. For each contrast two p-values are computed: for the claim, and for its opposite.

| kind | claim holds when | opposite |
|---|---|---|
| difference, interaction | value > margin | value < margin |
| noninferiority | value > -margin | value < -margin |
| equivalence | abs(value) < margin, two one-sided tests | abs(value) > margin |
| trend, ordering | in every group all (not_best: any) components exceed the margin | fails in one group |

Where all parts must hold, the p-value of the claim is the largest of the parts (an intersection-union test)
and that of the opposite is the smallest times the number of parts; where any part suffices, the other way
round. Directions are tested at alpha / 2 on each side, so a verdict agrees with a 1 - alpha interval; each
side of an equivalence is tested at alpha. The smaller of both p-values is corrected by Holm over all primary
contrasts of the finding, run or not, so that the correction does not change when further cells arrive (the
noise between seeds may: it is learned from all cells, see `seed_noise`). At most
alpha: *supported* or *contradicted*; else *undecided*, with the seeds that would decide.

A finding is *contradicted* when a primary contrast is, *supported* when all are, and *undecided* else. *not
run* is said only where nothing was computed. One seed decides nothing: the noise between seeds is then
unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from starlab.findings import statistics
from starlab.findings.collect import Results, Tables
from starlab.findings.contrast import Claims, Component, Contrast, Finding, Kind, Metric
from starlab.findings.pairing import pair
from starlab.findings.power import SeedPlan, seeds_needed
from starlab.findings.seed_noise import Priors
from starlab.findings.statistics import Spread
from starlab.seeds import derive


class Verdict(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class ComponentResult:
    """Intervals are (low, high) fractions, None with one seed; alone: by the contrast's own seeds, without what other
    cells say about their spread. missing: why it was not computed, "" when it was.

    p_claim, p_opposite: on the scale where alpha is the level (a one-sided p of a direction, doubled).
    """

    component: Component
    spread: Spread | None
    seeds: tuple[int, ...]
    interval: tuple[float, float] | None
    alone: tuple[float, float] | None
    bootstrap: tuple[float, float] | None
    p_claim: float
    p_opposite: float
    missing: str

    @property
    def estimate(self) -> float:
        return math.nan if self.spread is None else self.spread.estimate


@dataclass(frozen=True)
class ContrastResult:
    """deciding: the component on which the claim hangs: the least certain one of the least certain group (of
    "any": the surest).

    p_adjusted: the smaller p, after Holm for primary contrasts. companions: the same contrast on other
    metrics, unadjusted.
    """

    contrast: Contrast
    metric: Metric
    groups: tuple[tuple[ComponentResult, ...], ...]
    deciding: ComponentResult | None
    p_claim: float
    p_opposite: float
    p_adjusted: float
    verdict: Verdict
    reason: str
    plan: SeedPlan | None = None
    companions: tuple[ContrastResult, ...] = ()

    @property
    def p(self) -> float:
        return min(self.p_claim, self.p_opposite)

    @property
    def components(self) -> tuple[ComponentResult, ...]:
        return tuple(part for group in self.groups for part in group)


@dataclass(frozen=True)
class FindingResult:
    finding: Finding
    verdict: Verdict
    reason: str
    contrasts: tuple[ContrastResult, ...]

    @property
    def primaries(self) -> tuple[ContrastResult, ...]:
        return tuple(result for result in self.contrasts if result.contrast.primary)

    @property
    def plan(self) -> SeedPlan | None:
        """What would decide every undecided primary contrast: the largest of their plans, None without any."""
        plans = [result.plan for result in self.primaries if result.plan is not None]
        return max(plans, key=lambda plan: plan.seeds or math.inf, default=None)


@dataclass(frozen=True)
class Judge:
    """The runs and the rules that every contrast is judged by."""

    results: Results
    tables: Tables
    claims: Claims

    @cached_property
    def priors(self) -> Priors:
        """What all cells together say about the noise between seeds."""
        return Priors(self.tables, self.results)

    def component(self, contrast: Contrast, component: Component, metric: Metric) -> ComponentResult:
        paired = pair(self.tables, self.results, component, metric)
        if isinstance(paired, str):
            return ComponentResult(component, None, (), None, None, None, 1.0, 1.0, paired)
        settings = self.claims.settings
        confidence = 1.0 - (2.0 if contrast.kind is Kind.EQUIVALENCE else 1.0) * settings.alpha
        spread = statistics.spread(paired.values, paired.strata, self.priors.of(component, metric))
        interval = alone = bootstrap = None
        if spread.n_seeds > 1:
            rng = np.random.default_rng(derive("bootstrap", contrast.id, component.label, metric))
            interval = statistics.interval(spread, confidence)
            alone = statistics.interval(statistics.spread(paired.values, paired.strata), confidence)
            bootstrap = statistics.hierarchical_bootstrap(
                paired.values, paired.strata, confidence, settings.bootstrap_draws, rng
            )
        return ComponentResult(
            component, spread, paired.seeds, interval, alone, bootstrap, *p_values(spread, contrast), missing=""
        )

    def contrast(self, contrast: Contrast, metric: Metric) -> ContrastResult:
        """One contrast on one metric, without correction."""
        groups = tuple(tuple(self.component(contrast, part, metric) for part in group) for group in contrast.groups)
        parts = [part for group in groups for part in group]
        missing = dict.fromkeys(reason for part in parts if part.missing for reason in part.missing.split("; "))
        if missing:
            return ContrastResult(contrast, metric, groups, None, 1.0, 1.0, 1.0, Verdict.NOT_RUN, "; ".join(missing))
        judged = [_group(group, contrast) for group in groups]
        p_claim = max(claim for _, claim, _ in judged)
        p_opposite = min(1.0, len(judged) * min(opposite for _, _, opposite in judged))
        deciding = max((part for part, _, _ in judged), key=_doubt)
        lone = min(len(part.seeds) for part in parts) < 2
        reason = "one seed: the noise between seeds is unknown" if lone else ""
        result = ContrastResult(contrast, metric, groups, deciding, p_claim, p_opposite, 1.0, Verdict.UNDECIDED, reason)
        return self.settled(result, result.p, family=1)

    def settled(self, result: ContrastResult, p_adjusted: float, family: int) -> ContrastResult:
        """`result` with its verdict at the adjusted p, and the seeds that would decide it if that is
        undecided.
        """
        settings = self.claims.settings
        if result.verdict is Verdict.NOT_RUN:
            return result
        if p_adjusted > settings.alpha:
            spreads = [[part.spread for part in group if part.spread is not None] for group in result.groups]
            plan = seeds_needed(result.contrast, spreads, settings, family)
            return replace(result, p_adjusted=p_adjusted, verdict=Verdict.UNDECIDED, plan=plan)
        verdict = Verdict.SUPPORTED if result.p_claim <= result.p_opposite else Verdict.CONTRADICTED
        return replace(result, p_adjusted=p_adjusted, verdict=verdict, plan=None)

    def finding(self, finding: Finding) -> FindingResult:
        """All contrasts of a finding, Holm over its primary ones, and its verdict by the rule at the top of
        this module.
        """
        family = len(finding.primaries)
        judged = [self.contrast(contrast, contrast.metric) for contrast in finding.contrasts]
        adjusted = iter(statistics.holm([result.p for result in judged if result.contrast.primary]))
        final = []
        for result in judged:
            if result.contrast.primary:
                result = self.settled(result, next(adjusted), family)
            companions = self.claims.companions_of(result.metric)
            beside = tuple(self.contrast(result.contrast, metric) for metric in companions)
            final.append(replace(result, companions=beside))
        verdict, reason = finding_verdict([result for result in final if result.contrast.primary])
        return FindingResult(finding, verdict, reason, tuple(final))


def p_values(spread: Spread, contrast: Contrast) -> tuple[float, float]:
    """(p of the claim, p of its opposite), on the scale where alpha is the level."""
    if contrast.kind is Kind.EQUIVALENCE:
        return (
            statistics.p_equivalent(spread, contrast.margin),
            statistics.p_not_equivalent(spread, contrast.margin),
        )
    claim = statistics.p_above(spread, contrast.threshold)
    return min(1.0, 2.0 * claim), min(1.0, 2.0 * statistics.p_below(spread, contrast.threshold))


def _group(group: tuple[ComponentResult, ...], contrast: Contrast) -> tuple[ComponentResult, float, float]:
    """(deciding component, p of the claim, p of the opposite) of one group."""
    claims, opposites = [part.p_claim for part in group], [part.p_opposite for part in group]
    if contrast.within == "all":
        return max(group, key=_doubt), max(claims), min(1.0, len(group) * min(opposites))
    return min(group, key=_doubt), min(1.0, len(group) * min(claims)), max(opposites)


def _doubt(part: ComponentResult) -> tuple[float, float]:
    """Sorts components by how uncertain the claim is for them; equal p-values (1 at the far side) by their
    estimate.
    """
    return part.p_claim, -part.estimate


def finding_verdict(primaries: Sequence[ContrastResult]) -> tuple[Verdict, str]:
    """The verdict that the primary contrasts give together, and why, in words."""
    names = {verdict: [result.contrast.id for result in primaries if result.verdict is verdict] for verdict in Verdict}
    if len(names[Verdict.NOT_RUN]) == len(primaries):
        return Verdict.NOT_RUN, "no primary contrast could be computed"
    if contradicted := names[Verdict.CONTRADICTED]:
        return Verdict.CONTRADICTED, f"{', '.join(contradicted)} contradicted"
    if len(names[Verdict.SUPPORTED]) == len(primaries):
        return Verdict.SUPPORTED, "every primary contrast is supported"
    open_verdicts = (Verdict.UNDECIDED, Verdict.NOT_RUN)
    return Verdict.UNDECIDED, "; ".join(f"{', '.join(names[v])} {v}" for v in open_verdicts if names[v])
