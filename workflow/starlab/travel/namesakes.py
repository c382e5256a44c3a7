"""Rows that share a name in one city, such as the branches of a restaurant.

A plan names a venue, not a row, so nobody can tell which of them is meant. The plan is still honest, and it must not
gain by the ambiguity: what counts is the least favourable value of each column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from .database import Attraction, Flight, Hotel, Restaurant

T = TypeVar("T", Hotel, Restaurant, Attraction)
F = TypeVar("F", Hotel, Restaurant, Attraction, Flight)


def least_favourable(rows: Sequence[F]) -> F:
    """One row with the values of `rows` that serve a plan least: the highest price and minimum, only the cuisines that
    all of them serve, the house rules of all, and a room type that is none where they differ."""
    first = rows[0]
    match first:
        case Hotel():
            return replace(
                first,
                room_type=" or ".join(dict.fromkeys(row.room_type for row in rows)),
                price=max(row.price for row in rows),
                minimum_nights=max(row.minimum_nights for row in rows),
                review=min(row.review for row in rows),
                house_rules=" & ".join(dict.fromkeys(row.house_rules for row in rows if row.house_rules)),
                maximum_occupancy=min(row.maximum_occupancy for row in rows),
            )
        case Restaurant():
            shared = [cuisine for cuisine in first.cuisines if all(cuisine in row.cuisines for row in rows)]
            return replace(
                first,
                cuisines=tuple(shared),
                average_cost=max(row.average_cost for row in rows),
                rating=min(row.rating for row in rows),
            )
        case Flight():
            return replace(first, price=max(row.price for row in rows))
        case Attraction():
            return first


def distinct(rows: Iterable[T]) -> list[T]:
    """One row a name, in the order in which names first appear."""
    named: dict[str, list[T]] = {}
    for row in rows:
        named.setdefault(row.name, []).append(row)
    return [group[0] if len(group) == 1 else least_favourable(group) for group in named.values()]
