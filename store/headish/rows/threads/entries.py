"""Lists of conversations: each list is one statement, whatever the size of the space (rule R33, conversations).

A name is found in the order in which names moved. Conversations without a name are found by the chain in which each
begins, the newest first: the statement looks at the next ``window`` chains, leaves out those that go on with what was
said before, those in which a name lies, and other versions of a first turn, and gives the rest. Of each it reads the
first words and the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, in_portions
from headish.values.ids import TurnId
from headish.values.limits import PREVIEW_BYTES
from headish.values.turns import OVERLAY

NEWEST = 2**63 - 1

CUT_BYTES = 2048
"""So much is read of a payload that is larger than ``PREVIEW_BYTES``."""


class ListedTurn(msgspec.Struct, frozen=True, gc=False):
    """A turn as a list shows it: of a large payload only the beginning, and then ``cut`` is 1. ``overlay`` are the
    attributes of an overlay, which say what it does."""

    id: str | None
    role: str | None
    type: str | None
    system: bytes | None
    payload: bytes | None
    cut: int | None
    erased: int | None
    overlay: bytes | None


class Listed(msgspec.Struct, frozen=True, gc=False):
    """A conversation of a list: what was said last and first, and what its order is by.

    ``name`` and ``recent``, in Unix milliseconds, are of those that have a name; ``chain``, ``first`` and ``branches``
    of the others. ``turns`` are those of the thread of a name, along first parents, or all of a conversation without
    one.
    """

    last: ListedTurn
    first: ListedTurn
    name: bytes | None = None
    recent: int = 0
    chain: int = 0
    start: str | None = None
    branches: int | None = None
    turns: int = 0


def _words(turn: str, payload: str) -> str:
    size = f"{turn}.data IS NULL AND {payload}.size > {PREVIEW_BYTES}"
    return f"""
      {turn}.id, {turn}.role, {turn}.type, {turn}.system,
      CASE WHEN {size} THEN substr({payload}.data, 1, {CUT_BYTES}) ELSE coalesce({turn}.data, {payload}.data) END,
      CASE WHEN {size} THEN 1 ELSE 0 END, {turn}.erased,
      CASE WHEN {turn}.type = '{OVERLAY}' THEN {turn}.attributes END"""


def _payload(turn: str, payload: str) -> str:
    """The large payload of a turn, if it has one."""
    return f"""LEFT JOIN payload AS {payload} ON {payload}.space = :space AND {payload}.hash = {turn}.hash
      AND {turn}.data IS NULL AND {turn}.erased IS NULL"""


NAMED = Query(
    "conversations with a name, the last moved first",
    f"""
    WITH RECURSIVE page(name, chain, pos, recent) AS (
      SELECT b.name, b.chain, b.pos, b.recent FROM bookmark AS b
      LEFT JOIN conversation AS c ON c.space = :space AND c.subject = b.name
      WHERE b.space = :space AND b.recent >= 0 AND (b.recent, b.name) < (:recent, :name)
        AND (:archived < 0 OR coalesce(c.archived, 0) = :archived)
        AND (:pinned < 0 OR coalesce(c.pinned, 0) = :pinned)
      ORDER BY b.recent DESC, b.name DESC LIMIT :limit
    ),
    -- Back along first parents: how far into each chain.
    path(name, chain, pos) AS (
      SELECT name, chain, pos FROM page
      UNION ALL SELECT path.name, l.parent_chain, l.parent_pos FROM path
      JOIN link AS l ON l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain
    ),
    -- The lowest chain in which the user spoke; a parent's chain has a lower number. For a semi-join, a server may read
    -- the whole space; a sub-select stops at the first turn.
    begins(name, chain) AS (
      SELECT path.name, min(path.chain) FROM path
      WHERE (
        SELECT 1 FROM turn AS o
        WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos AND o.role = 'user' LIMIT 1
      ) IS NOT NULL
      GROUP BY path.name
    ),
    spoken(name, chain, pos) AS MATERIALIZED (
      SELECT begins.name, begins.chain, (
        SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = begins.chain AND o.role = 'user'
        ORDER BY o.pos LIMIT 1
      )
      FROM begins
    ),
    lengths(name, turns) AS (SELECT path.name, sum(path.pos + 1) FROM path GROUP BY path.name)
    SELECT page.name, page.recent, lengths.turns, {_words("t", "tp")}, {_words("f", "fp")}
    FROM page LEFT JOIN turn AS t ON t.space = :space AND t.chain = page.chain AND t.pos = page.pos
    {_payload("t", "tp")}
    LEFT JOIN lengths ON lengths.name = page.name LEFT JOIN spoken ON spoken.name = page.name
    LEFT JOIN turn AS f ON f.space = :space AND f.chain = spoken.chain AND f.pos = spoken.pos
    {_payload("f", "fp")}
    ORDER BY page.recent DESC, page.name DESC
    """,
)


def list_named(
    connection: Connection,
    space: int,
    *,
    before: tuple[int, bytes],
    archived: bool | None,
    pinned: bool | None,
    limit: int,
) -> list[Listed]:
    """Names whose last move is older than ``before``, or as old and of a lower name; the last moved first."""
    flags = {"archived": _flag(archived), "pinned": _flag(pinned)}
    rows = connection.rows(NAMED, space=space, recent=before[0], name=before[1], limit=limit, **flags)
    return [Listed(*_two_words(row[3:]), name=row[0], recent=row[1], turns=int(row[2] or 0)) for row in rows]


# The next chains below a number, the highest first.
_CHAINS = """
    WITH RECURSIVE chains(chain, n) AS (
      SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before
      UNION ALL SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1
      FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at
    )"""

_SAID = "o.role <> 'system' AND o.role <> 'developer'"
NAMELESS = Query(
    "conversations without a name, the newest first",
    f"""{_CHAINS},
    spoken(chain, pos) AS MATERIALIZED (
      SELECT chains.chain, (
        SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = chains.chain AND {_SAID}
        ORDER BY o.pos LIMIT 1
      )
      FROM chains WHERE chains.chain IS NOT NULL
    ),
    -- What leads to a chain, for as long as it is system turns. A parent's chain has a lower number.
    back(start, chain, pos, role) AS (
      SELECT s.chain, l.parent_chain, l.parent_pos, o.role FROM spoken AS s
      JOIN link AS l ON l.space = :space AND l.chain = s.chain AND l.ordinal = 0 AND l.parent_chain < s.chain
      JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos
      WHERE s.pos IS NOT NULL
      UNION ALL SELECT back.start, l.parent_chain, l.parent_pos, o.role FROM back
      JOIN link AS l ON l.space = :space AND l.chain = back.chain AND l.ordinal = 0 AND l.parent_chain < back.chain
      JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos
      WHERE back.role = 'system' OR back.role = 'developer'
    ),
    goes_on(start) AS (
      SELECT DISTINCT back.start FROM back WHERE EXISTS (
        SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = back.chain AND o.pos <= back.pos AND {_SAID}
      )
    ),
    firsts(chain, pos, id, supersedes) AS (
      SELECT s.chain, s.pos, f.id, f.supersedes FROM spoken AS s LEFT JOIN goes_on ON goes_on.start = s.chain
      LEFT JOIN turn AS f ON f.space = :space AND f.chain = s.chain AND f.pos = s.pos
      WHERE s.pos IS NOT NULL AND goes_on.start IS NULL
    ),
    -- A first turn that supersedes the first turn of a conversation is a version of it: what leads to the older one.
    traced(chain, pos, id, older_chain, older_pos) AS (
      SELECT firsts.chain, firsts.pos, firsts.id, o.chain, o.pos FROM firsts
      LEFT JOIN turn AS o ON o.space = :space AND o.id = firsts.supersedes AND {_SAID}
    ),
    before(start, chain, pos) AS (
      SELECT traced.chain, older_chain, older_pos - 1 FROM traced WHERE older_chain IS NOT NULL
      UNION ALL SELECT before.start, l.parent_chain, l.parent_pos FROM before
      JOIN link AS l ON l.space = :space AND l.chain = before.chain AND l.ordinal = 0 AND l.parent_chain < before.chain
    ),
    inside(start) AS (
      SELECT DISTINCT before.start FROM before WHERE EXISTS (
        SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = before.chain AND o.pos <= before.pos AND {_SAID}
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
      JOIN grown ON grown.chain = placed.chain AND grown.low <= placed.pos
    ),
    page(chain, pos) AS (
      SELECT begins.chain, begins.pos FROM begins LEFT JOIN named ON named.start = begins.chain
      WHERE named.start IS NULL ORDER BY begins.chain DESC LIMIT :limit
    ),
    ends(start, begun, chain, low, pos) AS MATERIALIZED (
      SELECT DISTINCT page.chain, page.pos, grown.chain, grown.low, (
        SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = grown.chain
      )
      FROM page JOIN grown ON grown.start = page.chain
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
    SELECT tips.start, s.id, tips.branches, tips.turns, {_words("t", "tp")}, {_words("f", "fp")}
    FROM tips LEFT JOIN turn AS s ON s.space = :space AND s.chain = tips.start AND s.pos = tips.begun
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = tips.newest AND t.pos = tips.pos
    {_payload("t", "tp")}
    LEFT JOIN turn AS f ON f.space = :space AND f.chain = tips.start AND f.pos = tips.spoke
    {_payload("f", "fp")}
    ORDER BY tips.start DESC
    """,
)


def list_nameless(connection: Connection, space: int, *, before: int, limit: int, window: int) -> list[Listed]:
    """Conversations without a name that begin in one of the ``window`` chains below ``before``, the newest first."""
    rows = connection.rows(NAMELESS, space=space, before=before, limit=limit, looked_at=window)
    return [
        Listed(*_two_words(row[4:]), chain=row[0], start=row[1], branches=int(row[2]), turns=int(row[3]))
        for row in rows
    ]


# The way back along first parents, as far as the first chain in which somebody spoke.
_SPOKE = f"""(
        SELECT o.pos FROM turn AS o
        WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos AND {_SAID} ORDER BY o.pos DESC LIMIT 1
      )"""
SPOKEN_BEFORE = Query(
    "what people or models said last before some turns",
    f"""
    WITH RECURSIVE path(id, chain, pos) AS (
      SELECT o.id, o.chain, o.pos FROM turn AS o WHERE o.space = :space AND o.id IN ({WANTED})
      UNION ALL SELECT path.id, l.parent_chain, l.parent_pos FROM path CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain
        AND {_SPOKE} IS NULL
    ),
    spoken(id, chain, pos) AS MATERIALIZED (SELECT path.id, path.chain, {_SPOKE} FROM path)
    SELECT spoken.id, {_words("t", "tp")} FROM spoken
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = spoken.chain AND t.pos = spoken.pos
    {_payload("t", "tp")}
    WHERE spoken.pos IS NOT NULL
    """,
)


def spoken_before(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, ListedTurn]:
    """Of turns, themselves or the last before each that is neither system's nor developer's, along first parents; of
    one that only such turns lead to, nothing.

    Cost: one statement for each 64 of them.
    """
    portions = in_portions(ids)
    rows = [row for portion in portions for row in connection.rows(SPOKEN_BEFORE, space=space, **portion)]
    return {row[0]: ListedTurn(*row[1:]) for row in rows}


LOWEST = Query("the last of the chains that a list looked at", f"{_CHAINS} SELECT count(chain), min(chain) FROM chains")


def lowest_chain(connection: Connection, space: int, *, before: int, window: int) -> int | None:
    """The chain at which ``list_nameless`` stopped; None if it looked at all."""
    row = connection.row(LOWEST, space=space, before=before, looked_at=window)
    return None if row is None or int(row[0]) < window else int(row[1])


def _flag(wanted: bool | None) -> int:
    return -1 if wanted is None else int(wanted)


def _two_words(row: Row) -> tuple[ListedTurn, ListedTurn]:
    middle = len(ListedTurn.__struct_fields__)
    return ListedTurn(*row[:middle]), ListedTurn(*row[middle:])
