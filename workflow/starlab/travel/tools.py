"""The six tools: look-ups in the database, rendered as the text an agent sees."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol import ToolCall
from . import rendering
from .database import Database


def _flights(database: Database, departure: str, destination: str, date: str) -> str:
    return rendering.flights(database.flights_on(departure, destination, date))


def _distance(database: Database, departure: str, destination: str, mode: str) -> str:
    leg = database.leg(departure, destination)
    return rendering.leg(leg, mode) if leg else ""


def _hotels(database: Database, city: str) -> str:
    return rendering.hotels(database.hotels_in(city))


def _restaurants(database: Database, city: str) -> str:
    return rendering.restaurants(database.restaurants_in(city))


def _attractions(database: Database, city: str) -> str:
    return rendering.attractions(database.attractions_in(city))


def _cities(database: Database, state: str) -> str:
    return rendering.cities(database.states.get(state, ()))


PARAMETERS: dict[str, tuple[str, ...]] = {
    "SearchCity": ("state",),
    "SearchFlight": ("departure", "destination", "date"),
    "GoogleDistanceMatrix": ("departure", "destination", "mode"),
    "SearchAccommodation": ("city",),
    "SearchRestaurant": ("city",),
    "SearchAttraction": ("city",),
}
"""Every tool with its arguments, in the order in which a call lists them."""

_TOOLS: dict[str, Callable[..., str]] = {
    "SearchCity": _cities,
    "SearchFlight": _flights,
    "GoogleDistanceMatrix": _distance,
    "SearchAccommodation": _hotels,
    "SearchRestaurant": _restaurants,
    "SearchAttraction": _attractions,
}


def not_found(name: str) -> str:
    """What a call of an unknown tool returns (the paper's wording)."""
    return f"Tool {name} not found, please rethink your tool call and try again."


def invalid_parameters(names: tuple[str, ...]) -> str:
    """What a call that lacks an argument returns (the paper's wording)."""
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"Invalid parameters. Please provide {listed}."


def call(database: Database, request: ToolCall) -> str:
    """What the agent sees. Unknown tools, missing or unusable arguments and empty results are texts."""
    if request.name not in _TOOLS:
        return not_found(request.name)
    parameters = PARAMETERS[request.name]
    values = [request.arguments.get(parameter) for parameter in parameters]
    if any(value is None for value in values):
        return invalid_parameters(parameters)
    if not all(isinstance(value, str) for value in values):
        return rendering.NO_RESULT
    return _TOOLS[request.name](database, *values) or rendering.NO_RESULT
