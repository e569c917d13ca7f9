"""The log of the names: where they pointed, and renames (rule I6, every move is logged).

Every caller that renames has locked the space. ``replace_name``, which takes a name out of every row except those of
turns, is here, too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from headish.content.hashes import MOVE_LOG, run_on
from headish.database.query import Connection, Query, Row
from headish.rows.bookmarks import ADD_LOG, LAST_LOG, Named, find_named
from headish.rows.conversations import move_entries, rename_record
from headish.rows.counters import take_change
from headish.rows.turns import ParentTurn, parent_at
from headish.values.places import Place

RENAME = Query(
    "rename bookmark",
    """
    UPDATE bookmark SET name = :to_name, move = :to_move, own = :to_own, running = :to_running
    WHERE space = :space AND name = :name
    """,
)
RENAME_LOG = Query(
    "rename the log of a bookmark", "UPDATE bookmark_log SET name = :to_name WHERE space = :space AND name = :name"
)


def rename_bookmark(connection: Connection, space: int, old: bytes, new: bytes, before: Named, turn: ParentTurn) -> int:
    """Rename a bookmark to a name that never existed. Its log and the record of its conversation go along.

    Returns the number of the move. Cost: five statements, seven if there is a record.
    """
    seq, change = take_change(connection, space)
    number, now = before.move + 1, time.time_ns() // 1_000_000
    running = run_on(MOVE_LOG, before.running, number, turn.digest.hex().encode(), now)
    own = int(turn.head == new)  # the turn still has the old name, so the new one is found by its place
    connection.run(RENAME_LOG, space=space, name=old, to_name=new)
    connection.run(RENAME, space=space, name=old, to_name=new, to_move=number, to_own=own, to_running=running)
    connection.run_rows(ADD_LOG, [(space, new, number, *before.place, now, seq, change, running, old)])
    rename_record(connection, space, old, new)
    return number


def has_log(connection: Connection, space: int, name: bytes) -> bool:
    """Whether a bookmark has or had this name."""
    return connection.row(LAST_LOG, space=space, name=name) is not None


WAS_AT = Query(
    "whether a name was at a place",
    "SELECT 1 FROM bookmark_log WHERE space = :space AND name = :name AND chain = :chain AND pos = :pos LIMIT 1",
)


def was_at(connection: Connection, space: int, name: bytes, place: Place) -> bool:
    """Whether a bookmark pointed at a place at any time. Cost: reads its log."""
    return connection.row(WAS_AT, space=space, name=name, chain=place.chain, pos=place.pos) is not None


def was_named(connection: Connection, space: int, name: bytes, place: Place) -> bool:
    """Whether a bookmark that has, or had, this name pointed at a place at any time.

    Cost: reads the log of the name, the moves that no turn made, and the log of each bookmark that had the name before.
    """
    if was_at(connection, space, name, place):
        return True
    return any(was_at(connection, space, each, place) for each in renamed_from(connection, space, name))


AHEAD = Query(
    "a bookmark whose log goes on behind its last move",
    """
    SELECT b.name FROM bookmark AS b
    WHERE b.space = :space
      AND EXISTS (SELECT 1 FROM bookmark_log AS m WHERE m.space = :space AND m.name = b.name AND m.move > b.move)
    ORDER BY b.name LIMIT 1
    """,
)


def find_overtaken(connection: Connection, space: int) -> bytes | None:
    """A name whose row is damaged: its log has later moves, so the next move would repeat a number. None if all are
    sound."""
    row = connection.row(AHEAD, space=space)
    return None if row is None else bytes(row[0])


LOG_AT_MOVE = Query(
    "log of a bookmark at a move",
    "SELECT move, chain, pos, milliseconds FROM bookmark_log WHERE space = :space AND name = :name AND move = :move",
)


def logged_place(connection: Connection, space: int, name: bytes, move: int) -> tuple[bool, Place | None]:
    """Return whether there is a move of this number, and the place that it led to (None: it removed the name)."""
    row = connection.row(LOG_AT_MOVE, space=space, name=name, move=move)
    return row is not None, Place(row[1], row[2]) if row and row[1] is not None else None


# ``was IS NULL`` leaves out renames: each leads to the same place as the row before, and would count as a step back.
LOG_BACK = Query(
    "log of a bookmark so many moves ago",
    """
    SELECT move, chain, pos, milliseconds FROM bookmark_log
    WHERE space = :space AND name = :name AND was IS NULL ORDER BY move DESC LIMIT 1 OFFSET :past
    """,
)
LOG_AT_TIME = Query(
    "log of a bookmark at a time",
    """
    SELECT move, chain, pos, milliseconds FROM bookmark_log
    WHERE space = :space AND name = :name AND milliseconds <= :milliseconds ORDER BY move DESC LIMIT 1
    """,
)


def past_place(connection: Connection, space: int, name: bytes, past: int | float) -> Place | None:
    """Where a name pointed: ``past`` moves ago (int), or at a Unix time in milliseconds (float). None if nowhere.

    The moves of a removed name are counted from its removal, which is the last. Cost: reads ``past`` rows of its log.
    """
    if isinstance(past, float):
        row = connection.row(LOG_AT_TIME, space=space, name=name, milliseconds=int(past))
    else:
        row = connection.row(LOG_BACK, space=space, name=name, past=past)
    return Place(row[1], row[2]) if row and row[1] is not None else None


HISTORY = Query(
    "history of a bookmark",
    """
    SELECT m.move, t.id, m.milliseconds FROM bookmark_log AS m
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = m.chain AND t.pos = m.pos
    WHERE m.space = :space AND m.name = :name AND m.was IS NULL ORDER BY m.move DESC
    """,
)


def bookmark_history(connection: Connection, space: int, name: bytes) -> Sequence[Row]:
    """``(move, id or None, milliseconds)``, the last move first."""
    return connection.rows(HISTORY, space=space, name=name)


REACHED = Query(
    "where a bookmark ever pointed, the last place in each chain",
    """
    SELECT chain, max(pos) FROM bookmark_log WHERE space = :space AND name = :name AND chain IS NOT NULL
    GROUP BY chain ORDER BY chain
    """,
)


def places_reached(connection: Connection, space: int, name: bytes) -> list[Place]:
    """The last place in each chain that a name ever pointed at. Cost: reads its log once."""
    return [Place(int(chain), int(pos)) for chain, pos in connection.rows(REACHED, space=space, name=name)]


FORMER = Query(
    "names that a bookmark had before",
    "SELECT DISTINCT was FROM bookmark_log WHERE space = :space AND name = :name AND was IS NOT NULL ORDER BY was",
)


def former_names(connection: Connection, space: int, name: bytes) -> list[bytes]:
    """The names that a bookmark had before, in the order of their bytes."""
    return [row[0] for row in connection.rows(FORMER, space=space, name=name)]


# ``change IS NOT NULL`` leads to a sparse index: only a move that no turn made can be a rename.
RENAMED_FROM = Query(
    "bookmarks that had a name before",
    "SELECT DISTINCT name FROM bookmark_log WHERE space = :space AND change IS NOT NULL AND was = :was ORDER BY name",
)


def renamed_from(connection: Connection, space: int, name: bytes) -> list[bytes]:
    """The bookmarks that had this name before. Cost: reads the moves that no turn made."""
    return [row[0] for row in connection.rows(RENAMED_FROM, space=space, was=name)]


FIRST_MOVE = Query(
    "first move of a bookmark", "SELECT running FROM bookmark_log WHERE space = :space AND name = :name AND move = 1"
)


def first_move(connection: Connection, space: int, name: bytes) -> bytes:
    """The running hash of the first move of a bookmark; empty if it is missing."""
    row = connection.row(FIRST_MOVE, space=space, name=name)
    return b"" if row is None else row[0]


FIRST_MOVES = Query(
    "first moves of all bookmarks",
    "SELECT name, running FROM bookmark_log WHERE space = :space AND move = 1 ORDER BY name",
)


def first_moves(connection: Connection, space: int) -> list[tuple[bytes, bytes]]:
    """Each bookmark, removed ones too, with the running hash of its first move."""
    return [(name, running) for name, running in connection.rows(FIRST_MOVES, space=space)]


COUNT_MOVES = Query(
    "how many moves a bookmark has", "SELECT count(*) FROM bookmark_log WHERE space = :space AND name = :name"
)


def count_moves(connection: Connection, space: int, name: bytes) -> int:
    """The number of moves in the log of a bookmark."""
    [(count,)] = connection.rows(COUNT_MOVES, space=space, name=name)
    return int(count)


COUNT_SAYING = Query(
    "how many turns say that they moved a name", "SELECT count(*) FROM turn WHERE space = :space AND head = :name"
)


def count_saying(connection: Connection, space: int, names: list[bytes]) -> int:
    """The number of turns whose ``head`` is one of these names. Cost: reads the space once for each name."""
    return sum(int(row[0]) for name in names for row in connection.rows(COUNT_SAYING, space=space, name=name))


FORGET_FORMER = Query(
    "forget that bookmarks had a name before",
    "UPDATE bookmark_log SET was = NULL WHERE space = :space AND change IS NOT NULL AND was = :was",
)


def replace_name(connection: Connection, space: int, name: bytes, others: list[bytes], became: bytes) -> None:
    """Rename a bookmark to ``became``, and take its own name and ``others``, its former ones, out of every row except
    those of turns. A removed bookmark has only its log.

    Cost: about eight statements, and two for each of the others.
    """
    for each in (name, *others):
        connection.run(FORGET_FORMER, space=space, was=each)
    now = find_named(connection, space, name)
    turn = None if now is None else parent_at(connection, space, now.place)
    if now is None or turn is None:
        connection.run(RENAME_LOG, space=space, name=name, to_name=became)
        rename_record(connection, space, name, became)
    else:
        rename_bookmark(connection, space, name, became, now, turn)
        connection.run(FORGET_FORMER, space=space, was=name)  # again: the rename has just logged the old name
    for each in (name, *others):
        if not has_log(connection, space, each):  # else another bookmark has the name by now, and its entries
            move_entries(connection, space, each, became)
