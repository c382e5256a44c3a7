"""The eight commonsense checks of TravelPlanner: one function each, by official name.

Each function gives the failures it finds. It compares what a plan says with rows of the database; what differs between
rule books is data, in `rules.py`. Under a rule book that reads types, what could not be read or has no row fails the
checks that need it; under one that reads text, only that at which the official code stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, groupby

from .checks import Failure, numbered
from .evidence import Case, DayEvidence, Row, Unproved
from .plan import MEALS, Broken, HalfMove, Move, Ride, Stay, TypedRide, Unread, Venue, Where
from .rules import Location, Mode, RuleBook

FILLED_SHARE = 0.5
"""The share of the six slots a day that a complete plan fills at least."""
RIDE_WORDS = ("from ", "to ")
MEAL_WORDS = ("from ",)
"""What `current_city` says on a day that needs a ride, and on one that may do without meals (typed plans: a move)."""


def is_reasonable_visiting_city(case: Case) -> Iterator[Failure]:
    """The trip leaves home and comes back, stays at its destination, and does not return to a city it has left."""
    route: list[tuple[int, str]] = []
    breaks = list(_walk(case)) if case.rules.walked_route else []
    for number, evidence in numbered(case):
        match evidence.day.where:
            case Unread(text, reason):
                breaks.append(Failure(f"current_city {text!r}: {reason}", number))
            case Stay(city):
                route.append((number, city))
            case Move(origin, destination):
                if number == 1 and origin != case.query.org and not case.rules.walked_route:
                    breaks.append(Failure(f"the first day leaves {origin!r}, not {case.query.org!r}", number))
                route += [(number, origin), (number, destination)]
    yield from breaks or _loop(route)
    for index, (number, city) in enumerate(route):
        state = case.database.state_of(city)
        if state is None:
            yield Failure(f"there is no city {city!r}", number)
        elif 0 < index < len(route) - 1 and not _at_destination(city, state, case):
            yield Failure(f"{city} in {state} is not the destination {case.query.dest}", number)


def _at_destination(city: str, state: str, case: Case) -> bool:
    query = case.query
    if query.days > 3:
        return state == query.dest
    return not case.rules.walked_route or city in (query.dest, query.org)


def _walk(case: Case) -> Iterator[Failure]:
    """Breaks in the way from home and back: days that do not start where the day before ended."""
    query, here = case.query, case.query.org
    for number, evidence in numbered(case):
        match evidence.day.where:
            case Stay(city):
                if number == 1:
                    yield Failure(f"the first day has to leave {query.org}, not stay in {city!r}", number)
                elif city != here:
                    yield Failure(f"the day is spent in {city!r} but the trip is in {here!r}", number)
                here = city
            case Move(origin, destination):
                if origin != here:
                    yield Failure(f"the day starts in {origin!r} but the trip is in {here!r}", number)
                if origin == destination:
                    yield Failure(f"the day goes from {origin!r} to itself", number)
                here = destination
    if not case.days or not isinstance(case.days[-1].day.where, Move) or here != query.org:
        yield Failure(f"the last day has to bring the travellers back to {query.org}", len(case.days) or None)


def _loop(route: list[tuple[int, str]]) -> Iterator[Failure]:
    """Why the cities are no loop in which every one between the ends is come to once, and left from."""
    if len(route) < 3:
        yield Failure("the trip goes nowhere")
    elif route[0][1] != route[-1][1]:
        yield Failure("the trip does not end where it starts")
    seen: set[str] = set()
    start, last = 0, len(route) - 1
    while start <= last:
        number, city = route[start]
        end = start
        while end < last and route[end + 1][1] == city:
            end += 1
        if city in seen and start != last:
            yield Failure(f"the trip comes to {city!r} a second time", number)
        if start == end and 0 < end < last:
            yield Failure(f"the trip only touches {city!r}: it does not leave from there", number)
        seen.add(city)
        start = end + 1


def _repeated(named: Iterator[tuple[int, Venue]], what: str) -> Iterator[Failure]:
    seen: dict[Venue, int] = {}
    for number, venue in named:
        if isinstance(venue, Broken):
            yield Failure(f"{what} {venue.text!r}: {venue.reason}", number)
        elif venue in seen:
            yield Failure(f"{what} {str(venue)!r} again, after day {seen[venue]}", number)
        seen.setdefault(venue, number)


def is_valid_restaurants(case: Case) -> Iterator[Failure]:
    """No restaurant is visited twice."""
    slots = _meals("is_valid_restaurants", case.rules)
    visits = ((n, venue) for n, day in numbered(case) for slot, venue, _ in day.meals if slot in slots)
    return _repeated(visits, "restaurant")


def _meals(check: str, rules: RuleBook) -> tuple[str, ...]:
    """The meals that a check looks at."""
    return MEALS[1:] if check in rules.breakfast_free else MEALS


def is_valid_attractions(case: Case) -> Iterator[Failure]:
    """No attraction is visited twice."""
    return _repeated(((n, venue) for n, day in numbered(case) for venue, _ in day.attractions), "attraction")


def is_valid_accommodation(case: Case) -> Iterator[Failure]:
    """Every stay has the hotel's minimum of consecutive nights. A hotel without a row proves no minimum."""
    rules = case.rules
    for venue, group in groupby(numbered(case), key=lambda item: item[1].day.accommodation):
        nights = list(group)
        number, evidence = nights[0]
        hotel = evidence.hotel
        if isinstance(hotel, Unproved):
            if isinstance(venue, Unread) or not rules.skips_unproved:
                yield Failure(hotel.reason, number)
        elif hotel is not None and evidence.hotel_rows == 1 and len(nights) < hotel.minimum_nights:
            reason = f"{str(venue)!r} takes {hotel.minimum_nights:g} nights or more, not {len(nights)}"
            yield Failure(reason, number, (hotel,))
    if rules.null_hotel_stops:
        for number, evidence in numbered(case):
            if evidence.hotel is None and not evidence.day.blank("accommodation"):
                yield Failure("accommodation is neither text nor empty", number)


