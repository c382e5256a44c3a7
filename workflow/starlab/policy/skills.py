"""Atomic skills: the dialogues on which base models are pretrained and measured.

RL composes skills that the base masters and creates none, so the base is taught every *step* of the task and never the
task: look-ups in every tool's format, picking rows under constraints, one to four slots of a plan, copying, retrying a
failed call. Every dialogue has a random miniature city of its own, so there is nothing to memorise. Labels are unique:
the cheapest row that passes (rows come cheapest first, so the first one), which makes a skill's mastery measurable as
exact agreement.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..knowledge import documents
from ..knowledge.names import NAMES, RELATION_PIECES
from ..knowledge.questions import FAMILIES
from ..protocol import Message, ToolCall, prompt, render_answer, render_call, render_response, render_thought
from ..synthesis import phrasing
from ..travel import faults, miniature, names, rendering
from ..travel.database import Hotel, Restaurant
from ..travel.query import HOUSE_RULES, ROOM_TYPES, LocalConstraint, Query

ONLY, NOW, PLEASE, NONE_OF_IT = " Only: ", "Now ", "please.", "anything, "
REPEAT, RECALL = "Repeat: ", "Recall: "
OUTBOUND, RETURN, SIGHTS, HOTEL = "outbound, ", "return, ", "sights, ", "hotel, "
MEALS = ("", "dinner, ", "lunch and dinner, ", "three meals, ", "four meals, ")
PHRASES = (ONLY, NOW, PLEASE, NONE_OF_IT, REPEAT, RECALL, OUTBOUND, RETURN, SIGHTS, HOTEL, *MEALS)

Skill = Callable[[random.Random], list[Message]]

FAULT_RATE = 0.03
"""Share of tool calls that fail and are retried."""
_NIGHTS = 2
_ROOMS_THAT_PASS = {
    "entire room": ("Entire home/apt",),
    "private room": ("Private room",),
    "shared room": ("Shared room",),
    "not shared room": ("Private room", "Entire home/apt"),
}


@dataclass(frozen=True, slots=True)
class City:
    """What the tools show of one destination."""

    hotels: tuple[Hotel, ...]
    restaurants: tuple[Restaurant, ...]


def _passes(hotel: Hotel, constraint: LocalConstraint) -> bool:
    return (
        hotel.minimum_nights <= _NIGHTS
        and (not constraint.room_type or hotel.room_type in _ROOMS_THAT_PASS[constraint.room_type])
        and (not constraint.house_rule or constraint.house_rule in rendering.allowed_rules(hotel.house_rules))
    )


def pick_hotel(hotels: Sequence[Hotel], constraint: LocalConstraint) -> Hotel | None:
    """The cheapest hotel that allows a stay of two nights and meets room type and house rule."""
    passing = [hotel for hotel in hotels if _passes(hotel, constraint)]
    return min(passing, key=lambda hotel: hotel.price) if passing else None


def pick_restaurants(
    restaurants: Sequence[Restaurant], cuisines: Sequence[str], meals: int
) -> tuple[Restaurant, ...] | None:
    """`meals` different restaurants in listing order that cover the cuisines, or None when they cannot be covered.

    For each cuisine in the order asked the first row that has it, if none is chosen yet; then the first rows left.
    """
    listing = sorted(restaurants, key=lambda row: row.average_cost)
    chosen: list[Restaurant] = []
    for cuisine in cuisines:
        if any(cuisine in row.cuisines for row in chosen):
            continue
        row = next((row for row in listing if cuisine in row.cuisines), None)
        if row is None:
            return None
        chosen.append(row)
    chosen += [row for row in listing if row not in chosen][: meals - len(chosen)]
    return tuple(row for row in listing if row in chosen) if len(chosen) == meals else None


def _constraint(rng: random.Random, rule: float, room: float, cuisines: Sequence[int]) -> LocalConstraint:
    """A random constraint: house rule and room type with the given probabilities, one of the numbers of cuisines."""
    count = rng.choice(cuisines)
    return LocalConstraint(
        house_rule=rng.choice(HOUSE_RULES) if rng.random() < rule else None,
        room_type=rng.choice(ROOM_TYPES) if rng.random() < room else None,
        cuisine=tuple(rng.sample(names.CUISINES, count)) if count else None,
    )


def _query(rng: random.Random, constraint: LocalConstraint) -> Query:
    org, dest = rng.sample(names.CITIES, 2)
    start = rng.randrange(len(names.DATES) - 2)
    people = rng.choice((1, 1, 2, 3, 4, 5, 6, 7, 8))
    budget = rng.randrange(200, 400 * people + 600, 100)
    return Query(
        id="", org=org, dest=dest, days=3, visiting_city_number=1, date=tuple(names.DATES[start : start + 3]),
        people_number=people, local_constraint=constraint, budget=budget, level="easy",
    )  # fmt: skip


class Dialogue:
    """Messages of one dialogue under construction."""

    def __init__(self, rng: random.Random, domain: str, user: str) -> None:
        self.rng = rng
        self.messages: list[Message] = prompt(domain, user)
        self.thought = ""

    def note(self, picks: Sequence[str], requests: str = "") -> None:
        """Open the next turn with what is picked from the last listing."""
        self.thought = rendering.note(requests, picks)

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": render_thought(self.thought) + text})
        self.thought = ""

    def call(self, name: str, response: str, **arguments: str) -> None:
        """A call and its response; now and then the call fails first and is made again."""
        text = render_call(ToolCall(name, arguments))
        while self.rng.random() < FAULT_RATE:
            self.assistant(text)
            self.user(render_response(faults.KINDS["unavailable"](name)))
        self.assistant(text)
        self.user(render_response(response))

    def answer(self, days: Sequence[dict[str, object]]) -> None:
        self.assistant(render_answer(json.dumps(days)))


def _venue(name: str, city: str) -> str:
    return f"{name}, {city}"


def _stay_slots(query: Query, hotel: Hotel | None, meals: Sequence[Restaurant]) -> list[dict[str, object]]:
    """Days that hold a hotel, on the first, and up to four meals: the last three on the second day."""
    arrival: dict[str, object] = {"day": 1, "current_city": f"from {query.org} to {query.dest}"}
    stay: dict[str, object] = {"day": 2, "current_city": query.dest}
    if len(meals) == 4:
        arrival["dinner"] = _venue(meals[0].name, query.dest)
        meals = meals[1:]
    for slot, meal in zip(("breakfast", "lunch", "dinner")[-len(meals) :] if meals else (), meals, strict=True):
        stay[slot] = _venue(meal.name, query.dest)
    if hotel:
        arrival["accommodation"] = _venue(hotel.name, query.dest)
    return [day for day in (arrival, stay) if len(day) > 2]


def _city(rng: random.Random, dest: str) -> City:
    return City(miniature.sample_hotels(rng, dest, 5), miniature.sample_restaurants(rng, dest, rng.choice((5, 6))))


@dataclass(frozen=True, slots=True)
class Stay:
    """A kind of stay dialogue: what is asked for, and how likely each constraint is."""

    hotel: bool = False
    meals: tuple[int, ...] = (0,)
    rule: float = 0.0
    room: float = 0.0
    cuisines: tuple[int, ...] = (0,)
    follow_ups: int = 0
    """Times that the same listing is asked about again, which makes a listing's tokens go further."""

    def draw(self, rng: random.Random) -> Callable[[], LocalConstraint]:
        """A source of constraints of this kind."""
        return partial(_constraint, rng, self.rule, self.room, self.cuisines)


