"""The five hard checks of TravelPlanner, in the strict reading: one function each, under the official name.

A function is called only for queries that ask for its constraint; `Check.applies` says which those are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .checks import Failure, numbered
from .cost import cost
from .database import Hotel, Restaurant
from .evidence import Case, Unproved
from .plan import Drive, FlightRide, Unread


def valid_cuisine(case: Case) -> Iterator[Failure]:
    """Every cuisine asked for is served at some meal away from home."""
    rows = [row for day in case.days for _, _, row in day.meals if isinstance(row, Restaurant)]
    served = {cuisine for row in rows if row.city != case.query.org for cuisine in row.cuisines}
    for cuisine in case.query.local_constraint.cuisine or ():
        if cuisine not in served:
            yield Failure(f"no meal of the trip is {cuisine}", rows=tuple(rows))


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
        if isinstance(evidence.hotel, Unproved):
            yield Failure(evidence.hotel.reason, number)
        elif evidence.hotel is not None and unsuitable(evidence.hotel):
            reason = f"{str(evidence.day.accommodation)!r} is not what the query asks for: {asked}"
            yield Failure(reason, number, (evidence.hotel,))


def valid_room_rule(case: Case) -> Iterator[Failure]:
    """Every hotel allows what the query asks for."""
    rule = case.query.local_constraint.house_rule
    return _hotels(case, lambda hotel: rule in forbidden_rules(hotel), f"{rule} allowed")


def valid_room_type(case: Case) -> Iterator[Failure]:
    """Every hotel has the room type that the query asks for."""
    asked = case.query.local_constraint.room_type or ""
    suitable = ROOM_TYPES[asked]
    return _hotels(case, lambda hotel: hotel.room_type not in suitable, asked)


def valid_transportation(case: Case) -> Iterator[Failure]:
    """No ride is of the mode that the query rules out."""
    asked = case.query.local_constraint.transportation
    excluded = FlightRide if asked == "no flight" else Drive
    for number, evidence in numbered(case):
        ride = evidence.day.ride
        if isinstance(ride, Unread):
            yield Failure(f"transportation {ride.text!r}: {ride.reason}", number)
        elif isinstance(ride, excluded):
            rows = () if isinstance(evidence.ride, Unproved | None) else (evidence.ride,)
            yield Failure(f"{str(ride)!r}, but the query asks for {asked}", number, rows)


def valid_cost(case: Case) -> Iterator[Failure]:
    """The whole trip costs no more than the budget."""
    spent = cost(case)
    if spent.total is None:
        yield Failure(f"the cost is unknown: {'; '.join(spent.unpriced)}")
    elif spent.total > case.query.budget:
        yield Failure(f"the plan costs ${spent.total:g}, the budget is ${case.query.budget}")
