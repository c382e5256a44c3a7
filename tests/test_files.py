"""Files that are whole, and lines that say where they are wrong."""

import json
from pathlib import Path

import pytest
from starlab.errors import StarlabError
from starlab.files import json_lines, write_atomically
from starlab.provenance import content_sha256


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("one", "two"):
        write_atomically(path, text)
        assert path.read_text() == text and list(tmp_path.iterdir()) == [path]


def test_lines_end_with_a_line_feed_only(tmp_path: Path) -> None:
    """Python would also split at these, and a policy may say them."""
    said = "a\u2028b\x85c\x0bd"
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"said": said}, ensure_ascii=False) + "\n\n" + '{"said": 2}\n', encoding="utf-8")
    assert list(json_lines(path)) == [(f"{path}:1", {"said": said}), (f"{path}:3", {"said": 2})]


@pytest.mark.parametrize(
    ("line", "message"), [("{", "not JSON"), ("[]", "a line is a JSON object"), ("[" * 100_000, "not JSON")]
)
def test_a_bad_line_is_told_with_its_place_and_what_to_do(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n" + line)
    with pytest.raises(StarlabError, match=rf"x\.jsonl:2: {message}.*; make it again$"):
        list(json_lines(path, "make it again"))


def test_what_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xff")
    for name in ("x.jsonl", "absent.jsonl"):
        with pytest.raises(StarlabError, match="cannot be read"):
            list(json_lines(tmp_path / name))


def test_what_a_world_is_does_not_depend_on_the_columns_beside_its_flights(tmp_path: Path) -> None:
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "flights.csv").write_text("a,b\n")
    bare = content_sha256(tmp_path)
    columns = tmp_path / "flights" / "flights.columns"
    columns.mkdir()
    (columns / "price.npy").write_bytes(b"1")
    assert content_sha256(tmp_path) == bare
    (tmp_path / "flights" / "flights.csv").write_text("a,c\n")
    assert content_sha256(tmp_path) != bare
