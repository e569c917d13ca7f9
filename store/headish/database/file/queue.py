"""The queue of the processes that write to one SQLite file, in which the system wakes the next one.

SQLite tells nobody that its lock is free: who waits for it has to sleep and ask again, and sleeps too long. So a writer
also holds ``flock`` on the write-ahead log, for which the others wait. The queue only says whose turn it is; SQLite's
own lock decides who writes. So nothing is lost where the queue fails: where a system or a file system has no such lock,
where another program writes without it, or where its first is stopped and goes on holding it. Then a writer asks SQLite
every ``LOOK_SECONDS``.

It is the log that is locked, because SQLite locks the database and its ``-shm``, and a process that closes a descriptor
of those loses SQLite's locks; of the log it locks nothing. The descriptor of a log that was removed is replaced.
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
"""How often a writer that waits for its turn looks whether SQLite's lock is free all the same."""


class _Descriptor:
    """An open log. It is closed with its last reference at the latest, and its lock is let go.

    Python swallows an interrupt that comes inside ``__del__``, and the log would stay open: so whoever replaces one in
    the middle of a call closes it.
    """

    __slots__ = ("__weakref__", "_owner", "number")

    def __init__(self, path: str) -> None:
        self.number = -1
        self._owner = os.getpid()
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        _open.add(self)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self.number < 0 or self._owner != os.getpid():
            return
        with suppress(OSError):  # a file system without such locks
            # A child that was forked meanwhile has the same lock, which would outlive this descriptor.
            fcntl.flock(self.number, fcntl.LOCK_UN)
        number, self.number = self.number, -1  # its number may be another file's from now on
        os.close(number)

    def is_removed(self) -> bool:
        return self.number < 0 or os.fstat(self.number).st_nlink == 0


_open: WeakSet[_Descriptor] = WeakSet()


def _close_inherited() -> None:
    """Close it in a forked child. Otherwise the child would keep its parent's place if the parent is killed."""
    for each in list(_open):
        if each.number >= 0:
            os.close(each.number)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


class _Turn:
    """A wait for the first place, by a thread of its own: the system's wait has no time limit."""

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
            pass
        self.came.release()
        if not self.is_wanted:  # whoever waited has gone, or takes it in the moment before this
            self.granted.clear()

    def give_up(self) -> None:
        self.is_wanted = False
        with suppress(IndexError):
            self.granted.pop().close()


class Queue:
    """The place of this process in the queue of the file ``target``.

    ``with`` it one thread writes: the one that has the lock of the process's writers.
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
            self._log = None  # this file system has no such lock

    def __exit__(self, *_: object) -> None:
        if self._is_first and self._log is not None:
            fcntl.flock(self._log.number, fcntl.LOCK_UN)
        elif self._turn is not None:
            self._turn.give_up()
        self._is_first = False

    def wait(self, most_seconds: float) -> None:
        """Until this process is the first. The first one, and one without a queue, sleeps for so long at the most."""
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
        with suppress(IndexError):  # it came when nobody wanted it, or the log is gone
            granted = turn.granted.pop()
            self._is_first = True
            self._replace(granted)

    def _replace(self, log: _Descriptor | None) -> None:
        before, self._log = self._log, log
        if before is not None:
            before.close()

    def close(self) -> None:
        """Close the log, unless a writer is first: then it does."""
        if not self._is_first:
            self._log = None

    def _opened(self) -> _Descriptor | None:
        if fcntl is None:
            return None
        try:
            return _Descriptor(self._path)
        except OSError:
            return None  # the first connection has yet to make it
