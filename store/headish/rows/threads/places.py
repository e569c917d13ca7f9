"""Look up many places in one statement: their parents, their children, and everything that grew from them.

Each statement makes a table of places from one parameter, and joins other tables to it by outer joins, which fix the
order. So each place is one look-up on both databases. A list of places in an IN would read the whole space on SQLite,
which uses no index for pairs of values there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import LOOKED_UP
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

AT_ONCE = 1024
"""The number of places or ranges that one statement looks up."""


def _table(*columns: str) -> dict[str, str]:
    """For each database, the SQL that reads the rows of the parameter ``wanted``, which ``as_list`` makes."""
    at = list(enumerate(columns))
    sqlite = ", ".join(f"json_extract(value, '$[{index}]') AS {column}" for index, column in at)
    postgresql = ", ".join(f"CAST(value->>{index} AS bigint) AS {column}" for index, column in at)
    return {
        "sqlite": f"SELECT {sqlite} FROM json_each(:wanted)",
        "postgresql": f"SELECT {postgresql} FROM json_array_elements(CAST(:wanted AS json))",
    }


WANTED_PLACES = _table("chain", "pos")
"""The table for ``portions`` of places."""

WANTED_SEGMENTS = _table("chain", "low", "high")
"""The table for ``portions`` of ranges."""


def on_each(sql: str, table: Mapping[str, str]) -> dict[str, str]:
    """The statement for each database: ``table`` takes the place of ``%s`` in ``sql``.

    Write the table as MATERIALIZED: under a policy, PostgreSQL uses no index for a condition that computes.
    """
    return {database: sql % rows for database, rows in table.items()}


def portions(wanted: Iterable[Place | Segment], size: int = AT_ONCE) -> Iterator[str]:
    """Divide places or ranges, each taken once, into parameters of statements that look up ``size`` of them."""
    listed = list(dict.fromkeys(wanted))
    for start in range(0, len(listed), size):
        yield as_list(listed[start : start + size])


def rows_at(
    connection: Connection, query: Query, space: int, wanted: Iterable[Place | Segment], **given: Any
) -> Iterator[Row]:
    """The rows that a query finds at places or in ranges. Cost: one statement for each ``AT_ONCE`` of them."""
    for portion in portions(wanted):
        yield from connection.rows(query, space=space, wanted=portion, **given)


TREE = """up(chain) AS (
      SELECT CAST(:chain AS BIGINT)
      UNION SELECT l.parent_chain FROM up CROSS JOIN link AS l WHERE l.space = :space AND l.chain = up.chain
    ),
    down(chain) AS (
      SELECT chain FROM up
      UNION SELECT l.chain FROM down CROSS JOIN link AS l WHERE l.space = :space AND l.parent_chain = down.chain
    )"""
"""The chains of a tree: ``up`` to the roots, then ``down`` to everything that grew from them."""

# A turn continues the one before it in its chain; the first turn of a chain continues what its links name, in order.
# Sub-selects look the ids up: for a join PostgreSQL may read the whole space.
PARENTS = Query(
    "ids of what turns continue",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT wanted.chain, wanted.pos, 0,
      (SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = wanted.chain AND t.pos = wanted.pos - 1)
    FROM wanted WHERE wanted.pos > 0
    UNION ALL SELECT l.chain, 0, l.ordinal,
      (SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = l.parent_chain AND t.pos = l.parent_pos)
    FROM wanted LEFT JOIN link AS l ON l.space = :space AND l.chain = wanted.chain WHERE wanted.pos = 0
    """,
        WANTED_PLACES,
    ),
)


def parents_of_turns(
    connection: Connection, space: int, places: Iterable[Place]
) -> dict[Place, tuple[TurnId | None, ...]]:
    """The ids that the turns at these places continue, in order; None for a missing parent. A root has no entry.

    Cost: one statement for each ``AT_ONCE`` places, however many turns each of them continues.
    """
    by_ordinal: dict[Place, dict[int, TurnId | None]] = {}
    for chain, pos, ordinal, turn_id in rows_at(connection, PARENTS, space, places):
        if chain is not None:
            by_ordinal.setdefault(Place(chain, pos), {})[ordinal] = turn_id
    return {place: tuple(parents[each] for each in sorted(parents)) for place, parents in by_ordinal.items()}


# A recursive statement may name its own table only once, so ``ways`` makes it look at each place in two ways: the next
# turn of the chain, and the chains that begin there. Without ORDER BY, both databases give the rows of a recursion as
# they find them, and with each step the rows are one turn further from the start.
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


