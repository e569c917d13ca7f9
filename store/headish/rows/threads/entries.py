"""Lists of conversations: each list is one statement, whatever the size of the space (rule R33, conversations).

Conversations with a name are listed in the order in which the names moved. Those without one are found by the chain in
which each begins, the newest first. ``find_beginnings`` looks at the next ``window`` chains. ``beginnings`` then leaves
out the chains that continue what was said before, those that a name leads to, and other versions of a first turn. A
list reads the first and the last words of each conversation.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, look_up
from headish.values.ids import TurnId
from headish.values.limits import PREVIEW_BYTES
from headish.values.places import Place
from headish.values.turns import OVERLAY

NEWEST = 2**63 - 1

CUT_BYTES = 2048
"""How much a list reads of a payload that is larger than ``PREVIEW_BYTES``."""


class ListedTurn(msgspec.Struct, frozen=True, gc=False):
    """A turn as a list shows it.

    ``cut`` is 1 if ``payload`` is only the beginning of a large one. ``overlay`` has the attributes of an overlay turn,
    which say what it does; None for other turns.
    """

    id: str | None
    role: str | None
    type: str | None
    system: bytes | None
    payload: bytes | None
    cut: int | None
    erased: int | None
    overlay: bytes | None


class Listed(msgspec.Struct, frozen=True, gc=False):
    """A conversation in a list: its last and first turn, and the values that it is sorted by.

    A conversation with a name has ``name`` and ``recent`` (Unix milliseconds), one without has ``chain``, ``start`` and
    ``branches``. ``turns`` is the number of turns along first parents from the name, or of all turns of a conversation
    without one.
    """

    last: ListedTurn
    first: ListedTurn
    name: bytes | None = None
    recent: int = 0
    chain: int = 0
    start: str | None = None
    branches: int | None = None
    turns: int = 0


def words_of(turn: str, payload: str) -> str:
    """The columns of a ``ListedTurn`` in SQL. ``turn`` and ``payload`` are the names of the two tables there."""
    # ``substr`` in the database, so that a payload of many megabytes does not travel for a preview.
    size = f"{turn}.data IS NULL AND {payload}.size > {PREVIEW_BYTES}"
    return f"""
      {turn}.id, {turn}.role, {turn}.type, {turn}.system,
      CASE WHEN {size} THEN substr({payload}.data, 1, {CUT_BYTES}) ELSE coalesce({turn}.data, {payload}.data) END,
      CASE WHEN {size} THEN 1 ELSE 0 END, {turn}.erased,
      CASE WHEN {turn}.type = '{OVERLAY}' THEN {turn}.attributes END"""


def payload_of(turn: str, payload: str) -> str:
    """The join of a turn's large payload. ``turn`` and ``payload`` are the names of the two tables in the statement."""
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
      UNION ALL SELECT path.name, l.parent_chain, l.parent_pos FROM path CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain
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
    SELECT page.name, page.recent, lengths.turns, {words_of("t", "tp")}, {words_of("f", "fp")}
    FROM page LEFT JOIN turn AS t ON t.space = :space AND t.chain = page.chain AND t.pos = page.pos
    {payload_of("t", "tp")}
    LEFT JOIN lengths ON lengths.name = page.name LEFT JOIN spoken ON spoken.name = page.name
    LEFT JOIN turn AS f ON f.space = :space AND f.chain = spoken.chain AND f.pos = spoken.pos
    {payload_of("f", "fp")}
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
    """The conversations whose names come after ``before`` (``recent``, name), the last moved first.

    ``archived`` and ``pinned`` select by these flags; None selects either. At most ``limit``.
    """
    flags = {"archived": _flag(archived), "pinned": _flag(pinned)}
    rows = connection.rows(NAMED, space=space, recent=before[0], name=before[1], limit=limit, **flags)
    return [Listed(*two_words(row[3:]), name=row[0], recent=row[1], turns=int(row[2] or 0)) for row in rows]


class NamelessStarts(msgspec.Struct, frozen=True, gc=False):
    """The places where conversations without a name may begin: in each chain the first turn that people or models said.

    The newest chain comes first. ``lowest`` is the last chain that was looked at; None if no chain is left below.
    """

    places: list[Place]
    lowest: int | None


SAID = "o.role <> 'system' AND o.role <> 'developer'"
"""The condition for a turn ``o`` that belongs to a conversation, and does not only introduce one."""

# The next chains below a number, the highest first. The third column is the position of the name that moved with the
# last turn of the chain: a chain that begins at or before it is listed under that name.
BEGINNINGS = Query(
    "where conversations without a name may begin",
    f"""
    WITH RECURSIVE chains(chain, n) AS (
      SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before
      UNION ALL SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1
      FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at
    )
    SELECT chains.chain, (
      SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = chains.chain AND {SAID} ORDER BY o.pos LIMIT 1
    ), (
      SELECT b.pos FROM bookmark AS b WHERE b.space = :space AND b.chain = chains.chain AND b.name = (
        SELECT o.head FROM turn AS o WHERE o.space = :space AND o.chain = chains.chain ORDER BY o.pos DESC LIMIT 1
      )
    )
    FROM chains WHERE chains.chain IS NOT NULL ORDER BY chains.chain DESC
    """,
)


def find_beginnings(connection: Connection, space: int, *, before: int, window: int) -> NamelessStarts:
    """Find the places in the ``window`` chains below ``before`` where conversations without a name may begin."""
    rows = connection.rows(BEGINNINGS, space=space, before=before, looked_at=window)
    places = [
        Place(chain, pos) for chain, pos, named_at in rows if pos is not None and (named_at is None or named_at < pos)
    ]
    return NamelessStarts(places, rows[-1][0] if len(rows) == window else None)


# ``path`` goes back along first parents, up to the first chain in which people or models said something.
_SPOKE = f"""(
        SELECT o.pos FROM turn AS o
        WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos AND {SAID} ORDER BY o.pos DESC LIMIT 1
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
    SELECT spoken.id, {words_of("t", "tp")} FROM spoken
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = spoken.chain AND t.pos = spoken.pos
    {payload_of("t", "tp")}
    WHERE spoken.pos IS NOT NULL
    """,
)


def spoken_before(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, ListedTurn]:
    """For each id, the last turn along first parents that is neither system nor developer; it may be the turn itself.

    An id that only system or developer turns lead to has no entry. Cost: one statement for each 64 ids.
    """
    return {row[0]: ListedTurn(*row[1:]) for row in look_up(connection, SPOKEN_BEFORE, space, ids)}


def _flag(wanted: bool | None) -> int:
    # In ``NAMED``, a number below 0 selects either.
    return -1 if wanted is None else int(wanted)


def two_words(row: Row) -> tuple[ListedTurn, ListedTurn]:
    middle = len(ListedTurn.__struct_fields__)
    return ListedTurn(*row[:middle]), ListedTurn(*row[middle:])
