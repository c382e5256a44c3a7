"""What a plan leaves to choose: its shape, without a single name.

The teacher fills an outline with rows that it was shown. The plain outline is the one every trip can have; a
solver's plan may be shaped otherwise (a sight on arrival instead of a dinner, two whole days in one city).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..travel.plan import Day, Move, Place, Plan, Ride, Stay, Venue

HOME = 0
"""The place number of the origin; cities are 1, 2, 3 in the order of the visit."""


@dataclass(frozen=True, slots=True)
class DayOutline:
    """One day: where it starts and ends, and which slots are filled, each with the number of a place."""

    start: int
    end: int
    meals: Mapping[str, int]
    sights: tuple[int, ...] = ()
    bed: int | None = None

    @property
    def moves(self) -> bool:
        return self.start != self.end


Outline = tuple[DayOutline, ...]


def plain(cities: int) -> Outline:
    """A day of arrival with dinner and a whole day in each city, then the way home."""
    days = []
    for city in range(1, cities + 1):
        days.append(DayOutline(city - 1, city, {"dinner": city}, bed=city))
        meals = {"breakfast": city, "lunch": city, "dinner": city}
        days.append(DayOutline(city, city, meals, sights=(city,), bed=city))
    return (*days, DayOutline(cities, HOME, {}))


def places_of(plan: Plan) -> tuple[str, ...]:
    """The places of a plan: home, then the cities in the order of the visit."""
    first = plan.days[0].where
    places = [first.origin] if isinstance(first, Move) else []
    places += [
        day.where.destination
        for day in plan.days
        if isinstance(day.where, Move) and day.where.destination not in places
    ]
    return tuple(dict.fromkeys(places))


def outline_of(plan: Plan) -> Outline:
    """The outline of a plan that the checker accepts."""
    number = {place: index for index, place in enumerate(places_of(plan))}

    def place(venue: Venue) -> int:
        assert isinstance(venue, Place), "an accepted plan can be read"
        return number[venue.city]

    days = []
    for day in plan.days:
        match day.where:
            case Move(origin, destination):
                start, end = number[origin], number[destination]
            case Stay(city):
                start = end = number[city]
            case _:
                raise AssertionError("an accepted plan can be read")
        days.append(
            DayOutline(
                start,
                end,
                {slot: place(venue) for slot, venue in day.meals()},
                tuple(place(venue) for venue in day.attractions),
                place(day.accommodation) if day.accommodation else None,
            )
        )
    return tuple(days)


@dataclass(frozen=True, slots=True)
class Choices:
    """What fills an outline: rides by day, names by place in the order in which they are used up."""

    places: tuple[str, ...]
    rides: Mapping[int, Ride]
    hotels: Mapping[int, str]
    meals: Mapping[int, tuple[str, ...]]
    sights: Mapping[int, tuple[str, ...]]


def fill(outline: Outline, choices: Choices) -> Plan:
    """The plan. A slot for which nothing is left stays empty."""
    meals = {place: iter(names) for place, names in choices.meals.items()}
    sights = {place: iter(names) for place, names in choices.sights.items()}

    def take(supply: dict[int, Iterator[str]], place: int) -> Place | None:
        name = next(supply[place], None)
        return None if name is None else Place(name, choices.places[place])

    days = []
    for number, day in enumerate(outline, start=1):
        start, end = choices.places[day.start], choices.places[day.end]
        eaten = {
            slot: take(meals, day.meals[slot])
            for slot in ("breakfast", "lunch", "dinner")
            if slot in day.meals
        }
        seen = [take(sights, place) for place in day.sights]
        bed = None if day.bed is None else choices.hotels.get(day.bed)
        days.append(
            Day(
                number=number,
                where=Move(start, end) if day.moves else Stay(start),
                ride=choices.rides.get(number),
                breakfast=eaten.get("breakfast"),
                attractions=tuple(place for place in seen if place is not None),
                lunch=eaten.get("lunch"),
                dinner=eaten.get("dinner"),
                accommodation=Place(bed, choices.places[day.bed]) if bed and day.bed is not None else None,
            )
        )
    return Plan(tuple(days))
