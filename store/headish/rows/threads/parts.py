"""Parts of a large tree: what grew from a turn, as far as it is wanted, and how many turns continue each."""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection, Query
from headish.rows.threads.places import place_portions
from headish.values.places import Place

GROWN = Query("places that grew from a place, the nearest first")
SIZES = Query("lengths of the chains of a tree")
CONTINUED = Query("how many turns continue each of some places")


def grown_from(connection: Connection, space: int, place: Place, limit: int) -> list[Place]:
    """A place and those that grew from it, the nearest first; ``limit`` at the most.

    Cost: one statement, which looks at as many places as it gives, and at all that continue one of them.
    """
    rows = connection.rows(GROWN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [Place(*row) for row in rows]


def has_at_most(connection: Connection, space: int, place: Place, limit: int) -> bool:
    """Whether the tree that a place belongs to has so many turns, or fewer.

    Cost: one statement; a step for each chain on the way to the roots, and for at most ``limit`` others.
    """
    sizes = connection.rows(SIZES, space=space, chain=place.chain, limit=limit + 1)
    return sum(int(size or 0) for (size,) in sizes) <= limit


def count_continuing(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, int]:
    """How many turns continue the turn at each place. Cost: one statement for each ``LOOKED_UP`` places."""
    return {
        Place(chain, pos): int(count)
        for portion in place_portions(places)
        for chain, pos, count in connection.rows(CONTINUED, space=space, **portion)
    }


FORKED = Query("whether a chain branches from a position on")


def is_forked(connection: Connection, space: int, place: Place) -> bool:
    """Whether a turn of another chain continues the one at a place, or one behind it in its chain. Cost: a look-up."""
    return connection.row(FORKED, space=space, chain=place.chain, pos=place.pos) is not None
