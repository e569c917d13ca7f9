"""Rows of ``space``: find one, make one, take commit numbers."""

from __future__ import annotations

from sqlalchemy import bindparam, select, text, update

from headish.dialects import Connection, Query
from headish.schema import space

FIND_SPACE = Query("find space", select(space.c.id).where(space.c.name == bindparam("name")))
ADD_SPACE = Query("add space", text("INSERT INTO space (name, seq) VALUES (:name, 0) ON CONFLICT DO NOTHING"))
TAKE_SEQ = Query(
    "take commit numbers",
    update(space)
    .where(space.c.id == bindparam("space"))
    .values(seq=space.c.seq + bindparam("count"))
    .returning(space.c.seq),
)
LAST_SEQ = Query("last commit number", select(space.c.seq).where(space.c.id == bindparam("space")))


def find_space(connection: Connection, name: bytes) -> int | None:
    """The number of a space, or None."""
    row = connection.row(FIND_SPACE, name=name)
    return row[0] if row else None


def add_space(connection: Connection, name: bytes) -> int:
    """The number of a space, made where it is missing; two processes may make it at once."""
    connection.run(ADD_SPACE, name=name)
    number = find_space(connection, name)
    assert number is not None
    return number


def take_seq(connection: Connection, space: int, count: int) -> int:
    """The first of ``count`` commit numbers. The row lock is held until the commit, so commits come in order (R1)."""
    row = connection.row(TAKE_SEQ, space=space, count=count)
    assert row is not None
    return int(row[0]) - count + 1
