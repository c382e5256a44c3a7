"""What survives a kill: the record of steps, and which checkpoints count as whole."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from starlab.errors import StarlabError
from starlab.training import checkpoints, progress
from starlab.training.recording import Record, step_rows


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
    assert [row["step"] for row in step_rows(again.path)] == [1, 2, 3, 4]
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


def change_weights(folder, change):
    path = folder / checkpoints.WEIGHTS
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.pop("model.norm.weight"),
            r"missing weights for the model of .*config\.json: model\.norm\.weight;",
        ),
        (
            lambda t: t.update(extra=torch.zeros(1)),
            r"unexpected weights for the model of .*: extra; the two do not belong",
        ),
        (
            lambda t: [t.pop(name) for name in list(t) if "layers.1." in name],
            r"missing weights .*: model\.layers\.1\.\S+, \S+, \S+ and \d+ more;",
        ),
        (lambda t: t.update({"model.norm.weight": torch.zeros(7)}), "mismatched weights|not a readable model"),
    ],
)
def test_weights_that_are_not_the_model_s_are_refused(base, tmp_path, change, message):
    """Transformers would fill what is missing with random numbers and pass over the rest."""
    folder = shutil.copytree(base, tmp_path / "model")
    change_weights(folder, change)
    with pytest.raises(StarlabError, match=message):
        checkpoints.load_model(folder)


def concluded(folder, name="train.json", spec=None):
    (folder / "checkpoint-4").mkdir(parents=True)
    (folder / "metrics.jsonl").write_text('{"step": 4}\n')

    class Saved:
        def save_pretrained(self, place, **how):
            place.mkdir(exist_ok=True)
            (place / ("model.safetensors" if self is model else "tokenizer.json")).write_text("new")

    model, tokenizer = Saved(), Saved()
    checkpoints.conclude(folder, model, tokenizer, folder / "metrics.jsonl", name, {"spec": spec or {"seed": 0}})


def test_a_concluded_training_needs_no_checkpoints_and_is_published_whole(tmp_path):
    folder, out = tmp_path / "checkpoints", tmp_path / "out"
    concluded(folder)
    assert not (folder / "checkpoint-4").exists()
    assert checkpoints.concluded(folder, "train.json", {"seed": 0}) == {"spec": {"seed": 0}}
    for _ in range(2):  # the second time over itself
        checkpoints.publish(folder, out)
        names = {path.name: path.read_text() for path in out.iterdir()}
        assert set(names) == {"model.safetensors", "tokenizer.json", "metrics.jsonl", "train.json"}
        assert names["model.safetensors"] == "new"


def test_without_hard_links_files_are_copied(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("not supported")

    monkeypatch.setattr("os.link", refuse)
    concluded(tmp_path / "checkpoints")
    checkpoints.publish(tmp_path / "checkpoints", tmp_path)
    assert (tmp_path / "model.safetensors").read_text() == "new"


def test_a_conclusion_that_was_cut_off_or_of_another_spec_is_none(tmp_path):
    assert checkpoints.concluded(tmp_path, "train.json", {"seed": 0}) is None
    concluded(tmp_path / "checkpoints")
    assert checkpoints.concluded(tmp_path / "checkpoints", "train.json", {"seed": 1}) is None
    (tmp_path / "checkpoints/trained/metrics.jsonl").write_text("")
    assert checkpoints.concluded(tmp_path / "checkpoints", "train.json", {"seed": 0}) is None


def test_a_learning_curve_of_an_earlier_training_does_not_stay(tmp_path):
    folder, out = tmp_path / "checkpoints", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    (folder / progress.FILE).write_text('{"step": 0}\n')
    progress.publish(folder, out)
    assert (out / progress.FILE).read_text() == '{"step": 0}\n'
    (folder / progress.FILE).unlink()
    progress.publish(folder, out)
    assert (out / progress.FILE).read_text() == ""
