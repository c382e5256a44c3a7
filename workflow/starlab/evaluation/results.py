"""`evaluation.json` and `queries.jsonl`: the same results give the same bytes, whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import StarlabError

EVALUATION = "evaluation.json"
QUERIES = "queries.jsonl"
_DIGITS = 6  # far below the standard error of any panel, far above the noise of summing in another order


def rounded(value: Any) -> Any:
    """`value` with every float in it rounded; -0.0 becomes 0.0."""
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def write(folder: Path, evaluation: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write both files into `folder`; `evaluation.json` comes last, so where it is, both are complete."""
    lines = (json.dumps(rounded(row), sort_keys=True, allow_nan=False) + "\n" for row in rows)
    write_atomically(folder / QUERIES, "".join(lines))
    text = json.dumps(rounded(evaluation), sort_keys=True, allow_nan=False, indent=1) + "\n"
    write_atomically(folder / EVALUATION, text)


def write_atomically(path: Path, text: str) -> None:
    """Write through a temporary file beside `path` and rename it.

    Raises StarlabError when the disk does not take it (full, read-only); what was at `path` stays.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StarlabError(
            f"{path}: cannot write it ({error.strerror}); make room or check the permissions and run again, "
            "nothing that was finished is lost"
        ) from error
