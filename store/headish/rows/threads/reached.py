"""What grew from many turns: chains, their ends, and the names in them."""

from __future__ import annotations

from collections.abc import Sequence

from headish.database.query import Connection, Query
from headish.rows.payloads import in_portions
from headish.rows.threads.places import place_portions
from headish.values.ids import TurnId
from headish.values.places import Place

GROWN = Query("chains that grew from places")
HEADS = Query("heads at the ends of chains")
NAMES = Query("names in chains")


def grown_chains(
    connection: Connection, space: int, places: Sequence[Place], limit: int
) -> list[tuple[Place, int, int]]:
    """The chains that grew from places, from which position on; ``limit`` for each ``LOOKED_UP`` places."""
    found: list[tuple[Place, int, int]] = []
    for portion in place_portions(places):
        rows = connection.rows(GROWN, space=space, limit=limit, **portion)
        found += [(Place(from_chain, from_pos), chain, low) for from_chain, from_pos, chain, low in rows]
    return found


def heads_of_chains(connection: Connection, space: int, chains: Sequence[int]) -> set[tuple[int, int, TurnId]]:
    """The ends of those chains that nothing continues: ``(chain, pos, id)``."""
    rows = (row for portion in in_portions(chains) for row in connection.rows(HEADS, space=space, **portion))
    return {(chain, pos, id) for chain, pos, id in rows if id is not None}


def names_of_chains(connection: Connection, space: int, chains: Sequence[int]) -> set[tuple[bytes, int, int]]:
    """The bookmarks that name turns of the chains: ``(name, chain, pos)``."""
    rows = (row for portion in in_portions(chains) for row in connection.rows(NAMES, space=space, **portion))
    return {(name, chain, pos) for name, chain, pos in rows}
