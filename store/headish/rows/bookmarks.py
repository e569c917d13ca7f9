"""Rows of ``bookmark`` and its log: names, where they point, and every move (rule I6, every move is logged).

Every caller that moves a name has locked the space, so a name that it read stays where it is until the commit.
"""

from __future__ import annotations

import time
from binascii import hexlify
from collections.abc import Collection, Sequence

import msgspec

from headish.content.hashes import MOVE_LOG, run_on
from headish.database.query import Connection, Query, Row, Statement
from headish.rows.counters import take_change
from headish.rows.payloads import WANTED, look_up
from headish.rows.turns import StoredTurn
from headish.values.places import Place

ALL = 2**63 - 1
"""No limit: the largest number that both databases take for one."""


class Named(msgspec.Struct, frozen=True, gc=False):
    """Where a name points, the number of its last move, and the running hash of its log."""

    place: Place
    move: int
    running: bytes


class NameMove(msgspec.Struct, frozen=True, gc=False):
    """A move of a name to a turn.

    ``own`` is true if the turn itself has the name (``turn.head``), since it moved as the turn was stored. Then the
    move needs no number among the changes of the space. ``recent`` orders lists, in Unix milliseconds; None is now.
    """

    place: Place
    digest: bytes
    own: bool
    seq: int
    change: int | None = None
    recent: int | None = None


def find_bookmark(connection: Connection, space: int, name: bytes) -> Place | None:
    """The place that a name points at; None if there is no such name."""
    named = find_named(connection, space, name)
    return None if named is None else named.place


FIND = Query("find bookmark", "SELECT chain, pos, move, running FROM bookmark WHERE space = :space AND name = :name")


def find_named(connection: Connection, space: int, name: bytes) -> Named | None:
    """Look up a name; None if there is no such name."""
    row = connection.row(FIND, space=space, name=name)
    return None if row is None else Named(Place(row[0], row[1]), row[2], row[3])


FIND_SOME = Query(
    "find bookmarks",
    f"SELECT name, chain, pos, move, running FROM bookmark WHERE space = :space AND name IN ({WANTED})",
)


def find_bookmarks(connection: Connection, space: int, names: Collection[bytes]) -> dict[bytes, Named]:
    """Look up names; those that do not exist are left out. Cost: one statement for each ``LOOKED_UP`` names."""
    # Nearly every append has one name: ``look_up`` would bind it 64 times.
    if len(names) == 1:
        [name] = names
        named = find_named(connection, space, name)
        return {} if named is None else {name: named}
    rows = look_up(connection, FIND_SOME, space, sorted(names))
    return {name: Named(Place(chain, pos), move, end) for name, chain, pos, move, end in rows}


# Two lookups: the sparse index ``bookmark_place`` has the names that were set by hand (own = 0); the name that moved
# with the turn stands in the turn itself (``head``, own = 1).
FIND_AT = Query(
    "find bookmarks at a place",
    """
    SELECT name FROM bookmark INDEXED BY bookmark_place
    WHERE space = :space AND chain = :chain AND pos = :pos AND own = 0
    UNION ALL SELECT name FROM bookmark
    WHERE space = :space AND name = :head AND chain = :chain AND pos = :pos AND own = 1 ORDER BY name LIMIT :limit
    """,
)


def bookmarks_at(connection: Connection, space: int, place: Place, head: bytes | None, limit: int) -> list[bytes]:
    """The names that point at a place, in order; at most ``limit``. ``head``: the name that moved with its turn."""
    rows = connection.rows(FIND_AT, space=space, chain=place.chain, pos=place.pos, head=head, limit=limit)
    return [row[0] for row in rows]


LIST_BY_NAME = Query(
    "list bookmarks by name",
    """
    SELECT b.name, t.id, b.chain, b.pos FROM bookmark AS b CROSS JOIN turn AS t
    WHERE b.space = :space AND b.name >= :low AND b.name < :high AND t.space = :space AND t.chain = b.chain
      AND t.pos = b.pos AND b.name > :after
    ORDER BY b.name LIMIT :limit
    """,
)


