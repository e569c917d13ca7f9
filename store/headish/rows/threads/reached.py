"""What grew from many turns: chains, their ends, and the names in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from headish.database.query import Connection, Query
from headish.rows.payloads import LOOKED_UP
from headish.values.ids import TurnId
from headish.values.places import Place

GROWN = Query("chains that grew from places")
ENDS = Query("heads at the ends of chains, and names in them")


class End(NamedTuple):
    """A place of a chain with the id of a head, or the name of a bookmark; the other is null."""

    chain: int
    pos: int
    id: TurnId | None
    name: bytes | None


def grown_chains(
    connection: Connection, space: int, places: Sequence[Place], limit: int
) -> list[tuple[Place, int, int]]:
    """The chains that grew from places, from which position on; ``limit`` for each ``LOOKED_UP`` places."""
    found: list[tuple[Place, int, int]] = []
    for start in range(0, len(places), LOOKED_UP):
        listed = as_list(places[start : start + LOOKED_UP])
        rows = connection.rows(GROWN, space=space, limit=limit, places=listed)
        found += [(Place(from_chain, from_pos), chain, low) for from_chain, from_pos, chain, low in rows]
    return found


def ends_of_chains(connection: Connection, space: int, chains: Sequence[int]) -> list[End]:
    """The ends of those chains that nothing continues, and the bookmarks that name turns of the chains.

    Cost: one statement, which looks at every bookmark of the space.
    """
    return list(map(End._make, connection.rows(ENDS, space=space, chains=as_list(chains))))


def as_list(values: Sequence[int | Place]) -> str:
    """Values as one parameter: JSON, which every database takes apart, however many they are."""
    return msgspec.json.encode(values).decode()
