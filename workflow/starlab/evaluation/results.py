"""`evaluation.json` and `queries.jsonl`: the same results give the same bytes, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import write_atomically

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
    """Write both files into `folder`; `evaluation.json` comes last, so where it is, both are complete.

    Raises StarlabError when the disk does not take them (full, read-only); a file that was there stays.
    """
    lines = [json.dumps(rounded(row), sort_keys=True, allow_nan=False) + "\n" for row in rows]
    text = json.dumps(rounded(evaluation), sort_keys=True, allow_nan=False, indent=1) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / QUERIES, "".join(lines))
        write_atomically(folder / EVALUATION, text)
    except OSError as error:
        raise StarlabError(
            f"{folder}: cannot write the evaluation ({error.strerror}); make room or check the permissions "
            "and run again, nothing that was finished is lost"
        ) from error
