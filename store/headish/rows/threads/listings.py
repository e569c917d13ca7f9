"""Lists of turns in commit order and by place, children, heads, and the counts of a space."""

from __future__ import annotations

from typing import NamedTuple

from headish.database.query import Connection, Query
from headish.rows.bookmarks import ALL
from headish.rows.payloads import LEFT_JOIN_PAYLOAD
from headish.rows.turns import COLUMNS, T_COLUMNS, StoredTurn, read_turns
from headish.values.places import Place

CHAINS_READ = 500
"""The largest number of chains whose ends one statement reads."""
LINKS_BETWEEN = Query(
    "links of a range of chains",
    """
    SELECT l.chain, l.ordinal, l.parent_chain, l.parent_pos, t.id, t.digest, t.seq FROM link AS l
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = l.parent_chain AND t.pos = l.parent_pos
    WHERE l.space = :space AND l.chain BETWEEN :low AND :high ORDER BY l.chain, l.ordinal
    """,
)
ORPHANS = Query(
    "turns without a payload",
    """
    SELECT t.id FROM turn AS t
    WHERE t.space = :space AND t.data IS NULL AND t.erased IS NULL
      AND NOT EXISTS (SELECT 1 FROM payload AS p WHERE p.space = :space AND p.hash = t.hash)
    ORDER BY t.id
    """,
)
UNRECEIPTED = Query(
    "erased turns without a receipt",
    """
    SELECT t.id FROM turn AS t
    WHERE t.space = :space AND t.erased IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM erasure AS e WHERE e.space = :space AND e.number = t.erased)
    ORDER BY t.id
    """,
)
LINKS_OF_NOTHING = Query(
    "links of chains without a first turn",
    """
    SELECT l.chain, l.ordinal FROM link AS l
    WHERE l.space = :space
      AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.space = :space AND t.chain = l.chain AND t.pos = 0)
    ORDER BY l.chain, l.ordinal
    """,
)
AFTER = Query(
    "turns after a commit number",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND seq > :seq ORDER BY seq LIMIT :limit",
)


def turns_after(connection: Connection, space: int, seq: int, limit: int) -> list[StoredTurn]:
    """The turns after a commit number, in commit order; at most ``limit``."""
    return read_turns(connection.rows(AFTER, space=space, seq=seq, limit=limit))


# The next turn of the same chain, and the first turn of each chain that begins here. The number of a chain is the
# commit number of its first turn, so the links alone give the order, and a page reads no more of them than it needs.
# The outer join fixes the order: left to itself, SQLite begins with every turn of the space.
CHILDREN = Query(
    "turns that continue a place",
    f"""
    WITH continuing AS (
      SELECT CAST(:chain AS BIGINT) AS chain, CAST(:pos AS BIGINT) + 1 AS pos
      UNION ALL SELECT begun.chain, 0 FROM (
        SELECT l.chain FROM link AS l
        WHERE l.space = :space AND l.parent_chain = :chain AND l.parent_pos = :pos AND l.chain > :seq
        ORDER BY l.chain LIMIT :limit
      ) AS begun
    )
    SELECT {T_COLUMNS} FROM continuing
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = continuing.chain AND t.pos = continuing.pos
    """,
)


def children(connection: Connection, space: int, place: Place, *, after: int = 0, limit: int = ALL) -> list[StoredTurn]:
    """The turns that continue the one at a place, in commit order, after a commit number; at most ``limit``.

    Cost: one statement. PostgreSQL looks at one index entry for each chain that begins there.
    """
    rows = connection.rows(CHILDREN, space=space, chain=place.chain, pos=place.pos, seq=after, limit=limit)
    turns = (turn for turn in read_turns(row for row in rows if row[0] is not None) if turn.seq > after)
    return sorted(turns, key=lambda turn: turn.seq)[:limit]


# The recursion skips from chain to chain along the primary key, the highest first, and stops at the limit: it reads no
# other turn of the space.
ENDS = Query(
    "last turns of chains, the youngest chain first",
    f"""
    WITH RECURSIVE below(chain, number) AS (
      SELECT max(t.chain), 1 FROM turn AS t WHERE t.space = :space AND t.chain < :before
      UNION ALL SELECT (
        SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < below.chain
      ), below.number + 1
      FROM below WHERE below.chain IS NOT NULL AND below.number < :limit
    ),
    ends AS MATERIALIZED (
      SELECT below.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = below.chain) AS pos
      FROM below
    )
    SELECT (
      SELECT l.chain FROM link AS l
      WHERE l.space = :space AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos LIMIT 1
    ), {T_COLUMNS}
    FROM ends LEFT JOIN turn AS t ON t.space = :space AND t.chain = ends.chain AND t.pos = ends.pos
    """,
)


