"""Atomic skills: the dialogues on which base models are pretrained and measured.

RL composes skills that the base masters and creates none, so the base is taught every *step* of the task and never the
task: look-ups in every tool's format, picking rows under constraints, one to four slots of a plan, copying, retrying a
failed call. Every dialogue has a random miniature city of its own, so there is nothing to memorise.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..knowledge import documents
from ..knowledge.questions import FAMILIES
from ..protocol import Message
from . import dialogues, drills
from .picks import Stay

PHRASES = (*dialogues.ASKING, *drills.PHRASES, *dialogues.PARTS)

Skill = Callable[[random.Random], list[Message]]

_STAYS = {
    "hotel": Stay(hotel=True, cuisines=(0, 1)),
    "hotel_rule": Stay(hotel=True, rule=1.0, cuisines=(0, 1), follow_ups=4),
    "hotel_room": Stay(hotel=True, room=1.0, cuisines=(0, 1), follow_ups=4),
    "hotel_both": Stay(hotel=True, rule=1.0, room=1.0, follow_ups=5),
    "meals": Stay(meals=(1, 3, 4), rule=0.2, room=0.2),
    "cuisine": Stay(meals=(1, 4), cuisines=(1,), follow_ups=4),
    "cuisines": Stay(meals=(4,), rule=0.1, room=0.1, cuisines=(2, 2, 3), follow_ups=3),
    "stay": Stay(hotel=True, meals=(1, 3), rule=0.4, room=0.4, cuisines=(0, 1, 2), follow_ups=2),
}
_ROWS = (
    Stay(hotel=True, rule=0.6, room=0.6),
    Stay(meals=(1, 2, 4), cuisines=(1,)),
    Stay(meals=(2, 3, 4, 4), cuisines=(1, 2, 3)),
)
_OTHERS: dict[str, Skill] = {
    "repeat": drills.repeat_dialogue,
    "recall": drills.recall_dialogue,
    "filter": drills.filter_dialogue,
    "fares": drills.fares_dialogue,
    "travel": dialogues.travel_dialogue,
    "cities": dialogues.cities_dialogue,
}


CHEAP_SHARE = 0.3
"""Share of stays and rows that ask for the cheapest."""


def skills(long: bool = True, cheap: float = CHEAP_SHARE) -> dict[str, Skill]:
    """Every skill by name: a function from a generator to one solved dialogue.

    In long dialogues other things may be looked up first, as in real use: a skill that has only seen the listing right
    behind the question is lost where others stand between them. `cheap` takes the place of `CHEAP_SHARE`: where most
    ask for the cheapest, a plan's slots can be guessed from the top of the listing, and copying them from the
    thought is not learned (docs/tuning.md).
    """
    stays = {name: replace(stay, cheap=cheap, before=0.5 if long else 0.0) for name, stay in _STAYS.items()}
    return {
        **_OTHERS,
        "rows": partial(drills.rows_dialogue, kinds=[replace(kind, cheap=cheap) for kind in _ROWS]),
        **{name: partial(dialogues.stay_dialogue, stay=stay) for name, stay in stays.items()},
        "questions": documents.sample_dialogue,
    }


MEASURED: dict[str, Skill] = {
    **_OTHERS,
    "rows": partial(drills.rows_dialogue, kinds=[replace(kind, cheap=1.0) for kind in _ROWS]),
    "fares": partial(drills.fares_dialogue, thrift=1.0),
    "travel": partial(dialogues.travel_dialogue, thrift=1.0),
    **{
        name: partial(dialogues.stay_dialogue, stay=replace(stay, cheap=1.0, follow_ups=0))
        for name, stay in _STAYS.items()
    },
    "late": partial(dialogues.stay_dialogue, stay=replace(_STAYS["stay"], cheap=1.0, follow_ups=0, before=1.0)),
    "slots": partial(dialogues.stay_dialogue, stay=Stay(hotel=True, meals=(3,), cheap=0.0, before=1.0)),
    **{f"questions_{family}": partial(documents.sample_dialogue, weights={family: 1.0}) for family in FAMILIES},
}
"""The skills as they are measured: one answer a short dialogue, always the cheapest and so unique; questions by
family; `late`, a stay after journeys and sights; and `slots`, the plan that thoughts call for, whatever they pick."""
AFTER_THOUGHTS = ("slots",)
"""Those measured on what follows the last thought only."""
