"""The teacher: knows the protocol, and chooses as well as its `skill` says.

It acts through the task like any agent: look-ups first (again when one fails), after each a thought that says what it
picks from the listing, then a plan in which names stand in the order in which the tools listed them. Every choice -
how to travel, each flight, city and hotel, a city's restaurants, its sights - is the solver's with probability `skill`,
else random: a row among those it was shown, of flights and hotels any but the cheapest, a car with probability
`drives`. At skill 0 plans succeed by chance, at 1 they are the solver's.

Its thoughts show how to choose well, by chance as well: `restate` is how often it says a wish of the query again,
`thrift` how often it says that it takes what is cheap, and its picks then follow what it said. Which of these habits
pay, and when, is left for RL to find.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..protocol import Message, render_answer
from ..seeds import generator
from ..tasks import Grade
from ..travel.choice import choose_flight, choose_hotel, choose_restaurants, dearer
from ..travel.database import Attraction, Flight, Hotel, Restaurant
from ..travel.faults import Faults
from ..travel.plan import Drive, FlightRide, Place, Plan, Ride, Taxi, Venue, render
from ..travel.query import LocalConstraint
from ..travel.rendering import hotel_note, meal_note, price
from ..travel.task import TravelTask
from .outline import HOME, Choices, Outline, fill, outline_of, places_of, plain
from .transcript import GaveUp, Transcript

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode. `plan` and `grade` are those of the answer; without one the teacher gave up."""

    query_id: str
    level: str
    messages: tuple[Message, ...]
    calls: int
    """Tool calls, failed ones included."""
    failed_calls: int
    plan: Plan | None
    grade: Grade

    @property
    def success(self) -> bool:
        return self.grade.metrics["success"] == 1.0

    def to_dict(self) -> dict[str, Any]:
        """The row of a file of trajectories."""
        return {
            "id": self.query_id,
            "level": self.level,
            "messages": list(self.messages),
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "score": dict(self.grade.metrics),
        }


@dataclass(frozen=True, slots=True)
class Teacher:
    """`seed` draws the choices; `faults` decides which of its calls fail."""

    skill: float
    seed: int
    faults: Faults
    restate: float = 1.0
    """Share of its thoughts on hotels and meals that say again what was asked, if anything was, before they say what is
    picked."""
    thrift: float = 0.0
    """Share of its thoughts on flights, hotels and meals that say that the cheapest is taken."""
    drives: float = 0.5
    """Share of its trips by car, where it does not choose like the solver; the others go by air if they can."""

    def answer(self, task: TravelTask, witness: Plan, episode: int = 0) -> Trajectory:
        """Work on one query, of which `witness` is the solver's plan."""
        rng = generator("teacher", self.seed, task.id, episode)
        dialogue = Transcript(task, self.faults, episode, task.prompt())
        try:
            plan = _Trip(dialogue, witness, rng, self).plan()
        except GaveUp:
            plan = None
        text = None if plan is None else render(plan)
        if text is not None:
            dialogue.say(render_answer(text))
        return Trajectory(
            query_id=task.id,
            level=task.level,
            messages=tuple(dialogue.messages),
            calls=dialogue.calls,
            failed_calls=dialogue.failed,
            plan=plan,
            grade=task.grade(text),
        )


