"""What tells the algorithms apart, as a table: one row a field, one column an algorithm."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from . import ALGORITHMS, Algorithm

HEAD = """\
# Algorithms

Written by `starlab algorithms`; do not edit. Every field of every algorithm with its default; a dash: the algorithm has
no such field. In bold, what differs from grpo. `rl.clip_low` and `rl.clip_high` of the experiment file set the clipping
of all of them; the sections `rl.dapo`, `rl.arpo` and `rl.arpo_random` set what only those have.
"""


def document() -> str:
    """The table and what each field means, in Markdown."""
    classes = {name: kind for name, kind in ALGORITHMS.items() if not inspect.isabstract(kind)}
    values = {name: _defaults(kind) for name, kind in classes.items()}
    meanings: dict[str, str] = {}
    for kind in classes.values():
        for base in reversed(kind.__mro__):
            if issubclass(base, Algorithm):
                meanings |= _meanings(base)
    names = list(dict.fromkeys(name for own in values.values() for name in own))
    lines = [HEAD, "| field | " + " | ".join(classes) + " |", "|---" * (len(classes) + 1) + "|"]
    for name in names:
        cells = [_cell(values[kind], values["grpo"], name) for kind in classes]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    lines += ["", *(f"- `{name}`: {meanings[name]}" for name in names if name in meanings), "", "## Sources", ""]
    for name, kind in classes.items():
        module = inspect.getmodule(kind)
        source = (module.__doc__ if module else None) or ""
        lines.append(f"- {name}: {source.splitlines()[0].rstrip('.')}.")
    return "\n".join(lines) + "\n"


def _defaults(kind: type[Algorithm]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind)}


def _cell(own: Mapping[str, Any], usual: Mapping[str, Any], name: str) -> str:
    if name not in own:
        return "-"
    differs = name not in usual or own[name] != usual[name]
    return f"**{own[name]}**" if differs else str(own[name])


def _meanings(kind: type) -> dict[str, str]:
    """The sentences under the fields of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for statement, below in zip(tree.body, tree.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found[statement.target.id] = " ".join(below.value.value.split())
    return found
