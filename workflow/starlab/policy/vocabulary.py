"""The pieces of the tiny tokenizer: one token for every name, attribute and stretch of scaffolding.

A tool call costs 4-8 tokens and a three-day plan about 50, which is what lets a policy of a few hundred thousand
weights act over several turns. Text outside the pieces falls back to single characters.
"""

from __future__ import annotations

from itertools import chain

from .. import protocol
from ..knowledge import names as knowledge_names
from ..knowledge import questions, search
from ..synthesis import phrasing
from ..travel import faults, miniature, names, rendering, tools
from . import skills

CHARACTERS = (*(chr(code) for code in range(32, 127)), "\n")
PAD = "<|pad|>"
UNKNOWN = "<|unk|>"
MAX_DAYS = 7
_SLOT = "\x00"
_PARAMETERS = {**tools.PARAMETERS, search.TOOL: (search.ARGUMENT,)}


def _chat() -> list[str]:
    start, end = protocol.IM_START, protocol.IM_END
    return [
        start,
        end,
        *protocol.TAGS,
        *(f"{start}system\n{text}" for text in protocol.SYSTEM_PROMPTS.values()),
        f"\n{start}user\n",
        f"\n{start}assistant\n",
        f"\n{start}user\n{protocol.RESPONSE_OPEN}",
        "\n",
    ]


def _calls() -> list[str]:
    pieces = []
    for tool, parameters in _PARAMETERS.items():
        first, *others = parameters
        opening = f'{protocol.CALL_OPEN}{{"name": "{tool}", "arguments": {{"{first}": "'
        pieces += [opening, protocol.THINK_CLOSE + opening]
        pieces.extend(f'", "{other}": "' for other in others)
    pieces.extend(f'", "mode": "{mode}' for mode in ("self-driving", "taxi"))
    pieces.append(f'"}}}}{protocol.CALL_CLOSE}')
    return pieces


def _plan() -> list[str]:
    fields = ("breakfast", "attraction", "lunch", "dinner", "accommodation")
    idle = "".join(f'", "{field}": "-' for field in fields[:3])
    openings, closing = (protocol.ANSWER_OPEN, protocol.THINK_CLOSE + protocol.ANSWER_OPEN), protocol.ANSWER_CLOSE
    pieces = [f'"}}]{closing}', f'-"}}]{closing}']
    for opening in openings:
        days = [f'[{{"day": {day}, "current_city": "{move}' for day in (1, 2, 3) for move in ("", "from ")]
        pieces += [opening, *(opening + day for day in days)]
    for day in range(2, MAX_DAYS + 1):
        for end in ('"}', '-"}'):
            pieces += [f'{end}, {{"day": {day}, "current_city": "{move}' for move in ("", "from ")]
    for mode in ("Flight Number: ", "Self-driving, from ", "Taxi, from ", "-"):
        pieces.append(f'", "transportation": "{mode}')
    for field in fields:
        pieces += [f'", "{field}": "', f'", "{field}": "-', f';", "{field}": "', f';", "{field}": "-']
    pieces += [idle, idle + '", "dinner": "', idle + '", "dinner": "-", "accommodation": "-"}]' + closing]
    pieces += [", from ", " to ", ", ", ";"]
    return pieces


def _rows() -> list[str]:
    costs = {
        cost
        for leg in (miniature.road("", "", km) for km in miniature.DISTANCES_KM)
        for cost in (leg.driving_cost, leg.taxi_cost)
        if cost is not None
    }
    prices = {*miniature.FLIGHT_PRICES, *miniature.HOTEL_PRICES, *miniature.MEAL_PRICES, *costs}
    return [
        *(f"\n${price}, " for price in sorted(prices)),
        *(f"sleeps {number}, " for number in miniature.OCCUPANCIES),
        *(f"{nights}+ nights, " for nights in (2, 3)),
        *rendering.RULE_WORDS.values(),
        *rendering.ROOM_WORDS.values(),
        *rendering.RULE_REQUESTS.values(),
        *rendering.ROOM_REQUESTS.values(),
        *rendering.TRANSPORTATION_REQUESTS.values(),
        rendering.AS_ASKED,
        rendering.ANYTHING,
        rendering.CHEAP,
        rendering.ANY_PRICE,
        *(
            words([cuisine])
            for words in (rendering.cuisine_words, rendering.cuisine_requests)
            for cuisine in names.CUISINES
        ),
        "self-driving",
        "taxi",
        rendering.NO_RESULT,
    ]


def _errors() -> list[str]:
    pieces = ["Tool ", " not found, please rethink your tool call and try again."]
    pieces += [tools.invalid_parameters(parameters) for parameters in _PARAMETERS.values()]
    pieces += [part for text in faults.KINDS.values() for part in text(_SLOT).split(_SLOT)]
    pieces += _PARAMETERS
    return pieces


def _names() -> list[str]:
    pools = (
        names.STATES,
        names.CITIES,
        names.HOTELS,
        names.RESTAURANTS,
        names.ATTRACTIONS,
        names.FLIGHTS,
        names.DATES,
    )
    return [*chain.from_iterable(pools), *knowledge_names.NAMES, *knowledge_names.RELATION_PIECES]


def pieces() -> list[str]:
    """Every piece of more than one character, without repeats, in a stable order."""
    groups = (
        _chat(),
        _calls(),
        _plan(),
        _rows(),
        _errors(),
        _names(),
        phrasing.PHRASES,
        questions.PHRASES,
        search.PIECES,
        skills.PHRASES,
    )
    return [piece for piece in dict.fromkeys(chain.from_iterable(groups)) if len(piece) > 1]
