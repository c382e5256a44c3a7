"""What survives a kill: the record of steps, and which checkpoints count as whole."""

from __future__ import annotations

import json

import pytest
from starlab.errors import StarlabError
from starlab.training import checkpoints
from starlab.training.recording import Record


def test_a_resumed_record_drops_what_will_be_computed_again(tmp_path):
    heard = []
    record = Record(tmp_path / "metrics.jsonl", lambda step, numbers: heard.append((step, numbers)))
    for step in range(1, 6):
        record.write(step, {"total_episodes": 64.0 * step})
    with record.path.open("a") as handle:
        handle.write('{"step": 6, "total_epi')  # a kill in the middle of a line
    again = Record(tmp_path / "metrics.jsonl")
    again.resume(3)
    assert again.last == {"step": 3, "total_episodes": 192.0}
    again.write(4, {"total_episodes": 256.0})
    assert [row["step"] for row in again.rows()] == [1, 2, 3, 4]
    assert heard[0] == (1, {"total_episodes": 64.0})


def test_a_record_that_misses_lines_is_not_continued(tmp_path):
    record = Record(tmp_path / "metrics.jsonl")
    record.path.write_text('{"step": 1}\n{"step": 3}\n')
    with pytest.raises(StarlabError, match="checkpoint of step 3, but not a line for each step up to it; remove"):
        record.resume(3)
    record.resume(1)
    assert record.history == [{"step": 1}]


def test_a_record_from_nothing(tmp_path):
    record = Record(tmp_path / "metrics.jsonl")
    record.resume(0)
    assert record.last == {} and record.path.read_text() == ""


def test_numbers_must_be_finite(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        Record(tmp_path / "metrics.jsonl").write(1, {"loss": float("nan")})


def make_checkpoint(folder, step, sealed=True):
    checkpoint = folder / f"checkpoint-{step}"
    checkpoint.mkdir()
    (checkpoint / "model.safetensors").write_bytes(b"weights" * step)
    (checkpoint / "trainer_state.json").write_text("{}")
    if sealed:
        checkpoints.seal(checkpoint)
    return checkpoint


def test_the_newest_whole_checkpoint_wins(tmp_path):
    older, newer = make_checkpoint(tmp_path, 9), make_checkpoint(tmp_path, 10)
    unsealed = make_checkpoint(tmp_path, 11, sealed=False)
    assert checkpoints.newest(tmp_path) == newer
    assert not unsealed.exists()
    (newer / "model.safetensors").write_bytes(b"cut")
    assert checkpoints.newest(tmp_path) == older
    assert checkpoints.newest(tmp_path / "nothing") is None


def test_a_seal_covers_every_file(tmp_path):
    checkpoint = make_checkpoint(tmp_path, 2)
    assert json.loads((checkpoint / checkpoints.SEAL).read_text()) == {
        "model.safetensors": 14,
        "trainer_state.json": 2,
    }
    (checkpoint / "trainer_state.json").unlink()
    assert not checkpoints.is_whole(checkpoint)


def test_missing_and_corrupt_models_are_one_clear_message(tmp_path):
    with pytest.raises(StarlabError, match=r"config\.json: missing"):
        checkpoints.load_model(tmp_path)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_text("{")
    with pytest.raises(StarlabError, match="not a readable model"):
        checkpoints.load_model(tmp_path)
