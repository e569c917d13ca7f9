"""What earlier tests leave to later ones: connections to a server, and a SQLite file with its tables.

A server takes most of its time to begin a process for each connection and to plan each statement for the first time.
The stores of one ``Database`` share their connections, too, so a connection holds nothing of the store that had it.

Used by tests/support/places.py.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import psycopg

from headish import Database
from headish.database.pool import Pool
from headish.database.server import transactions

KEPT = 8
"""How many connections wait for the next test: a server takes a hundred, from several workers."""

_of_processes: dict[int, deque[tuple[dict[str, Any], Any]]] = {}
"""What waits, by process: what a forked child has of its parent is the parent's to use and to close. A deque's methods
are atomic, and a store that is dropped closes whenever Python collects it."""


def _waiting() -> deque[tuple[dict[str, Any], Any]]:
    return _of_processes.setdefault(os.getpid(), deque())


class WarmPool(Pool[Any]):
    """A pool whose first connections are those that an earlier store with the same arguments had."""

    def take(self) -> Any:
        connection = None if self._idle else _taken(self.arguments)
        if connection is None:
            return super().take()
        self._open.add(connection)
        return connection

    def discard_idle(self) -> None:
        """Leave to later stores what nobody uses any more."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                self._open.discard(connection)
                if _tells_what_it_read(connection):
                    _waiting().append((self.arguments, connection))
                else:
                    connection.close()
        close_waiting(KEPT)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the driver is told."""
        return self._connect.__self__._arguments  # type: ignore[attr-defined, no-any-return]


@contextmanager
def warm_pools() -> Iterator[None]:
    """Servers that are opened inside have warm pools. A forked process has none: it makes its pool anew."""
    with patch.object(transactions, "Pool", WarmPool):
        yield


def close_waiting(kept: int = 0) -> None:
    """Close what is too much: at the end of a session all of it, while the server is there still."""
    waiting = _waiting()
    with suppress(IndexError):
        while len(waiting) > kept:
            waiting.popleft()[1].close()


def _taken(arguments: dict[str, Any]) -> Any:
    """One that waits for a store with these arguments, and is as it was; None if there is none."""
    waiting = _waiting()
    with suppress(IndexError):  # another thread took it
        for _ in range(len(waiting)):
            known, connection = waiting.pop()
            if known != arguments:
                waiting.appendleft((known, connection))
            elif _is_idle(connection):
                return connection
            else:
                connection.close()
    return None


def _tells_what_it_read(connection: Any) -> bool:
    """Have the server count what a connection read until now. An idle one is counted up to ten seconds later, in the
    midst of a test that counts what its own connection reads. False if the connection is broken."""
    try:
        connection.execute("SELECT pg_stat_force_next_flush()", prepare=False)
        connection.commit()
    except psycopg.Error:
        return False
    return True


def _is_idle(connection: Any) -> bool:
    """Whether nothing of a transaction is left, and the server said nothing since."""
    if connection.closed or connection.autocommit or connection.info.transaction_status:
        return False
    return not select.select([connection.fileno()], [], [], 0)[0]


@cache
def empty_file() -> bytes:
    """A SQLite database with its tables and no space."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        Database.open(path).close()
        return path.read_bytes()