def list_bookmarks(
    connection: Connection, space: int, *, prefix: bytes = b"", after: bytes = b"", limit: int = ALL
) -> Sequence[Row]:
    """``(name, id, chain, pos)`` of the names after ``after`` that begin with ``prefix``, by name; at most
    ``limit``."""
    return connection.rows(LIST_BY_NAME, space=space, after=after, limit=limit, **_beginning(prefix))


NAMED_TURNS = Query(
    "names and the turns that they name, a page",
    """
    SELECT b.name, t.id, t.digest, t.chain, t.pos FROM bookmark AS b CROSS JOIN turn AS t
    WHERE b.space = :space AND b.name > :after AND t.space = :space AND t.chain = b.chain AND t.pos = b.pos
    ORDER BY b.name LIMIT :limit
    """,
)


def named_turns(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """``(name, id, digest, chain, pos)`` of the names after ``after``, by name; at most ``limit``."""
    return connection.rows(NAMED_TURNS, space=space, after=after, limit=limit)


# ``recent >= 0`` is the condition of ``bookmark_recent``, so that the rows come in its order. Otherwise a page would
# sort all names, and a batch can move many in one millisecond.
LIST_BY_RECENCY = Query(
    "list bookmarks, the last moved first",
    """
    SELECT b.name, t.id, b.chain, b.pos FROM bookmark AS b CROSS JOIN turn AS t
    WHERE b.space = :space AND b.name >= :low AND b.name < :high AND t.space = :space AND t.chain = b.chain
      AND t.pos = b.pos AND b.recent >= 0 AND (b.recent, b.name) < (:recent, :after)
    ORDER BY b.recent DESC, b.name DESC LIMIT :limit
    """,
)
RECENCY = Query("when a bookmark moved last", "SELECT recent FROM bookmark WHERE space = :space AND name = :name")


def list_recent_bookmarks(
    connection: Connection, space: int, *, prefix: bytes = b"", after: bytes | None = None, limit: int = ALL
) -> Sequence[Row] | None:
    """List as ``list_bookmarks`` does, but the last moved first, and within one millisecond the last name first.

    None if there is no bookmark ``after``.
    """
    recent = ALL
    if after is not None:
        row = connection.row(RECENCY, space=space, name=after)
        if row is None:
            return None
        recent = int(row[0])
    return connection.rows(
        LIST_BY_RECENCY, space=space, recent=recent, after=after or b"", limit=limit, **_beginning(prefix)
    )


def recent_names(connection: Connection, space: int, limit: int) -> list[str]:
    """The names that moved last, the last one first; at most ``limit``. A damaged name, which is not bytes, is left
    out."""
    rows = list_recent_bookmarks(connection, space, limit=limit) or ()
    return [row[0].decode(errors="replace") for row in rows if isinstance(row[0], bytes)]


def _beginning(prefix: bytes) -> dict[str, bytes]:
    # No name holds 0xFF, which is not UTF-8: it ends the range of the names that begin with the prefix.
    return {"low": prefix, "high": prefix + b"\xff"}


COUNT = Query("count bookmarks", "SELECT count(*) FROM bookmark WHERE space = :space")


def count_bookmarks(connection: Connection, space: int) -> int:
    """The number of names."""
    [(count,)] = connection.rows(COUNT, space=space)
    return int(count)


ADD = Query(
    "add bookmark",
    """
    INSERT INTO bookmark (space, name, chain, pos, move, recent, own, running)
    VALUES (:space, :name, :chain, :pos, :move, :recent, :own, :running)
    """,
)
MOVE = Query(
    "move bookmark",
    """
    UPDATE bookmark
    SET chain = :to_chain, pos = :to_pos, move = :to_move, recent = :to_recent, own = :to_own, running = :to_running
    WHERE space = :space AND name = :name AND move = :before
    """,
)
ADD_LOG = Query(
    "log a move",
    """
    INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds, seq, change, running, was)
    VALUES (:space, :name, :move, :chain, :pos, :milliseconds, :seq, :change, :running, :was)
    """,
)


def move_bookmark(
    connection: Connection, space: int, name: bytes, steps: Sequence[NameMove], before: Named | None
) -> Named:
    """Move a name to the last of the steps, and log each step. ``before`` is where it points now; None makes the name.

    Returns where it points then. Cost: two statements, two more for a new name.
    """
    # A name that is made again continues its old log: the number of a move must not come twice.
    move, running = (before.move, before.running) if before else _last_log(connection, space, name)
    now, logged = _now(), []
    for number, step in enumerate(steps, move + 1):
        running = run_on(MOVE_LOG, running, number, step.digest.hex().encode(), now)
        logged.append(_log_row(space, name, number, step, now, running))
    last, number = steps[-1], move + len(steps)
    (chain, pos), recent = last.place, now if last.recent is None else last.recent
    if before is None:
        connection.run_rows(ADD, [(space, name, chain, pos, number, recent, int(last.own), running)])
        from headish.rows.conversations import take_record_over  # late: most names that move exist already

        take_record_over(connection, space, name, last.place)
    else:
        connection.run_rows(MOVE, [(chain, pos, number, recent, int(last.own), running, space, name, before.move)])
    connection.run_rows(ADD_LOG, logged)
    return Named(last.place, number, running)


def move_on(space: int, name: bytes, step: NameMove, before: Named) -> tuple[Named, tuple[Statement, Statement]]:
    """Move a name by one step from a place that the caller knows. Returns where it points then, and the statements."""
    now, number, (chain, pos) = _now(), before.move + 1, step.place
    running = run_on(MOVE_LOG, before.running, number, hexlify(step.digest), now)
    recent = now if step.recent is None else step.recent
    moved = Statement(MOVE, (chain, pos, number, recent, int(step.own), running, space, name, before.move))
    logged = Statement(ADD_LOG, _log_row(space, name, number, step, now, running))
    return Named(step.place, number, running), (moved, logged)


def set_bookmark(connection: Connection, space: int, name: bytes, turn: StoredTurn, recent: int | None = None) -> int:
    """Set a name onto a turn; a missing name is made. Returns the number of the move.

    ``recent`` is that of ``NameMove``. Cost: four statements, or five.
    """
    before = find_named(connection, space, name)
    seq, change = take_change(connection, space)
    step = NameMove(turn.place, turn.digest, turn.head == name, seq, change, recent)
    return move_bookmark(connection, space, name, [step], before).move


REMOVE = Query("remove bookmark", "DELETE FROM bookmark WHERE space = :space AND name = :name")


def remove_bookmark(connection: Connection, space: int, name: bytes) -> int | None:
    """Remove a name; its log stays. Returns the number of the removal in the log, or None if there is no such name."""
    before = find_named(connection, space, name)
    if before is None:
        return None
    seq, change = take_change(connection, space)
    connection.run(REMOVE, space=space, name=name)
    number, now = before.move + 1, time.time_ns() // 1_000_000
    running = run_on(MOVE_LOG, before.running, number, b"", now)
    connection.run_rows(ADD_LOG, [(space, name, number, None, None, now, seq, change, running, None)])
    return number


def _log_row(space: int, name: bytes, number: int, step: NameMove, now: int, running: bytes) -> tuple[object, ...]:
    return (space, name, number, *step.place, now, step.seq, step.change, running, None)


def _now() -> int:
    return time.time_ns() // 1_000_000


LAST_LOG = Query(
    "end of the log of a bookmark",
    "SELECT move, running FROM bookmark_log WHERE space = :space AND name = :name ORDER BY move DESC LIMIT 1",
)


def _last_log(connection: Connection, space: int, name: bytes) -> tuple[int, bytes]:
    """The last number and running hash of the log of a name; 0 and empty if the name is new."""
    row = connection.row(LAST_LOG, space=space, name=name)
    return (0, b"") if row is None else (int(row[0]), row[1])
