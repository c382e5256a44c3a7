"""The five hard checks of TravelPlanner: one function each, under the official name.

A function is called only for queries that ask for its constraint; `Check.applies` says which those are. What differs
between rule books is data, in `rules.py`. A constraint that nobody knows is met by everything where plans are read as
text, and by nothing where they are read into types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .checks import Failure, NoResult, numbered
from .cost import cost
from .database import Hotel, Restaurant
from .evidence import Case, Unproved
from .plan import MEALS, BrokenRide, Ride, Unread, WrittenRide
from .query import HOUSE_RULES
from .rules import Mode


def valid_cuisine(case: Case) -> Iterator[Failure]:
    """Every cuisine asked for is served at some meal away from home."""
    asked, rules = case.query.local_constraint.cuisine or (), case.rules
    rows: list[Restaurant] = []
    for number, evidence in numbered(case):
        meals = {slot: (venue, row) for slot, venue, row in evidence.meals}
        for slot in MEALS:
            if slot not in meals:
                if rules.cuisines_need_meals and slot in evidence.day.missing:
                    yield Failure(f"{slot} is missing", number)
                continue
            venue, row = meals[slot]
            if isinstance(venue, Unread):
                if rules.text is not None:
                    yield Failure(f"{slot} {venue.text!r}: {venue.reason}", number)
            elif venue.city == case.query.org:
                if rules.meal_at_home_ends_the_day:
                    break
            elif isinstance(row, Restaurant):
                rows.append(row)
    served = {cuisine for cuisine in asked for row in rows if _serves(row, cuisine, case)}
    for cuisine in asked:
        if cuisine not in served:
            yield Failure(f"no meal of the trip is {cuisine}", rows=tuple(rows))
    if rules.counts_cuisines and len(served) < len(asked) and set(asked) == served:
        yield NoResult("a cuisine is asked for twice")


def _serves(row: Restaurant, cuisine: str, case: Case) -> bool:
    return cuisine in (row.cuisines if case.rules.text is None else ", ".join(row.cuisines))


def forbidden_rules(hotel: Hotel) -> frozenset[str]:
    """The subjects that a hotel's rules exclude: "No pets & No smoking" -> {"pets", "smoking"}."""
    return frozenset(rule.strip().removeprefix("No ") for rule in hotel.house_rules.split("&"))


ROOM_TYPES = {
    "shared room": frozenset({"Shared room"}),
    "not shared room": frozenset({"Private room", "Entire home/apt"}),
    "private room": frozenset({"Private room"}),
    "entire room": frozenset({"Entire home/apt"}),
}
"""What a query asks for -> the room types that satisfy it."""


def _hotels(case: Case, unsuitable: Callable[[Hotel], bool], asked: str) -> Iterator[Failure]:
    for number, evidence in numbered(case):
        bed = evidence.day.accommodation
        if isinstance(evidence.hotel, Unproved):
            if isinstance(bed, Unread) or not case.rules.skips_unproved:
                yield Failure(evidence.hotel.reason, number)
        elif evidence.hotel is not None and unsuitable(evidence.hotel):
            yield Failure(f"{str(bed)!r} is not what the query asks for: {asked}", number, (evidence.hotel,))


def valid_room_rule(case: Case) -> Iterator[Failure]:
    """Every hotel allows what the query asks for."""
    rule = case.query.local_constraint.house_rule
    unknown = case.rules.text is None and rule not in HOUSE_RULES
    return _hotels(case, lambda hotel: unknown or rule in forbidden_rules(hotel), f"{rule} allowed")


def valid_room_type(case: Case) -> Iterator[Failure]:
    """Every hotel has the room type that the query asks for."""
    asked = case.query.local_constraint.room_type or ""
    suitable = ROOM_TYPES.get(asked)
    unknown = case.rules.text is None
    return _hotels(case, lambda hotel: unknown if suitable is None else hotel.room_type not in suitable, asked)


def _named(ride: Ride | Unread) -> frozenset[Mode] | None:
    """The modes by which a query can exclude a ride; None where they cannot be told."""
    if isinstance(ride, WrittenRide | BrokenRide):
        return ride.named
    return None if isinstance(ride, Unread) else frozenset({ride.mode})


EXCLUDED = {"no flight": Mode.FLIGHT, "no self-driving": Mode.CAR}
"""What a query asks for -> the mode that it rules out."""


def valid_transportation(case: Case) -> Iterator[Failure]:
    """No ride is of the mode that the query rules out."""
    asked = case.query.local_constraint.transportation or ""
    unknown = case.rules.text is None and asked not in EXCLUDED
    for number, evidence in numbered(case):
        ride = evidence.day.ride
        if ride is None:
            continue
        named = _named(ride)
        if named is None:
            reason = ride.reason if isinstance(ride, Unread) else "no mode can be told"
            yield Failure(f"transportation {str(ride)!r}: {reason}", number)
        elif unknown or EXCLUDED.get(asked) in named:
            rows = () if isinstance(evidence.ride, Unproved | None) else (evidence.ride,)
            yield Failure(f"{str(ride)!r}, but the query asks for {asked}", number, rows)


def valid_cost(case: Case) -> Iterator[Failure]:
    """The whole trip costs no more than the budget."""
    spent = cost(case)
    if spent.total is None:
        yield Failure(f"the cost is unknown: {'; '.join(spent.unpriced)}")
    elif spent.total > case.query.budget:
        yield Failure(f"the plan costs ${spent.total:g}, the budget is ${case.query.budget}")
