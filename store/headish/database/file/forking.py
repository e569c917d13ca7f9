"""Close SQLite files before a fork: it waits for transactions to end, and closes the connections.

SQLite keeps in memory which locks its process has on a file. The child gets a copy of that memory, but none of the
locks. If another thread had a lock at the fork, the child believes for ever that the file is locked, and never writes
it again. An idle connection makes the child believe that it has a lock itself. Another process, which cannot see the
child, then removes the log that the child writes into, and what the child acknowledges is lost.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any
from weakref import WeakSet

from headish.database.pool import Pool

WAIT_SECONDS = 60.0
"""How long a fork waits for the transactions of other threads. Then it goes on, and the child may stay locked out."""


class ForkGate:
    """The threads that are in a transaction, and the pools to close before a fork.

    Each thread has a lock of its own, so threads do not wait for one another. Only a fork takes all of these locks.
    """

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._here = threading.local()
        self._locks: WeakSet[Any] = WeakSet()
        self._pools: WeakSet[Pool[Any]] = WeakSet()
        self._making = threading.RLock()

    def transaction(self) -> threading.RLock:
        """The lock that a thread takes (``with``) before it takes a connection, and keeps until it has given that
        back."""
        try:
            return self._here.lock  # type: ignore[no-any-return]
        except AttributeError:
            return self._make_lock()

    def _make_lock(self) -> threading.RLock:
        with self._making:
            lock = threading.RLock()
            self._locks.add(lock)
            self._here.lock = lock
        return lock

    def close_before(self, pool: Pool[Any]) -> None:
        """Close the idle connections of a pool before each fork."""
        with self._making:
            self._pools.add(pool)

    def hold(self) -> None:
        """Keep new threads out, wait for transactions that have begun, then close all idle connections."""
        deadline = time.monotonic() + WAIT_SECONDS
        # The locks are reentrant: a thread that forks in the middle of its own transaction does not wait for itself.
        held = self._here.held = []
        if self._making.acquire(timeout=WAIT_SECONDS):
            held.append(self._making)
            held.extend(each for each in self._locks if each.acquire(timeout=max(0.0, deadline - time.monotonic())))
            for pool in list(self._pools):
                pool.discard_idle()

    def let_go(self) -> None:
        """Release the locks in the parent, which goes on with new connections."""
        for lock in self._here.__dict__.pop("held", ()):
            lock.release()


FORKS = ForkGate()
if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=FORKS.hold, after_in_parent=FORKS.let_go, after_in_child=FORKS._begin_anew)
