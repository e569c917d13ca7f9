"""What grew from many turns: chains, their ends, and the names in them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BindParameter, bindparam, select, text

from headish.database.query import Connection, Query
from headish.database.schema import bookmark
from headish.rows.payloads import LOOKED_UP, PORTION, in_portions
from headish.rows.places import place_portions
from headish.values.ids import TurnId
from headish.values.places import Place

_space: BindParameter[int] = bindparam("space")
_places = " UNION ALL ".join(
    f"SELECT CAST(:chain{index} AS BIGINT) AS chain, CAST(:pos{index} AS BIGINT) AS pos" for index in range(LOOKED_UP)
)
_chains = " UNION ALL ".join(f"SELECT CAST(:{each} AS BIGINT) AS chain" for each in PORTION)

GROWN = Query(
    "chains that grew from places",
    text(
        f"WITH RECURSIVE seeds(chain, pos) AS ({_places}), "
        "grown(from_chain, from_pos, chain, low) AS (SELECT chain, pos, chain, pos FROM seeds UNION "
        "SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown JOIN link AS l "
        "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) "
        "SELECT from_chain, from_pos, chain, low FROM grown LIMIT :limit"
    ),
)
HEADS = Query(
    "heads at the ends of chains",
    text(
        f"WITH wanted(chain) AS ({_chains}), "
        "ends(chain, pos) AS (SELECT w.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space "
        "AND o.chain = w.chain) FROM wanted AS w) "
        # The outer join fixes the order: left to itself, SQLite begins with every turn of the space.
        "SELECT ends.chain, ends.pos, t.id FROM ends LEFT JOIN turn AS t ON t.space = :space AND t.chain = ends.chain "
        "AND t.pos = ends.pos WHERE NOT EXISTS (SELECT 1 FROM link AS l WHERE l.space = :space "
        "AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos)"
    ),
)
NAMES = Query(
    "names in chains",
    select(bookmark.c.name, bookmark.c.chain, bookmark.c.pos).where(
        bookmark.c.space == _space, bookmark.c.chain.in_([bindparam(each) for each in PORTION])
    ),
)


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
