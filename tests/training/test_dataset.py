"""What SFT trains on."""

from __future__ import annotations

import json

import pytest
from starlab import protocol
from starlab.errors import StarlabError
from starlab.policy.tokenizer import build_tokenizer
from starlab.training.dataset import IGNORED, mixture, read_trajectories


def dialogue(text: str):
    return [
        *protocol.prompt("travel", text),
        {"role": "assistant", "content": protocol.render_answer(text)},
        {"role": "user", "content": protocol.render_response("more")},
        {"role": "assistant", "content": protocol.render_answer("end")},
    ]


def replayed(rng):
    return dialogue(f"replay {rng.random()}")


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer()


def build(tokenizer, count=10, **changes):
    options = {"replay": 0.5, "epochs": 2.0, "batch": 4, "seed": 0, "skills": {"one": replayed}} | changes
    return mixture(tokenizer, [dialogue(f"trip {'x' * i}") for i in range(count)], **options)


def test_labels_are_the_assistant_tokens_with_their_end(tokenizer):
    for example in build(tokenizer):
        template = tokenizer.decode(example.input_ids)
        spoken = tokenizer.decode([label for label in example.labels if label != IGNORED])
        said = template.split("</answer>")[0].split("<answer>")[-1]
        assert spoken == f"<answer>{said}</answer><|im_end|><answer>end</answer><|im_end|>"
        assert all(label in (IGNORED, token) for label, token in zip(example.labels, example.input_ids, strict=True))


def test_ids_and_labels_equal_the_chat_template(tokenizer):
    (example,) = build(tokenizer, count=1, epochs=1.0, replay=0.0)
    template = tokenizer.apply_chat_template(
        dialogue("trip "), tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    assert template["input_ids"][:-1] == example.input_ids  # but for the last line break
    assert template["assistant_masks"][:-1] == [int(label != IGNORED) for label in example.labels]


def test_share_of_replay_and_epochs(tokenizer):
    texts = [tokenizer.decode(e.input_ids) for e in build(tokenizer, epochs=2.5, replay=0.2)]
    trips = [text for text in texts if "user\ntrip" in text]
    assert len(trips) == 25
    assert len(texts) - len(trips) == 2 + 2 + 1
    assert len(set(texts) - set(trips)) == 5  # replay is drawn afresh
    assert len(set(trips)) == 10


def test_the_mixture_depends_on_the_seed_alone(tokenizer):
    assert build(tokenizer) == build(tokenizer)
    assert build(tokenizer) != build(tokenizer, seed=1)


def test_only_the_last_batch_of_an_epoch_is_short_and_lengths_are_alike(tokenizer):
    examples = build(tokenizer, count=32, epochs=1.0, replay=0.0, batch=8)
    spreads = [
        max(lengths) - min(lengths)
        for lengths in ([len(e.input_ids) for e in examples[i : i + 8]] for i in range(0, 32, 8))
    ]
    assert max(spreads) < 16  # of 32, within windows of 64 examples


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no trajectories"),
        ("{", ":1: not JSON"),
        ('{"messages": []}', ":1: not a trajectory"),
        (json.dumps({"messages": [{"role": "user", "content": "a"}]}), "does not end with an assistant"),
    ],
)
def test_bad_files_are_one_clear_message(tmp_path, text, message):
    path = tmp_path / "trajectories.jsonl"
    path.write_text(text)
    with pytest.raises(StarlabError, match=message):
        read_trajectories(path)


def test_a_missing_file_and_a_bad_share(tmp_path, tokenizer):
    with pytest.raises(StarlabError, match="missing"):
        read_trajectories(tmp_path / "none.jsonl")
    with pytest.raises(StarlabError, match="replay"):
        build(tokenizer, replay=1.0)