def is_valid_transportation(case: Case) -> Iterator[Failure]:
    """Every change of city has a ride of a known mode, and a car is not mixed with flights or taxis."""
    first: dict[Mode, int] = {}
    for number, evidence in numbered(case):
        day = evidence.day
        if isinstance(day.ride, Unread):
            yield Failure(f"transportation {day.ride.text!r}: {day.ride.reason}", number)
        elif day.ride is not None:
            if day.ride.mode is not None:
                first.setdefault(day.ride.mode, number)
        elif number == 1 if case.rules.rides == "first day" else isinstance(day.where, Move):
            yield Failure(f"there is no ride {day.where}", number)
    if case.rules.rides == "first day" and not case.days:
        yield Failure("there is no first day")
    for one, other in combinations(first, 2):
        if Mode.CAR in (one, other):
            modes = f"{one} on day {first[one]}, {other} on day {first[other]}"
            yield Failure(f"modes that do not go together: {modes}", max(first[one], first[other]))


def is_valid_information_in_current_city(case: Case) -> Iterator[Failure]:
    """Rides follow the day's route, meals and sights are in a city of the day, the hotel is where it ends."""
    for number, evidence in numbered(case):
        day, where = evidence.day, evidence.day.where
        if case.rules.no_city_is_anywhere and "current_city" in day.missing:
            where = Stay("")
        if isinstance(where, Unread):
            if not (case.rules.half_moves and isinstance(where, HalfMove) and _idle(evidence)):
                yield Failure(f"current_city {where.text!r}: {where.reason}", number)
            continue
        cities = _cities(where, case.rules)
        if reason := _astray(day.ride, where, cities, case.rules):
            yield Failure(reason, number)
        elif case.rules.empty_ride_names_no_city and day.hollow("transportation") and any(cities):
            yield Failure("transportation is empty but not '-', and names no city", number)
        placed = [(slot, venue, cities) for slot, venue, _ in evidence.meals]
        placed += [("attraction", venue, cities) for venue, _ in evidence.attractions]
        if day.accommodation is not None:
            placed.append(("accommodation", day.accommodation, cities[-1:]))
        for slot, venue, allowed in placed:
            if isinstance(venue, Unread):
                if not any(city in venue.parts for city in allowed):
                    yield Failure(f"{slot} {venue.text!r}: {venue.reason}", number)
            elif not _lies_in(venue, allowed, case.rules):
                yield Failure(f"{slot} {str(venue)!r} is not in {_either(where, slot)}", number)


def _idle(evidence: DayEvidence) -> bool:
    """Whether there is nothing on a day that would have to lie in a city."""
    day = evidence.day
    placed = (day.ride, day.accommodation, *evidence.meals, *evidence.attractions)
    return not day.hollow("transportation") and not any(placed)


def _cities(where: Stay | Move, rules: RuleBook) -> tuple[str, ...]:
    """What the venues of a day have to lie in, one of."""
    if isinstance(where, Move):
        return where.origin, where.destination
    return tuple(where.city) if rules.location is Location.LETTERS else (where.city,)


