"""The part of verify that checks names: each points at a turn, and its log leads there.

A turn says which name moved with it, and its seal covers that; so the log must have these moves, in commit order.
Names move while verify runs, so one statement reads them and their logs, as they are at one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, func, literal_column, null, select, union_all

from headish.database.query import Connection, Query
from headish.database.schema import bookmark, bookmark_log, turn
from headish.history.decode import is_time
from headish.values.names import stored_name
from headish.values.reports import Problem

_NOW, _LOGGED = 0, 1


class _Position(NamedTuple):
    """Where a name points now, or pointed after a move; ``turn`` is None if no such turn is stored.

    ``seq`` and ``head`` are that turn's: its commit number, and the name that moved with it.
    """

    name: bytes
    kind: int
    move: int
    chain: int | None
    pos: int | None
    turn: str | None
    seq: int | None
    head: bytes | None
    milliseconds: int | None


def _positions(table: Table, kind: int) -> Select[*tuple[Any, ...]]:
    found = and_(turn.c.space == table.c.space, turn.c.chain == table.c.chain, turn.c.pos == table.c.pos)
    milliseconds = table.c.get("milliseconds", null())
    number: ColumnElement[int] = literal_column(str(kind)).label("kind")
    return (
        select(
            table.c.name,
            number,
            table.c.move,
            table.c.chain,
            table.c.pos,
            turn.c.id,
            turn.c.seq,
            turn.c.head,
            milliseconds,
        )
        .select_from(table.outerjoin(turn, found))
        .where(table.c.space == bindparam("space"))
    )


ALL_POSITIONS = Query(
    "bookmarks and all their moves",
    union_all(_positions(bookmark, _NOW), _positions(bookmark_log, _LOGGED)).order_by("name", "kind", "move"),
)
MOVED_WITH_TURNS = Query(
    "how many turns each name moved with",
    select(turn.c.head, func.count())
    .where(turn.c.space == bindparam("space"), turn.c.head.is_not(None))
    .group_by(turn.c.head)
    .order_by(turn.c.head),
)


def check_bookmarks(connection: Connection, space: int) -> list[Problem]:
    """What disagrees between bookmarks, their log and the turns."""
    problems: list[Problem] = []
    moved: dict[bytes, int] = dict(connection.rows(MOVED_WITH_TURNS, space=space))
    positions = (_Position._make(row) for row in connection.rows(ALL_POSITIONS, space=space))
    for name, members in groupby(positions, key=lambda position: bytes(position.name)):
        listed = list(members)
        now = [position for position in listed if position.kind == _NOW]
        subject = f"bookmark {stored_name(name)}"
        log = listed[len(now) :]
        problems += [Problem(subject, what) for what in (*_check_name(now, log), *_check_log(log))]
        carried = {position.turn: position.seq for position in log if position.head == name}
        problems += [Problem(subject, what) for what in _check_carried(list(carried.values()), moved.pop(name, 0))]
    return problems + [Problem(f"bookmark {stored_name(name)}", "its log is missing") for name in moved]


def _check_name(now: Sequence[_Position], log: Sequence[_Position]) -> Iterator[str]:
    if any(position.turn is None for position in now):
        yield "the turn that it names is missing"
    if any(position.turn is None and position.chain is not None for position in log):
        yield "a turn that its log names is missing"
    if [position.move for position in log] != list(range(1, len(log) + 1)):
        yield "moves are missing from its log"
    # A removed name has no position, and its log ends without a place.
    ends = [position[2:5] for position in log[-1:]]
    removed = not now and bool(log) and log[-1].chain is None
    if not removed and ends != [position[2:5] for position in now]:
        yield "its log does not end where it points"


def _check_log(log: Sequence[_Position]) -> Iterator[str]:
    for position in log:
        if not is_time(position.milliseconds):
            yield f"the time of its move {position.move} is {position.milliseconds}"
    if any((position.chain is None) != (position.pos is None) for position in log):
        yield "a move of its log has half a place"
    before = [True, *(position.chain is None for position in log)]
    if any(gone and position.chain is None for gone, position in zip(before, log, strict=False)):
        yield "its log removes it where it was not set"


def _check_carried(seqs: Sequence[int | None], moved: int) -> Iterator[str]:
    """``seqs``: the commit numbers of the turns that it moved with, in the order in which the log first names them."""
    if len(seqs) != moved:
        yield f"it moved with {moved} turns, and its log has {len(seqs)} of them"
    if any(seq is not None and after is not None and seq > after for seq, after in pairwise(seqs)):
        yield "the moves of its log are not in the order of the turns that it moved with"
