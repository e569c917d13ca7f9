"""A fork inherits no open SQLite file: it waits for transactions to end, and closes the connections.

SQLite keeps in memory which locks its process has on a file. The child gets a copy of that memory and none of the
locks. A lock that another thread held at the fork is then held for ever in the child, which never writes that file
again. And a connection that lay idle makes the child believe that it has the file locked, so another process, which
cannot see the child, removes the log that the child writes into: what it acknowledges is lost.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any
from weakref import WeakSet

from headish.database.pool import Pool

WAIT_SECONDS = 60.0
"""How long a fork waits for the transactions of other threads. Then it goes on, and the child may be locked out."""


class ForkGate:
    """Which threads are in a transaction, and what is closed while none is. Each thread has a lock of its own, so
    threads do not wait for one another, only a fork for all of them."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._here = threading.local()
        self._locks: WeakSet[Any] = WeakSet()
        self._pools: WeakSet[Pool[Any]] = WeakSet()
        self._making = threading.RLock()

    def transaction(self) -> threading.RLock:
        """What a thread holds (``with``) from before it takes a connection until it has given it back."""
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
        """Close what lies idle in a pool before each fork."""
        with self._making:
            self._pools.add(pool)

    def hold(self) -> None:
        """Let nobody begin, wait for those who have begun, then close all connections."""
        deadline = time.monotonic() + WAIT_SECONDS
        # A thread that forks in the middle of a transaction of its own does not wait for itself.
        held = self._here.held = []
        if self._making.acquire(timeout=WAIT_SECONDS):
            held.append(self._making)
            held.extend(each for each in self._locks if each.acquire(timeout=max(0.0, deadline - time.monotonic())))
            for pool in list(self._pools):
                pool.discard_idle()

    def let_go(self) -> None:
        """Go on in the parent, with new connections."""
        for lock in self._here.__dict__.pop("held", ()):
            lock.release()


FORKS = ForkGate()
if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=FORKS.hold, after_in_parent=FORKS.let_go, after_in_child=FORKS._begin_anew)
