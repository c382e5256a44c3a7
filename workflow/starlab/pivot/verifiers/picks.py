"""What a thought picks from the listing just shown, and what the picks are worth.

In this world a policy says what it picks in the thought after a listing, and the answer copies it down: an action that
no call shows. Picks are judged by what can still be done: the solver looks for the cheapest plan that passes every
check and keeps to all picks of the trip so far (`travel/settled.py`). Picks after which there is none are worth 0;
others are worth the money that they leave free, as a share of what the best picks from the same listing would leave.
By which words a pick came about does not enter.

Money is counted with the whole database, seen or not. For one listing that changes the scale of shares only: which
pick leaves more can be told from the listing and the query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...travel.rendering import NO_RESULT
from ...travel.settled import Choices, Settled
from ...travel.solver import least
from ...travel.task import TravelTask
from ...travel.tools import PARAMETERS
from ..candidates import Lookup
from .travel import MODES, malformed

NOTHING = "nothing to pick"


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a table has anywhere: how to tell one, and how many letters they can have."""

    known: Callable[[str], bool]
    lengths: Collection[int]

    def said(self, text: str) -> list[str]:
        """The names in a text, in order; the longest wherever there is a choice."""
        lengths, found, place = sorted(self.lengths, reverse=True), [], 0
        while place < len(text):
            ends = [place + length for length in lengths if place + length <= len(text)] if _edge(text, place) else []
            end = next((end for end in ends if _edge(text, end) and self.known(text[place:end])), None)
            if end is not None:
                found.append(text[place:end])
            place = end or place + 1
        return found


def _edge(text: str, place: int) -> bool:
    """Whether no word goes on at `place`."""
    return not (0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum())


def value(task: TravelTask, lookups: Sequence[Lookup], thought: str) -> tuple[float, str]:
    """(what the picks are worth, in [0, 1], why) of the thought that follows `lookups`; 1 where nothing was listed."""
    if not lookups or malformed(lookups[-1].call):
        return 1.0, NOTHING
    last = lookups[-1]
    shown, said = _shown(task, last), _names(task, last).said(thought)
    if not shown:
        return (0.0, "a pick without a listing") if said else (1.0, NOTHING)
    if not said:
        return 0.0, "no pick"
    if not shown.issuperset(said):
        return 0.0, "a pick that is not on the listing"
    wanted = _wanted(task, last)
    if len(set(said)) < len(said) or wanted not in (None, len(said)):
        return 0.0, "a pick made twice, or another number of picks than the trip takes"
    before = _earlier(task, lookups)
    left = _free_money(task, _narrowed(before, last, frozenset(said)))
    if left < 0:
        return 0.0, "picks with which no plan can succeed"
    best = _free_money(task, before if wanted is None else _narrowed(before, last, shown))
    # two sights may save a dinner that the plan would else need: more than the whole is none
    return (min(1.0, left / best) if best > 0 else 1.0), "picks that serve"


def _wanted(task: TravelTask, lookup: Lookup) -> int | None:
    """How many rows of a listing a trip takes: one ride, one hotel, all cities; None where it depends on the days."""
    if lookup.call.name == "SearchCity":
        return task.query.visiting_city_number
    return None if lookup.call.name in ("SearchRestaurant", "SearchAttraction") else 1


def _free_money(task: TravelTask, chosen: Choices) -> float:
    """Dollars of the budget that the cheapest plan which keeps to `chosen` leaves; -inf where there is no plan."""
    return task.query.budget - least(Settled(task.query, task.database, chosen=chosen))


def _given(lookup: Lookup) -> list[str]:
    """The arguments of a well-formed call, in the tool's order."""
    return [str(lookup.call.arguments[name]) for name in PARAMETERS[lookup.call.name]]


def _shown(task: TravelTask, lookup: Lookup) -> frozenset[str]:
    """The names that a look-up has shown: none, if its text is not the tool's own."""
    if not lookup.response == task.call(lookup.call) != NO_RESULT:
        return frozenset()
    database, given = task.database, _given(lookup)
    match lookup.call.name:
        case "SearchCity":
            return frozenset(database.states[given[0]])
        case "SearchFlight":
            return frozenset(row.number for row in database.flights_on(*given))
        case "GoogleDistanceMatrix":
            return frozenset(given[2:])
        case "SearchAccommodation":
            return frozenset(row.name for row in database.hotels_in(given[0]))
        case "SearchRestaurant":
            return frozenset(row.name for row in database.restaurants_in(given[0]))
        case _:
            return frozenset(row.name for row in database.attractions_in(given[0]))


def _names(task: TravelTask, lookup: Lookup) -> Names:
    """The names of the table that a look-up reads."""
    database = task.database
    match lookup.call.name:
        case "SearchFlight" | "GoogleDistanceMatrix":
            flights = database.flight_table
            lengths = {*range(1, flights.width + 1), *map(len, MODES)}
            return Names(lambda name: name in MODES or flights.has(name), lengths)
        case "SearchCity":
            names = frozenset(database.cities)
        case tool:
            names = database.names[tool]
    return Names(names.__contains__, {len(name) for name in names})


def _earlier(task: TravelTask, lookups: Sequence[Lookup]) -> Choices:
    """What the thoughts between look-ups have picked; what is no pick chooses nothing."""
    choices = Choices()
    for lookup, following in pairwise(lookups):
        if malformed(lookup.call) is None and (shown := _shown(task, lookup)):
            said = frozenset(_names(task, lookup).said(following.thought))
            if said and shown.issuperset(said):
                choices = _narrowed(choices, lookup, said)
    return choices


def _narrowed(choices: Choices, lookup: Lookup, names: frozenset[str]) -> Choices:
    """With `names` of a listing as the rows that may serve; of restaurants and sights, as those that are visited."""
    where, *rest = _given(lookup)
    match lookup.call.name:
        case "SearchCity":
            return replace(choices, cities=names)
        case "SearchFlight":
            return replace(choices, rides={**choices.rides, (where, rest[0]): (rest[1], names)})
        case "GoogleDistanceMatrix":
            return replace(choices, rides={**choices.rides, (where, rest[0]): ("", names)})
        case "SearchAccommodation":
            return replace(choices, hotels={**choices.hotels, where: names})
        case "SearchRestaurant":
            return replace(choices, meals={**choices.meals, where: names})
        case _:
            return replace(choices, sights={**choices.sights, where: names})
