"""Small files: written whole or not at all, and JSON lines that say where they are wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import StarlabError

MEND = "delete the file to make it again"
"""How to mend a file that the workflow makes."""


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is either the old one or the whole new one, also after a power cut."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)


def json_lines(path: Path, mend: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of every line that is not empty; a place is file:line, for messages.

    StarlabError, ending in how to `mend` it, for a file that cannot be read and a line that is no JSON object. Lines
    end with a line feed only: JSON may hold the other characters at which Python splits.
    """
    end = f"; {mend}" if mend else ""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StarlabError(f"{path}: cannot be read ({error}){end}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StarlabError(f"{place}: not JSON ({error}){end}") from error
        if not isinstance(row, dict):
            raise StarlabError(f"{place}: a line is a JSON object{end}")
        yield place, row
