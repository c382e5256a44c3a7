"""Name pools of the miniature world. Every name is one token of the tiny tokenizer, so copying a name is one step.

Names are invented: no real city, hotel or restaurant is meant.
"""

from __future__ import annotations

STATES = (
    "Arvada",
    "Belmora",
    "Cortania",
    "Delmark",
    "Estavia",
    "Fernland",
    "Galdora",
    "Hollis",
    "Ivoria",
    "Junara",
)

_CITY_STEMS = ("Ald", "Bram", "Cres", "Dun", "Elm", "Fair", "Glen", "Hart", "Iron", "Kings", "Lark", "Mill")
_CITY_ENDINGS = ("ford", "ton", "bury", "wick", "haven")
CITIES = tuple(stem + ending for stem in _CITY_STEMS for ending in _CITY_ENDINGS)

_HOTEL_FIRST = ("Amber", "Blue", "Cedar", "Dawn", "Echo", "Forest", "Garden", "Harbor")
_HOTEL_SECOND = ("Inn", "Lodge", "Suites", "Loft", "House", "Rooms")
HOTELS = tuple(f"{first} {second}" for first in _HOTEL_FIRST for second in _HOTEL_SECOND)

_RESTAURANT_FIRST = ("Golden", "Silver", "Red", "Green", "Happy", "Lucky", "Old", "Royal", "Spicy", "Sunny")
_RESTAURANT_SECOND = ("Fork", "Spoon", "Table", "Oven", "Grill", "Kitchen")
RESTAURANTS = tuple(f"{first} {second}" for first in _RESTAURANT_FIRST for second in _RESTAURANT_SECOND)

_ATTRACTION_FIRST = ("City", "Grand", "Hidden", "Lake", "North", "Stone")
_ATTRACTION_SECOND = ("Museum", "Park", "Tower", "Zoo", "Gallery")
ATTRACTIONS = tuple(f"{first} {second}" for first in _ATTRACTION_FIRST for second in _ATTRACTION_SECOND)

FLIGHTS = tuple(f"F{number:03d}" for number in range(100, 196))

DATES = tuple(f"2022-03-{day:02d}" for day in range(1, 19))

CUISINES = (
    "American", "BBQ", "Chinese", "Fast Food", "French", "Indian", "Italian", "Mediterranean", "Mexican",
)  # fmt: skip
"""Medium queries draw from all but "Fast Food", hard ones from all (the paper's eight and nine)."""
