"""The flight table: columns instead of rows, because the official table has 3.8 million of them.

Texts that repeat are kept once and referred to by code. A flight becomes a `Flight` when somebody asks for it; what
was asked for by route and date is remembered, since agents and checkers ask for the same few again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .rows import Flight

A = TypeVar("A")
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Numbers = NDArray[np.bytes_]
"""Flight numbers in UTF-8, padded to one width."""
_REMEMBERED = 1 << 16
"""Routes and dates, or flight numbers, that are remembered at a time."""
_CHUNK = 1 << 13
"""Rows that become Python objects at a time."""
TEXTS = ("departure_time", "arrival_time", "elapsed", "date", "origin", "destination")
"""The columns of texts that repeat."""


class Encoder(dict[str, int]):
    """text -> code, in the order of first appearance."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code

    def encode(self, texts: Sequence[str]) -> Codes:
        return np.fromiter(map(self.__getitem__, texts), np.int32, len(texts))


@dataclass(frozen=True)
class Texts:
    """A column of texts: row i holds `values[codes[i]]`."""

    values: tuple[str, ...]
    codes: Codes

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        return {text: code for code, text in enumerate(self.values)}

    def at(self, rows: Any) -> list[str]:
        values = self.values
        return [values[code] for code in self.codes[rows].tolist()]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        encoder = Encoder()
        codes = encoder.encode(texts)
        return cls(tuple(encoder), codes)


def _no_rows() -> Integers:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class RouteIndex:
    """Rows by route and date, and by number. `order` lists the rows by key, in file order within a key; the rows of
    `keys[i]` are `order[starts[i]:starts[i + 1]]`. `by_number` lists the rows by flight number.
    """

    keys: Integers
    starts: Integers
    order: Integers
    by_number: Integers

    @classmethod
    def of(cls, keys: Integers, numbers: Numbers) -> RouteIndex:
        order = np.argsort(keys, kind="stable")
        distinct, first = np.unique(keys[order], return_index=True)
        starts = np.append(first, len(keys)).astype(np.int64)
        return cls(distinct, starts, order, np.argsort(numbers, kind="stable"))

    def rows(self, low: int, high: int) -> Integers:
        """The rows whose key is at least `low` and below `high`, by key."""
        first, last = np.searchsorted(self.keys, (low, high))
        return self.order[self.starts[first] : self.starts[last]]


