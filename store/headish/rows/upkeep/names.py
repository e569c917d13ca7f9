"""Statements that take the name of a bookmark out of every row but those of turns. Writers have locked the space."""

from __future__ import annotations

from headish.database.query import Connection, Query
from headish.rows.bookmarks import RENAME_LOG, find_named, has_log, rename_bookmark
from headish.rows.conversations import rename_record
from headish.rows.turns import parent_at

FORMER = Query(
    "names that a bookmark had before",
    "SELECT DISTINCT was FROM bookmark_log WHERE space = :space AND name = :name AND was IS NOT NULL ORDER BY was",
)
# Only moves that no turn made can be renames, and a sparse index has those.
RENAMED_FROM = Query(
    "bookmarks that had a name before",
    "SELECT DISTINCT name FROM bookmark_log WHERE space = :space AND change IS NOT NULL AND was = :was ORDER BY name",
)
FIRST_MOVE = Query(
    "first move of a bookmark",
    "SELECT running FROM bookmark_log WHERE space = :space AND name = :name AND move = 1",
)
FIRST_MOVES = Query(
    "first moves of all bookmarks",
    "SELECT name, running FROM bookmark_log WHERE space = :space AND move = 1 ORDER BY name",
)
COUNT_MOVES = Query(
    "how many moves a bookmark has",
    "SELECT count(*) FROM bookmark_log WHERE space = :space AND name = :name",
)
COUNT_SAYING = Query(
    "how many turns say that they moved a name",
    "SELECT count(*) FROM turn WHERE space = :space AND head = :name",
)
FORGET_FORMER = Query(
    "forget that bookmarks had a name before",
    "UPDATE bookmark_log SET was = NULL WHERE space = :space AND change IS NOT NULL AND was = :was",
)
MOVE_RECORD_LOG = Query(
    "give what was said of a conversation another subject in its log",
    "UPDATE record_log SET subject = :to_subject WHERE space = :space AND subject = :subject",
)


def former_names(connection: Connection, space: int, name: bytes) -> list[bytes]:
    """The names that a bookmark had before, in the order of their bytes."""
    return [row[0] for row in connection.rows(FORMER, space=space, name=name)]


def renamed_from(connection: Connection, space: int, name: bytes) -> list[bytes]:
    """The bookmarks that had this name before. Cost: reads the moves that no turn made."""
    return [row[0] for row in connection.rows(RENAMED_FROM, space=space, was=name)]


def first_move(connection: Connection, space: int, name: bytes) -> bytes:
    """The running hash of the first move of a bookmark; empty where it is missing."""
    row = connection.row(FIRST_MOVE, space=space, name=name)
    return b"" if row is None else row[0]


def first_moves(connection: Connection, space: int) -> list[tuple[bytes, bytes]]:
    """Each bookmark, removed ones too, with the running hash of its first move."""
    return [(name, running) for name, running in connection.rows(FIRST_MOVES, space=space)]


def count_moves(connection: Connection, space: int, name: bytes) -> int:
    """How many moves the log of a bookmark has."""
    [(count,)] = connection.rows(COUNT_MOVES, space=space, name=name)
    return int(count)


def count_saying(connection: Connection, space: int, names: list[bytes]) -> int:
    """How many turns say that they moved one of these names. Cost: reads the space once for each."""
    return sum(int(row[0]) for name in names for row in connection.rows(COUNT_SAYING, space=space, name=name))


def replace_name(connection: Connection, space: int, name: bytes, others: list[bytes], became: bytes) -> None:
    """Give a bookmark a name in place of its own and of those that it had before, which then stand in no row but those
    of turns. A bookmark that was removed has only its log.

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
        connection.run(FORGET_FORMER, space=space, was=name)
    for each in (name, *others):
        if not has_log(connection, space, each):  # else the name is that of another bookmark by now
            connection.run(MOVE_RECORD_LOG, space=space, subject=each, to_subject=became)