Labels = tuple[Hotel | None, tuple[Restaurant, ...]]


def _solve(city: City, constraint: LocalConstraint, hotel: bool, meals: int) -> Labels | None:
    """The labels for the asked slots, or None when the city has no solution."""
    chosen = pick_hotel(city.hotels, constraint) if hotel else None
    rows = pick_restaurants(city.restaurants, constraint.cuisine or (), meals) if meals else ()
    return None if (hotel and chosen is None) or rows is None else (chosen, rows)


def stay_dialogue(rng: random.Random, stay: Stay) -> list[Message]:
    """Pick a hotel and/or meals under constraints, as slots of a plan; then notes only, under other constraints."""
    hotel, meals, draw = stay.hotel, rng.choice(stay.meals), stay.draw(rng)
    query = _query(rng, draw())
    while (labels := _solve(city := _city(rng, query.dest), query.local_constraint, hotel, meals)) is None:
        query = replace(query, local_constraint=draw())
    asked = (HOTEL if hotel else "") + MEALS[meals]
    dialogue = Dialogue(rng, "travel", phrasing.phrase(query, rng).text + ONLY + asked + PLEASE)
    if hotel:
        dialogue.call("SearchAccommodation", rendering.hotels(city.hotels), city=query.dest)
        dialogue.thought = _note(query.local_constraint, labels[0], ())
    if meals:
        dialogue.call("SearchRestaurant", rendering.restaurants(city.restaurants), city=query.dest)
        dialogue.thought = _note(query.local_constraint, None, labels[1])
    dialogue.answer(_stay_slots(query, *labels))
    for constraint, (room, rows) in _more_wishes(city, draw, hotel, meals, stay.follow_ups):
        dialogue.user(_wish(constraint))
        dialogue.assistant(_note(constraint, room, rows))
    return dialogue.messages


