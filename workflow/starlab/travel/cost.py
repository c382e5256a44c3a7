"""What a plan costs, from the rows that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from .database import Flight, Hotel, Restaurant
from .evidence import Case, Unproved, priced_as, ride_cost
from .plan import Unread
from .rules import Mode

CAR_SEATS = 5
TAXI_SEATS = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars for the whole party. `unpriced` names what has no known price."""

    flights: float
    drives: float
    taxis: float
    meals: float
    hotels: float
    unpriced: tuple[str, ...] = ()

    @property
    def total(self) -> float | None:
        """The sum of all parts; None when something has no known price: unknown is not free."""
        return None if self.unpriced else self.flights + self.drives + self.taxis + self.meals + self.hotels


def flight_cost(price: float, people: int) -> float:
    """Everybody has a seat."""
    return price * people


def drive_cost(price: float, people: int) -> float:
    """`price` is that of a car, which takes five."""
    return price * ceil(people / CAR_SEATS)


def taxi_cost(price: float, people: int) -> float:
    """`price` is that of a taxi, which takes four."""
    return price * ceil(people / TAXI_SEATS)


def hotel_cost(hotel: Hotel, people: int) -> float:
    """One night in as many units as the party needs."""
    return hotel.price * ceil(people / hotel.maximum_occupancy)


def cost(case: Case) -> Cost:
    """Price every ride, meal and night of a plan."""
    people, rules = case.query.people_number, case.rules
    flights = drives = taxis = meals = hotels = 0.0
    unpriced: list[str] = [] if case.plan.fault is None else [case.plan.fault]
    for evidence in case.days:
        day, row = evidence.day, evidence.fare
        unpriced += [f"{name} is missing" for name in rules.stops_without.get("valid_cost", ()) if name in day.missing]
        if isinstance(row, Unproved):
            unpriced.append(row.reason)
        elif row is not None and day.ride is not None and not isinstance(day.ride, Unread):
            mode = priced_as(day.ride) or Mode.CAR
            price = ride_cost(mode, row) or 0
            if isinstance(row, Flight):
                flights += flight_cost(price, people)
            elif mode is Mode.TAXI:
                taxis += taxi_cost(price, people)
            else:
                drives += drive_cost(price, people)
        for _, venue, restaurant in evidence.meals:
            if isinstance(restaurant, Restaurant):
                meals += restaurant.average_cost * people
            elif isinstance(venue, Unread) or not rules.skips_unproved:
                unpriced.append(restaurant.reason)
        if isinstance(evidence.hotel, Hotel):
            hotels += hotel_cost(evidence.hotel, people)
        elif evidence.hotel is not None and (isinstance(day.accommodation, Unread) or not rules.skips_unproved):
            unpriced.append(evidence.hotel.reason)
    return Cost(flights, drives, taxis, meals, hotels, tuple(unpriced))
