"""overview.html: one self-contained page, figures included, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path

from starlab.findings import compute, learning, tables
from starlab.findings.build import Findings
from starlab.findings.tables import Table
from starlab.findings.verdicts import FindingResult

CSS = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1120px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin: 1em 0 }
th, td { border-bottom: 1px solid #ddd; padding: 4px 6px; text-align: left; vertical-align: top }
th { color: #555; font-weight: 600 }
img { width: 100%; height: auto }
code { font-size: 12px; overflow-wrap: anywhere }
.verdict { border-radius: 4px; padding: 1px 7px; color: #fff; white-space: nowrap }
.supported { background: #00795a } .contradicted { background: #b34a00 }
.undecided { background: #555 } .notrun { background: #888 }
details { margin: .5em 0 } summary { cursor: pointer; color: #0059a0 }
.scope { color: #555 }
"""


def as_html(findings: Findings, figures: Path) -> str:
    """The page. figures: folder with <finding>.svg, embedded as data."""
    body = [
        "<h1>Findings</h1>",
        f"<p class=scope>Verdicts {escape(findings.scope)}.</p>",
        _table(tables.summary_table(findings)),
        f"<p>{escape(tables.READING)}</p>",
        *_sections(findings, figures),
        *_costs(findings, figures),
        "<h2>Learning beside sharpening</h2>",
        f"<p>{escape(learning.READING)}</p>",
        _table(learning.table(findings)),
        "<h2>Runs that are missing</h2>",
        _table(tables.missing_table(findings)) if findings.results.gaps else "<p>None.</p>",
        "<h2>Provenance</h2>",
        _table(tables.provenance_table(findings)),
    ]
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>Findings</title>"
    head += f"<style>{CSS}</style>"
    return f"<!doctype html>\n<html lang=en><head>{head}</head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"


def _sections(findings: Findings, figures: Path) -> list[str]:
    """All findings, those of one system under its name."""
    parts: list[str] = []
    system = ""
    for result in findings.found:
        if system and result.finding.system != system:
            parts.append(f"<h1>{escape(result.finding.system)}</h1>")
        system = result.finding.system
        parts.append(_section(findings, result, figures))
    return parts


def _costs(findings: Findings, figures: Path) -> list[str]:
    """What success cost, where the experiment trains on single turns."""
    if not compute.shown(findings.results):
        return []
    parts = ["<h2>What success costs</h2>", f"<p>{escape(compute.READING)}</p>", _table(compute.cost_table(findings))]
    if (figures / "compute.svg").exists():
        parts += [_image(figures / "compute.svg", "success against cost"), _table(compute.reach_table(findings))]
    return parts


def _image(path: Path, title: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f"<img alt='{escape(title, quote=True)}' src='data:image/svg+xml;base64,{data}'>"


def _section(findings: Findings, result: FindingResult, figures: Path) -> str:
    finding = result.finding
    command = tables.rerun_text(findings, result)
    parts = [
        f"<h2 id={finding.id}>{finding.id} {escape(finding.title)} {_badge(str(result.verdict))}</h2>",
        f"<p>{escape(finding.text)}</p><p>{escape(tables.finding_summary(result))}.</p>",
        _image(figures / f"{finding.id}.svg", finding.title),
        _details("Contrasts", _table(tables.contrast_table(findings, result)), is_open=True),
        _details(
            "Scores of the cells, greedy and sampled",
            _table(tables.level_table(findings, finding.figure.cells)),
        ),
        f"<p>One run again: <code>{escape(command)}</code></p>" if command else "",
    ]
    return "\n".join(parts)


def _details(title: str, content: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{content}</details>"


def _table(table: Table) -> str:
    head, rows = table
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _cell(text: str) -> str:
    """Escaped text; `code` in backticks, and a verdict that stands alone as a badge."""
    if text in ("supported", "contradicted", "undecided", "not run"):
        return _badge(text)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _badge(verdict: str) -> str:
    return f"<span class='verdict {verdict.replace(' ', '')}'>{verdict}</span>"
