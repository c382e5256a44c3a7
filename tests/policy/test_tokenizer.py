import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlab.policy import vocabulary
from starlab.policy.encoding import encode_dialogues
from starlab.policy.skills import MEASURED, skills
from starlab.policy.tokenizer import build_tokenizer
from starlab.protocol import render_chat

TOKENIZER = build_tokenizer()
SKILLS = skills()
PIECES = vocabulary.pieces()


def ids(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


@given(st.lists(st.sampled_from([*PIECES, *vocabulary.CHARACTERS])))
@settings(max_examples=200)
def test_decoding_gives_back_every_text_of_pieces_and_characters(parts: list[str]) -> None:
    text = "".join(parts)
    assert TOKENIZER.decode(ids(text)) == text


def test_a_character_outside_ascii_becomes_the_unknown_token() -> None:
    assert ids("é") == [TOKENIZER.unk_token_id]


@pytest.mark.parametrize("pool", ["CITIES", "HOTELS", "RESTAURANTS", "ATTRACTIONS", "FLIGHTS", "DATES", "STATES"])
def test_every_name_is_one_token(pool: str) -> None:
    from starlab.travel import names

    assert all(len(ids(name)) == 1 for name in getattr(names, pool))


def test_end_of_turn_padding_and_unknown_are_three_tokens() -> None:
    assert len({TOKENIZER.eos_token_id, TOKENIZER.pad_token_id, TOKENIZER.unk_token_id}) == 3


@pytest.mark.parametrize("skill", sorted(SKILLS))
def test_encoding_turn_by_turn_equals_the_chat_template(skill: str) -> None:
    rng = random.Random(skill)
    for _ in range(20):
        messages = SKILLS[skill](rng)
        ((tokens, mask),) = encode_dialogues(TOKENIZER, [messages])
        template = TOKENIZER.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
        length = len(tokens)  # the template also closes the last turn with a line break
        assert template["input_ids"][:length] == tokens
        assert [bool(spoken) for spoken in template["assistant_masks"][:length]] == mask
        assert TOKENIZER.decode(template["input_ids"]) == render_chat(messages)


@pytest.mark.parametrize("skill", sorted(MEASURED))
def test_a_dialogue_is_short(skill: str) -> None:
    """Scaffolding is in pieces: a slip in a literal would spell it letter by letter."""
    rng = random.Random(0)
    assert (
        max(len(tokens) for tokens, _ in encode_dialogues(TOKENIZER, [MEASURED[skill](rng) for _ in range(50)])) < 260
    )
