"""Drills: copying names, recalling them by an attribute, and filtering bare listings.

Without scaffolding around them, the circuits of copying and filtering form within a few hundred steps.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ..knowledge.names import NAMES, RELATION_PIECES
from ..protocol import Message
from ..travel import miniature, names, rendering
from ..travel.choice import choose_flight
from .dialogues import MEALS, NOW, PLEASE, Dialogue, more_wishes, note, wish_text
from .picks import Stay, sample_city

REPEAT, RECALL = "Repeat: ", "Recall: "
PHRASES = (REPEAT, RECALL)

_POOLS = (
    names.CITIES, names.STATES, names.DATES, names.HOTELS, names.RESTAURANTS, names.ATTRACTIONS, names.FLIGHTS, NAMES,
)  # fmt: skip
_REQUESTS = {
    **{words: rendering.RULE_REQUESTS[rule] for rule, words in rendering.RULE_WORDS.items()},
    "entire room, ": "an entire room, ",
    "private room, ": "a private room, ",
    "shared room, ": "a shared room, ",
    **{rendering.cuisine_words([name]): rendering.cuisine_requests([name]) for name in names.CUISINES},
}
"""How a query asks for an attribute of a row."""
_KEYS = tuple(_REQUESTS)


def repeat_dialogue(rng: random.Random) -> list[Message]:
    """Repeat a list of names; without separators, as here, copying circuits form soonest."""
    text = "".join(rng.choice(rng.choice(_POOLS)) for _ in range(rng.randint(6, 24)))
    dialogue = Dialogue(rng, "travel", REPEAT + text)
    dialogue.assistant(text)
    return dialogue.messages


def _ask_listing(rng: random.Random, listing: str, wishes: Sequence[tuple[str, str]]) -> list[Message]:
    """A bare listing, a wish above or below it, its answer, and more (wish, answer) after that."""
    (wish, answer), *others = wishes
    text = f"{wish}{listing}" if rng.random() < 0.5 else f"{RECALL}{listing}\n{wish}"
    dialogue = Dialogue(rng, "travel", text)
    dialogue.assistant(answer)
    for wish, answer in others:
        dialogue.user(wish)
        dialogue.assistant(answer)
    return dialogue.messages


def _ask_rows(
    rng: random.Random, rows: Mapping[str, tuple[str, ...]], asks: Sequence[tuple[str, ...]]
) -> list[Message]:
    """Rows of attributes and a name; for one wish after another, the first name whose attributes include it."""
    listing = "".join(f"\n{''.join(keys)}{name}" for name, keys in rows.items())
    wishes = [
        (
            NOW + "".join(_REQUESTS.get(key, key) for key in ask) + PLEASE,
            "".join(_REQUESTS.get(key, key) for key in ask)
            + next(name for name, keys in rows.items() if set(ask) <= set(keys)),
        )
        for ask in asks
    ]
    return _ask_listing(rng, listing, wishes)


def recall_dialogue(rng: random.Random) -> list[Message]:
    """Associative recall: every row has one attribute, and no two rows the same."""
    pool, keys = rng.choice(((NAMES, RELATION_PIECES), *((pool, _KEYS) for pool in _POOLS)))
    chosen = rng.sample(keys, rng.randint(4, 10))
    rows = {name: (key,) for name, key in zip(rng.sample(pool, len(chosen)), chosen, strict=True)}
    return _ask_rows(rng, rows, [(rng.choice(chosen),) for _ in range(rng.randint(4, 8))])


def filter_dialogue(rng: random.Random) -> list[Message]:
    """Rows share attributes and have up to three; a wish is one attribute or two of one row."""
    keys = rng.sample(_KEYS, rng.randint(4, 8))
    pool = rng.choice(_POOLS)
    rows = {name: tuple(rng.sample(keys, rng.randint(1, 3))) for name in rng.sample(pool, rng.randint(3, 6))}
    listed = list(rows.values())
    asks = []
    for _ in range(rng.randint(4, 8)):
        attributes = rng.choice(listed)
        asks.append(tuple(rng.sample(attributes, min(len(attributes), rng.choice((1, 1, 2))))))
    return _ask_rows(rng, rows, asks)


def fares_dialogue(rng: random.Random, thrift: float = 0.8) -> list[Message]:
    """A bare listing of flights in any order of prices, of which the cheapest is wanted, or any."""
    rows = miniature.sample_flights(rng, "", "", "", rng.randint(2, 5))
    cheap = rng.random() < thrift
    flight = choose_flight(rows, None if cheap else rng)
    wish = NOW + (rendering.CHEAP if cheap else rendering.ANYTHING) + PLEASE
    return _ask_listing(rng, rendering.flights(rows), [(wish, rendering.note(rendering.price(cheap), [flight.number]))])


def rows_dialogue(rng: random.Random, kinds: Sequence[Stay]) -> list[Message]:
    """A bare listing of hotels or restaurants and one wish after another, answered by notes: the picking of
    `stay_dialogue` without its scaffolding."""
    stay = rng.choice(kinds)
    meals = rng.choice(stay.meals)
    while not (asks := more_wishes(rng, city := sample_city(rng, ""), stay, stay.hotel, meals, 6)):
        pass
    listing = rendering.hotels(city.hotels) if stay.hotel else rendering.restaurants(city.restaurants)
    count = "" if stay.hotel else MEALS[meals]
    return _ask_listing(
        rng, listing, [(count + wish_text(wish), note(wish, *labels)) for wish, labels in asks]
    )
