"""Conversations without a name: for each beginning, a summary of everything that grew from it."""

from __future__ import annotations

from collections.abc import Sequence

from headish.database.query import Connection, Query
from headish.rows.threads.entries import SAID, Listed, payload_of, two_words, words_of
from headish.rows.threads.places import WANTED_PLACES, as_list, on_each
from headish.values.places import Place

NAMELESS = Query(
    "conversations without a name, the newest first",
    **on_each(
        f"""
    WITH RECURSIVE spoken(chain, pos) AS MATERIALIZED (%s),
    -- What leads to a chain, for as long as it is system turns. A parent's chain has a lower number.
    back(start, chain, pos, role) AS (
      SELECT s.chain, l.parent_chain, l.parent_pos, o.role FROM spoken AS s
      CROSS JOIN link AS l CROSS JOIN turn AS o
      WHERE l.space = :space AND l.chain = s.chain AND l.ordinal = 0 AND l.parent_chain < s.chain
        AND o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos
      UNION ALL SELECT back.start, l.parent_chain, l.parent_pos, o.role FROM back
      CROSS JOIN link AS l CROSS JOIN turn AS o
      WHERE l.space = :space AND l.chain = back.chain AND l.ordinal = 0 AND l.parent_chain < back.chain
        AND o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos
        AND (back.role = 'system' OR back.role = 'developer')
    ),
    goes_on(start) AS (
      SELECT DISTINCT back.start FROM back WHERE EXISTS (
        SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = back.chain AND o.pos <= back.pos AND {SAID}
      )
    ),
    firsts(chain, pos, id, supersedes) AS (
      SELECT s.chain, s.pos, f.id, f.supersedes FROM spoken AS s LEFT JOIN goes_on ON goes_on.start = s.chain
      LEFT JOIN turn AS f ON f.space = :space AND f.chain = s.chain AND f.pos = s.pos
      WHERE goes_on.start IS NULL
    ),
    -- A first turn that supersedes the first turn of a conversation is a version of it: what leads to the older one.
    traced(chain, pos, id, older_chain, older_pos) AS (
      SELECT firsts.chain, firsts.pos, firsts.id, o.chain, o.pos FROM firsts
      LEFT JOIN turn AS o ON o.space = :space AND o.id = firsts.supersedes AND {SAID}
    ),
    before(start, chain, pos) AS (
      SELECT traced.chain, older_chain, older_pos - 1 FROM traced WHERE older_chain IS NOT NULL
      UNION ALL SELECT before.start, l.parent_chain, l.parent_pos FROM before CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = before.chain AND l.ordinal = 0 AND l.parent_chain < before.chain
    ),
    inside(start) AS (
      SELECT DISTINCT before.start FROM before WHERE EXISTS (
        SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = before.chain AND o.pos <= before.pos AND {SAID}
      )
    ),
    begins(chain, pos, id) AS (
      SELECT traced.chain, traced.pos, traced.id FROM traced LEFT JOIN inside ON inside.start = traced.chain
      WHERE older_chain IS NULL OR inside.start IS NOT NULL
    ),
    -- A recursive statement may name its own table once only: each range is looked at in two ways.
    ways AS (SELECT 0 AS way UNION ALL SELECT 1 AS way),
    grown(start, chain, low, id) AS (
      SELECT chain, chain, pos, id FROM begins
      UNION SELECT grown.start, coalesce(l.chain, v.chain), coalesce(v.pos, 0), v.id FROM grown CROSS JOIN ways
      LEFT JOIN link AS l ON ways.way = 0 AND l.space = :space AND l.parent_chain = grown.chain
        AND l.parent_pos >= grown.low
      LEFT JOIN turn AS v ON ways.way = 1 AND v.space = :space AND v.supersedes = grown.id
      WHERE l.chain IS NOT NULL OR v.chain IS NOT NULL
    ),
    -- First the names of these chains alone, for there may be many others.
    placed(chain, pos) AS MATERIALIZED (
      SELECT b.chain, b.pos FROM bookmark AS b WHERE b.space = :space AND b.chain IN (SELECT grown.chain FROM grown)
    ),
    named(start) AS (
      SELECT DISTINCT grown.start FROM placed
      CROSS JOIN grown WHERE grown.chain = placed.chain AND grown.low <= placed.pos
    ),
    page(chain, pos) AS (
      SELECT begins.chain, begins.pos FROM begins LEFT JOIN named ON named.start = begins.chain
      WHERE named.start IS NULL ORDER BY begins.chain DESC LIMIT :limit
    ),
    ends(start, begun, chain, low, pos) AS MATERIALIZED (
      SELECT page.chain, page.pos, grown.chain, min(grown.low), (
        SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = grown.chain
      )
      FROM page CROSS JOIN grown WHERE grown.start = page.chain GROUP BY page.chain, page.pos, grown.chain
    ),
    sums(start, begun, newest, turns, branches) AS (
      SELECT ends.start, ends.begun, max(ends.chain), sum(ends.pos - ends.low + 1), sum(CASE WHEN EXISTS (
        SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos
      ) THEN 0 ELSE 1 END)
      FROM ends GROUP BY ends.start, ends.begun
    ),
    tips AS MATERIALIZED (
      SELECT sums.start, sums.begun, sums.newest, sums.turns, sums.branches, (
        SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = sums.newest
      ) AS pos, (
        SELECT o.pos FROM turn AS o
        WHERE o.space = :space AND o.chain = sums.start AND o.pos >= sums.begun AND o.role = 'user'
        ORDER BY o.pos LIMIT 1
      ) AS spoke
      FROM sums
    )
    -- Outer joins fix the order: left to itself, SQLite reads every turn.
    SELECT tips.start, s.id, tips.branches, tips.turns, {words_of("t", "tp")}, {words_of("f", "fp")}
    FROM tips LEFT JOIN turn AS s ON s.space = :space AND s.chain = tips.start AND s.pos = tips.begun
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = tips.newest AND t.pos = tips.pos
    {payload_of("t", "tp")}
    LEFT JOIN turn AS f ON f.space = :space AND f.chain = tips.start AND f.pos = tips.spoke
    {payload_of("f", "fp")}
    ORDER BY tips.start DESC
    """,
        WANTED_PLACES,
    ),
)


def list_nameless(connection: Connection, space: int, beginnings: Sequence[Place], limit: int) -> list[Listed]:
    """The conversations without a name that begin at one of these places, the newest first; at most ``limit``.

    Cost: one statement, which looks at every chain that grew from one of the places.
    """
    rows = connection.rows(NAMELESS, space=space, wanted=as_list(beginnings), limit=limit)
    return [
        Listed(*two_words(row[4:]), chain=row[0], start=row[1], branches=int(row[2]), turns=int(row[3])) for row in rows
    ]
