"""Hand-made databases of a few rows, for numbers that can be checked by hand."""

from starlab.travel.database import Attraction, Database, Flight, Hotel, Leg, Restaurant

DATES = ("2022-03-01", "2022-03-02", "2022-03-03")


def hotel(price=100.0, occupancy=2, room="Private room", rules="No pets", name="Inn"):
    return Hotel(name, room, price, 1.0, 3.0, rules, occupancy, "Bee")


def restaurant(price=10, cuisines=("Indian",), name="Fork"):
    return Restaurant(name, "Bee", cuisines, price, 4.0)


def flights(prices, origin="Ay", destination="Bee", date=DATES[0]):
    return [
        Flight(
            f"F{date[-1]}{index}",
            price,
            "08:00",
            "09:00",
            "1 hours 0 minutes",
            date,
            origin,
            destination,
            1.0,
        )
        for index, price in enumerate(prices)
    ]


HOTELS = (hotel(100.0, name="Inn"), hotel(200.0, name="Lodge"))
RESTAURANTS = (restaurant(10, name="Fork"), restaurant(30, name="Oven"))


def database(
    hotels=HOTELS,
    restaurants=RESTAURANTS,
    out=(50, 70, 90),
    back=(40, 60, 80),
    kilometres=400,
):
    """Ay in Aland, Bee (with Cee and Dee) in Beeland; a road both ways unless `kilometres` is None."""
    cities = (("Ay", "Bee"), ("Bee", "Ay")) if kilometres is not None else ()
    return Database(
        name="tiny",
        states={"Aland": ("Ay",), "Beeland": ("Bee", "Cee", "Dee")},
        flights=(*flights(out), *flights(back, "Bee", "Ay", DATES[-1])),
        hotels=tuple(hotels),
        restaurants=tuple(restaurants),
        attractions=(Attraction("Zoo", "Bee", "", "", "", "", ""),),
        legs=tuple(Leg(one, other, "4 hours", f"{kilometres:,} km") for one, other in cities),
    )
