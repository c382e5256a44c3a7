"""The files of an evaluation."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.evaluation.results import rounded, write


def test_the_same_results_give_the_same_bytes_whatever_the_order_of_their_keys(tmp_path: Path) -> None:
    write(tmp_path / "a", {"x": 0.1 + 0.2, "y": {"b": 1, "a": -0.0}}, [{"p": 1 / 3, "q": None}])
    write(tmp_path / "b", {"y": {"a": 0.0, "b": 1}, "x": 0.3}, [{"q": None, "p": 0.333333}])
    for name in ("evaluation.json", "queries.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert json.loads((tmp_path / "a/evaluation.json").read_text()) == {"x": 0.3, "y": {"a": 0.0, "b": 1}}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_rounding_twice_changes_nothing(values: list[float]) -> None:
    once = rounded({"values": values})
    assert rounded(once) == once


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(Path("unused"), {"success": float("nan")}, [])


def test_a_full_disk_leaves_the_old_files_and_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"seed": 0}, [{"query_id": "old"}])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StarlabError, match=r"cannot write the evaluation \(No space"):
        write(tmp_path, {"seed": 1}, [{"query_id": "new"}])
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_the_aggregate_is_written_last(tmp_path: Path) -> None:
    """Where evaluation.json is, queries.jsonl is complete."""

    def rows() -> object:
        yield {"query_id": "a"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, {}, rows())  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