def grown_from(connection: Connection, space: int, place: Place, limit: int) -> list[Place]:
    """A place and those that grew from it, the nearest first; at most ``limit``.

    Cost: one statement, which looks at the places that it gives, and at all that continue one of them.
    """
    rows = connection.rows(GROWN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [Place(*row) for row in rows]


SIZES = Query(
    "lengths of the chains of a tree",
    f"""
    WITH RECURSIVE {TREE}
    SELECT (SELECT max(t.pos) + 1 FROM turn AS t WHERE t.space = :space AND t.chain = down.chain) FROM down
    LIMIT :limit
    """,
)


def has_at_most(connection: Connection, space: int, place: Place, limit: int) -> bool:
    """Whether the tree that a place belongs to has at most ``limit`` turns.

    Cost: one statement; a step for each chain on the way to the roots, and for at most ``limit`` others.
    """
    # Each chain has a turn, so one chain more than the limit decides.
    sizes = connection.rows(SIZES, space=space, chain=place.chain, limit=limit + 1)
    return sum(int(size or 0) for (size,) in sizes) <= limit


# ``next`` is computed before it is compared: under a policy, PostgreSQL uses no index for a condition that computes.
CONTINUED = Query(
    "how many turns continue each of some places",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s),
    stepped AS MATERIALIZED (SELECT chain, pos, pos + 1 AS next FROM wanted)
    SELECT w.chain, w.pos, (
      SELECT count(*) FROM link AS l WHERE l.space = :space AND l.parent_chain = w.chain AND l.parent_pos = w.pos
    ) + CASE WHEN t.pos IS NULL THEN 0 ELSE 1 END
    FROM stepped AS w LEFT JOIN turn AS t ON t.space = :space AND t.chain = w.chain AND t.pos = w.next
    """,
        WANTED_PLACES,
    ),
)


def count_continuing(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, int]:
    """The number of turns that continue each place. Cost: one statement for each ``AT_ONCE`` places."""
    rows = rows_at(connection, CONTINUED, space, places)
    return {Place(chain, pos): int(count) for chain, pos, count in rows}


LAST_OF_CHAINS = Query(
    "last positions of chains",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT wanted.chain,
      (SELECT max(t.pos) FROM turn AS t WHERE t.space = :space AND t.chain = wanted.chain) FROM wanted
    """,
        WANTED_PLACES,
    ),
)


def last_of_chains(connection: Connection, space: int, chains: Iterable[int]) -> list[Place]:
    """The last place of each chain, by chain; position -1 if it has no turn. Cost: a statement for each ``AT_ONCE``."""
    rows = rows_at(connection, LAST_OF_CHAINS, space, (Place(chain, 0) for chain in chains))
    return sorted(Place(chain, -1 if pos is None else int(pos)) for chain, pos in rows)


FORKED = Query(
    "whether a chain branches from a position on",
    "SELECT chain FROM link WHERE space = :space AND parent_chain = :chain AND parent_pos >= :pos LIMIT 1",
)


def is_forked(connection: Connection, space: int, place: Place) -> bool:
    """Whether another chain continues the turn at a place, or a later one of its chain. Cost: one look-up."""
    return connection.row(FORKED, space=space, chain=place.chain, pos=place.pos) is not None


LISTED = {
    "sqlite": "SELECT value FROM json_each(:%s)",
    "postgresql": "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:%s AS json))",
}
"""For each database, the SQL that reads the numbers of a parameter that ``as_list`` makes; ``%s`` is its name."""


class End(msgspec.Struct, frozen=True, gc=False):
    """A place with the id of a head, or with the name of a bookmark that points there. The other one is None."""

    chain: int
    pos: int
    id: TurnId | None
    name: bytes | None


_GROWN_CHAINS = """
    WITH RECURSIVE seeds(chain, pos) AS (%s),
    grown(from_chain, from_pos, chain, low) AS (
      SELECT chain, pos, chain, pos FROM seeds
      UNION SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown CROSS JOIN link AS l
      WHERE l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low
    )
    SELECT from_chain, from_pos, chain, low FROM grown LIMIT :limit
"""
GROWN_CHAINS = Query(
    "chains that grew from places",
    sqlite=_GROWN_CHAINS % "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:places)",
    postgresql=_GROWN_CHAINS
    % "SELECT CAST(value->>0 AS bigint), CAST(value->>1 AS bigint) FROM json_array_elements(CAST(:places AS json))",
)


def grown_chains(
    connection: Connection, space: int, places: Sequence[Place], limit: int
) -> list[tuple[Place, int, int]]:
    """The chains that grew from places: ``(place, chain, first position)``; at most ``limit`` from each place."""
    grown: list[tuple[Place, int, int]] = []
    for start in range(0, len(places), LOOKED_UP):
        listed = places[start : start + LOOKED_UP]
        rows = list(connection.rows(GROWN_CHAINS, space=space, limit=limit, places=as_list(listed)))
        if len(rows) == limit and len(listed) > 1:  # one of many forks would leave nothing for the others
            grown += [each for place in listed for each in grown_chains(connection, space, [place], limit)]
        else:
            grown += [(Place(from_chain, from_pos), chain, low) for from_chain, from_pos, chain, low in rows]
    return grown


# The outer join fixes the order: left to itself, SQLite begins with every turn of the space. ``ends`` is materialized
# before it is compared: under a policy, PostgreSQL uses no index for a condition that computes.
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


def ends_of_chains(connection: Connection, space: int, chains: Sequence[int]) -> list[End]:
    """The last turns of these chains that nothing continues, and the bookmarks that point into the chains.

    Cost: one statement, which looks at every bookmark of the space.
    """
    return connection.each(ENDS, End, space=space, chains=as_list(chains))


def as_list(values: Sequence[int | str | Place | Segment]) -> str:
    """Encode any number of values as one parameter: JSON, which both databases can read as a table."""
    return msgspec.json.encode(values).decode()
