"""The SQLite files that this process has open, the lock of its writers to each, and a safe look at a file's header.

Under POSIX, a process that closes any descriptor of a file loses all of its locks on that file, including SQLite's.
Another program that closes the database then sees no other user and removes the log. The connections here go on writing
into the removed log, and what they acknowledge is lost. So nothing here opens a file that has an open connection.
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

HEADER_BYTES = 100  # the size of SQLite's header (https://www.sqlite.org/fileformat.html)


class Holding:
    """An open file. Its connections refer to it, so it disappears with the last of them."""

    __slots__ = ("__weakref__",)


class Holder(Protocol):
    """A connection, as far as it holds a file."""

    holding: Holding | None


H = TypeVar("H", bound=Holder)

_held: WeakValueDictionary[tuple[int, int], Holding] = WeakValueDictionary()
_looking = threading.Lock()
_locks: WeakValueDictionary[tuple[int, str], threading.RLock] = WeakValueDictionary()


def lock_of(target: str) -> threading.RLock:
    """The lock of all writers of this process to a file. One of them asks for the file's own lock; the others wait."""
    # With the process id: a forked child would inherit a lock that a thread of its parent has, and that no thread of
    # the child releases.
    return _locks.setdefault((os.getpid(), os.path.realpath(target)), threading.RLock())


def hold(target: str, connect: Callable[[], H]) -> H:
    """Open a connection and note that it has the file open. ``connect`` must not take a lock."""
    # Inside of ``_looking``, so that no header is read, and its file closed, between the two steps.
    with FORKS.transaction(), _looking:
        connection = connect()
        file_id = identity(target)
        if file_id is not None:
            connection.holding = _held.setdefault(file_id, Holding())
        return connection


def look_into(target: str) -> bytes | None:
    """The header of a file; None if this process has it open as a database.

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
    """Whether this process has a file open as a database. Then no other code here may open and close it."""
    return identity(target) in _held


def identity(target: str) -> tuple[int, int] | None:
    """The device and inode of the file that a path names now; None if there is none."""
    try:
        status = os.stat(target)
    except OSError:
        return None
    return status.st_dev, status.st_ino