def _more_wishes(
    city: City, draw: Callable[[], LocalConstraint], hotel: bool, meals: int, count: int
) -> list[tuple[LocalConstraint, Labels]]:
    """Up to `count` other constraints that the city can meet, with their labels."""
    drawn = ((constraint := draw(), _solve(city, constraint, hotel, meals)) for _ in range(count))
    return [(constraint, labels) for constraint, labels in drawn if labels is not None]


def _wish(constraint: LocalConstraint) -> str:
    return NOW + (rendering.constraint_words(constraint) or NONE_OF_IT) + PLEASE


def _note(constraint: LocalConstraint, hotel: Hotel | None, meals: Sequence[Restaurant]) -> str:
    """Wishes and picks, for the hotel and for the meals: a thought, and the short form of an answer."""
    room = rendering.note(rendering.hotel_requests(constraint), [hotel.name]) if hotel else ""
    return room + (rendering.note(rendering.meal_requests(constraint), [row.name for row in meals]) if meals else "")


def rows_dialogue(rng: random.Random, kinds: Sequence[Stay]) -> list[Message]:
    """A bare listing of hotels or restaurants and one wish after another, answered by notes: the picking of
    `stay_dialogue` without its scaffolding."""
    stay = rng.choice(kinds)
    meals = rng.choice(stay.meals)
    while not (asks := _more_wishes(city := _city(rng, ""), stay.draw(rng), stay.hotel, meals, 6)):
        pass
    listing = rendering.hotels(city.hotels) if stay.hotel else rendering.restaurants(city.restaurants)
    count = "" if stay.hotel else MEALS[meals]
    return _ask_listing(
        rng, listing, [(count + _wish(constraint), _note(constraint, *labels)) for constraint, labels in asks]
    )


def _move(rng: random.Random, dialogue: Dialogue, query: Query, home: bool) -> dict[str, object]:
    """Look a journey up and write its day: the cheapest flight, or a drive when flights are not wanted or there are
    none and driving is not excluded."""
    origin, destination = (query.dest, query.org) if home else (query.org, query.dest)
    date = query.date[-1] if home else query.date[0]
    day: dict[str, object] = {"day": 3 if home else 1, "current_city": f"from {origin} to {destination}"}
    wish = query.local_constraint.transportation
    rows = (
        ()
        if wish is None and rng.random() < 0.2
        else miniature.sample_flights(rng, origin, destination, date, rng.choice((2, 3)))
    )
    if wish != "no flight":
        text = rendering.flights(rows) or rendering.NO_RESULT
        dialogue.call("SearchFlight", text, departure=origin, destination=destination, date=date)
        if rows:
            flight = min(rows, key=lambda row: row.price)
            dialogue.note([flight.number])
            day["transportation"] = f"Flight Number: {flight.number}, from {origin} to {destination}"
            return day
    while (leg := miniature.sample_leg(rng, origin, destination)).driving_cost is None:
        pass
    text = rendering.leg(leg, "self-driving")
    dialogue.call("GoogleDistanceMatrix", text, departure=origin, destination=destination, mode="self-driving")
    dialogue.note(["self-driving"])
    day["transportation"] = f"Self-driving, from {origin} to {destination}"
    return day


