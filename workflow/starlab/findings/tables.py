"""The tables of the reports, as heads and rows of text; Markdown and HTML print the same ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

from starlab.findings.build import DECODED, Findings
from starlab.findings.contrast import REFERENCE, Kind, factors_of
from starlab.findings.scores import CellScore
from starlab.findings.verdicts import ContrastResult, FindingResult, Verdict

DASH = "–"
Table = tuple[list[str], list[list[str]]]


def points(value: float | None) -> str:
    """A difference in percentage points with its sign, one decimal; a dash for none."""
    return DASH if value is None or math.isnan(value) else f"{100 * value:+.1f}"


def percent(value: float | None) -> str:
    return DASH if value is None or math.isnan(value) else f"{100 * value:.1f}"


def span(interval: tuple[float, float] | None) -> str:
    return DASH if interval is None else f"{points(interval[0])} to {points(interval[1])}"


def claim_text(result: ContrastResult) -> str:
    """What the contrast must show, such as "> +2.0"."""
    contrast = result.contrast
    if contrast.kind is Kind.EQUIVALENCE:
        return f"within ±{100 * contrast.margin:.1f}"
    return f"> {points(contrast.threshold)}"


def verdict_text(result: ContrastResult) -> str:
    """The verdict and, where undecided, the seeds that would decide it; where not run, why."""
    match result.verdict:
        case Verdict.UNDECIDED:
            return f"undecided, seeds to decide: {result.plan}"
        case Verdict.NOT_RUN:
            return f"not run ({result.reason})"
        case _:
            return str(result.verdict)


def finding_summary(result: FindingResult) -> str:
    """Why the finding has its verdict and, where that is undecided, the seeds that would change it."""
    if result.verdict is Verdict.UNDECIDED and result.plan is not None:
        return f"{result.reason}; seeds to decide: {result.plan}"
    return result.reason


def summary_table(findings: Findings) -> Table:
    rows = [
        [result.finding.id, result.finding.title, str(result.verdict), finding_summary(result)]
        for result in findings.found
    ]
    return ["", "finding", "verdict", "because"], rows


def contrast_table(findings: Findings, result: FindingResult) -> Table:
    """Greedy (deciding) and companion metrics of every contrast, the paper's number beside ours."""
    alpha = findings.claims.settings.alpha
    interval = f"{100 * (1 - alpha):.0f} % interval"
    head = ["contrast", "metric", "claim", "paper", "here", interval, "by its own seeds", "seeds", "p", "verdict"]
    rows = []
    for contrast in result.contrasts:
        kind = "primary" if contrast.contrast.primary else "secondary, unadjusted"
        title = f"{contrast.contrast.title} ({kind})"
        rows.append(_contrast_row(findings, contrast, title))
        rows.extend(_contrast_row(findings, companion, "· the same") for companion in contrast.companions)
    return head, rows


def _contrast_row(findings: Findings, result: ContrastResult, title: str) -> list[str]:
    part = result.deciding
    paper = findings.paper.contrast(result.contrast, result.metric)
    if part is not None:
        paper = findings.paper.component(part.component, result.metric)
    if part is not None and len(result.components) > 1:
        title = f"{title}; decided by: {part.component.label}"
    printed = points(paper)
    if paper is None and result.metric == result.contrast.metric and result.contrast.paper_note:
        printed = result.contrast.paper_note
    interval = span(part.interval if part is not None else None)
    if result.contrast.kind is Kind.EQUIVALENCE and part is not None:
        interval += f" ({100 * (1 - 2 * findings.claims.settings.alpha):.0f} %)"
    return [
        title,
        str(result.metric),
        claim_text(result),
        printed,
        points(part.estimate if part is not None else None),
        interval,
        span(part.alone if part is not None else None),
        str(len(part.seeds)) if part is not None else "0",
        f"{result.p_adjusted:.3f}" if part is not None else DASH,
        verdict_text(result),
    ]