def heads(
    connection: Connection, space: int, *, before: int = ALL, limit: int = ALL, erased: bool = True
) -> list[StoredTurn]:
    """The turns that nothing continues, in chains below ``before``, the youngest chain first; at most ``limit``.
    Without ``erased``, erased turns are left out.

    Cost: one statement for each ``CHAINS_READ`` turns. More if other chains continue the ends of chains, which then are
    not heads.
    """
    turns: list[StoredTurn] = []
    while len(turns) < limit:
        size = min(limit - len(turns), CHAINS_READ)
        rows = [row for row in connection.rows(ENDS, space=space, before=before, limit=size) if row[1] is not None]
        ends = sorted(read_turns(row[1:] for row in rows), key=lambda turn: -turn.chain)
        continued = {row[1] for row in rows if row[0] is not None}
        turns += [turn for turn in ends if turn.chain not in continued and (erased or turn.erased is None)]
        if len(ends) < size:
            break
        before = ends[-1].chain
    return turns


# The recursion skips from chain to chain along the primary key instead of reading every turn. The ends are materialized
# before the join: under a policy, PostgreSQL uses no index for a condition with a sub-select.
_CHAINS = """
    WITH RECURSIVE chains(chain) AS (
      SELECT min(t.chain) FROM turn AS t WHERE t.space = :space
      UNION ALL SELECT (SELECT min(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain > chains.chain)
      FROM chains WHERE chains.chain IS NOT NULL
    )"""

_HEADS = f"""{_CHAINS},
    ends AS MATERIALIZED (
      SELECT chains.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = chains.chain) AS pos
      FROM chains
    )
    SELECT %s FROM ends CROSS JOIN turn AS t
    WHERE t.space = :space AND t.chain = ends.chain AND t.pos = ends.pos AND NOT EXISTS (
      SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = t.chain AND l.parent_pos = t.pos
    )"""
HEADS_BY_TIP = Query(
    "turns that nothing continues, the last stored first",
    f"""
    {_HEADS % T_COLUMNS} AND t.seq < :before AND (:erased = 1 OR t.erased IS NULL) ORDER BY t.seq DESC LIMIT :limit
    """,
)


def heads_by_tip(
    connection: Connection, space: int, *, before: int = ALL, limit: int = ALL, erased: bool = True
) -> list[StoredTurn]:
    """The turns that nothing continues and whose commit numbers are below ``before``, the last stored first; ``limit``
    at the most. ``erased`` is that of ``heads``.

    Cost: one statement, with a few index look-ups for each chain of the space.
    """
    return read_turns(connection.rows(HEADS_BY_TIP, space=space, before=before, limit=limit, erased=int(erased)))


# A row value seeks along the primary key on both databases. The same condition written with OR and AND would read from
# the start, and on SQLite so would a row value with a cast, which cannot use the index.
PAGE = Query(
    "turns by place, a page, with the bytes in their rows",
    f"""
    SELECT {COLUMNS}, data FROM turn WHERE space = :space AND (chain, pos) > (:chain, :pos) ORDER BY chain, pos
    LIMIT :limit
    """,
)


def turns_page(connection: Connection, space: int, after: Place, limit: int) -> list[tuple[StoredTurn, bytes | None]]:
    """The turns after a place, by place, each with its payload if its row has it; at most ``limit``."""
    rows = connection.rows(PAGE, space=space, chain=after.chain, pos=after.pos, limit=limit)
    return [(StoredTurn(*row[:-1]), row[-1]) for row in rows]


class SpaceTotals(NamedTuple):
    """The totals of a space, counted from its rows."""

    turns: int
    roots: int
    heads: int
    given_bytes: int


COUNT_TURNS = Query("count turns", "SELECT count(*) FROM turn WHERE space = :space")
COUNT_HEADS = Query("count turns that nothing continues", _HEADS % "count(*)")
SUM_PAYLOADS = Query(
    "bytes of the payloads of all turns",
    f"""
    SELECT coalesce(sum(coalesce(length(t.data), p.size, 0)), 0) FROM turn AS t {LEFT_JOIN_PAYLOAD}
    WHERE t.space = :space
    """,
)
COUNT_ROOTS = Query(
    "count turns that continue nothing",
    f"""{_CHAINS}
    SELECT count(*) FROM chains WHERE chains.chain IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM link AS l WHERE l.space = :space AND l.chain = chains.chain)
    """,
)


def count_again(connection: Connection, space: int) -> SpaceTotals:
    """Count the totals that the counter keeps from the rows. Cost: four statements that read the whole space."""
    counts = (connection.row(query, space=space) for query in (COUNT_TURNS, COUNT_ROOTS, COUNT_HEADS, SUM_PAYLOADS))
    return SpaceTotals(*(0 if row is None else int(row[0]) for row in counts))
