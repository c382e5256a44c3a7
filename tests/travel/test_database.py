"""A database folder in the official schema: read whole, or refused with one error that names the place."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.travel import csvfile, flightfile
from starlab.travel.database import Database
from starlab.travel.miniature import MiniatureSpec, generate
from starlab.travel.schema import ATTRACTIONS, CITIES, FLIGHTS, HOTELS, RESTAURANTS, ROADS

TABLES = (FLIGHTS, HOTELS, RESTAURANTS, ATTRACTIONS, ROADS)
SMALL = MiniatureSpec(states=2, cities_per_state=2, dates=2, hotels=2, restaurants=2, attractions=2)


@pytest.fixture(scope="module")
def world() -> Database:
    return generate(3, "world", SMALL)


@pytest.fixture
def folder(world: Database, tmp_path: Path) -> Path:
    """The world as CSV files alone, as the official one comes."""
    world.save(tmp_path / "world")
    shutil.rmtree(flightfile.cache_of(tmp_path / "world" / FLIGHTS.file))
    return tmp_path / "world"


def edit(path: Path, old: str, new: str, count: int = 1) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def cell(path: Path, line: int, column: int, value: str) -> None:
    """Put `value` where line `line` (from 1) has its cell `column` (from 0); the cells there hold no commas."""
    lines = path.read_text(encoding="utf-8").split("\n")
    cells = lines[line - 1].split(",")
    cells[column] = value
    lines[line - 1] = ",".join(cells)
    path.write_text("\n".join(lines), encoding="utf-8")


def test_what_is_saved_loads_again_with_the_same_fingerprint(world: Database, folder: Path) -> None:
    loaded = Database.load(folder)
    assert loaded == world
    assert loaded.fingerprint() == world.fingerprint()
    assert replace(world, flights=world.flights[::-1]).fingerprint() != world.fingerprint()


def test_a_fingerprint_is_of_the_rows_as_ever() -> None:
    """Cards and results hold fingerprints: the same rows must give the same one, in every version."""
    found = generate(0, "pinned", SMALL).fingerprint()
    assert found == "c47b1a890e18194ff5f87c24a715266aedc8216966a40a5dc4b8a859ae17f912"


def test_the_layout_of_travelplanner_loads_too(world: Database, folder: Path) -> None:
    for table in TABLES:
        (folder / table.folder).mkdir(exist_ok=True)
        (folder / table.file).rename(folder / table.folder / table.file)
    assert Database.load(folder, "world") == world


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file)
def test_a_missing_table_is_named(folder: Path, table) -> None:
    (folder / table.file).unlink()
    with pytest.raises(StarlabError, match=f"{table.file}: no such table"):
        Database.load(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StarlabError, match="nowhere"):
        Database.load(tmp_path / "nowhere")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file)
def test_a_missing_column_is_named(folder: Path, table) -> None:
    column = table.by_field()[-1].header
    edit(folder / table.file, column, "something else")
    with pytest.raises(StarlabError, match=f"{table.file}: column '{column}' is missing; the header names"):
        Database.load(folder)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file)
def test_an_empty_table_is_refused(folder: Path, table) -> None:
    header = (folder / table.file).read_text(encoding="utf-8").splitlines()[0]
    (folder / table.file).write_text(header + "\n", encoding="utf-8")
    with pytest.raises(StarlabError, match=f"{table.file}: the table has no rows"):
        Database.load(folder)
    (folder / table.file).write_text("", encoding="utf-8")
    with pytest.raises(StarlabError, match=f"{table.file}: the table is empty"):
        Database.load(folder)


@pytest.mark.parametrize(
    ("table", "column", "value", "complaint"),
    [
        (FLIGHTS, "Price", "cheap", "'cheap' is not a number"),
        (FLIGHTS, "Price", "12.5", "'12.5' is not a whole number"),
        (FLIGHTS, "Price", "1e400", "'1e400' is not a finite number"),
        (FLIGHTS, "Price", "1e300", "'1e300' is too large"),
        (FLIGHTS, "Distance", "1_000", "'1_000' is not a number"),
        (FLIGHTS, "FlightDate", "03/16/2022", "'03/16/2022' is not a date like 2022-03-16"),
        (FLIGHTS, "FlightDate", "20220316", "'20220316' is not a date like 2022-03-16"),
        (HOTELS, "price", "free", "'free' is not a number"),
        (HOTELS, "maximum occupancy", "2.5", "'2.5' is not a whole number"),
        (RESTAURANTS, "Average Cost", "$30", "'\\$30' is not a number"),
    ],
)
def test_a_cell_of_the_wrong_type_is_named_with_its_row_and_column(
    folder: Path, table, column: str, value: str, complaint: str
) -> None:
    path = folder / table.file
    place = [column.header for column in table.columns].index(column)
    if table is RESTAURANTS:  # its cuisines hold commas
        row = path.read_text(encoding="utf-8").split("\n")[2]
        edit(path, row, f"Fork,Somewhere,Indian,{value},3.0")
    else:
        cell(path, 3, place, value)
    with pytest.raises(StarlabError, match=f"{table.file}:3: column '{column}': {complaint}"):
        Database.load(folder)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file)
def test_a_row_of_the_wrong_width_is_named(folder: Path, table) -> None:
    path = folder / table.file
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] += ",more"
    path.write_text("\n".join(lines), encoding="utf-8")
    width = len(table.columns)
    with pytest.raises(StarlabError, match=f":3: the row has {width + 1} cells, the header names {width} columns"):
        Database.load(folder)
    lines[2] = "one"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(StarlabError, match=f":3: the row has 1 cells, the header names {width} columns"):
        Database.load(folder)


@pytest.mark.parametrize("gap", ["", "NaN", "NULL", "None"])
def test_rows_with_gaps_are_dropped_from_all_tables_but_the_roads(world: Database, folder: Path, gap: str) -> None:
    cell(folder / FLIGHTS.file, 3, 2, gap)
    cell(folder / HOTELS.file, 2, 5, gap)
    cell(folder / ROADS.file, 2, 3, gap)
    loaded = Database.load(folder)
    assert list(loaded.flights) == [row for place, row in enumerate(world.flights) if place != 1]
    assert list(loaded.hotels) == list(world.hotels[1:])
    assert loaded.legs[0] == replace(world.legs[0], duration=None)
    assert loaded.legs[1:] == world.legs[1:]


def test_a_gap_hides_what_else_is_wrong_with_its_row(world: Database, folder: Path) -> None:
    cell(folder / FLIGHTS.file, 3, 1, "cheap")
    cell(folder / FLIGHTS.file, 3, 2, "")
    assert len(Database.load(folder).flights) == len(world.flights) - 1
    cell(folder / FLIGHTS.file, 5, 1, "cheap")
    with pytest.raises(StarlabError, match=":5: column 'Price'"):
        Database.load(folder)


def test_a_table_of_gaps_has_no_rows(folder: Path) -> None:
    lines = (folder / FLIGHTS.file).read_text(encoding="utf-8").split("\n")[:3]
    (folder / FLIGHTS.file).write_text("\n".join(lines[:1] + ["F1" + "," * 8] * 2), encoding="utf-8")
    with pytest.raises(StarlabError, match="no rows: all 2 lack a value"):
        Database.load(folder)


@pytest.mark.parametrize("ending", ["\r\n", "\n\n"])
def test_line_ends_empty_lines_and_byte_order_marks_do_not_matter(world: Database, folder: Path, ending: str) -> None:
    for table in TABLES:
        text = (folder / table.file).read_text(encoding="utf-8").replace("\n", ending)
        (folder / table.file).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert Database.load(folder) == world


def test_other_columns_and_another_order_do_not_matter(world: Database, folder: Path) -> None:
    path = folder / FLIGHTS.file
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    turned = [["" if number == 0 else str(number), *reversed(row)] for number, row in enumerate(rows)]
    path.write_text("\n".join(",".join(row) for row in turned), encoding="utf-8")
    assert Database.load(folder) == world


def test_quoted_flights_give_the_same_table_and_the_right_line(world: Database, folder: Path) -> None:
    path = folder / FLIGHTS.file
    lines = path.read_text(encoding="utf-8").split("\n")
    first, _, rest = lines[20].partition(",")
    lines[20] = f'"{first}",{rest}'
    path.write_text("\n".join(lines), encoding="utf-8")
    assert Database.load(folder) == world
    lines[20] = f'"{first},\n{first}",{rest}'
    lines[30] = lines[30] + ","
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(StarlabError, match=":32: the row has 10 cells"):
        Database.load(folder)


def test_what_is_not_text_is_refused(folder: Path) -> None:
    for table in (FLIGHTS, HOTELS):
        path = folder / table.file
        kept = path.read_bytes()
        path.write_bytes(kept + b"\xff\xfe\n")
        with pytest.raises(StarlabError, match=f"{table.file}: after line .*not UTF-8"):
            Database.load(folder)
        path.write_bytes(kept)


def test_cities_are_lines_of_two(folder: Path) -> None:
    (folder / CITIES).write_text("Ay\tAland\nBee Beeland\n", encoding="utf-8")
    with pytest.raises(StarlabError, match=r"citySet_with_states\.txt:2: expected `city<TAB>state`"):
        Database.load(folder)
    (folder / CITIES).write_text("\n", encoding="utf-8")
    with pytest.raises(StarlabError, match="no cities"):
        Database.load(folder)
    (folder / CITIES).unlink()
    with pytest.raises(StarlabError, match="cannot read the cities"):
        Database.load(folder)


# --- the columns beside a large table ------------------------------------------------------------


@pytest.fixture
def columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of columns that a first load leaves behind; every table counts as large."""
    monkeypatch.setattr(flightfile, "LARGE", 1)
    Database.load(folder)
    made = flightfile.cache_of(folder / FLIGHTS.file)
    assert made.is_dir()
    return made


