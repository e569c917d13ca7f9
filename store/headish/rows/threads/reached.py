"""What grew from many turns: chains, their ends, and the names in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from headish.database.query import Connection, Query
from headish.rows.payloads import LOOKED_UP
from headish.values.ids import TurnId
from headish.values.places import Place

_GROWN = """
    WITH RECURSIVE seeds(chain, pos) AS (%s),
    grown(from_chain, from_pos, chain, low) AS (
      SELECT chain, pos, chain, pos FROM seeds
      UNION SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown
      JOIN link AS l ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low
    )
    SELECT from_chain, from_pos, chain, low FROM grown LIMIT :limit
"""
GROWN = Query(
    "chains that grew from places",
    sqlite=_GROWN % "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:places)",
    postgresql=_GROWN
    % "SELECT CAST(value->>0 AS bigint), CAST(value->>1 AS bigint) FROM json_array_elements(CAST(:places AS json))",
)
LISTED = {
    "sqlite": "SELECT value FROM json_each(:%s)",
    "postgresql": "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:%s AS json))",
}
"""The numbers of a parameter that ``as_list`` made."""
# The outer join fixes the order: left to itself, SQLite begins with every turn of the space. What is compared is made
# before: under a policy, no index answers a condition that computes.
_ENDS = """
    WITH wanted(chain) AS MATERIALIZED (%s),
    ends(chain, pos) AS MATERIALIZED (
      SELECT w.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = w.chain) FROM wanted AS w
    )
    SELECT ends.chain, ends.pos, t.id, NULL AS name FROM ends
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = ends.chain AND t.pos = ends.pos
    WHERE NOT EXISTS (
      SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos
    )
    UNION ALL SELECT b.chain, b.pos, NULL, b.name FROM bookmark AS b
    WHERE b.space = :space AND b.chain IN (SELECT chain FROM wanted)
"""
ENDS = Query(
    "heads at the ends of chains, and names in them",
    **{database: _ENDS % (each % "chains") for database, each in LISTED.items()},
)


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
