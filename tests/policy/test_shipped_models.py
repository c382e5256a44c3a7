"""The base models in the repository: whole, described by their cards, and able to do what the cards say."""

import json
import random
from dataclasses import asdict
from pathlib import Path

import pytest
from starlab.checkpoint import check
from starlab.policy.bases import RECIPES
from starlab.policy.pretraining import measure
from starlab.policy.skills import skills
from starlab.policy.tokenizer import build_tokenizer
from starlab.protocol import render_chat
from starlab.training.checkpoints import load_model

MODELS = Path(__file__).parents[2] / "models"


@pytest.mark.parametrize("scale", RECIPES)
def test_the_weights_are_those_of_the_card(scale: str) -> None:
    check(MODELS / scale, mend="restore it from the repository")
    assert json.loads((MODELS / scale / "card.json").read_text())["sha256"]


@pytest.mark.parametrize("scale", RECIPES)
def test_the_card_tells_the_recipe_by_which_the_model_is_made_again(scale: str) -> None:
    card = json.loads((MODELS / scale / "card.json").read_text())
    assert card["spec"] == json.loads(json.dumps(asdict(RECIPES[scale])))


@pytest.mark.parametrize("scale", RECIPES)
def test_the_tokenizer_on_disk_encodes_as_the_one_it_was_trained_with(scale: str) -> None:
    """Line breaks included: a tokenizer class that adds its own splitting would drop them."""
    _, tokenizer = load_model(MODELS / scale)
    rng = random.Random(0)
    texts = [render_chat(sample(rng)) for sample in skills().values() for _ in range(5)]
    assert tokenizer(texts)["input_ids"] == build_tokenizer()(texts)["input_ids"]
    assert [tokenizer.decode(ids) for ids in tokenizer(texts)["input_ids"]] == texts


@pytest.mark.parametrize("scale", RECIPES)
def test_skills_are_as_good_as_the_card_says(scale: str) -> None:
    model, tokenizer = load_model(MODELS / scale)
    card = json.loads((MODELS / scale / "card.json").read_text())
    names = ["recall", "hotel_both", "questions_people", "travel", "late", "slots"]
    measured = measure(model, tokenizer, seed=5, count=60, names=names)
    for name in names:
        assert abs(measured[name] - card["skills"][name]) < 0.2
