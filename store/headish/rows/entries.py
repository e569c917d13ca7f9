"""Lists of conversations: each list is one statement, whatever the size of the space (rule R33, conversations).

A name is found in the order in which names moved. Conversations without a name are found by the chain in which each
begins, the newest first: the statement looks at the next ``window`` chains, leaves out those that go on with what was
said before and those in which a name lies, and gives the rest. Of each it reads the first words and the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import text

from headish.database.query import Connection, Query, Row
from headish.limits import PREVIEW_BYTES

NEWEST = 2**63 - 1
CUT_BYTES = 2048
"""So much is read of a payload that is larger than ``PREVIEW_BYTES``."""


class Words(NamedTuple):
    """A turn as a list shows it: of a large payload only the beginning, and then ``cut`` is 1."""

    id: str | None
    role: str | None
    type: str | None
    system: bytes | None
    payload: bytes | None
    cut: int | None


class Listed(NamedTuple):
    """A conversation of a list: what was said last and first, and what its order is by.

    ``name`` and ``recent``, in Unix milliseconds, are of those that have a name; ``chain``, ``first`` and ``branches``
    of the others.
    """

    last: Words
    first: Words
    name: bytes | None = None
    recent: int = 0
    chain: int = 0
    start: str | None = None
    branches: int | None = None


_SPOKEN = "role <> 'system' AND o.role <> 'developer'"


def _words(turn: str, payload: str) -> str:
    size = f"{turn}.data IS NULL AND {payload}.size > {PREVIEW_BYTES}"
    return (
        f"{turn}.id, {turn}.role, {turn}.type, {turn}.system, "
        f"CASE WHEN {size} THEN substr({payload}.data, 1, {CUT_BYTES}) ELSE coalesce({turn}.data, {payload}.data) END, "
        f"CASE WHEN {size} THEN 1 ELSE 0 END"
    )


def _payload(turn: str, payload: str) -> str:
    """The large payload of a turn, if it has one."""
    return (
        f"LEFT JOIN payload AS {payload} ON {payload}.space = :space AND {payload}.hash = {turn}.hash "
        f"AND {turn}.data IS NULL AND {turn}.erased IS NULL "
    )


NAMED = Query(
    "conversations with a name, the last moved first",
    text(
        "WITH RECURSIVE page(name, chain, pos, recent) AS ("
        "SELECT b.name, b.chain, b.pos, b.recent FROM bookmark AS b "
        "LEFT JOIN conversation AS c ON c.space = :space AND c.subject = b.name "
        "WHERE b.space = :space AND b.recent >= 0 AND (b.recent, b.name) < (:recent, :name) "
        "AND (:archived < 0 OR coalesce(c.archived, 0) = :archived) "
        "AND (:pinned < 0 OR coalesce(c.pinned, 0) = :pinned) "
        "ORDER BY b.recent DESC, b.name DESC LIMIT :limit), "
        # Back along first parents: how far into each chain.
        "path(name, chain, pos) AS (SELECT name, chain, pos FROM page UNION ALL "
        "SELECT path.name, l.parent_chain, l.parent_pos FROM path JOIN link AS l "
        "ON l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain), "
        # The lowest chain in which the user spoke; a parent's chain has a lower number.
        "begins(name, chain) AS (SELECT path.name, min(path.chain) FROM path WHERE EXISTS ("
        "SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos "
        "AND o.role = 'user') GROUP BY path.name) "
        f"SELECT page.name, page.recent, {_words('t', 'tp')}, {_words('f', 'fp')} FROM page "
        "LEFT JOIN turn AS t ON t.space = :space AND t.chain = page.chain AND t.pos = page.pos "
        + _payload("t", "tp")
        + "LEFT JOIN begins ON begins.name = page.name "
        "LEFT JOIN turn AS f ON f.space = :space AND f.chain = begins.chain AND f.pos = ("
        "SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = begins.chain AND o.role = 'user' "
        "ORDER BY o.pos LIMIT 1) " + _payload("f", "fp") + "ORDER BY page.recent DESC, page.name DESC"
    ),
)
NAMELESS = Query(
    "conversations without a name, the newest first",
    text(
        "WITH RECURSIVE chains(chain, n) AS ("
        "SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before UNION ALL "
        "SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1 "
        "FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at), "
        "spoken(chain, pos) AS (SELECT chains.chain, (SELECT o.pos FROM turn AS o WHERE o.space = :space "
        f"AND o.chain = chains.chain AND o.{_SPOKEN} ORDER BY o.pos LIMIT 1) FROM chains "
        "WHERE chains.chain IS NOT NULL), "
        # What leads to a chain, for as long as it is system turns. A parent's chain has a lower number.
        "back(start, chain, pos, role) AS ("
        "SELECT s.chain, l.parent_chain, l.parent_pos, o.role FROM spoken AS s JOIN link AS l "
        "ON l.space = :space AND l.chain = s.chain AND l.ordinal = 0 AND l.parent_chain < s.chain "
        "JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos "
        "WHERE s.pos IS NOT NULL UNION ALL "
        "SELECT back.start, l.parent_chain, l.parent_pos, o.role FROM back JOIN link AS l "
        "ON l.space = :space AND l.chain = back.chain AND l.ordinal = 0 AND l.parent_chain < back.chain "
        "JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos "
        "WHERE back.role = 'system' OR back.role = 'developer'), "
        "goes_on(start) AS (SELECT DISTINCT back.start FROM back WHERE EXISTS (SELECT 1 FROM turn AS o "
        f"WHERE o.space = :space AND o.chain = back.chain AND o.pos <= back.pos AND o.{_SPOKEN})), "
        "begins(chain, pos) AS (SELECT s.chain, s.pos FROM spoken AS s LEFT JOIN goes_on ON goes_on.start = s.chain "
        "WHERE s.pos IS NOT NULL AND goes_on.start IS NULL), "
        "grown(start, chain, low) AS (SELECT chain, chain, pos FROM begins UNION "
        "SELECT grown.start, l.chain, 0 FROM grown JOIN link AS l "
        "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low), "
        # First the names of these chains alone, for there may be many others.
        "held(chain, pos) AS (SELECT b.chain, b.pos FROM bookmark AS b WHERE b.space = :space "
        "AND b.chain IN (SELECT grown.chain FROM grown)), "
        "named(start) AS (SELECT DISTINCT grown.start FROM held JOIN grown "
        "ON grown.chain = held.chain AND grown.low <= held.pos), "
        "page(chain, pos) AS (SELECT begins.chain, begins.pos FROM begins LEFT JOIN named "
        "ON named.start = begins.chain WHERE named.start IS NULL ORDER BY begins.chain DESC LIMIT :limit), "
        "ends(start, chain, pos) AS (SELECT grown.start, grown.chain, (SELECT max(o.pos) FROM turn AS o "
        "WHERE o.space = :space AND o.chain = grown.chain) FROM page JOIN grown ON grown.start = page.chain), "
        "sums(start, newest, branches) AS (SELECT ends.start, max(ends.chain), sum(CASE WHEN EXISTS ("
        "SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = ends.chain "
        "AND l.parent_pos = ends.pos) THEN 0 ELSE 1 END) FROM ends GROUP BY ends.start) "
        # Outer joins fix the order: left to itself, SQLite reads every turn.
        f"SELECT page.chain, s.id, sums.branches, {_words('t', 'tp')}, {_words('f', 'fp')} FROM page "
        "LEFT JOIN turn AS s ON s.space = :space AND s.chain = page.chain AND s.pos = page.pos "
        "LEFT JOIN sums ON sums.start = page.chain "
        "LEFT JOIN turn AS t ON t.space = :space AND t.chain = sums.newest AND t.pos = ("
        "SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = sums.newest) "
        + _payload("t", "tp")
        + "LEFT JOIN turn AS f ON f.space = :space AND f.chain = page.chain AND f.pos = ("
        "SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = page.chain AND o.pos >= page.pos "
        "AND o.role = 'user' ORDER BY o.pos LIMIT 1) " + _payload("f", "fp") + "ORDER BY page.chain DESC"
    ),
)
LOWEST = Query(
    "the last of the chains that a list looked at",
    text(
        "WITH RECURSIVE chains(chain, n) AS ("
        "SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before UNION ALL "
        "SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1 "
        "FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at) "
        "SELECT count(chain), min(chain) FROM chains"
    ),
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
    return [Listed(*_two_words(row[2:]), name=row[0], recent=row[1]) for row in rows]


def list_nameless(connection: Connection, space: int, *, before: int, limit: int, window: int) -> list[Listed]:
    """Conversations without a name that begin in one of the ``window`` chains below ``before``, the newest first."""
    rows = connection.rows(NAMELESS, space=space, before=before, limit=limit, looked_at=window)
    return [Listed(*_two_words(row[3:]), chain=row[0], start=row[1], branches=int(row[2])) for row in rows]


def lowest_chain(connection: Connection, space: int, *, before: int, window: int) -> int | None:
    """Where ``list_nameless`` stopped looking; None if it looked at all that there are."""
    row = connection.row(LOWEST, space=space, before=before, looked_at=window)
    return None if row is None or int(row[0]) < window else int(row[1])


def _flag(wanted: bool | None) -> int:
    return -1 if wanted is None else int(wanted)


def _two_words(row: Sequence[object] | Row) -> tuple[Words, Words]:
    middle = len(Words._fields)
    return Words._make(row[:middle]), Words._make(row[middle:])
