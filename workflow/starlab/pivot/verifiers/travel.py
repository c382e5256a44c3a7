"""Which tool calls a trip needs, and what its answer is worth.

A call is needed when it brings the evidence of some plan one look-up nearer to being complete. Evidence is complete
when for every city of the trip hotels, restaurants and sights were listed, for every leg one way of travelling is
known to go, all legs by the same family (a car, or flights and taxis: a plan may not mix them), and for trips over
several cities the cities of the state were listed. Orders, dates of inner legs, cities of the state and ways to
travel are free: many demonstrations' worth of calls are equally good. A call whose answer is in the prefix already,
or that serves no plan, is not needed.

Only the query, the list of a state's cities and what the tools have answered so far enter: whether a look-up will
find something is nothing that a policy could know. A look-up that failed for an injected fault has answered nothing
and is needed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import inf

from ...protocol import ToolCall
from ...rewards import Progress, Reward
from ...travel.query import Query
from ...travel.rendering import NO_RESULT
from ...travel.task import TravelTask
from ...travel.tools import PARAMETERS
from ..candidates import Lookup

LISTINGS = ("SearchAccommodation", "SearchRestaurant", "SearchAttraction")
DRIVE, TAXI, FLIGHT = "self-driving", "taxi", "flight"
MODES = (DRIVE, TAXI)
"""What may stand as `mode`; the tool itself takes any other word for a drive."""

Ride = tuple[str, str, str, str]
"""(way of travelling, from, to, date); the date of a drive or taxi is empty."""


@dataclass(frozen=True, slots=True)
class Known:
    """What tools have answered: (tool, place) listings, and rides with whether they go."""

    listings: frozenset[tuple[str, str]]
    rides: Mapping[Ride, bool]

    def after(self, call: ToolCall, goes: bool) -> Known:
        """With the answer to one more call; a ride that is known keeps its first answer."""
        ride = ride_of(call)
        if ride is not None:
            return Known(self.listings, {ride: goes, **self.rides})
        return Known(self.listings | {(call.name, str(next(iter(call.arguments.values()))))}, self.rides)

    def places(self) -> set[str]:
        """Every place that a call has named."""
        return {place for _, place in self.listings} | {place for ride in self.rides for place in ride[1:3]}


def why_not(task: TravelTask, lookups: Sequence[Lookup], call: ToolCall) -> str | None:
    """None when `call` is well-formed and needed, else the reason."""
    if problem := malformed(call):
        return problem
    known = Known(frozenset(), {})
    for lookup in lookups:
        # any other text stands for a failure: the tool's answer is a function of the call
        if malformed(lookup.call) is None and lookup.response == task.call(lookup.call):
            known = known.after(lookup.call, lookup.response != NO_RESULT)
    then = known.after(call, goes=True)
    named = then.places()
    cities = task.database.states.get(task.query.dest, ())
    if missing(task.query, cities, named, then) < missing(task.query, cities, named, known):
        return None
    return "a call that brings no plan nearer"


def malformed(call: ToolCall) -> str | None:
    """What is wrong with the form of a call: its tool, its arguments, a way of travelling that does not exist."""
    if call.name not in PARAMETERS:
        return "a call of a tool that does not exist"
    if set(call.arguments) != set(PARAMETERS[call.name]):
        return "a call with other arguments than the tool has"
    if not all(isinstance(value, str) for value in call.arguments.values()):
        return "a call with an argument that is no text"
    if call.arguments.get("mode", DRIVE) not in MODES:
        return "a call with an unknown mode"
    return None


def ride_of(call: ToolCall) -> Ride | None:
    """The ride that a well-formed call asks about; None for a listing."""
    given = {name: str(value) for name, value in call.arguments.items()}
    if call.name == "SearchFlight":
        return FLIGHT, given["departure"], given["destination"], given["date"]
    if call.name == "GoogleDistanceMatrix":
        return given["mode"], given["departure"], given["destination"], ""
    return None


def missing(query: Query, cities: Sequence[str], named: set[str], known: Known) -> float:
    """Look-ups that the plan with the most evidence still lacks; inf when no plan can be completed.

    `cities` are those of the destination state (used by trips over several cities), `named` the places to tell apart:
    all other cities are alike.
    """
    several = query.days > 3
    listing = several and ("SearchCity", query.dest) not in known.listings
    best = inf
    for route in _routes(query, cities, named) if several else [(query.dest,)]:
        rides = min((_rides_missing(query, route, family, known) for family in _families(query)), default=inf)
        open_listings = sum((tool, city) not in known.listings for city in route for tool in LISTINGS)
        best = min(best, rides + open_listings)
    return best + listing


def _routes(query: Query, cities: Sequence[str], named: set[str]) -> Iterator[tuple[str, ...]]:
    """Orders of cities to visit; cities that nothing has named are told apart by number only."""
    wanted = query.visiting_city_number
    told = [city for city in cities if city in named and city != query.org]
    others = len(cities) - len(told) - (query.org in cities)
    return permutations([*told, *(f"another city {number}" for number in range(min(wanted, others)))], wanted)


def _families(query: Query) -> list[tuple[str, ...]]:
    """The families of ways to travel that the query allows."""
    forbidden = query.local_constraint.transportation
    families = [] if forbidden == "no self-driving" else [(DRIVE,)]
    return [*families, (TAXI,) if forbidden == "no flight" else (FLIGHT, TAXI)]


def _rides_missing(query: Query, route: Sequence[str], family: Sequence[str], known: Known) -> float:
    """Legs of `route` without a ride of `family` that is known to go; inf when some leg has none at all."""
    stops = [query.org, *route, query.org]
    total = 0.0
    for number, (origin, destination) in enumerate(pairwise(stops)):
        answers = [known.rides.get(ride) for ride in _ways(query, number, len(route), family, origin, destination)]
        if any(answers):
            continue
        if None not in answers:
            return inf
        total += 1
    return total


def _ways(query: Query, leg: int, cities: int, family: Sequence[str], origin: str, destination: str) -> Iterator[Ride]:
    """Every ride that could serve a leg. The first leg goes on the first day, the last on the last, and every leg on a
    day of its own in between."""
    first = query.days - 1 if leg == cities else leg
    last = leg if leg == 0 else query.days - 1 - (cities - leg)
    for mode in family:
        for date in query.date[first : last + 1] if mode == FLIGHT else ("",):
            yield mode, origin, destination, date


def answer_value(metrics: Mapping[str, float], reward: Reward) -> float:
    """The reward as a share of what a perfect plan gets; a curriculum counts as in its first stage."""
    perfect = dict.fromkeys(metrics, 1.0)
    return reward(metrics, Progress(0, 1)) / reward(perfect, Progress(0, 1))
