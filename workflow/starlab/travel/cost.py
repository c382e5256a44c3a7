"""What a plan costs, from the rows that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from .database import Flight, Hotel
from .evidence import Case, Unproved, ride_cost
from .plan import Taxi, Unread

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
    people = case.query.people_number
    flights = drives = taxis = meals = hotels = 0.0
    unpriced: list[str] = []
    for evidence in case.days:
        ride, row = evidence.day.ride, evidence.ride
        if isinstance(row, Unproved):
            unpriced.append(row.reason)
        elif row is not None and ride is not None and not isinstance(ride, Unread):
            price = ride_cost(ride, row) or 0
            if isinstance(row, Flight):
                flights += flight_cost(price, people)
            elif isinstance(ride, Taxi):
                taxis += taxi_cost(price, people)
            else:
                drives += drive_cost(price, people)
        for _, _, restaurant in evidence.meals:
            if isinstance(restaurant, Unproved):
                unpriced.append(restaurant.reason)
            else:
                meals += restaurant.average_cost * people
        if isinstance(evidence.hotel, Unproved):
            unpriced.append(evidence.hotel.reason)
        elif evidence.hotel is not None:
            hotels += hotel_cost(evidence.hotel, people)
    return Cost(flights, drives, taxis, meals, hotels, tuple(unpriced))
