"""The flight table on disk: the official CSV file, and beside a large one its columns, ready to be mapped.

The columns are used if and only if they were made from the very bytes that the CSV file holds now; they may be
deleted at any time. A folder that cannot be written to works as well, only more slowly.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ..provenance import file_sha256
from .csvfile import bad_cell, find, no_rows, opened
from .flights import TEXTS, Encoder, FlightTable, RouteIndex, Texts
from .schema import FLIGHTS, GAPS, Column

LARGE = 500_000
"""Rows from which on the columns are kept on disk; below, the CSV file is read as fast."""
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
    return path.with_suffix(".columns")


def read(path: Path) -> FlightTable:
    """Parse a CSV file, in chunks: the memory it takes is that of the columns."""
    columns = FLIGHTS.by_field()
    with opened(path, columns) as reader:
        encoders = {place: Encoder() for place in reader.positions}
        number_at = reader.positions[0]
        del encoders[number_at]
        others = set(range(len(reader.header))) - set(encoders)
        numbers: list[np.ndarray] = []
        codes: dict[int, list[np.ndarray]] = {place: [] for place in encoders}
        kept: list[np.ndarray] = []
        for cells in reader.columns(_CHUNK):
            rows = len(cells[0])
            full = np.ones(rows, np.bool_)
            for place in others:
                if not GAPS.isdisjoint(cells[place]):
                    full &= np.fromiter((cell not in GAPS for cell in cells[place]), np.bool_, rows)
            for place, encoder in encoders.items():
                found = encoder.encode(cells[place])
                codes[place].append(found)
                if gaps := [encoder[gap] for gap in GAPS if gap in encoder]:
                    full &= ~np.isin(found, gaps)
            numbers.append(np.array([name.encode() for name in cells[number_at]], np.bytes_))
            kept.append(full)
    mask = np.concatenate(kept) if kept else np.empty(0, np.bool_)
    if not mask.any():
        raise no_rows(path, len(mask))
    places = dict(zip((column.field for column in columns), reader.positions, strict=True))
    joined = {place: np.concatenate(parts)[mask] for place, parts in codes.items()}
    values = {}
    for column in columns:
        if column.field in ("price", "distance"):
            place = places[column.field]
            values[column.field] = _typed(path, column, place, encoders[place], joined[place])
    return FlightTable(
        np.concatenate(numbers)[mask],
        values["price"].astype(np.int64),
        values["distance"],
        {name: _compact(Texts(tuple(encoders[places[name]]), joined[places[name]])) for name in TEXTS},
    )


def _typed(path: Path, column: Column, place: int, encoder: Encoder, codes: np.ndarray) -> np.ndarray:
    """A column of numbers. Every distinct text is parsed once."""
    used = set(np.unique(codes).tolist())
    values = np.zeros(len(encoder))
    for text, code in encoder.items():
        if code in used:
            try:
                values[code] = column.read(text)
            except ValueError as error:
                raise bad_cell(path, _line_of(path, place, text), column, text, error) from error
    found: np.ndarray = values[codes]
    return found


def _line_of(path: Path, place: int, text: str) -> int:
    """The line of the first complete row with `text` in column `place`."""
    with opened(path, ()) as reader:
        return next(reader.line for row in reader if row[place] == text and GAPS.isdisjoint(row))


def _compact(texts: Texts) -> Texts:
    """The same column without values that no row holds (those of rows that were dropped)."""
    used = np.unique(texts.codes)
    if len(used) == len(texts.values):
        return texts
    codes = np.searchsorted(used, texts.codes).astype(np.int32)
    return Texts(tuple(texts.values[code] for code in used.tolist()), codes)


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
