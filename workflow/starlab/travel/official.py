"""The official rendering: tool results worded as in Agent-STAR, whatever arguments a model sends.

The look-ups are those of the compact tools; what differs is text, and how odd arguments are taken. The official tools
look a value up as it comes: null or a number finds nothing and is named in the answer; arguments that are no object,
or a list where a city belongs, make the tool say how it failed (in the words of Python and pandas).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .database import Database, Flight
from .tools import PARAMETERS, invalid_parameters, not_found

_FAR = (
    "The required time exceeds a single day, we cannot provide the cost. "
    "Please consider an alternative transportation instead."
)


def call(database: Database, name: str, arguments: Any) -> str:
    """What the agent sees. `arguments` is any JSON value. Never raises on data."""
    if name not in _TOOLS:
        return not_found(name)
    needed = [parameter for parameter in PARAMETERS[name] if parameter != "mode"]  # by default "driving"
    try:
        if any(parameter not in arguments for parameter in needed):
            return invalid_parameters(PARAMETERS[name])
        return _TOOLS[name](database, arguments)
    except (TypeError, ValueError, KeyError) as error:
        return f"Tool calling error: {error}"


def _nothing(what: str, where: str, kind: str) -> str:
    return f"There is no {what} {where}. Please rethink your {kind} search and try again."


def _numbered(rows: Sequence[str]) -> str:
    """A list in which every row ends its line and an empty line parts the rows."""
    return "\n".join(f"{number}. {row}\n" for number, row in enumerate(rows, 1))


def _mismatch(rows: int, values: Sequence[object]) -> ValueError:
    """How pandas fails to compare a column with a list of another length."""
    return ValueError("Lengths must match to compare", (rows,), (len(values),))


def _exact(value: object, rows: int) -> str | None:
    """A value to look up in a column of `rows` rows; None: no row can hold it."""
    if isinstance(value, list):
        raise _mismatch(rows, value)
    return value if isinstance(value, str) else None


def _flights(database: Database, arguments: Any) -> str:
    departure, destination, date = (arguments[name] for name in ("departure", "destination", "date"))
    table = database.flight_table
    origin = _exact(departure, len(table))
    end = _exact(destination, table.leaving(origin) if origin is not None else 0)
    found: Sequence[Flight] = ()
    route = (origin, end) if origin is not None and end is not None else None
    if isinstance(date, list):
        # compared row by row where the lengths agree, as pandas does
        rows = table.on_route(*route) if route else ()
        if len(rows) != len(date):
            raise _mismatch(len(rows), date)
        found = [row for row, day in zip(rows, date, strict=True) if row.date == day]
    elif route and isinstance(date, str):
        found = database.flights_on(*route, date)
    trip = f"{departure} to {destination} on {date}"
    if not found:
        return _nothing("available flight", f"from {trip}", "flight")
    return f"A SearchFlight for {trip} found the following {len(found)} flights:\n" + _numbered(
        [
            f"[{row.number}] ${row.price}. Departure: {row.departure_time}, Arrival: {row.arrival_time}, "
            f"Actual Elapsed Time: {row.elapsed}, Distance: {row.distance} miles"
            for row in found
        ]
    )


def _distance(database: Database, arguments: Any) -> str:
    departure, destination = arguments["departure"], arguments["destination"]
    mode = arguments.get("mode", "driving")
    origin, end = (_exact(value, len(database.legs)) for value in (departure, destination))
    leg = database.leg(origin, end) if origin is not None and end is not None else None
    if leg is None:
        return "No valid information found. Please rethink your distance search and try again."
    if leg.duration is None or leg.distance is None:
        return f"Sorry, we cannot find the distance between {departure} and {destination}."
    cost = leg.driving_cost if "driving" in mode else leg.taxi_cost  # any other wording is a taxi
    if cost is None:
        return _FAR
    return (
        f"A GoogleDistanceMatrix found the following information:\n{mode}, from {departure} to {destination}, "
        f"duration: {leg.duration}, distance: {leg.distance}, cost: ${cost}"
    )


def _cities(database: Database, arguments: Any) -> str:
    state = arguments["state"]
    found = database.states.get(state, ())
    if not found:
        return _nothing("city", f"in {state}", "city")
    return f"A SearchCity for state {state} found the following {len(found)} cities:\n{', '.join(found)}"


def _hotels(database: Database, arguments: Any) -> str:
    city = arguments["city"]
    place = _exact(city, len(database.hotels))
    found = database.hotels_in(place) if place is not None else ()
    if not found:
        return _nothing("accommodation", f"in {city}", "accommodation")
    return f"A SearchAccommodation for {city} found the following {len(found)} accommodations:\n" + _numbered(
        [
            f"[{row.name}] ${row.price}. Room Type: {row.room_type}, House Rules: {row.house_rules}, "
            f"Minimum Nights: {row.minimum_nights}, Maximum Occupancy: {row.maximum_occupancy}, "
            f"Review Rate Number: {row.review}"
            for row in found
        ]
    )


def _restaurants(database: Database, arguments: Any) -> str:
    city = arguments["city"]
    place = _exact(city, len(database.restaurants))
    found = database.restaurants_in(place) if place is not None else ()
    if not found:
        return _nothing("restaurant", f"in {city}", "restaurant")
    return f"A SearchRestaurant for city {city} found the following {len(found)} restaurants:\n" + _numbered(
        [
            f"[{row.name}] Avg. Cost ${row.average_cost}. Cuisines: {', '.join(row.cuisines)}. Rating: {row.rating}"
            for row in found
        ]
    )


def _attractions(database: Database, arguments: Any) -> str:
    city = arguments["city"]
    place = _exact(city, len(database.attractions))
    found = database.attractions_in(place) if place is not None else ()
    if not found:
        return _nothing("attraction", f"in {city}", "attraction")
    return f"A SearchAttraction for city {city} found the following {len(found)} attractions:\n" + _numbered(
        [f"[{row.name}]({row.website}) Address: {row.address}. Contact: {row.phone}" for row in found]
    )


_TOOLS: Mapping[str, Callable[[Database, Any], str]] = {
    "SearchCity": _cities,
    "SearchFlight": _flights,
    "GoogleDistanceMatrix": _distance,
    "SearchAccommodation": _hotels,
    "SearchRestaurant": _restaurants,
    "SearchAttraction": _attractions,
}
