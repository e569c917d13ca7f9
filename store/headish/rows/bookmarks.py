"""Rows of ``bookmark`` and its log: names, where they point, and every move (rule I6, every move is logged).

Whoever moves a name has locked the space, so a name that was read stays where it is until the commit.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select, text

from headish.database.query import Connection, Query, Row
from headish.database.schema import bookmark, bookmark_log, turn
from headish.rows.payloads import PORTION, in_portions
from headish.values.places import Place

_space: BindParameter[int] = bindparam("space")
_name: BindParameter[bytes] = bindparam("name")
_here = (bookmark.c.space == _space, bookmark.c.name == _name)
_logged = (bookmark_log.c.space == _space, bookmark_log.c.name == _name)
_log = select(bookmark_log.c.move, bookmark_log.c.chain, bookmark_log.c.pos, bookmark_log.c.milliseconds)
_points = (turn.c.space == bookmark.c.space, turn.c.chain == bookmark.c.chain, turn.c.pos == bookmark.c.pos)

ALL = 2**63 - 1
"""The largest limit that both databases take: no limit."""

FIND = Query("find bookmark", select(bookmark.c.chain, bookmark.c.pos).where(*_here))
FIND_SOME = Query(
    "find bookmarks",
    select(bookmark.c.name, bookmark.c.chain, bookmark.c.pos).where(
        bookmark.c.space == _space, bookmark.c.name.in_([bindparam(each) for each in PORTION])
    ),
)
FIND_AT = Query(
    "find bookmarks at a place",
    select(bookmark.c.name)
    .where(bookmark.c.space == _space, bookmark.c.chain == bindparam("chain"), bookmark.c.pos == bindparam("pos"))
    .order_by(bookmark.c.name)
    .limit(bindparam("limit")),
)
_listed = select(bookmark.c.name, turn.c.id, bookmark.c.chain, bookmark.c.pos).where(
    bookmark.c.space == _space,
    bookmark.c.name > bindparam("after"),
    bookmark.c.name >= bindparam("low"),
    bookmark.c.name < bindparam("high"),
    *_points,
)
LIST_BY_NAME = Query("list bookmarks by name", _listed.order_by(bookmark.c.name).limit(bindparam("limit")))
LIST_BY_RECENCY = Query(
    "list bookmarks, the last moved first",
    _listed.where(
        bookmark_log.c.space == bookmark.c.space,
        bookmark_log.c.name == bookmark.c.name,
        bookmark_log.c.move == bookmark.c.move,
    )
    .order_by(bookmark_log.c.milliseconds.desc(), bookmark.c.name)
    .limit(bindparam("limit")),
)
COUNT = Query("count bookmarks", select(func.count()).select_from(bookmark).where(bookmark.c.space == _space))
# A name that was removed and is made again continues its count of moves.
MOVE = Query(
    "move bookmark",
    text(
        "INSERT INTO bookmark (space, name, chain, pos, move) VALUES (:space, :name, :chain, :pos, :count + coalesce("
        "(SELECT max(move) FROM bookmark_log WHERE space = :space AND name = :name), 0)) "
        "ON CONFLICT (space, name) DO UPDATE "
        "SET chain = excluded.chain, pos = excluded.pos, move = bookmark.move + :count RETURNING move"
    ),
)
REMOVE = Query("remove bookmark", delete(bookmark).where(*_here).returning(bookmark.c.move))
ADD_LOG = Query("log a move", insert(bookmark_log).values({each.name: bindparam(each.name) for each in bookmark_log.c}))
MOVE_NUMBER = Query("last move of a bookmark", select(bookmark.c.move).where(*_here))
LOG_AT_MOVE = Query("log of a bookmark at a move", _log.where(*_logged, bookmark_log.c.move == bindparam("move")))
LOG_AT_TIME = Query(
    "log of a bookmark at a time",
    _log.where(*_logged, bookmark_log.c.milliseconds <= bindparam("milliseconds"))
    .order_by(bookmark_log.c.move.desc())
    .limit(1),
)
HISTORY = Query(
    "history of a bookmark",
    select(bookmark_log.c.move, turn.c.id, bookmark_log.c.milliseconds)
    .select_from(
        bookmark_log.outerjoin(
            turn,
            (turn.c.space == bookmark_log.c.space)
            & (turn.c.chain == bookmark_log.c.chain)
            & (turn.c.pos == bookmark_log.c.pos),
        )
    )
    .where(*_logged)
    .order_by(bookmark_log.c.move.desc()),
)


def find_bookmark(connection: Connection, space: int, name: bytes) -> Place | None:
    """Where a name points."""
    row = connection.row(FIND, space=space, name=name)
    return Place(*row) if row else None


def find_bookmarks(connection: Connection, space: int, names: Collection[bytes]) -> dict[bytes, Place]:
    """Where names point, of those that there are. Cost: one statement for each ``LOOKED_UP`` names."""
    if len(names) == 1:
        [name] = names
        place = find_bookmark(connection, space, name)
        return {} if place is None else {name: place}
    portions = in_portions(sorted(names))
    rows = [row for portion in portions for row in connection.rows(FIND_SOME, space=space, **portion)]
    return {name: Place(chain, pos) for name, chain, pos in rows}


def bookmarks_at(connection: Connection, space: int, place: Place, limit: int) -> list[bytes]:
    """The names that point at a place, ``limit`` at the most."""
    return [row[0] for row in connection.rows(FIND_AT, space=space, chain=place.chain, pos=place.pos, limit=limit)]


def list_bookmarks(
    connection: Connection,
    space: int,
    *,
    prefix: bytes = b"",
    after: bytes = b"",
    limit: int = ALL,
    recent: bool = False,
) -> Sequence[Row]:
    """``(name, id, chain, pos)`` of the names that begin so, ``limit`` at the most.

    Order: by name, those after ``after``; or with ``recent`` the last moved first.
    """
    query = LIST_BY_RECENCY if recent else LIST_BY_NAME
    # No name holds 0xFF, which is not UTF-8: it ends the range of the names that begin with the prefix.
    return connection.rows(query, space=space, low=prefix, high=prefix + b"\xff", after=after, limit=limit)


def count_bookmarks(connection: Connection, space: int) -> int:
    """How many names there are."""
    [(count,)] = connection.rows(COUNT, space=space)
    return int(count)


def move_bookmark(connection: Connection, space: int, name: bytes, places: Sequence[Place]) -> int:
    """Set a name, made where it is missing, to each of the places in turn: it ends at the last, each move is logged.

    Returns the number of the last move.
    """
    chain, pos = places[-1]
    row = connection.row(MOVE, space=space, name=name, chain=chain, pos=pos, count=len(places))
    assert row is not None
    _log_moves(connection, space, name, int(row[0]) - len(places) + 1, places)
    return int(row[0])


def bookmark_if_free(connection: Connection, space: int, name: bytes, place: Place) -> bool:
    """Whether the name was free, and now points at the place; a name that exists stays where it is."""
    if find_bookmark(connection, space, name) is not None:
        return False
    move_bookmark(connection, space, name, [place])
    return True


def remove_bookmark(connection: Connection, space: int, name: bytes) -> int | None:
    """The number of the move that removed the name, None where there is no such name; its log stays."""
    row = connection.row(REMOVE, space=space, name=name)
    if row is None:
        return None
    _log_moves(connection, space, name, int(row[0]) + 1, [None])
    return int(row[0]) + 1


def logged_place(connection: Connection, space: int, name: bytes, move: int) -> tuple[bool, Place | None]:
    """Whether there is a move of this number, and where it led (None: the name was removed)."""
    row = connection.row(LOG_AT_MOVE, space=space, name=name, move=move)
    return row is not None, Place(row[1], row[2]) if row and row[1] is not None else None


def past_place(connection: Connection, space: int, name: bytes, past: int | float) -> Place | None:
    """Where a name pointed: ``past`` moves ago (int), or at a Unix time in milliseconds (float)."""
    if isinstance(past, float):
        row = connection.row(LOG_AT_TIME, space=space, name=name, milliseconds=int(past))
    else:
        last = connection.row(MOVE_NUMBER, space=space, name=name)
        row = last and connection.row(LOG_AT_MOVE, space=space, name=name, move=last[0] - past)
    return Place(row[1], row[2]) if row and row[1] is not None else None


def bookmark_history(connection: Connection, space: int, name: bytes) -> Sequence[Row]:
    """``(move, id or None, milliseconds)``, the last move first."""
    return connection.rows(HISTORY, space=space, name=name)


def _log_moves(connection: Connection, space: int, name: bytes, first: int, places: Sequence[Place | None]) -> None:
    now = time.time_ns() // 1_000_000
    rows = [
        {
            "space": space,
            "name": name,
            "move": first + index,
            "chain": place.chain if place else None,
            "pos": place.pos if place else None,
            "milliseconds": now,
        }
        for index, place in enumerate(places)
    ]
    if len(rows) == 1:
        connection.run(ADD_LOG, **rows[0])
    else:
        connection.run_many(ADD_LOG, rows)