@dataclass(frozen=True, eq=False)
class FlightTable(Sequence[Flight]):
    """Flights in file order: a sequence, with look-ups by route, date and number.

    `number` and `price` (dollars) and `distance` (miles) have one entry a row, `texts` a column by name of `TEXTS`.
    """

    number: Numbers
    price: Integers
    distance: NDArray[np.float64]
    texts: Mapping[str, Texts]
    made: RouteIndex | None = None
    """An index that is made already; else it is made at the first look-up."""
    _on: dict[tuple[str, str, str], tuple[Flight, ...]] = field(default_factory=dict)
    _numbered: dict[str, tuple[Flight, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, flights: Iterable[Flight]) -> FlightTable:
        """The table of some rows."""
        rows = flights if isinstance(flights, Sequence) else tuple(flights)
        return cls(
            np.array([row.number.encode() for row in rows], np.bytes_),
            np.array([row.price for row in rows], np.int64),
            np.array([row.distance for row in rows], np.float64),
            {name: Texts.of([getattr(row, name) for row in rows]) for name in TEXTS},
        )

    @cached_property
    def by_route(self) -> RouteIndex:
        if self.made:
            return self.made
        origin, destination, date = (self.texts[name] for name in ("origin", "destination", "date"))
        keys = origin.codes.astype(np.int64)
        keys *= len(destination.values)
        keys += destination.codes
        keys *= len(date.values)
        keys += date.codes
        return RouteIndex.of(keys, self.number)

    def __len__(self) -> int:
        return len(self.price)

    @overload
    def __getitem__(self, place: int) -> Flight: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Flight, ...]: ...
    def __getitem__(self, place: int | slice) -> Flight | tuple[Flight, ...]:
        if isinstance(place, slice):
            return self._flights(np.arange(len(self))[place])
        return self._flights(np.array([range(len(self))[place]]))[0]

    def __iter__(self) -> Iterator[Flight]:
        for start in range(0, len(self), _CHUNK):
            yield from self._flights(slice(start, start + _CHUNK))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def columns(self, rows: Any) -> tuple[list[Any], ...]:
        """The values of some rows, a list for each field of `Flight` in its order."""
        departure, arrival, elapsed, date, origin, destination = (self.texts[name].at(rows) for name in TEXTS)
        numbers = [number.decode() for number in self.number[rows].tolist()]
        prices, distances = self.price[rows].tolist(), self.distance[rows].tolist()
        return numbers, prices, departure, arrival, elapsed, date, origin, destination, distances

    def _flights(self, rows: Any) -> tuple[Flight, ...]:
        return tuple(map(Flight, *self.columns(rows)))

    def on(self, origin: str, destination: str, date: str) -> tuple[Flight, ...]:
        """The flights of a route on a date, in file order."""
        asked = (origin, destination, date)
        found = self._on.get(asked)
        return self._remember(self._on, asked, self._rows(origin, destination, date)) if found is None else found

    def numbered(self, number: str) -> tuple[Flight, ...]:
        """All flights of a number, in file order."""
        found = self._numbered.get(number)
        return self._remember(self._numbered, number, self._rows_numbered(number)) if found is None else found

    def has(self, number: str) -> bool:
        """Whether a flight of that number goes anywhere."""
        return self._rows_numbered(number).size > 0

    @property
    def width(self) -> int:
        """Bytes that the longest number takes."""
        return self.number.dtype.itemsize

    def _remember(self, memory: dict[A, tuple[Flight, ...]], asked: A, rows: Integers) -> tuple[Flight, ...]:
        if len(memory) >= _REMEMBERED:
            memory.clear()
        found = memory[asked] = self._flights(rows)
        return found

    def _rows_numbered(self, number: str) -> Integers:
        name = number.encode("utf-8", "surrogatepass")
        if len(name) > self.number.dtype.itemsize or name.endswith(b"\0"):
            return _no_rows()  # numpy would cut it to the width of the column
        order = self.by_route.by_number
        first = np.searchsorted(self.number, np.bytes_(name), "left", sorter=order)
        last = np.searchsorted(self.number, np.bytes_(name), "right", sorter=order)
        return order[first:last]

    def _rows(self, origin: str, destination: str, date: str | None = None) -> Integers:
        """The rows of a route, by date, on one date or on all."""
        dates = self.texts["date"]
        start = self.texts["origin"].code_of.get(origin)
        end = self.texts["destination"].code_of.get(destination)
        if start is None or end is None:
            return _no_rows()
        route = (start * len(self.texts["destination"].values) + end) * len(dates.values)
        if date is None:
            return self.by_route.rows(route, route + len(dates.values))
        day = dates.code_of.get(date)
        return _no_rows() if day is None else self.by_route.rows(route + day, route + day + 1)

    def on_route(self, origin: str, destination: str) -> tuple[Flight, ...]:
        """The flights from one city to another on any date, in file order."""
        return self._flights(np.sort(self._rows(origin, destination)))

    def prices(self, origin: str, destination: str) -> list[int]:
        """The prices from one city to another on any date, in file order."""
        prices: list[int] = self.price[np.sort(self._rows(origin, destination))].tolist()
        return prices

    def leaving(self, origin: str) -> int:
        """The number of flights from a city."""
        code = self.texts["origin"].code_of.get(origin)
        return 0 if code is None else int(np.count_nonzero(self.texts["origin"].codes == code))

    def dates(self, origin: str | None = None, destination: str | None = None) -> tuple[str, ...]:
        """The dates with a flight, on one route or anywhere, sorted."""
        dates = self.texts["date"]
        if origin is None or destination is None:
            return tuple(sorted(dates.values))
        return tuple(sorted(dates.values[code] for code in np.unique(dates.codes[self._rows(origin, destination)])))

    def counts(self) -> dict[tuple[str, str], dict[str, int]]:
        """The number of flights by route and date; routes in the order of their first flight."""
        origins, destinations, dates = (self.texts[name].values for name in ("origin", "destination", "date"))
        index = self.by_route
        counts: dict[int, dict[str, int]] = {}
        first: dict[int, int] = {}
        firsts = index.order[index.starts[:-1]].tolist()
        for key, row, count in zip(index.keys.tolist(), firsts, np.diff(index.starts).tolist(), strict=True):
            route, day = divmod(key, len(dates))
            counts.setdefault(route, {})[dates[day]] = count
            first[route] = min(row, first.get(route, row))
        routes = sorted(counts, key=first.__getitem__)
        return {(origins[r // len(destinations)], destinations[r % len(destinations)]): counts[r] for r in routes}

    def prints(self) -> Iterator[bytes]:
        """`repr` of the tuple of every row's values, in file order, in chunks: what fingerprints are made of."""
        printed = {name: [repr(text) for text in self.texts[name].values] for name in TEXTS}
        for start in range(0, len(self), _CHUNK):
            rows = slice(start, start + _CHUNK)
            texts = ([printed[name][code] for code in self.texts[name].codes[rows].tolist()] for name in TEXTS)
            numbers = [repr(number.decode()) for number in self.number[rows].tolist()]
            columns = (numbers, _prints(self.price[rows]), *texts, _prints(self.distance[rows]))
            yield f"({')('.join(map(', '.join, zip(*columns, strict=True)))})".encode()


def _prints(column: NDArray[Any]) -> list[str]:
    """`repr` of every number of 64 bits; made once for each pattern of bits, since numbers repeat."""
    bits, places = np.unique(column.view(np.int64), return_inverse=True)
    printed = [repr(value) for value in bits.view(column.dtype).tolist()]
    return [printed[place] for place in places.tolist()]
