"""Rows of ``space``: find one, make one, take commit numbers."""

from __future__ import annotations

from sqlalchemy import bindparam, exists, or_, select, text, update

from headish.database.dialects import refresh_statistics
from headish.database.query import Connection, Query
from headish.database.schema import bookmark_log, definition, space, stream, turn
from headish.errors import RemovedSpace

FIND_SPACE = Query("find space", select(space.c.id).where(space.c.name == bindparam("name")))
ADD_SPACE = Query("add space", text("INSERT INTO space (name, seq) VALUES (:name, 0) ON CONFLICT DO NOTHING"))
TAKE_SEQ = Query(
    "take commit numbers",
    update(space)
    .where(space.c.id == bindparam("space"))
    .values(seq=space.c.seq + bindparam("count"))
    .returning(space.c.seq),
)
# A space's number is never given out again: the row of a removed space stays, under a name that cannot be looked up.
LIST_SPACES = Query("list spaces", select(space.c.name).where(space.c.seq >= 0).order_by(space.c.name))
RENAME_SPACE = Query(
    "rename space",
    update(space).where(space.c.name == bindparam("old"), space.c.seq >= 0).values(name=bindparam("new")),
)
_holds = (exists().where(table.c.space == space.c.id) for table in (turn, bookmark_log, definition, stream))
REMOVE_SPACE = Query(
    "remove an empty space",
    update(space)
    .where(space.c.id == bindparam("space"), space.c.seq == 0, ~or_(*_holds))
    .values(seq=-1, name=bindparam("nameless")),
)
LOCK_SPACE = Query(
    "lock the space", select(space.c.id).where(space.c.id == bindparam("space"), space.c.seq >= 0).with_for_update()
)
LAST_SEQ = Query("last commit number", select(space.c.seq).where(space.c.id == bindparam("space")))


# A server keeps a statement's plan with the connection. One made while the tables were empty may take any index, since
# all begin with the space, and then reads the whole space for every turn: an append would cost what the store holds.
# New statistics make plans anew, everywhere; the server's own come a minute later.
REFRESH = Query("refresh statistics", refresh_statistics())
REFRESHED_AT = (100, 10_000)


def find_space(connection: Connection, name: bytes) -> int | None:
    """The number of a space, or None."""
    row = connection.row(FIND_SPACE, name=name)
    return row[0] if row else None


def add_space(connection: Connection, name: bytes) -> int:
    """The number of a space, made if it is missing; two processes may make it at once."""
    connection.run(ADD_SPACE, name=name)
    number = find_space(connection, name)
    assert number is not None
    return number


def lock_space(connection: Connection, space: int) -> None:
    """Let one writer at a time into the space, until it commits: every write begins so (rule R1, commit order).

    Raises: RemovedSpace.
    """
    if connection.row(LOCK_SPACE, space=space) is None:
        raise RemovedSpace()


def take_seq(connection: Connection, space: int, count: int) -> int:
    """The first of ``count`` commit numbers of a space that is locked, so commits come in their order (rule R1, commit
    order)."""
    row = connection.row(TAKE_SEQ, space=space, count=count)
    assert row is not None
    return int(row[0]) - count + 1


def list_spaces(connection: Connection) -> list[bytes]:
    """The names of all spaces, by name."""
    return [name for (name,) in connection.rows(LIST_SPACES)]


def rename_space(connection: Connection, old: bytes, new: bytes) -> bool:
    """Whether there was such a space; its number, and all that it holds, stay."""
    return connection.run(RENAME_SPACE, old=old, new=new) == 1


def remove_space(connection: Connection, space: int) -> bool:
    """Whether the space was empty, and is gone now. A store that still has it open can store nothing in it."""
    return connection.run(REMOVE_SPACE, space=space, nameless=removed_name(space)) == 1


def removed_name(space: int) -> bytes:
    """The name of a removed space, which nobody can give or look up."""
    return b"\0removed-%d" % space


def refresh_after(connection: Connection, first: int, count: int) -> None:
    """Give the planner new statistics when a space has reached a size that it cannot have guessed."""
    if any(first <= size < first + count for size in REFRESHED_AT):
        connection.run(REFRESH)
