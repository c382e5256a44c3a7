"""The eight commonsense checks of TravelPlanner, in the strict reading: one function each, by official name.

Each function gives the failures it finds. It compares typed values with rows of the database; what could not
be read or has no row fails the checks that need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, groupby

from .checks import Failure, numbered
from .evidence import Case, Row, Unproved
from .plan import MEALS, Drive, FlightRide, Move, Stay, Taxi, Unread, Venue

FILLED_SHARE = 0.5
"""The share of the six slots a day that a complete plan fills at least."""


def is_reasonable_visiting_city(case: Case) -> Iterator[Failure]:
    """The trip leaves home on the first day, is back on the last, stays at its destination, and neither jumps
    nor returns to a city it has left."""
    query, database = case.query, case.database
    here, visited = query.org, [query.org]
    for number, evidence in numbered(case):
        match evidence.day.where:
            case Unread(text, reason):
                yield Failure(f"current_city {text!r}: {reason}", number)
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
                homecoming = destination == query.org and number == len(case.days)
                if destination in visited and not homecoming:
                    yield Failure(f"the trip comes to {destination!r} a second time", number)
                visited.append(destination)
                here = destination
    last = case.days[-1].day.where
    if not isinstance(last, Move) or here != query.org:
        yield Failure(f"the last day has to bring the travellers back to {query.org}", len(case.days))
    for city in dict.fromkeys(visited):
        if city == query.org:
            continue
        state = database.state_of(city)
        if state is None:
            yield Failure(f"there is no city {city!r}")
        elif query.dest != (state if query.days > 3 else city):
            yield Failure(f"{city} in {state} is not the destination {query.dest}")


def _repeated(named: Iterator[tuple[int, Venue]], what: str) -> Iterator[Failure]:
    seen: dict[Venue, int] = {}
    for number, venue in named:
        if venue in seen:
            yield Failure(f"{what} {str(venue)!r} again, after day {seen[venue]}", number)
        seen.setdefault(venue, number)


def is_valid_restaurants(case: Case) -> Iterator[Failure]:
    """No restaurant is visited twice."""
    return _repeated(((n, venue) for n, day in numbered(case) for _, venue, _ in day.meals), "restaurant")


def is_valid_attractions(case: Case) -> Iterator[Failure]:
    """No attraction is visited twice."""
    return _repeated(((n, venue) for n, day in numbered(case) for venue, _ in day.attractions), "attraction")


def is_valid_accommodation(case: Case) -> Iterator[Failure]:
    """Every stay has the hotel's minimum of consecutive nights. A hotel without a row proves no minimum."""
    for venue, group in groupby(numbered(case), key=lambda item: item[1].day.accommodation):
        nights = list(group)
        number, hotel = nights[0][0], nights[0][1].hotel
        if isinstance(hotel, Unproved):
            yield Failure(hotel.reason, number)
        elif hotel is not None and len(nights) < hotel.minimum_nights:
            reason = f"{str(venue)!r} takes {hotel.minimum_nights:g} nights or more, not {len(nights)}"
            yield Failure(reason, number, (hotel,))


def is_valid_transportation(case: Case) -> Iterator[Failure]:
    """Every change of city has a ride of a known mode, and a car is not mixed with flights or taxis."""
    first: dict[type, int] = {}
    for number, evidence in numbered(case):
        day = evidence.day
        if isinstance(day.ride, Unread):
            yield Failure(f"transportation {day.ride.text!r}: {day.ride.reason}", number)
        elif day.ride is not None:
            first.setdefault(type(day.ride), number)
        elif isinstance(day.where, Move):
            yield Failure(f"there is no ride {day.where}", number)
    names = {FlightRide: "flight", Taxi: "taxi", Drive: "self-driving"}
    for one, other in combinations(first, 2):
        if Drive in (one, other):
            modes = f"{names[one]} on day {first[one]}, {names[other]} on day {first[other]}"
            yield Failure(f"modes that do not go together: {modes}", max(first[one], first[other]))