def _either(where: Stay | Move, slot: str) -> str:
    if isinstance(where, Stay):
        return where.city
    return where.destination if slot == "accommodation" else f"{where.origin} or {where.destination}"


def _lies_in(venue: Venue, cities: tuple[str, ...], rules: RuleBook) -> bool:
    if rules.location is Location.CITY:
        return not isinstance(venue, Unread) and venue.city in cities
    return any(city in str(venue) for city in cities)


def _astray(ride: Ride | Unread | None, where: Where, cities: tuple[str, ...], rules: RuleBook) -> str | None:
    """Why a ride is not the way of the day."""
    if ride is None:
        return None
    if isinstance(where, Stay) and not rules.idle_rides:
        return f"a ride, {str(ride)!r}, on a day that stays in {where.city!r}"
    if isinstance(ride, Unread):
        lost = not all(city in ride.parts for city in cities)
        return f"transportation {ride.text!r}: {ride.reason}" if lost else None
    if isinstance(ride, TypedRide):
        if (ride.origin, ride.destination) != cities:
            return f"the ride {str(ride)!r} is not the day's way {where}"
    elif not all(city in ride.text for city in cities):
        return f"the ride {str(ride)!r} does not name the cities of the day, {where}"
    return None


def is_valid_information_in_sandbox(case: Case) -> Iterator[Failure]:
    """All that the plan names is one row of the database: flights on their date, roads with a known cost."""
    slots = _meals("is_valid_information_in_sandbox", case.rules)
    for number, evidence in numbered(case):
        rows: list[tuple[str, Row | Unproved | None]] = [("transportation", evidence.ride)]
        rows += [(slot, row) for slot, _, row in evidence.meals if slot in slots]
        rows += [("attraction", row) for _, row in evidence.attractions]
        rows.append(("accommodation", evidence.hotel))
        for slot, row in rows:
            if isinstance(row, Unproved):
                yield Failure(f"{slot}: {row.reason}", number)


def is_not_absent(case: Case) -> Iterator[Failure]:
    """The plan has the days and the number of cities of the query and says what a traveller must know: every
    field, a ride between cities, a hotel for every night, three meals and a sight on days in one city, and at
    least `FILLED_SHARE` of all slots."""
    query, rules = case.query, case.rules
    days = sum(evidence.day.counts(rules.nameless_days) for evidence in case.days)
    if days != query.days:
        yield Failure(f"the trip has {query.days} days, the plan {days}")
    yield from _city_count(case)
    meals = _meals("is_not_absent", rules)
    for number, evidence in numbered(case):
        day = evidence.day
        if rules.numbered_days and day.number != number:
            yield Failure(f"entry {number} of the plan is called day {day.number}", number)
        needed = [name for name in day.missing if name != "day" or rules.numbered_days]
        if needed:
            yield Failure(f"fields are missing: {', '.join(needed)}", number)
        if day.says(RIDE_WORDS) and day.blank("transportation"):
            yield Failure(f"there is no ride {day.where}", number)
        empty = [] if day.says(MEAL_WORDS) else [slot for slot in meals if day.blank(slot)]
        if day.blank("attraction") and not day.says(rules.sights_optional):
            empty.append("attraction")
        if empty and not isinstance(day.where, Unread):
            yield Failure(f"a day in {day.where} without {', '.join(empty)}", number)
        if day.blank("accommodation") and number < query.days:
            yield Failure("there is no place to sleep", number)
    filled, slots = sum(evidence.day.filled() for evidence in case.days), 6 * query.days
    if filled < FILLED_SHARE * slots:
        yield Failure(f"only {filled} of {slots} slots are filled")


def _city_count(case: Case) -> Iterator[Failure]:
    query = case.query
    cities: set[str] = set()
    for number, evidence in numbered(case):
        match evidence.day.where:
            case HalfMove() if case.rules.half_moves and number > 1:
                cities.add("")
            case Unread(text, reason):
                yield Failure(f"current_city {text!r}: {reason}", number)
            case Stay(city):
                cities.add(city)
            case Move(origin, destination):
                cities |= {origin, destination}
                if case.rules.city_count_starts_at_home and number == 1 and origin != query.org:
                    yield Failure(f"the first day leaves {origin!r}, not {query.org!r}", number)
    if (visited := len(cities - {query.org})) != query.visiting_city_number:
        yield Failure(f"the query asks for {query.visiting_city_number} cities, the plan visits {visited}")
