"""A damaged base model ends in one message that says how to mend it."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from starlab.checkpoint import FILES, check
from starlab.errors import StarlabError
from starlab.hub import base_folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    for name in FILES:
        (tmp_path / name).write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    digest = sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    (tmp_path / "card.json").write_text(json.dumps({"sha256": digest}))
    return tmp_path


def test_a_whole_model_passes(model: Path) -> None:
    assert base_folder({"folder": str(model), "hub": None, "revision": None}) == model


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(StarlabError, match=f"{name} is missing; mend it so"):
        check(model, "mend it so")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs", None])
def test_a_file_that_was_cut_off_is_told(model: Path, content: bytes | None) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] if content is None else content)
    with pytest.raises(StarlabError, match="not a whole safetensors file"):
        check(model, "mend it so")


def test_other_weights_than_the_card_s_are_told(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(StarlabError, match="its card says"):
        check(model, "mend it so")
