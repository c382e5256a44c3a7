"""Flights in columns behave like the list of rows they were made from."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.travel.flights import FlightTable
from starlab.travel.rows import Flight

CITIES = ("Ay", "Bee", "Cee (north)", "Dé")
DATES = ("2022-03-01", "2022-03-02", "2022-02-28")
NUMBERS = ("F1", "F10", "F2", "Fé", "F")

flight = st.builds(
    Flight,
    number=st.sampled_from(NUMBERS),
    price=st.integers(0, 2000),
    departure_time=st.sampled_from(("08:00", "09:30")),
    arrival_time=st.sampled_from(("10:00", "11:30")),
    elapsed=st.just("2 hours 0 minutes"),
    date=st.sampled_from(DATES),
    origin=st.sampled_from(CITIES),
    destination=st.sampled_from(CITIES),
    distance=st.sampled_from((0.0, -0.0)) | st.floats(0, 5000),
)
tables = st.lists(flight, min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_look_ups_find_what_a_scan_finds(rows: list[Flight]) -> None:
    table = FlightTable.of(rows)
    for origin in (*CITIES, "Nowhere", ""):
        assert table.leaving(origin) == sum(row.origin == origin for row in rows)
        for destination in (*CITIES, "Nowhere"):
            route = [row for row in rows if (row.origin, row.destination) == (origin, destination)]
            assert table.on_route(origin, destination) == tuple(route)
            assert table.prices(origin, destination) == [row.price for row in route]
            assert table.dates(origin, destination) == tuple(sorted({row.date for row in route}))
            for date in (*DATES, "2022-03-09", ""):
                for _ in range(2):  # found, then remembered
                    assert table.on(origin, destination, date) == tuple(row for row in route if row.date == date)
    for number in (*NUMBERS, "", "F1\0", "F1 ", "f1", "F10000000", "é"):
        assert table.numbered(number) == tuple(row for row in rows if row.number == number)
    assert table.dates() == tuple(sorted({row.date for row in rows}))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_counts_are_by_route_and_date_in_the_order_of_the_file(rows: list[Flight]) -> None:
    counts = FlightTable.of(rows).counts()
    assert list(counts) == list(dict.fromkeys((row.origin, row.destination) for row in rows))
    found = {(*route, date): count for route, dates in counts.items() for date, count in dates.items()}
    assert found == Counter((row.origin, row.destination, row.date) for row in rows)


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(-40, 40), st.slices(30))
def test_it_is_a_sequence_of_rows(rows: list[Flight], place: int, part: slice) -> None:
    table = FlightTable.of(rows)
    assert len(table) == len(rows)
    assert list(table) == rows
    assert table == rows == table
    assert table[part] == tuple(rows[part])
    if -len(rows) <= place < len(rows):
        assert table[place] == rows[place]
    else:
        with pytest.raises(IndexError):
            table[place]
    assert rows[0] in table
    assert table != rows[1:]
    assert table != "rows"


@settings(max_examples=60, deadline=None)
@given(tables)
def test_prints_are_those_of_the_rows(rows: list[Flight]) -> None:
    expected = "".join(
        repr(
            (
                r.number,
                r.price,
                r.departure_time,
                r.arrival_time,
                r.elapsed,
                r.date,
                r.origin,
                r.destination,
                r.distance,
            )
        )
        for r in rows
    )
    assert b"".join(FlightTable.of(iter(rows)).prints()) == expected.encode()


def test_values_are_plain_python() -> None:
    row = FlightTable.of([Flight("F1", 40, "", "", "", "2022-03-01", "Ay", "Bee", 90.0)])[0]
    assert [type(value) for value in (row.number, row.price, row.distance)] == [str, int, float]


def test_a_table_without_rows_has_nothing() -> None:
    table = FlightTable.of([])
    assert list(table) == []
    assert table.on("Ay", "Bee", "2022-03-01") == table.numbered("F1") == table.dates() == ()
    assert table.counts() == {}
    assert list(table.prints()) == []


def test_memory_of_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starlab.travel.flights._REMEMBERED", 3)
    table = FlightTable.of([Flight("F1", 40, "", "", "", "2022-03-01", "Ay", "Bee", 90.0)])
    for number in range(20):
        assert table.on("Ay", "Bee", f"2022-04-{number:02d}") == ()
        assert len(table._on) <= 3
    assert len(table.on("Ay", "Bee", "2022-03-01")) == 1
