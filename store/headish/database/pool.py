"""The open connections of a process, kept between transactions.

If an interrupt loses a connection between the pool and its user, Python closes it, and the pool no longer counts it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet

from headish.database.pause import pause


class Closable(Protocol):
    """A driver's connection."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)

LIMIT = 128
"""The largest number of connections that a process opens; further threads wait for one."""


class AllInUse(Exception):
    """No connection became free in time."""


class Pool(Generic[C]):
    """Connections that ``connect`` opens. ``kept``: the number of idle ones that stay open."""

    def __init__(self, connect: Callable[[], C], *, kept: int, wait_seconds: float) -> None:
        self._connect, self._kept, self._wait_seconds = connect, kept, wait_seconds
        self._idle: deque[C] = deque()  # its methods are atomic between threads
        # Weak: a connection that was lost by an interrupt must not count against the limit for ever.
        self._open: WeakSet[C] = WeakSet()

    def take(self) -> C:
        """An idle connection, the last used first; otherwise a new one. Raises: AllInUse; what ``connect`` raises."""
        deadline: float | None = None
        while True:
            try:
                # The last used first: its plans and cached pages are warm.
                return self._idle.pop()
            except IndexError:
                pass
            if len(self._open) < LIMIT:
                connection = self._connect()
                self._open.add(connection)
                return connection
            deadline = deadline or time.monotonic() + self._wait_seconds
            if time.monotonic() > deadline:
                raise AllInUse
            pause(0.001, 0.01)

    def give_back(self, connection: C) -> None:
        """Keep a connection for the next transaction, or close it if enough are idle."""
        if len(self._idle) < self._kept:
            self._idle.append(connection)
        else:
            self.discard(connection)

    def discard(self, connection: C) -> None:
        """Close a connection that must not be used again."""
        self._open.discard(connection)
        with suppress(Exception):  # it is given up anyway, and the caller's own error must not be hidden
            connection.close()

    def discard_idle(self) -> None:
        """Close all idle connections."""
        with suppress(IndexError):
            while True:
                self.discard(self._idle.pop())
