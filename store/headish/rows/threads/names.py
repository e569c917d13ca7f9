"""Find the names that point into a tree or into ranges of chains, without reading the other names of the space.

A name that moved with its turn is found by the turn (``turn.head``), and one that was set onto a turn by the sparse
index ``bookmark_place``. The hint ``INDEXED BY`` makes SQLite use that index.
"""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, look_up
from headish.rows.threads.places import TREE, WANTED_SEGMENTS, on_each, rows_at
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

NAMES_OF_TREE = Query(
    "names at the turns of a tree",
    f"""
    WITH RECURSIVE {TREE}
    SELECT b.name, b.chain, b.pos FROM bookmark AS b INDEXED BY bookmark_place
    WHERE b.space = :space AND b.own = 0 AND b.chain IN (SELECT down.chain FROM down)
    UNION ALL SELECT b.name, b.chain, b.pos
    FROM (
      SELECT DISTINCT t.head FROM turn AS t
      WHERE t.space = :space AND t.chain IN (SELECT down.chain FROM down) AND t.head IS NOT NULL
    ) AS heads
    LEFT JOIN bookmark AS b ON b.space = :space AND b.name = heads.head AND b.own = 1
    """,
)


def names_of_tree(connection: Connection, space: int, place: Place) -> dict[Place, list[bytes]]:
    """The names at each turn of the tree that a place belongs to, in order. Cost: one statement."""
    return _by_place(connection.rows(NAMES_OF_TREE, space=space, chain=place.chain))


NAMES_OF_SEGMENTS = Query(
    "names at the turns of ranges of chains",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT b.name, b.chain, b.pos FROM wanted
    LEFT JOIN bookmark AS b INDEXED BY bookmark_place ON b.space = :space AND b.own = 0 AND b.chain = wanted.chain
      AND b.pos >= wanted.low AND b.pos <= wanted.high
    UNION ALL SELECT b.name, b.chain, b.pos
    FROM (
      SELECT DISTINCT t.head FROM wanted
      LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos >= wanted.low
        AND t.pos <= wanted.high
    ) AS heads
    LEFT JOIN bookmark AS b ON b.space = :space AND b.name = heads.head AND b.own = 1
    """,
        WANTED_SEGMENTS,
    ),
)


def names_of_segments(connection: Connection, space: int, segments: Iterable[Segment]) -> dict[Place, list[bytes]]:
    """The names at each turn of these ranges, in order. Places outside of the ranges may be among the keys: a name that
    moved on from a turn of a range is found, too.

    Cost: one statement for each ``AT_ONCE`` ranges.
    """
    return _by_place(rows_at(connection, NAMES_OF_SEGMENTS, space, segments))


PLACES_OF = Query(
    "places of turns by their ids", f"SELECT id, chain, pos FROM turn WHERE space = :space AND id IN ({WANTED})"
)


def names_of_turns(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, list[bytes]]:
    """The names at turns, in order. A turn without a name has no entry.

    Cost: two statements for each ``LOOKED_UP`` ids.
    """
    rows = look_up(connection, PLACES_OF, space, ids)
    places = {Place(chain, pos): turn_id for turn_id, chain, pos in rows}
    names = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    return {turn_id: names[place] for place, turn_id in places.items() if place in names}


def _by_place(rows: Iterable[Row]) -> dict[Place, list[bytes]]:
    names: dict[Place, list[bytes]] = {}
    # The outer joins give rows of None, and one row for each turn of a range that has the name.
    for name, place in sorted({(name, Place(chain, pos)) for name, chain, pos in rows if name is not None}):
        names.setdefault(place, []).append(name)
    return names
