"""The flight table on disk: the official CSV file, and beside it its columns, ready to be mapped.

Columns are written with the databases that are made here, and by the first load of a large one. They are used if and
only if they were made from the very bytes that the CSV file holds now, and may be deleted at any time. A large table in
a folder that cannot be written to works as well, only more slowly.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from ..provenance import COLUMNS, file_sha256
from .csvfile import bad_cell, find, no_rows, opened
from .flights import TEXTS, Codes, Encoder, FlightTable, RouteIndex, Texts
from .schema import FLIGHTS, GAPS, Column

LARGE = 500_000
"""Rows from which on loading a CSV file leaves its columns behind. A folder of a few rows is left as it was found."""
_FORMAT = 1
_CHUNK = 10_000
_ARRAYS = ("number", "price", "distance")

log = logging.getLogger(__name__)


def load(folder: Path) -> FlightTable:
    """The flight table of a database folder. Raises StarlabError naming the file, the row and the column."""
    path = find(folder, FLIGHTS)
    cache = cache_of(path)
    if cache.is_dir():
        try:
            return _mapped(cache, file_sha256(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.info("%s: made again from %s (%s)", cache, path.name, error)
    table = read(path)
    if len(table) >= LARGE:
        try:
            store(table, path)
        except OSError as error:
            log.warning("%s: cannot keep the columns here (%s); loading stays slow", cache, error.strerror)
    return table


def cache_of(path: Path) -> Path:
    """The folder with the columns of a CSV file."""
    return path.with_suffix(COLUMNS)


def read(path: Path) -> FlightTable:
    """Parse a CSV file, in chunks: the memory it takes is that of the columns."""
    typed = FLIGHTS.by_field()[1:]
    with opened(path, FLIGHTS.by_field()) as reader:
        number_at, *places = reader.positions
        numbers: list[np.ndarray] = []
        encoders = [Encoder() for _ in places]
        codes: list[list[Codes]] = [[] for _ in places]
        seen = 0
        for chunk in reader.columns(_CHUNK):
            seen += len(chunk[0])
            cells = _without_gaps(chunk)
            numbers.append(np.array([name.encode() for name in cells[number_at]], np.bytes_))
            for encoder, parts, place in zip(encoders, codes, places, strict=True):
                parts.append(encoder.encode(cells[place]))
    if not any(map(len, numbers)):
        raise no_rows(path, seen)
    values: dict[str, list[Any]] = {}
    joined: dict[str, Codes] = {}
    for column, place, encoder, parts in zip(typed, places, encoders, codes, strict=True):
        values[str(column.field)] = _typed(path, column, place, encoder)
        joined[str(column.field)] = np.concatenate(parts)
    return FlightTable(
        np.concatenate(numbers),
        np.array(values["price"], np.int64)[joined["price"]],
        np.array(values["distance"], np.float64)[joined["distance"]],
        {name: Texts(tuple(values[name]), joined[name]) for name in TEXTS},
    )


def _without_gaps(cells: list[Sequence[str]]) -> list[Sequence[str]]:
    """Some rows, by column, without those that lack a value."""
    gappy = [column for column in cells if not GAPS.isdisjoint(column)]
    if not gappy:
        return cells
    full = [GAPS.isdisjoint(row) for row in zip(*gappy, strict=True)]
    return [list(compress(column, full)) for column in cells]


def _typed(path: Path, column: Column, place: int, encoder: Encoder) -> list[Any]:
    """The values of a column by code: every distinct text is read once. Raises StarlabError for a wrong type."""
    values = []
    for text in encoder:
        try:
            values.append(column.read(text))
        except ValueError as error:
            raise bad_cell(path, _line_of(path, place, text), column, text, error) from error
    return values


def _line_of(path: Path, place: int, text: str) -> int:
    """The line of the first complete row with `text` in column `place`."""
    with opened(path, ()) as reader:
        return next(reader.line for row in reader if row[place] == text and GAPS.isdisjoint(row))


def store(table: FlightTable, path: Path) -> None:
    """Write the columns and the index of `table`, which is that of `path`. Raises OSError when that fails.

    The folder appears complete or not at all, so that jobs that start together do not disturb each other.
    """
    target = cache_of(path)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=path.parent))
    try:
        for name, array in _arrays(table):
            np.save(work / f"{name}.npy", array, allow_pickle=False)
        values = {name: table.texts[name].values for name in TEXTS}
        head = {"format": _FORMAT, "sha256": file_sha256(path), "rows": len(table), "values": values}
        (work / "columns.json").write_text(json.dumps(head, ensure_ascii=False), encoding="utf-8")
        work.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        try:
            work.rename(target)
        except OSError:
            if not target.is_dir():  # else another job was faster
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _arrays(table: FlightTable) -> Iterator[tuple[str, np.ndarray]]:
    for name in _ARRAYS:
        yield name, getattr(table, name)
    for name in TEXTS:
        yield name, table.texts[name].codes
    for part in fields(RouteIndex):
        yield f"index.{part.name}", getattr(table.by_route, part.name)


def _mapped(cache: Path, sha256: str) -> FlightTable:
    """The table of a cache folder; its arrays stay on disk until they are touched. Raises OSError, ValueError,
    KeyError or TypeError when the folder is not a whole cache of the file with that hash.
    """
    head: Any = json.loads((cache / "columns.json").read_text(encoding="utf-8"))
    if head["format"] != _FORMAT:
        raise ValueError(f"its format is {head['format']}, not {_FORMAT}")
    if head["sha256"] != sha256:
        raise ValueError("the table has changed")

    def array(name: str) -> np.ndarray:
        return np.asarray(np.load(cache / f"{name}.npy", mmap_mode="r", allow_pickle=False))

    columns: Sequence[np.ndarray] = [array(name) for name in (*_ARRAYS, *TEXTS)]
    if any(len(column) != head["rows"] for column in columns):
        raise ValueError("a column is too short")
    texts = {name: Texts(tuple(head["values"][name]), array(name)) for name in TEXTS}
    index = RouteIndex(**{part.name: array(f"index.{part.name}") for part in fields(RouteIndex)})
    number, price, distance = columns[: len(_ARRAYS)]
    return FlightTable(number, price, distance, texts, index)
