import json
import random

import pytest
from starlab.policy import bases
from starlab.policy.encoding import after_thoughts, encode_dialogues
from starlab.policy.skills import MEASURED, skills
from starlab.policy.tokenizer import build_tokenizer
from starlab.protocol import ANSWER_OPEN, CALL_OPEN, IM_END, THINK_CLOSE, TurnKind, parse_turn
from starlab.travel.rendering import CHEAP

TOKENIZER = build_tokenizer()
SKILLS = skills()


@pytest.mark.parametrize("skill", sorted(MEASURED))
def test_every_tool_turn_of_a_skill_keeps_to_the_protocol(skill: str) -> None:
    rng = random.Random(skill)
    for _ in range(30):
        for message in MEASURED[skill](rng):
            text = message["content"]
            if message["role"] == "assistant" and (CALL_OPEN in text or ANSWER_OPEN in text):
                turn = parse_turn(text)
                assert turn.kind is not TurnKind.MALFORMED
                if turn.kind is TurnKind.ANSWER and "travel" in skill:
                    assert json.loads(turn.answer)


def test_no_skill_shows_a_full_plan() -> None:
    """The base knows the steps, never the task: at most four slots of the eighteen that a three-day plan has."""
    rng = random.Random(0)
    for name, sample in SKILLS.items():
        if name == "questions":
            continue
        for _ in range(50):
            answers = [m["content"] for m in sample(rng) if m["role"] == "assistant" and "[{" in m["content"]]
            for answer in answers:
                days = json.loads(parse_turn(answer).answer)
                assert sum(len(set(day) - {"day", "current_city"}) for day in days) <= 4


def test_what_is_measured_is_always_the_cheapest_and_so_unique() -> None:
    rng = random.Random(0)
    for skill in ("travel", "hotel_both", "cuisines", "stay"):
        assert all(CHEAP in MEASURED[skill](rng)[1]["content"] for _ in range(20))


def test_slots_are_measured_on_the_plan_alone() -> None:
    dialogue = MEASURED["slots"](random.Random(5))
    ids, spoken = after_thoughts(TOKENIZER, encode_dialogues(TOKENIZER, [dialogue])[0])
    said = TOKENIZER.decode([token for token, mine in zip(ids, spoken, strict=True) if mine])
    plan = dialogue[-1]["content"].partition(THINK_CLOSE)[2] + IM_END
    assert plan.endswith(said) and said.count("breakfast") == said.count("accommodation") == 1


def test_every_skill_has_a_share_in_pretraining_and_replay() -> None:
    assert bases.WEIGHTS.keys() == SKILLS.keys()


def test_skills_depend_on_the_generator_only() -> None:
    assert all(SKILLS[name](random.Random(7)) == SKILLS[name](random.Random(7)) for name in SKILLS)
