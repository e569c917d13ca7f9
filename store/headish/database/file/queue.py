"""The queue of the processes that write to one SQLite file. The system wakes the next one.

SQLite does not tell when its lock becomes free: a waiting writer sleeps and asks again, and sleeps too long. So a
writer also takes ``flock`` on the write-ahead log, and the others wait for that. The queue only says whose turn it is;
SQLite's own lock decides who writes. So nothing is lost if the queue fails: if the system or file system has no such
lock, if another program writes without it, or if the first process is stopped and keeps it. Then a writer asks SQLite
every ``LOOK_SECONDS``.

headish locks the log, because SQLite locks no part of it. SQLite locks the database and its ``-shm``, and a process
that closes any descriptor of those loses SQLite's locks. If the log was removed, headish opens the new one.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from weakref import WeakSet

from headish.database.pause import pause
from headish.values.forking import fcntl  # None on a system without such locks: its writers sleep

LOOK_SECONDS = 0.1
"""A writer that waits for its turn checks this often whether SQLite's lock is free all the same."""


class _Descriptor:
    """An open log. Its last reference closes it at the latest, and releases its lock.

    Code that replaces one in the middle of a call closes it explicitly: Python swallows an interrupt inside
    ``__del__``, and the log would stay open.
    """

    __slots__ = ("__weakref__", "_owner", "number")

    def __init__(self, path: str) -> None:
        self.number = -1  # for ``close``, if the open below fails
        self._owner = os.getpid()
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        _open.add(self)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self.number < 0 or self._owner != os.getpid():
            return
        with suppress(OSError):  # a file system without such locks
            # Not by closing alone: a child that was forked meanwhile shares the lock, which would outlive this one.
            fcntl.flock(self.number, fcntl.LOCK_UN)
        number, self.number = self.number, -1  # first: once closed, the number may be another file's
        os.close(number)

    def is_removed(self) -> bool:
        return self.number < 0 or os.fstat(self.number).st_nlink == 0


_open: WeakSet[_Descriptor] = WeakSet()


def _close_inherited() -> None:
    """Close the inherited logs in a forked child, which would otherwise keep its parent's place if that is killed."""
    for each in list(_open):
        if each.number >= 0:
            os.close(each.number)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


class _Turn:
    """A wait for the first place in a thread of its own, because ``flock`` has no time limit."""

    __slots__ = ("_path", "came", "granted", "is_wanted")

    def __init__(self, path: str) -> None:
        self._path = path
        self.is_wanted, self.came = True, threading.Lock()
        self.granted: deque[_Descriptor] = deque()
        # Locked from the start: `_await` frees it when the place has come.
        self.came.acquire()
        threading.Thread(target=self._await, name="headish-turn", daemon=True).start()

    def _await(self) -> None:
        try:
            descriptor = _Descriptor(self._path)
            fcntl.flock(descriptor.number, fcntl.LOCK_EX)
            self.granted.append(descriptor)
            del descriptor
        except OSError:
            pass  # no log, or no such lock here: the waiter wakes up, finds nothing granted, and asks SQLite
        self.came.release()
        if not self.is_wanted:  # the waiter has gone; or it takes the place just before this, which is fine, too
            self.granted.clear()

    def give_up(self) -> None:
        self.is_wanted = False
        with suppress(IndexError):
            self.granted.pop().close()


class Queue:
    """The place of this process in the queue of the file ``target``.

    One thread enters it (``with``) to write: the one that has the lock of the process's writers.
    """

    def __init__(self, target: str) -> None:
        self._path = os.path.realpath(target) + "-wal"
        self._log: _Descriptor | None = None
        self._turn: _Turn | None = None
        self._is_first = False

    def __enter__(self) -> None:
        if self._log is None or self._log.is_removed():
            self._replace(self._opened())
        if self._log is None:
            return
        try:
            fcntl.flock(self._log.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._is_first = True
        except BlockingIOError:
            self.wait(LOOK_SECONDS)
        except OSError:
            self._replace(None)  # this file system has no such lock, so there is no queue

    def __exit__(self, *_: object) -> None:
        if self._is_first and self._log is not None:
            fcntl.flock(self._log.number, fcntl.LOCK_UN)
        elif self._turn is not None:
            self._turn.give_up()
        self._is_first = False

    def wait(self, most_seconds: float) -> None:
        """Wait until this process is the first, at most ``LOOK_SECONDS``. If it is the first already, or there is
        no queue, sleep up to ``most_seconds``."""
        if self._is_first or self._log is None:
            return pause(0.0002, most_seconds)
        try:
            self._turn = self._turn or _Turn(self._path)
        except RuntimeError:  # no thread can be started: there are too many, or the interpreter ends
            return pause(0.0002, most_seconds)
        self._turn.is_wanted = True
        if self._turn.came.acquire(timeout=LOOK_SECONDS):
            self._take(self._turn)
        return None

    def _take(self, turn: _Turn) -> None:
        self._turn = None
        with suppress(IndexError):  # the thread cleared it, or could not open the log
            granted = turn.granted.pop()
            self._is_first = True
            self._replace(granted)

    def _replace(self, log: _Descriptor | None) -> None:
        before, self._log = self._log, log
        if before is not None:
            before.close()

    def close(self) -> None:
        """Close the log, unless a writer is the first now and still needs it: then its last reference closes it."""
        if not self._is_first:
            self._replace(None)

    def _opened(self) -> _Descriptor | None:
        if fcntl is None:
            return None
        try:
            return _Descriptor(self._path)
        except OSError:
            return None  # there is no log yet: the first connection makes it
