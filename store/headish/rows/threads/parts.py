"""Parts of a large tree: what grew from a turn, as far as it is wanted, and how many turns continue each."""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection, Query
from headish.rows.threads.places import WANTED_PLACES, place_portions
from headish.rows.threads.walks import TREE
from headish.values.places import Place

# A recursive statement may name its own table once only: each place is looked at in two ways. Both databases yield the
# rows of a recursion as they are found, a step further from the start each time.
GROWN = Query(
    "places that grew from a place, the nearest first",
    """
    WITH RECURSIVE ways AS (SELECT 0 AS way UNION ALL SELECT 1 AS way),
    grown(chain, pos, next) AS (
      SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT), CAST(:pos AS BIGINT) + 1
      UNION SELECT coalesce(t.chain, l.chain), coalesce(t.pos, 0), coalesce(t.pos, 0) + 1 FROM grown CROSS JOIN ways
      LEFT JOIN turn AS t ON ways.way = 0 AND t.space = :space AND t.chain = grown.chain AND t.pos = grown.next
      LEFT JOIN link AS l ON ways.way = 1 AND l.space = :space AND l.parent_chain = grown.chain
        AND l.parent_pos = grown.pos
      WHERE t.chain IS NOT NULL OR l.chain IS NOT NULL
    )
    SELECT chain, pos FROM grown LIMIT :limit
    """,
)
SIZES = Query(
    "lengths of the chains of a tree",
    f"""
    WITH RECURSIVE {TREE}
    SELECT (SELECT max(t.pos) + 1 FROM turn AS t WHERE t.space = :space AND t.chain = down.chain) FROM down
    LIMIT :limit
    """,
)
# The next place is made before it is compared: under a policy, no index answers a condition that computes.
CONTINUED = Query(
    "how many turns continue each of some places",
    f"""
    WITH wanted AS ({WANTED_PLACES}),
    stepped AS MATERIALIZED (SELECT chain, pos, pos + 1 AS next FROM wanted)
    SELECT w.chain, w.pos, (
      SELECT count(*) FROM link AS l WHERE l.space = :space AND l.parent_chain = w.chain AND l.parent_pos = w.pos
    ) + CASE WHEN t.pos IS NULL THEN 0 ELSE 1 END
    FROM stepped AS w LEFT JOIN turn AS t ON t.space = :space AND t.chain = w.chain AND t.pos = w.next
    """,
)


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


FORKED = Query(
    "whether a chain branches from a position on",
    "SELECT chain FROM link WHERE space = :space AND parent_chain = :chain AND parent_pos >= :pos LIMIT 1",
)


def is_forked(connection: Connection, space: int, place: Place) -> bool:
    """Whether a turn of another chain continues the one at a place, or one behind it in its chain. Cost: a look-up."""
    return connection.row(FORKED, space=space, chain=place.chain, pos=place.pos) is not None
