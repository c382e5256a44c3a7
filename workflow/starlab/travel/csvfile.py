"""CSV files of a travel database: found in either official layout, read with errors that name the place, written."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StarlabError
from .schema import GAPS, Column, Table

R = TypeVar("R")
Record = Sequence[str]
ENCODING = "utf-8-sig"
"""UTF-8, whether or not a spreadsheet has put a byte-order mark in front."""


def find(folder: Path, table: Table[Any]) -> Path:
    """The file of a table: in `folder` itself, or in TravelPlanner's sub-folder. Raises StarlabError if in neither."""
    flat, nested = folder / table.file, folder / table.folder / table.file
    for path in (flat, nested):
        if path.is_file():
            return path
    where = "" if folder.is_dir() else f"{folder} is no folder; "
    raise StarlabError(f"{flat}: no such table, nor {nested}; {where}a travel database folder needs {table.file}")


class Reader:
    """The records of a CSV file under its header, which must name all of `columns`.

    Every record has as many cells as the header. Raises StarlabError naming file, line and what is wrong.
    """

    def __init__(self, path: Path, columns: Sequence[Column], lines: Iterable[str]) -> None:
        self.path = path
        self._lines, self._skipped = iter(lines), 0
        self._rows = csv.reader(self._lines)
        self.header: list[str] = next(self._read(), [])
        if not self.header:
            raise StarlabError(f"{path}: the table is empty: not even a header")
        for column in columns:
            if column.header not in self.header:
                found = ", ".join(map(repr, self.header))
                raise StarlabError(f"{path}: column {column.header!r} is missing; the header names {found}")
        self.positions = [self.header.index(column.header) for column in columns]

    @property
    def line(self) -> int:
        """The line, from 1, where the newest record ends."""
        return self._skipped + self._rows.line_num

    def _read(self) -> Iterator[list[str]]:
        try:
            yield from self._rows
        except csv.Error as error:
            raise StarlabError(f"{self.path}:{self.line}: not CSV ({error})") from error
        except UnicodeDecodeError as error:
            raise StarlabError(f"{self.path}: after line {self.line}: not UTF-8 ({error.reason})") from error

    def __iter__(self) -> Iterator[list[str]]:
        width = len(self.header)
        for record in self._read():
            if len(record) == width:
                yield record
            elif record:  # an empty line is no record
                raise StarlabError(
                    f"{self.path}:{self.line}: the row has {len(record)} cells, the header names {width} columns"
                )

    def columns(self, lines: int) -> Iterator[list[Sequence[str]]]:
        """All records by column, in chunks: for each column of the header its cells in the next `lines` lines.

        Lines without quotes, as those of flights are, need only be cut at the commas: the csv module, a list for
        every row, would take three times as long.
        """
        width = len(self.header)
        while chunk := self._take(lines):
            cells = _cut(chunk, width)
            if cells is None:
                break
            self._skipped += len(chunk)
            yield cells
        if chunk:
            self._skipped += self._rows.line_num
            self._rows = csv.reader(chain(chunk, self._lines))
            rows = iter(self)
            while records := list(islice(rows, lines)):
                yield list(zip(*records, strict=True))

    def _take(self, lines: int) -> list[str]:
        try:
            return list(islice(self._lines, lines))
        except UnicodeDecodeError as error:
            raise StarlabError(f"{self.path}: after line {self.line}: not UTF-8 ({error.reason})") from error


def _cut(lines: list[str], width: int) -> list[Sequence[str]] | None:
    """The cells of some lines by column; None where that takes a real parser or a line is not `width` cells wide."""
    text = "".join(lines).replace("\r\n", "\n")
    commas = set(map(methodcaller("count", ","), lines))
    if commas != {width - 1} or '"' in text or "\r" in text or (width == 1 and "\n\n" in f"\n{text}"):
        return None
    cells = text.removesuffix("\n").replace("\n", ",").split(",")
    return [cells[place::width] for place in range(width)]


@contextmanager
def opened(path: Path, columns: Sequence[Column]) -> Iterator[Reader]:
    """A `Reader` on a file. Raises StarlabError when the file cannot be opened."""
    try:
        handle = path.open(newline="", encoding=ENCODING)
    except OSError as error:
        raise StarlabError(f"{path}: cannot read the table ({error.strerror})") from error
    with handle:
        yield Reader(path, columns, handle)


def bad_cell(path: Path, line: int, column: Column, text: str, error: ValueError) -> StarlabError:
    """The error for a cell of the wrong type."""
    return StarlabError(f"{path}:{line}: column {column.header!r}: {text[:80]!r} is {error}")


def no_rows(path: Path, dropped: int) -> StarlabError:
    """The error for a table without rows, of which `dropped` had an empty cell."""
    why = f": all {dropped} lack a value somewhere" if dropped else ""
    return StarlabError(f"{path}: the table has no rows{why}")


def read(folder: Path, table: Table[R]) -> tuple[R, ...]:
    """All rows of a table, in file order, but for those with gaps where the table does not keep them.

    Raises StarlabError naming the file, and the row and the column where it is one of these that is wrong.
    """
    path, columns = find(folder, table), table.by_field()
    rows: list[R] = []
    dropped = 0
    with opened(path, columns) as reader:
        cells = itemgetter(*reader.positions)
        for record in reader:
            if not table.keeps_gaps and not GAPS.isdisjoint(record):
                dropped += 1
                continue
            values = []
            for column, text in zip(columns, cells(record), strict=True):
                try:
                    values.append(column.read(text))
                except ValueError as error:
                    raise bad_cell(path, reader.line, column, text, error) from error
            rows.append(table.row(*values))
    if not rows:
        raise no_rows(path, dropped)
    return tuple(rows)


def write(folder: Path, table: Table[R], rows: Iterable[R]) -> None:
    """Write a table in the official schema; `read` gives it back."""
    cells = [_cells(column) for column in table.columns]
    with (folder / table.file).open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow([column.header for column in table.columns])
        writer.writerows([cell(row) for cell in cells] for row in rows)


def _cells(column: Column) -> Any:
    """The function from a row to the cell of `column`."""
    if column.field is None:
        return lambda row: ""
    value, put = attrgetter(column.field), column.write
    return value if put is None else lambda row: put(value(row))
