import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from starlab.errors import StarlabError
from starlab.policy import bases
from starlab.policy.ladder import Architecture, build_model
from starlab.policy.muon import orthogonalise
from starlab.policy.pretraining import PretrainingSpec, Stream, pretrain
from starlab.policy.tokenizer import build_tokenizer

TOKENIZER = build_tokenizer()
SMALL = Architecture(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=48)
SPEC = PretrainingSpec(
    SMALL,
    {"hotel": 1.0, "questions": 1.0},
    steps=6,
    decay_steps=3,
    copying_steps=100,
    copied=0.0,
    long_steps=4,
    tokens_per_step=100,
)


def test_orthogonalised_matrices_have_singular_values_near_one() -> None:
    matrices = torch.randn(3, 20, 30, generator=torch.Generator().manual_seed(0))
    for shape in (matrices, matrices.mT):
        values = torch.linalg.svdvals(orthogonalise(shape))
        assert values.min() > 0.5 and values.max() < 1.3


def test_the_first_layer_starts_by_looking_back_one_token_more_with_every_head() -> None:
    model = build_model(SMALL, TOKENIZER, seed=0)
    model.set_attn_implementation("eager")
    ids = torch.randint(100, 200, (1, 30), generator=torch.Generator().manual_seed(0))
    attention = model(ids, output_attentions=True).attentions[0][0]
    for head in range(SMALL.heads):
        assert attention[head, 20].argmax() == 20 - head - 1


def test_the_same_seed_initialises_the_same_weights() -> None:
    first, second = (build_model(SMALL, TOKENIZER, seed=3).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_rate_warms_up_changes_after_copying_and_falls_to_nothing() -> None:
    spec = replace(SPEC, decay_steps=500, copying_rate=0.02, rate=0.01, warmup=100)
    rates = [spec.rate_at(*at) for at in ((50, None), (150, None), (201, 900), (501, 500), (751, 250), (1001, 0))]
    assert rates == pytest.approx([0.01, 0.02, 0.01, 0.01, 0.005, 0.0002])


def test_the_rate_on_long_dialogues_warms_up_and_falls_to_nothing() -> None:
    spec = replace(SPEC, long_steps=1000, long_rate=0.01, warmup=100)
    assert [spec.long_rate_at(step) for step in (50, 100, 500, 1000)] == pytest.approx([0.005, 0.009, 0.005, 0.0002])


def test_batches_hold_about_the_tokens_asked_for() -> None:
    for group in islice(Stream(TOKENIZER, SPEC), 50):
        assert sum(len(ids) for ids, _ in group) <= SPEC.tokens_per_step or len(group) == 1


def test_copying_that_never_forms_is_reported(tmp_path: Path) -> None:
    spec = replace(SPEC, copied=1.1, copying_steps=25)
    with pytest.raises(StarlabError, match="after 100 steps recall is"):
        pretrain(spec, tmp_path, TOKENIZER, dialogues=2)


def test_pretraining_writes_a_model_a_card_and_a_curve_and_repeats_itself(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pretrain(SPEC, tmp_path / name, TOKENIZER, every=50, dialogues=2)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]
    card = json.loads((tmp_path / "a" / "card.json").read_text())
    assert card["spec"]["steps"] == 6 and 0 <= card["skills"]["hotel"] <= 1
    curve = [json.loads(line) for line in (tmp_path / "a" / "curve.jsonl").read_text().splitlines()]
    assert [row["step"] for row in curve] == [50, 100, 106, 110]


def test_a_scale_without_a_recipe_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StarlabError, match=r"policy\.ladder.*'xl'"):
        bases.build("xl", tmp_path)