def travel_dialogue(rng: random.Random, transportation: float = 0.4) -> list[Message]:
    """One or two parts of a trip out of journeys and sights, as slots of a plan."""
    wish = rng.choice(("no flight", "no self-driving")) if rng.random() < transportation else None
    query = _query(rng, replace(_constraint(rng, 0.3, 0.3, (0, 0, 1, 2)), transportation=wish))
    parts = [part for part in (OUTBOUND, RETURN, SIGHTS) if rng.random() < 0.5] or [SIGHTS]
    dialogue = Dialogue(rng, "travel", phrasing.phrase(query, rng).text + ONLY + "".join(parts) + PLEASE)
    days: list[dict[str, object]] = []
    for part in parts:
        if part != SIGHTS:
            days.append(_move(rng, dialogue, query, home=part == RETURN))
            continue
        rows = miniature.sample_attractions(rng, query.dest, 3)
        dialogue.call("SearchAttraction", rendering.attractions(rows), city=query.dest)
        dialogue.note([rows[0].name])
        days.append({"day": 2, "current_city": query.dest, "attraction": f"{_venue(rows[0].name, query.dest)};"})
    dialogue.answer(sorted(days, key=lambda day: int(str(day["day"]))))
    return dialogue.messages


def cities_dialogue(rng: random.Random) -> list[Message]:
    """Look up the cities of a state and name the first two."""
    query = replace(_query(rng, LocalConstraint()), dest=rng.choice(names.STATES), days=5, visiting_city_number=2)
    start = rng.randrange(len(names.DATES) - 4)
    query = replace(query, date=tuple(names.DATES[start : start + 5]))
    cities = rng.sample(names.CITIES, 4)
    dialogue = Dialogue(rng, "travel", phrasing.phrase(query, rng).text + ONLY + OUTBOUND + PLEASE)
    dialogue.call("SearchCity", rendering.cities(cities), state=query.dest)
    dialogue.note(cities[:2])
    dialogue.answer(
        [
            {"day": 2, "current_city": cities[0]},
            {"day": 3, "current_city": f"from {cities[0]} to {cities[1]}"},
        ]
    )
    return dialogue.messages


_POOLS = (names.CITIES, names.HOTELS, names.RESTAURANTS, names.ATTRACTIONS, names.FLIGHTS, NAMES)
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


_STAYS = {
    "hotel": Stay(hotel=True, cuisines=(0, 1)),
    "hotel_rule": Stay(hotel=True, rule=1.0, cuisines=(0, 1), follow_ups=4),
    "hotel_room": Stay(hotel=True, room=1.0, cuisines=(0, 1), follow_ups=4),
    "hotel_both": Stay(hotel=True, rule=1.0, room=1.0, follow_ups=5),
    "meals": Stay(meals=(1, 3, 4), rule=0.2, room=0.2),
    "cuisine": Stay(meals=(1, 2), cuisines=(1,), follow_ups=4),
    "cuisines": Stay(meals=(2, 3, 4), rule=0.1, room=0.1, cuisines=(1, 2, 2, 3), follow_ups=3),
    "stay": Stay(hotel=True, meals=(1, 3), rule=0.4, room=0.4, cuisines=(0, 1, 2), follow_ups=2),
}
_ROWS = (
    Stay(hotel=True, rule=0.6, room=0.6),
    Stay(meals=(1, 2), cuisines=(1,)),
    Stay(meals=(2, 3, 4), cuisines=(1, 2, 3)),
)
_OTHERS: dict[str, Skill] = {
    "repeat": repeat_dialogue,
    "recall": recall_dialogue,
    "filter": filter_dialogue,
    "rows": partial(rows_dialogue, kinds=_ROWS),
    "travel": travel_dialogue,
    "cities": cities_dialogue,
}
SKILLS: dict[str, Skill] = {
    **_OTHERS,
    **{name: partial(stay_dialogue, stay=stay) for name, stay in _STAYS.items()},
    "questions": documents.sample_dialogue,
}
"""Every skill by name: a function from a generator to one solved dialogue."""

MEASURED: dict[str, Skill] = {
    **_OTHERS,
    **{name: partial(stay_dialogue, stay=replace(stay, follow_ups=0)) for name, stay in _STAYS.items()},
    **{f"questions_{family}": partial(documents.sample_dialogue, weights={family: 1.0}) for family in FAMILIES},
}
"""The skills as they are measured: one answer a dialogue, questions by family."""
