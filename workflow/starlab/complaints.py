"""What is wrong with an experiment file, told so that it can be mended.

Pydantic finds the mistakes; this module finds them in the files and says them in the words of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from .errors import nearest
from .fields import EVERY, unwrap

Location = tuple[int | str, ...]


def describe(error: ValidationError, model: type[BaseModel], files: Sequence[Path]) -> str:
    """One line for each distinct mistake in `error`."""
    lines: dict[Location, str] = {}
    for item in error.errors(include_url=False):
        path, fields = follow(item["loc"], model)
        lines.setdefault(path, complaint(path, explain(item, path, fields), files))
    # A bad item also makes its list complain; only the item is worth a line.
    inner = {path[:depth] for path in lines for depth in range(len(path))}
    return "\n".join(line for path, line in lines.items() if path not in inner)


def complaint(path: Location, message: str, files: Sequence[Path]) -> str:
    """`file:line: path: message`."""
    return f"{where(path, files)}{render(path)}: {message}"


def explain(item: Any, path: Location, fields: Sequence[str]) -> str:
    """What was expected and what was found."""
    if item["type"] == "extra_forbidden":
        return f"unknown key; {nearest(str(path[-1]), fields)}"
    if item["type"] == "missing":
        return "required, but missing"
    if item["type"] == "literal_error":
        valid = [word.strip("'") for word in item["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        hint = nearest(str(item["input"]), valid)
        return f"expected one of {', '.join(valid)}; got {item['input']!r}; {hint}"
    if item["type"] in ("model_type", "dict_type"):
        return f"expected `key: value` pairs; got {item['input']!r}"
    if item["type"] == "value_error":
        return str(item["ctx"]["error"])
    message = str(item["msg"])
    return f"{message[0].lower()}{message[1:]}; got {item['input']!r}"


def follow(loc: Location, model: type[BaseModel]) -> tuple[Location, list[str]]:
    """`loc` without pydantic's own labels (union members and the like), and the valid keys where it ends."""
    path: list[int | str] = []
    place: Any = model
    fields: list[str] = []
    for part in loc:
        if isinstance(place, type) and issubclass(place, BaseModel):
            fields = list(place.model_fields)
            path.append(part)
            field = place.model_fields.get(str(part))
            place = unwrap(field.annotation) if field else None
        elif get_origin(place) is dict:
            if part in ("[key]", EVERY):
                continue
            path.append(part)
            place = unwrap(get_args(place)[1])
        elif isinstance(part, int):
            path.append(part)
            place = unwrap(get_args(place)[0]) if get_origin(place) is tuple else None
    return tuple(path), fields


def render(path: Location) -> str:
    """`("matrix", "axes", 3, "reward")` as `matrix.axes[3].reward`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")


def where(path: Location, files: Sequence[Path]) -> str:
    """`file:line: ` of the deepest place that a file names; the last file wins, as it does in merging."""
    best = ""
    depth = 0
    for file in reversed(files):
        node = yaml.compose(file.read_text(encoding="utf-8"))
        reached, line = locate(node, path)
        if reached > depth or not best:
            best, depth = f"{file}:{line}: ", reached
    return best


def locate(node: yaml.Node | None, path: Location) -> tuple[int, int]:
    """How many parts of `path` exist under `node`, and the line (from 1) of the last of them."""
    reached, line = 0, 1
    for part in path:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
            if not found:
                break
            line, node = found[-1][0].start_mark.line + 1, found[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
        reached += 1
    return reached, line
