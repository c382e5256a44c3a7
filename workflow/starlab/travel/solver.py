"""The cheapest plan that the checker accepts, or the proof that there is none.

The search is exact. A trip is an order of cities, whole days in each, one family of transport (a car all the
way, or the cheaper of flight and taxi on every leg), one hotel a city and three restaurants a whole day.
Given order and days, these choices are independent, except that cuisines may be served anywhere: meals are
therefore a small table "cuisines served so far -> least cost", and the rest is branch and bound.

Left out because they never make a plan cheaper: two hotels in one city (the cheaper could take both stays),
and more meals than three a whole day where those can serve all cuisines. Where they cannot, the day of
arrival serves up to three more. That is exact for up to three cuisines, the most that the paper's rules ask
for; with more, a plan that needs a fourth meal in a city without a whole day is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from ..errors import StarlabError
from .cost import cost
from .database import Database
from .evidence import gather
from .itinerary import Stop, Trip, write
from .market import Market, Menu, Offer, floor, merge
from .plan import MEALS, Plan, Ride
from .query import Query

TRIPS = ((3, 1), (5, 2), (7, 3))
"""The trips of TravelPlanner: (days, cities)."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A plan that passes all checks. It costs `cost`; no accepted plan costs less than `cheapest`."""

    plan: Plan
    cost: float
    cheapest: float


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why no plan passes; `cheapest` is set when only the budget stands in the way."""

    reason: str
    cheapest: float | None = None


def solve(query: Query, database: Database) -> Solution | Infeasible:
    """Solve a query. The plan is the cheapest one, plus dinners on days of arrival as far as the budget goes.

    Raises StarlabError for a trip that is none of `TRIPS`.
    """
    size = (query.days, query.visiting_city_number)
    if size not in TRIPS:
        raise StarlabError(f"query {query.id}: (days, visiting_city_number) is {size}, not one of {TRIPS}")
    market = Market(query, database)
    trip, least = _cheapest(market)
    if trip is None:
        obstacles = list(market.obstacles) or [f"{query.dest} has no way through {size[1]} cities"]
        return Infeasible(f"no plan is possible: {'; '.join(obstacles[:3])}")
    filled = _with_enough_slots(market, trip)
    if filled is None:
        return Infeasible("no plan is possible: nothing is left to fill half of the plan")
    if (extra := filled[1] + least) > query.budget:
        return Infeasible(f"the cheapest plan costs ${extra:g}, the budget is ${query.budget}", extra)
    trip = _with_dinners(market, trip, query.budget - least) or filled[0]
    plan = write(query, trip, database)
    total = cost(gather(query, plan, database)).total
    assert total is not None, "a solver's plan names rows only"
    return Solution(plan, total, extra)


def least(market: Market) -> float:
    """What the cheapest accepted plan costs, whatever the budget; inf where none is possible."""
    trip, paid = _cheapest(market)
    filled = _with_enough_slots(market, trip) if trip else None
    return paid + filled[1] if filled else inf


def _cheapest(market: Market) -> tuple[Trip | None, float]:
    """The cheapest trip and its cost, whatever the budget."""
    query, cities = market.query, market.cities()
    stays = query.days - query.visiting_city_number - 1
    # what a night and a whole day cost at least, wherever they are spent
    night = min((best[0] for city in cities if (best := market.hotel(city, stays + 1))), default=0.0)
    day = min((floor(menu) for city in cities if (menu := market.meals(city, 1))), default=0.0)
    found: tuple[Trip | None, float] = (None, inf)

    def visit(here: str, today: int, stops: tuple[Stop, ...], left: int, paid: float, menu: Menu) -> None:
        """Finish a trip that is in `here` on the morning of day `today` (from 0), with `left` whole days to
        spend; `paid` is the cost so far without the meals, which are in `menu`."""
        nonlocal found
        if len(stops) == query.visiting_city_number:
            ride = market.rides(here, query.org, today)[family]
            if market.everything not in menu:
                market.obstacles.setdefault(f"no restaurants for all of {', '.join(market.wanted)}")
            elif ride and (total := paid + ride[0] + menu[market.everything][0]) < found[1]:
                found = Trip(stops, menu[market.everything][1], ride[1]), total
            return
        last = len(stops) + 1 == query.visiting_city_number
        been = {stop.city for stop in stops}
        options: list[tuple[float, str, int, tuple[float, Ride], Offer]] = []
        for city in cities:
            if city in been or not (ride := market.rides(here, city, today)[family]):
                continue
            for whole in range(left if last else 0, left + 1):
                if offer := market.stay(city, whole):
                    later = (query.days - today - 2 - whole) * night + (left - whole) * day
                    least = paid + floor(menu) + ride[0] + offer.nights_cost + floor(offer.menu) + later
                    options.append((least, city, whole, ride, offer))
        for least, city, whole, ride, offer in sorted(options, key=lambda option: option[0]):
            if least >= found[1]:
                break
            both: Menu = {}
            merge(both, menu, offer.menu)
            stop = Stop(city, whole, ride[1], offer.hotel, market.sights(city))
            spent = paid + ride[0] + offer.nights_cost
            visit(city, today + 1 + whole, (*stops, stop), left - whole, spent, both)

    for family in range(2):  # noqa: B007 (`visit` reads it)
        visit(query.org, 0, (), stays, 0.0, {0: (0.0, ())})
    return found


def _with_enough_slots(market: Market, trip: Trip) -> tuple[Trip, float] | None:
    """Fill half of all slots in the cheapest way: the trip and what that adds to its cost; None: impossible.

    Longer trips are full enough as they are. A three-day trip has eight of the nine slots it needs; the ninth
    is a sight on the day of arrival, or else the cheapest of a meal there, a meal at home and a bed at home.
    """
    if market.query.days > 3 or len(trip.meals) > len(MEALS):
        return trip, 0.0
    home, city = market.query.org, trip.stops[0].city
    if len(market.sights(city)) > 1:
        return trip.adding(arrival_sight=market.sights(city)[0]), 0.0
    if market.sights(home):
        return trip.adding(arrival_sight=market.sights(home)[0]), 0.0
    return min(_paid_fillers(market, trip, home, city), key=lambda option: option[1], default=None)


def _paid_fillers(market: Market, trip: Trip, home: str, city: str) -> Iterator[tuple[Trip, float]]:
    people = market.query.people_number
    three = sum(row.average_cost for row in trip.meals) * people
    if four := market.menus(city, 4)[4].get(market.everything):
        yield trip.adding(meals=four[1]), four[0] - three
    if at_home := market.restaurants(home):
        yield trip.adding(farewell=at_home[0]), at_home[0].average_cost * people
    if bed := market.hotel(home, 1):
        yield trip.adding(bed_at_home=bed[1]), bed[0]


def _with_dinners(market: Market, trip: Trip, money: float) -> Trip | None:
    """Add the cheapest dinner on every day of arrival, as far as `money` goes; None: it pays for none."""
    meals = list(trip.meals)
    for stop in trip.stops:
        if sum(row.city == stop.city for row in meals) > len(MEALS) * stop.whole_days:
            continue
        free = [row for row in market.restaurants(stop.city) if row not in meals]
        price = free[0].average_cost * market.query.people_number if free else inf
        if price <= money:
            meals.append(free[0])
            money -= price
    return trip.adding(meals=tuple(meals)) if len(meals) > len(trip.meals) else None
