"""Dialogues that look things up in a random miniature city and write one to four slots of a plan."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

from ..protocol import Message, ToolCall, prompt, render_answer, render_call, render_response, render_thought
from ..synthesis import phrasing
from ..travel import faults, miniature, names, rendering
from ..travel.choice import choose_flight
from ..travel.database import Hotel, Restaurant
from ..travel.query import LocalConstraint, Query
from .picks import City, Labels, Stay, Wish, sample_city, sample_constraint, solve

ONLY, NOW, PLEASE = " Only: ", "Now ", "please."
OUTBOUND, RETURN, SIGHTS, HOTEL = "outbound, ", "return, ", "sights, ", "hotel, "
MEALS = ("", "dinner, ", "lunch and dinner, ", "three meals, ", "four meals, ")
ASKING = (ONLY, NOW, PLEASE)
JOURNEY = (OUTBOUND, RETURN, SIGHTS)
PARTS = (*JOURNEY, HOTEL, *MEALS)

FAULT_RATE = 0.03
"""Share of tool calls that fail and are retried."""


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

    def note(self, picks: Sequence[str], criteria: str = "") -> None:
        """Open the next turn with what is picked from the last listing."""
        self.thought = rendering.note(criteria, picks)

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


def stay_dialogue(rng: random.Random, stay: Stay) -> list[Message]:
    """Pick a hotel and/or meals under a wish, as slots of a plan; then notes only, under other wishes.

    With probability `stay.before` each, journeys and sights are looked up first, and are no part of the plan.
    """
    hotel, meals = stay.hotel, rng.choice(stay.meals)
    wish = stay.draw(rng)
    query = _query(rng, wish.constraint)
    while (labels := solve(city := sample_city(rng, query.dest), wish, hotel, meals, rng)) is None:
        wish = stay.draw(rng)
    query = replace(query, local_constraint=wish.constraint)
    first = [part for part in JOURNEY if rng.random() < stay.before]
    asked = (rendering.CHEAP if wish.cheap else "") + (HOTEL if hotel else "") + MEALS[meals]
    text = phrasing.phrase(query, rng).text + (NOW + "".join(first) if first else "") + ONLY + asked + PLEASE
    dialogue = Dialogue(rng, "travel", text)
    _journey(rng, dialogue, query, first, wish.cheap)
    if hotel:
        dialogue.call("SearchAccommodation", rendering.hotels(city.hotels), city=query.dest)
        dialogue.thought = note(wish, labels[0], ())
    if meals:
        dialogue.call("SearchRestaurant", rendering.restaurants(city.restaurants), city=query.dest)
        dialogue.thought = note(wish, None, labels[1])
    dialogue.answer(_stay_slots(query, *labels))
    for wish, (room, rows) in more_wishes(rng, city, stay, hotel, meals, stay.follow_ups):
        dialogue.user(wish_text(wish))
        dialogue.assistant(note(wish, room, rows))
    return dialogue.messages


def more_wishes(
    rng: random.Random, city: City, stay: Stay, hotel: bool, meals: int, count: int
) -> list[tuple[Wish, Labels]]:
    """Up to `count` other wishes that the city can meet, with the rows that meet them."""
    drawn = ((wish := stay.draw(rng), solve(city, wish, hotel, meals, rng)) for _ in range(count))
    return [(wish, labels) for wish, labels in drawn if labels is not None]


def wish_text(wish: Wish) -> str:
    return NOW + (wish.text or rendering.ANYTHING) + PLEASE


def note(wish: Wish, hotel: Hotel | None, meals: Sequence[Restaurant]) -> str:
    """Criteria and picks, for the hotel and for the meals: a thought, and the short form of an answer."""
    room = rendering.hotel_note(wish.constraint, wish.cheap, hotel.name) if hotel else ""
    return room + (rendering.meal_note(wish.constraint, wish.cheap, meals) if meals else "")


def _move(rng: random.Random, dialogue: Dialogue, query: Query, home: bool, cheap: bool) -> dict[str, object]:
    """Look a journey up and write its day: the cheapest flight (or any), or a drive when flights are not wanted or
    there are none and driving is not excluded."""
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
            flight = choose_flight(rows, None if cheap else rng)
            dialogue.note([flight.number], rendering.price(cheap))
            day["transportation"] = f"Flight Number: {flight.number}, from {origin} to {destination}"
            return day
    while (leg := miniature.sample_leg(rng, origin, destination)).driving_cost is None:
        pass
    text = rendering.leg(leg, "self-driving")
    dialogue.call("GoogleDistanceMatrix", text, departure=origin, destination=destination, mode="self-driving")
    dialogue.note(["self-driving"])
    day["transportation"] = f"Self-driving, from {origin} to {destination}"
    return day


def travel_dialogue(rng: random.Random, transportation: float = 0.4, thrift: float = 0.6) -> list[Message]:
    """Parts of a trip out of journeys and sights, as slots of a plan.

    Of sights, which cost nothing, a cheap trip takes the first.
    """
    wish = rng.choice(("no flight", "no self-driving")) if rng.random() < transportation else None
    query = _query(rng, replace(sample_constraint(rng, 0.3, 0.3, (0, 0, 1, 2)), transportation=wish))
    parts = [part for part in (OUTBOUND, RETURN, SIGHTS) if rng.random() < 0.5] or [SIGHTS]
    cheap = rng.random() < thrift
    asked = (rendering.CHEAP if cheap else "") + "".join(parts)
    dialogue = Dialogue(rng, "travel", phrasing.phrase(query, rng).text + ONLY + asked + PLEASE)
    days = _journey(rng, dialogue, query, parts, cheap)
    dialogue.answer(sorted(days, key=lambda day: int(str(day["day"]))))
    return dialogue.messages


def _journey(
    rng: random.Random, dialogue: Dialogue, query: Query, parts: Sequence[str], cheap: bool
) -> list[dict[str, object]]:
    """Look journeys and sights up, in the order of `parts`; their slots of the plan."""
    days = []
    for part in parts:
        if part != SIGHTS:
            days.append(_move(rng, dialogue, query, part == RETURN, cheap))
            continue
        rows = miniature.sample_attractions(rng, query.dest, 3)
        dialogue.call("SearchAttraction", rendering.attractions(rows), city=query.dest)
        sight = rows[0] if cheap else rng.choice(rows)
        dialogue.note([sight.name])
        days.append({"day": 2, "current_city": query.dest, "attraction": f"{_venue(sight.name, query.dest)};"})
    return days


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
