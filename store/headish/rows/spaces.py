"""Rows of ``space`` and its log: the names of spaces. The number of a space is never given to another one."""

from __future__ import annotations

import time

from headish.content.hashes import SPACE_LOG, run_on
from headish.database.query import Connection, Query
from headish.rows.counters import add_counter, retire_counter

# The names of removed spaces begin with NUL, so every name that can be looked up sorts after them.
_FIRST_NAME = b"\1"
# A secured database looks a space up and enters it at once, so that a forbidden space is as unknown as a missing one.
FIND_SPACE = Query("find space", "SELECT id FROM space WHERE name = :name", secured="SELECT headish_enter(:name)")


def find_space(connection: Connection, name: bytes) -> int | None:
    """The number of a space, or None."""
    row = connection.row(FIND_SPACE, name=name)
    return row[0] if row else None


ADD_SPACE = Query(
    "add space",
    "INSERT INTO space (name) VALUES (:name) ON CONFLICT DO NOTHING",
    secured="SELECT 1 WHERE headish_add_space(:name)",
)


def add_space(connection: Connection, name: bytes) -> int:
    """Return the number of a space; create it if it is missing. Two processes may create it at the same time."""
    inserted = connection.run(ADD_SPACE, name=name)
    number = find_space(connection, name)
    assert number is not None
    # Only the process whose INSERT won may add the log's first row; the other one would repeat its number.
    if inserted == 1:
        add_counter(connection, number)
        _log(connection, number, name)
    return number


LIST_SPACES = Query("list spaces", "SELECT name FROM space WHERE name > :after ORDER BY name LIMIT :limit")


def list_spaces(connection: Connection, *, after: bytes = b"", limit: int = 2**63 - 1) -> list[bytes]:
    """The names of spaces after ``after``, by name."""
    return [name for (name,) in connection.rows(LIST_SPACES, after=after or _FIRST_NAME, limit=limit)]


COUNT_SPACES = Query("count spaces", "SELECT count(*) FROM space WHERE name > :after")


def count_spaces(connection: Connection) -> int:
    """The number of spaces, without removed ones."""
    [(count,)] = connection.rows(COUNT_SPACES, after=_FIRST_NAME)
    return int(count)


RENAME_SPACE = Query("rename space", "UPDATE space SET name = :new WHERE id = :space")


def rename_space(connection: Connection, old: bytes, new: bytes) -> bool:
    """Rename a space; its number and contents stay. False if there is no such space."""
    number = find_space(connection, old)
    if number is None:
        return False
    connection.run(RENAME_SPACE, space=number, new=new)
    _log(connection, number, new)
    return True


LEFT_UNDONE = Query(
    "what others may have left undone",
    """
    SELECT EXISTS (SELECT 1 FROM stream AS s WHERE s.space = :space AND s.outcome IS NULL),
      EXISTS (SELECT 1 FROM erasure AS e WHERE e.space = :space)
    """,
)


def left_undone(connection: Connection, space: int) -> tuple[bool, bool]:
    """Return whether any stream is open, and whether anything was ever erased."""
    [(has_streams, has_erasures)] = connection.rows(LEFT_UNDONE, space=space)
    return bool(has_streams), bool(has_erasures)


HOLDS_MORE = Query(
    "whether a space holds what no counter counts",
    """
    SELECT EXISTS (SELECT 1 FROM stream AS s WHERE s.space = :space),
      EXISTS (SELECT 1 FROM conversation AS c WHERE c.space = :space),
      EXISTS (SELECT 1 FROM object AS o WHERE o.space = :space)
    """,
)


def remove_space(connection: Connection, space: int) -> bool:
    """Remove a space if it is empty; False if it is not. A store that still has it open can store nothing in it."""
    if any(connection.row(HOLDS_MORE, space=space) or ()) or not retire_counter(connection, space):
        return False
    from headish.rows.tokens import remove_tokens  # late: few remove a space

    remove_tokens(connection, space)
    # The row stays: deleted, its number could be given to a new space, where a store that still uses it would write.
    connection.run(RENAME_SPACE, space=space, new=removed_name(space))
    _log(connection, space, None)
    return True


def name_space(connection: Connection, space: int, name: bytes) -> None:
    """Give a space another name, by its number."""
    connection.run(RENAME_SPACE, space=space, new=name)
    _log(connection, space, name)


SPACE_NUMBERS = Query("numbers of spaces", "SELECT id, name FROM space WHERE name > :after ORDER BY id")


def space_numbers(connection: Connection) -> list[tuple[int, bytes]]:
    """The number and name of each space that was not removed, by number."""
    return [(int(number), bytes(name)) for number, name in connection.rows(SPACE_NUMBERS, after=_FIRST_NAME)]


NAME_OF_SPACE = Query("name of space", "SELECT name FROM space WHERE id = :space AND name > :after")


def name_of_space(connection: Connection, space: int) -> bytes | None:
    """The name of a space; None if no space has this number, or it was removed."""
    row = connection.row(NAME_OF_SPACE, space=space, after=_FIRST_NAME)
    return bytes(row[0]) if row else None


def removed_name(space: int) -> bytes:
    """The name that a removed space gets. Nobody can give it or look it up, because no name may contain NUL."""
    return b"\0removed-%d" % space


LAST_NAME = Query(
    "last name of a space", "SELECT number, running FROM space_log WHERE space = :space ORDER BY number DESC LIMIT 1"
)
ADD_NAME = Query(
    "log the name of a space",
    """
    INSERT INTO space_log (space, number, name, milliseconds, running)
    VALUES (:space, :number, :name, :milliseconds, :running)
    """,
)


def _log(connection: Connection, space: int, name: bytes | None) -> None:
    last = connection.row(LAST_NAME, space=space)
    number, before = (1, b"") if last is None else (int(last[0]) + 1, last[1])
    now = time.time_ns() // 1_000_000
    running = run_on(SPACE_LOG, before, number, name or b"", now)
    connection.run(ADD_NAME, space=space, number=number, name=name, milliseconds=now, running=running)
