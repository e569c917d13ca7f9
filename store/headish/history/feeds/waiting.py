"""Delay a read until a database has reached a cursor: a replica may lag behind, but it never skips a change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import NotReplicated
from headish.history.feeds.cursors import Cursor, find_reached, resume

T = TypeVar("T")
SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.25
"""Seconds between two looks at a counter: from the shortest on, each pause is twice as long as the last."""


class Awaited(NamedTuple):
    """The cursor that a read waits for, and for how many seconds."""

    cursor: Cursor
    seconds: float


class _Behind(NamedTuple):
    """The numbers that a space had reached when they were not enough."""

    seq: int
    change: int


def read_awaited(backend: Backend, space: int, awaited: Awaited, work: Callable[[Connection], T]) -> T:
    """Run ``work`` once the space has reached the cursor, and return its result. Raises: NotReplicated, CursorLost."""
    cursor, seconds = awaited

    # The look and the work share a transaction: behind several replicas, the next one may go to a server that lags.
    def read(connection: Connection) -> T | _Behind:
        reached = find_reached(connection, space)
        if reached.epoch == cursor.epoch and (reached.seq < cursor.seq or reached.change < cursor.change):
            return _Behind(reached.seq, reached.change)
        resume(connection, space, cursor)
        return work(connection)

    end, pause = time.monotonic() + seconds, SHORTEST_PAUSE
    while isinstance(result := backend.read(read), _Behind):
        seconds_left = end - time.monotonic()
        if seconds_left <= 0:
            raise NotReplicated(backend.target, str(cursor), (result.seq, result.change), seconds)
        time.sleep(min(pause, seconds_left))
        pause = min(2 * pause, LONGEST_PAUSE)
    return result