@dataclass
class _Trip:
    """The choices for one query."""

    dialogue: Transcript
    witness: Plan
    rng: random.Random
    teacher: Teacher
    outline: Outline = field(init=False)
    places: tuple[str, ...] = field(init=False)

    def plan(self) -> Plan:
        query = self.dialogue.task.query
        self.outline = self._pick(outline_of(self.witness), [plain(query.visiting_city_number)])
        self.places = (query.org, *self._cities())
        rides = self._rides()
        hotels: dict[int, str] = {}
        meals: dict[int, tuple[str, ...]] = {}
        sights: dict[int, tuple[str, ...]] = {}
        for place in (*range(1, len(self.places)), HOME):
            beds = sum(day.bed == place for day in self.outline)
            plates = sum(used == place for day in self.outline for used in day.meals.values())
            visits = sum(seen == place for day in self.outline for seen in day.sights)
            if beds and (hotel := self._hotel(self.places[place], beds)):
                hotels[place] = hotel
            if plates:
                meals[place] = self._restaurants(self.places[place], plates)
            if visits:
                sights[place] = self._sights(self.places[place], visits)
        return fill(self.outline, Choices(self.places, rides, hotels, meals, sights))

    def _lucky(self) -> bool:
        """Whether the next choice is the solver's."""
        return self.rng.random() < self.teacher.skill

    def _pick(self, best: Item | None, options: Sequence[Item]) -> Item:
        """The solver's choice with probability `skill`, if there is one; else any of `options`."""
        lucky = self._lucky()
        return best if lucky and best is not None else self.rng.choice(options)

    def _thought(self) -> tuple[LocalConstraint | None, bool]:
        """What the next thought says: that the query's wishes count or (None) do not, and whether the cheapest does."""
        said = self.rng.random() < self.teacher.restate
        return self.dialogue.task.query.local_constraint if said else None, self.rng.random() < self.teacher.thrift

    def _cities(self) -> tuple[str, ...]:
        query, database = self.dialogue.task.query, self.dialogue.task.database
        if query.days == 3:
            return (query.dest,)
        text = self.dialogue.look_up("SearchCity", state=query.dest)
        shown = [city for city in database.states.get(query.dest, ()) if city in text]
        chosen: list[str] = []
        for best in places_of(self.witness)[1:]:
            left = [city for city in shown if city not in chosen]
            chosen.append(self._pick(best if best in left else None, left))
        self.dialogue.note(chosen)
        return tuple(chosen)

    def _rides(self) -> dict[int, Ride]:
        """A ride for every day on the move: all by car or none; the other way if one does not go."""
        solved = isinstance(self.witness.days[0].ride, Drive)
        drives = solved if self._lucky() else self.rng.random() < self.teacher.drives
        for by_car in (drives, not drives):
            rides = self._all_rides(by_car)
            if rides is not None:
                return rides
        return {}

    def _all_rides(self, by_car: bool) -> dict[int, Ride] | None:
        """The rides by day; None as soon as one does not go."""
        rides: dict[int, Ride] = {}
        for number, day in enumerate(self.outline, start=1):
            if not day.moves:
                continue
            best = self.witness.days[number - 1].ride
            taxi = self._pick(isinstance(best, Taxi), (False,))
            modes = ("self-driving",) if by_car else ("taxi", "flight") if taxi else ("flight", "taxi")
            ride = self._ride(modes, number, self.places[day.start], self.places[day.end], best)
            if ride is None:
                return None
            rides[number] = ride
        return rides

    def _ride(
        self, modes: Sequence[str], day: int, origin: str, destination: str, best: object
    ) -> Ride | None:
        """A ride of the first of `modes` that goes; None when none does."""
        task = self.dialogue.task
        for mode in modes:
            if mode == "flight":
                date = task.query.date[day - 1]
                text = self.dialogue.look_up(
                    "SearchFlight", departure=origin, destination=destination, date=date
                )
                shown = [row for row in task.database.flights_on(origin, destination, date) if row.number in text]
                if shown:
                    return FlightRide(self._flight(shown, best), origin, destination)
                continue
            self.dialogue.look_up(
                "GoogleDistanceMatrix", departure=origin, destination=destination, mode=mode
            )
            leg = task.database.leg(origin, destination)
            if leg is not None and leg.driving_cost is not None:
                self.dialogue.note([mode])
                return Drive(origin, destination) if mode == "self-driving" else Taxi(origin, destination)
        return None

    def _flight(self, shown: Sequence[Flight], best: object) -> str:
        """The number of one of the flights that were shown."""
        solved = best.number if isinstance(best, FlightRide) else None
        lucky, (_, cheap) = self._lucky(), self._thought()
        if lucky and solved in {flight.number for flight in shown}:
            number, cheap = solved, False
        else:
            flight = choose_flight(shown) if cheap else choose_flight(dearer(shown), self.rng)
            number = flight.number
        self.dialogue.note([number], price(cheap))
        return number

    def _hotel(self, city: str, nights: int) -> str | None:
        """The hotel of a city; None when no hotel was shown."""
        text = self.dialogue.look_up("SearchAccommodation", city=city)
        rows = {row.name: row for row in self.dialogue.task.database.hotels_in(city)}
        shown = _as_listed(list(rows.values()), text)
        solved = [day.accommodation for day in self.witness.days]
        best = next((bed.name for bed in solved if isinstance(bed, Place) and bed.city == city), None)
        if not shown:
            return None
        lucky, (wishes, cheap) = self._lucky(), self._thought()
        offers = [rows[name] for name in shown]
        hotel = self.rng.choice(dearer(offers)).name
        if lucky and best in shown:
            hotel, cheap = best, False
        elif wishes or cheap:
            asked = wishes or LocalConstraint()
            chosen = choose_hotel(offers, asked, nights)
            if chosen and not cheap:
                others = [row for row in offers if row is not chosen]
                chosen = choose_hotel(others, asked, nights, self.rng) or chosen
            if chosen is None:
                wishes, cheap = None, False
            else:
                hotel = chosen.name
        self.dialogue.thought = hotel_note(wishes or LocalConstraint(), cheap, hotel)
        return hotel

    def _restaurants(self, city: str, count: int) -> tuple[str, ...]:
        """Different restaurants for `count` meals, in the order in which they were listed."""
        text = self.dialogue.look_up("SearchRestaurant", city=city)
        rows = {row.name: row for row in self.dialogue.task.database.restaurants_in(city)}
        shown = _as_listed(list(rows.values()), text)
        solved = [venue for day in self.witness.days for _, venue in day.meals()]
        lucky, (wishes, cheap) = self._lucky(), self._thought()
        offers, cuisines = [rows[name] for name in shown], (wishes and wishes.cuisine) or ()
        chosen = choose_restaurants(offers, cuisines, count, None if cheap else self.rng)
        if lucky:
            names, cheap = self._several(shown, solved, city, count), False
        elif chosen is None:
            names, wishes, cheap = self._several(shown, (), city, count), None, False
        else:
            names = tuple(row.name for row in chosen)
        self.dialogue.thought = meal_note(wishes or LocalConstraint(), cheap, [rows[name] for name in names])
        return names

    def _sights(self, city: str, count: int) -> tuple[str, ...]:
        """Different attractions for `count` visits, in the order in which they were listed."""
        text = self.dialogue.look_up("SearchAttraction", city=city)
        shown = _as_listed(self.dialogue.task.database.attractions_in(city), text)
        solved = [venue for day in self.witness.days for venue in day.attractions]
        chosen = self._several(shown, solved if self._lucky() else (), city, count)
        self.dialogue.note(chosen)
        return chosen

    def _several(self, shown: Sequence[str], solved: Sequence[Venue], city: str, count: int) -> tuple[str, ...]:
        """The solver's rows of this city, then any others, in the order in which they were listed."""
        best = [venue.name for venue in solved if isinstance(venue, Place) and venue.city == city]
        chosen = [name for name in best[:count] if name in shown]
        left = [name for name in shown if name not in chosen]
        chosen += self.rng.sample(left, min(count - len(chosen), len(left)))
        return tuple(name for name in shown if name in chosen)


def _as_listed(rows: Sequence[Hotel | Restaurant | Attraction], text: str) -> list[str]:
    """The names of `rows` that a tool's text shows, in the order of the text.

    A name may be part of another one ("Inn", "Old Inn"): a line that ends with the name as a field of its own
    counts before one that merely contains it.
    """
    lines = text.split("\n")
    places = {}
    for row in rows:
        found = [index for index, line in enumerate(lines) if row.name in line]
        own = [index for index in found if f", {lines[index]}".endswith(f", {row.name}")]
        if found:
            places[row.name] = (own or found)[0]
    return sorted(places, key=lambda name: places[name])
