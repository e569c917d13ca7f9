"""The part of verify that checks names: each points at a turn, and its log leads there.

Names move while verify runs, so one statement reads them and their logs, as they are at one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, literal_column, select, union_all

from headish.database.query import Connection, Query
from headish.database.schema import bookmark, bookmark_log, turn
from headish.values.names import stored_name
from headish.values.reports import Problem

_NOW, _LOGGED = 0, 1


class _Position(NamedTuple):
    """Where a name points now, or pointed after a move; ``turn`` is None if no such turn is stored."""

    name: bytes
    kind: int
    move: int
    chain: int | None
    pos: int | None
    turn: str | None


def _positions(table: Table, kind: int) -> Select[*tuple[Any, ...]]:
    found = and_(turn.c.space == table.c.space, turn.c.chain == table.c.chain, turn.c.pos == table.c.pos)
    number: ColumnElement[int] = literal_column(str(kind)).label("kind")
    return (
        select(table.c.name, number, table.c.move, table.c.chain, table.c.pos, turn.c.id)
        .select_from(table.outerjoin(turn, found))
        .where(table.c.space == bindparam("space"))
    )


ALL_POSITIONS = Query(
    "bookmarks and all their moves",
    union_all(_positions(bookmark, _NOW), _positions(bookmark_log, _LOGGED)).order_by("name", "kind", "move"),
)


def check_bookmarks(connection: Connection, space: int) -> list[Problem]:
    """What disagrees between bookmarks, their log and the turns."""
    problems: list[Problem] = []
    positions = (_Position._make(row) for row in connection.rows(ALL_POSITIONS, space=space))
    for name, members in groupby(positions, key=lambda position: bytes(position.name)):
        listed = list(members)
        now = [position for position in listed if position.kind == _NOW]
        subject = f"bookmark {stored_name(name)}"
        problems += [Problem(subject, what) for what in _check_name(now, listed[len(now) :])]
    return problems


def _check_name(now: Sequence[_Position], log: Sequence[_Position]) -> Iterator[str]:
    if any(position.turn is None for position in now):
        yield "the turn that it names is missing"
    if any(position.turn is None and position.chain is not None for position in log):
        yield "a turn that its log names is missing"
    if [position.move for position in log] != list(range(1, len(log) + 1)):
        yield "moves are missing from its log"
    # A removed name has no position, and its log ends without a place.
    ends = [position[2:] for position in log[-1:]]
    removed = not now and bool(log) and log[-1].chain is None
    if not removed and ends != [position[2:] for position in now]:
        yield "its log does not end where it points"
