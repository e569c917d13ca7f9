"""Reads that wait until a database is as far as a cursor says: a replica lags behind, and never skips."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, TypeVar

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import NotReplicated
from headish.feeds.cursors import Cursor, find_reached, parse_cursor, resume
from headish.store.space import Space
from headish.values.checks.doors import SECONDS, door

T = TypeVar("T")
S = TypeVar("S", bound=Space)
SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.25
"""Seconds between two looks at a counter, from the shortest on, each twice as long as the last."""


class Awaited(NamedTuple):
    """What a read waits for, and for how long."""

    cursor: Cursor
    seconds: float


class _Behind(NamedTuple):
    """How far a space was, where that is not far enough."""

    seq: int
    change: int


@door(timeout=SECONDS)
def at_least(space: S, cursor: str, *, timeout: float = 10.0) -> S:
    """The same space for reads that must see what a cursor has seen: each waits until the database is as far.

    For a reader behind a replica, or behind several, one of which answers: the writer hands over ``store.position()``,
    and what was stored up to there is seen. Each read looks at the space's counter in its own transaction, and reads
    again where it is not as far, for ``timeout`` seconds. What is written here is written at once.
    Cost: four statements more for each read, at the most. The store that this one came from stays as it is; it shares
    the connections.
    Raises: InvalidArgument; from each read NotReplicated, and CursorLost if the database was put back.
    """
    parsed = parse_cursor(cursor)
    space._open_backend()
    view: Any = copy(space)
    view._owns_database, view._awaited = False, Awaited(parsed, float(timeout))
    found: S = view
    return found


def read_awaited(backend: Backend, space: int, awaited: Awaited, work: Callable[[Connection], T]) -> T:
    """What a piece of work reads once the space is as far as the cursor. Raises: NotReplicated, CursorLost."""
    cursor, seconds = awaited

    def read(connection: Connection) -> T | _Behind:
        reached = find_reached(connection, space)
        if reached.epoch == cursor.epoch and (reached.seq < cursor.seq or reached.change < cursor.change):
            return _Behind(reached.seq, reached.change)
        resume(connection, space, cursor)
        return work(connection)

    end, pause = time.monotonic() + seconds, SHORTEST_PAUSE
    while isinstance(found := backend.read(read), _Behind):
        left = end - time.monotonic()
        if left <= 0:
            raise NotReplicated(backend.target, str(cursor), (found.seq, found.change), seconds)
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
    return found