def is_valid_information_in_current_city(case: Case) -> Iterator[Failure]:
    """Rides follow the day's route, meals and sights are in a city of the day, the hotel is where it ends."""
    for number, evidence in numbered(case):
        day, where = evidence.day, evidence.day.where
        match where:
            case Unread(text, reason):
                yield Failure(f"current_city {text!r}: {reason}", number)
                continue
            case Stay(city):
                cities, night = (city, city), city
                if day.ride is not None:
                    yield Failure(f"a ride, {str(day.ride)!r}, on a day that stays in {city!r}", number)
            case Move(origin, destination):
                cities, night = (origin, destination), destination
                if isinstance(day.ride, Unread):
                    yield Failure(f"transportation {day.ride.text!r}: {day.ride.reason}", number)
                elif day.ride and (day.ride.origin, day.ride.destination) != cities:
                    yield Failure(f"the ride {str(day.ride)!r} is not the day's way {where}", number)
        placed = [(slot, venue, cities) for slot, venue, _ in evidence.meals]
        placed += [("attraction", venue, cities) for venue, _ in evidence.attractions]
        if day.accommodation is not None:
            placed.append(("accommodation", day.accommodation, (night, night)))
        for slot, venue, allowed in placed:
            if isinstance(venue, Unread):
                yield Failure(f"{slot} {venue.text!r}: {venue.reason}", number)
            elif venue.city not in allowed:
                cities_of_day = " or ".join(dict.fromkeys(allowed))
                yield Failure(f"{slot} {str(venue)!r} is not in {cities_of_day}", number)


def is_valid_information_in_sandbox(case: Case) -> Iterator[Failure]:
    """All that the plan names is one row of the database: flights on their date, roads with a known cost."""
    for number, evidence in numbered(case):
        rows: list[tuple[str, Row | Unproved | None]] = [("transportation", evidence.ride)]
        rows += [(slot, row) for slot, _, row in evidence.meals]
        rows += [("attraction", row) for _, row in evidence.attractions]
        rows.append(("accommodation", evidence.hotel))
        for slot, row in rows:
            if isinstance(row, Unproved):
                yield Failure(f"{slot}: {row.reason}", number)


def is_not_absent(case: Case) -> Iterator[Failure]:
    """The plan has the days and the number of cities of the query and says what a traveller must know: every
    field, a ride between cities, a hotel for every night, three meals and a sight on days in one city, and at
    least `FILLED_SHARE` of all slots."""
    query = case.query
    if len(case.days) != query.days:
        yield Failure(f"the trip has {query.days} days, the plan {len(case.days)}")
    cities: set[str] = set()
    for number, evidence in numbered(case):
        day = evidence.day
        if day.number != number:
            yield Failure(f"entry {number} of the plan is called day {day.number}", number)
        if day.missing:
            yield Failure(f"fields are missing: {', '.join(day.missing)}", number)
        match day.where:
            case Unread(text, reason):
                yield Failure(f"current_city {text!r}: {reason}", number)
            case Stay(city):
                cities.add(city)
                empty = [slot for slot in MEALS if getattr(day, slot) is None]
                empty += [] if day.attractions else ["attraction"]
                if empty:
                    yield Failure(f"a day in {city} without {', '.join(empty)}", number)
            case Move(origin, destination):
                cities |= {origin, destination}
                if day.ride is None:
                    yield Failure(f"there is no ride {day.where}", number)
        if day.accommodation is None and number < query.days:
            yield Failure("there is no place to sleep", number)
    if (visited := len(cities - {query.org})) != query.visiting_city_number:
        yield Failure(f"the query asks for {query.visiting_city_number} cities, the plan visits {visited}")
    filled, slots = sum(evidence.day.filled() for evidence in case.days), 6 * query.days
    if filled < FILLED_SHARE * slots:
        yield Failure(f"only {filled} of {slots} slots are filled")
