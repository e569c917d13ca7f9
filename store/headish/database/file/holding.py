"""Which SQLite files this process has open, the lock of its writers to each, and the beginning of one it has not.

A process that closes any descriptor of a file loses all locks that it has on that file, SQLite's own too; POSIX wants
it so. Another program that closes the database then sees nobody, and removes the log that connections here go on
writing into: what they acknowledge is lost. So a file with an open connection is left to SQLite.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from headish.database.file.forking import FORKS
from headish.errors import DatabaseUnavailable
from headish.values.checks.files import open_regular

HEADER_BYTES = 100


class Holding:
    """One file that is open. Its connections refer to it, so it is gone when the last of them is."""

    __slots__ = ("__weakref__",)


class Holder(Protocol):
    """A connection, as far as it holds a file."""

    holding: Holding | None


H = TypeVar("H", bound=Holder)

_held: WeakValueDictionary[tuple[int, int], Holding] = WeakValueDictionary()
_looking = threading.Lock()
_locks: WeakValueDictionary[tuple[int, str], threading.RLock] = WeakValueDictionary()


def lock_of(target: str) -> threading.RLock:
    """The lock of all writers of this process to a file: one of them asks for the file's own lock, the others wait."""
    # With the process: a forked child would inherit a lock that a thread of its parent holds, and no thread of its own
    # frees.
    return _locks.setdefault((os.getpid(), os.path.realpath(target)), threading.RLock())


def hold(target: str, connect: Callable[[], H]) -> H:
    """Open a connection, which takes no lock yet, and note that it has the file open."""
    with FORKS.transaction(), _looking:
        connection = connect()
        found = identity(target)
        if found is not None:
            connection.holding = _held.setdefault(found, Holding())
        return connection


def look_into(target: str) -> bytes | None:
    """The header of a file; None where this process has it open as a database.

    Raises: DatabaseUnavailable.
    """
    with FORKS.transaction(), _looking:
        if identity(target) in _held:
            return None
        try:
            with open_regular(target) as file:
                return file.read(HEADER_BYTES)
        except OSError as error:
            raise DatabaseUnavailable(target, f"it cannot be read ({error.strerror})") from None


def is_held(target: str) -> bool:
    """Whether this process has a file open as a database, so that nothing else here may open and close it."""
    return identity(target) in _held


def identity(target: str) -> tuple[int, int] | None:
    """Which file a path names now: its device and inode; None where there is none."""
    try:
        found = os.stat(target)
    except OSError:
        return None
    return found.st_dev, found.st_ino