def no_parsing(path: Path) -> None:
    raise AssertionError("the CSV file was parsed")


def test_a_database_is_saved_with_its_columns(world: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.save(tmp_path)
    monkeypatch.setattr(flightfile, "read", no_parsing)
    assert Database.load(tmp_path, "world") == world


def test_loading_a_small_table_leaves_nothing_behind(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    Database.load(folder)
    assert sorted(folder.rglob("*")) == before


def test_columns_give_the_same_table_without_parsing(
    world: Database, folder: Path, columns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flightfile, "read", no_parsing)
    loaded = Database.load(folder)
    assert loaded == world
    assert loaded.fingerprint() == world.fingerprint()
    flight = world.flights[-1]
    assert flight in loaded.flights_on(flight.origin, flight.destination, flight.date)
    assert flight in loaded.flight(flight.number)


def test_columns_of_another_table_are_not_used(world: Database, folder: Path, columns: Path) -> None:
    cell(folder / FLIGHTS.file, 2, 1, "77")
    assert Database.load(folder).flights[0].price == 77
    assert Database.load(folder).flights[0].price == 77  # now from columns that were made again


@pytest.mark.parametrize("damage", ["shorten", "remove", "nonsense", "format"])
def test_damaged_columns_are_made_again(
    world: Database, folder: Path, columns: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "shorten":
        (columns / "price.npy").write_bytes((columns / "price.npy").read_bytes()[:-8])
    elif damage == "remove":
        (columns / "index.order.npy").unlink()
    elif damage == "nonsense":
        (columns / "columns.json").write_text("{", encoding="utf-8")
    else:
        edit(columns / "columns.json", '"format": 1', '"format": 0')
    assert Database.load(folder) == world
    monkeypatch.setattr(flightfile, "read", no_parsing)
    assert Database.load(folder) == world


def test_a_folder_that_cannot_be_written_to_works(
    world: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(flightfile, "LARGE", 1)
    monkeypatch.setattr(flightfile.tempfile, "mkdtemp", refuse)
    assert Database.load(folder) == world
    assert "cannot keep the columns" in caplog.text


def test_a_failed_write_leaves_no_half_of_the_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(flightfile, "LARGE", 1)
    monkeypatch.setattr(flightfile.np, "save", full)
    before = sorted(folder.rglob("*"))
    Database.load(folder)
    assert sorted(folder.rglob("*")) == before


def test_a_copied_folder_keeps_its_columns(
    world: Database, folder: Path, columns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    monkeypatch.setattr(flightfile, "read", no_parsing)
    assert Database.load(tmp_path / "copy", "world") == world


def test_the_csv_module_and_the_fast_cut_agree(world: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvfile, "_cut", lambda lines, width: None)
    monkeypatch.setattr(flightfile, "_CHUNK", 7)
    assert Database.load(folder) == world