def level_table(findings: Findings, cells: Iterable[str]) -> Table:
    """Scores of cells and of the SFT models they start from, greedy and sampled; cool: SFT at the lower
    temperature.
    """
    cells = list(cells)
    scales = dict.fromkeys(factors_of(cell)["scale"] for cell in cells)
    rows = []
    for cell in dict.fromkeys([*(f"sft-{scale}" for scale in scales), *cells]):
        scores = [findings.score(cell, metric) for metric in DECODED]
        paper = [findings.paper.score(cell, metric) for metric in (DECODED[0], DECODED[4])]
        note = "" if any(scores) else findings.results.why_not(cell)
        rows.append([f"`{cell}`", *(percent(value) for value in paper), *(_score_text(s) for s in scores), note])
    head = ["cell", "paper, travel", "paper, questions", "travel greedy", "travel sampled", "travel cool"]
    return [*head, "unseen greedy", "questions greedy", "questions sampled", ""], rows


def _score_text(score: CellScore | None) -> str:
    if score is None:
        return DASH
    values = [value for _, value in score.by_seed]
    return (
        percent(score.mean)
        if len(values) < 2
        else f"{percent(score.mean)} ({percent(min(values))}–{percent(max(values))})"
    )


def power_table(findings: Findings) -> Table:
    """Seeds needed for every contrast that is undecided: what `starlab power` prints."""
    rows = []
    for finding in findings.found:
        for result in finding.contrasts:
            if result.plan is None or result.deciding is None or result.deciding.spread is None:
                continue
            spread = result.deciding.spread
            rows.append(
                [
                    finding.finding.id,
                    result.contrast.id,
                    "primary" if result.contrast.primary else "secondary",
                    claim_text(result),
                    points(spread.estimate),
                    percent(spread.seed_se * math.sqrt(spread.n_seeds)),
                    percent(spread.query_se),
                    str(spread.n_seeds),
                    str(result.plan),
                ]
            )
    head = ["", "contrast", "", "claim", "here", "sd between seeds", "se of queries", "seeds", "seeds to decide"]
    return head, rows


def plain(table: Table) -> str:
    """A table for the terminal, columns padded with blanks."""
    lines = [table[0], *table[1]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def missing_table(findings: Findings) -> Table:
    rows = [
        [f"`{g.cell}`", str(g.seed), g.reason, f"`{findings.rerun(g.cell, g.seed)}`"] for g in findings.results.gaps
    ]
    return ["cell", "seed", "run", "command"], rows


def provenance_table(findings: Findings) -> Table:
    card = findings.provenance
    rows = [
        ["code of this page", card["code"]],
        ["code of the runs", ", ".join(card["code_of_runs"]) or DASH],
        ["python", card["python"]],
        ["packages", ", ".join(f"{name} {number}" for name, number in card["packages"].items())],
        ["claims", card["claims_sha256"]],
        ["paper's numbers", card["paper_sha256"]],
        *([f"panel {name}", sha] for name, sha in card["panels"].items()),
        *([f"query set {name}", sha] for name, sha in card["query_sets"].items()),
        ["weights", f"{len(card['models'])} files, their hashes in findings.json"],
    ]
    return ["made from", "version or SHA-256"], rows


READING = (
    "Percentage points throughout. An interval adds, in quadrature, the noise between seeds (Student's t "
    "over the per-seed paired differences; within a scale the moderated t, which also uses how far seeds "
    "spread in the other cells; beside it the interval by the contrast's own seeds) and that between queries. "
    "Greedy decides; sampled and the unseen database stand beside it, unadjusted. p is corrected by Holm for "
    "primary contrasts. The paper ran each "
    "cell once, on 1,000 test queries. Score tables: mean over seeds (lowest to highest seed); cool is the SFT "
    "model decoded at a lower temperature, so that an RL gain that only sharpens the SFT model can be told "
    "from learning."
)


def rerun_text(findings: Findings, result: FindingResult) -> str:
    """The command for one run of the finding; the others differ in the cell's name and the seed only."""
    trained = [
        cell for cell in result.finding.cells if cell in findings.results.expected and not REFERENCE.fullmatch(cell)
    ]
    if not trained or not findings.results.seeds:
        return ""
    return findings.rerun(trained[0], findings.results.seeds[0])
