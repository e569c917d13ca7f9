"""The part of verify that looks at names: each points at a turn, and its log leads there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sqlalchemy import bindparam, select

from headish.dialects import Connection, Query, Row
from headish.model import Problem
from headish.order import Place
from headish.schema import bookmark, bookmark_log, turn

_found = bookmark.outerjoin(
    turn, (turn.c.space == bookmark.c.space) & (turn.c.chain == bookmark.c.chain) & (turn.c.pos == bookmark.c.pos)
)
ALL_BOOKMARKS = Query(
    "bookmarks and the turns at their places",
    select(bookmark.c.name, bookmark.c.chain, bookmark.c.pos, bookmark.c.move, turn.c.id)
    .select_from(_found)
    .where(bookmark.c.space == bindparam("space"))
    .order_by(bookmark.c.name),
)
ALL_MOVES = Query(
    "moves of all bookmarks",
    select(bookmark_log.c.name, bookmark_log.c.move, bookmark_log.c.chain, bookmark_log.c.pos)
    .where(bookmark_log.c.space == bindparam("space"))
    .order_by(bookmark_log.c.name, bookmark_log.c.move),
)


def check_bookmarks(connection: Connection, space: int) -> tuple[int, list[Problem]]:
    """How many bookmarks there are, and what disagrees between them, their log and the turns."""
    moves = connection.rows(ALL_MOVES, space=space)
    logs = {bytes(name): list(rows) for name, rows in groupby(moves, key=lambda row: row[0])}
    bookmarks = connection.rows(ALL_BOOKMARKS, space=space)
    problems = [
        Problem(f"bookmark {bytes(row[0]).decode(errors='replace')}", what)
        for row in bookmarks
        for what in _check_bookmark(row, logs.get(bytes(row[0]), []))
    ]
    return len(bookmarks), problems


def _check_bookmark(row: Row, log: list[Row]) -> Iterator[str]:
    _, chain, pos, move, turn_id = row
    if turn_id is None:
        yield "the turn that it names is missing"
    if [each[1] for each in log] != list(range(1, len(log) + 1)):
        yield "moves are missing from its log"
    if not log or log[-1][1] != move or log[-1][2:] != Place(chain, pos):
        yield "its log does not end where it points"
