"""One ``Database`` per file or server of a process, however often it is opened.

Writers of one ``Database`` share commits and connections; those of several wait for one another. A web server opens the
same file in many places without knowing of the others.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from headish.database.file.holding import identity
from headish.errors import Closed, ReadOnly
from headish.values.forking import PerProcess

if TYPE_CHECKING:
    from headish.store.database import Database


class Shared:
    """An open database and how many have it open. It is closed by the last of them."""

    def __init__(self, database: Database) -> None:
        self.database, self.users = database, 0


class Share:
    """One user's part of an open database."""

    def __init__(self, shared: Shared) -> None:
        self._shared: Shared | None = shared
        self._target = shared.database.target

    @property
    def database(self) -> Database:
        """The database. Raises: Closed after ``close``."""
        if self._shared is None:
            raise Closed(f"the database {self._target}")
        return self._shared.database

    def close(self) -> None:
        """Give this part back, for good; the last one closes the database."""
        with _lock.now:
            shared, self._shared = self._shared, None
            if shared is None:
                return
            shared.users -= 1
            is_last = not shared.users
            if is_last:
                _forget(shared)
        if is_last:
            # Outside the lock: closing may take a while, and others want to open meanwhile.
            shared.database.close()


_lock = PerProcess(threading.Lock)
_open: WeakValueDictionary[tuple[Any, ...], Shared] = WeakValueDictionary()
"""What is open in this process. It is held by those who opened it: what everybody dropped is closed, as ever. In a
forked child it stays open, and belongs to those who have it."""


def _forget(shared: Shared) -> None:
    for key in [key for key, each in _open.items() if each is shared]:
        del _open[key]


def open_shared(target: str | os.PathLike[str], **options: Any) -> Share:
    """Open a database as ``Database.open`` does, or take part in the one that is open in this process.

    Of a file, that is one by the same path or another, as long as the file is the same and the options are. Memory is
    never shared.
    Raises: as ``Database.open``.
    """
    from headish.store.database import Database

    with _lock.now:
        key = _key_of(target, options)
        shared = None if key is None else _open.get(key)
        if shared is None or _is_closed(shared.database):
            shared = Shared(Database.open(target, **options))
            key = _key_of(target, options)  # a file that was just made has an identity now
            if key is not None:
                _open[key] = shared
        shared.users += 1
        return Share(shared)


def _is_closed(database: Database) -> bool:
    """Whether somebody closed it behind the backs of those who share it."""
    try:
        database.backend.check_writable()
    except Closed:
        return True
    except ReadOnly:
        pass
    return False


def _key_of(target: object, options: dict[str, Any]) -> tuple[Any, ...] | None:
    """What tells two databases apart; None for one that is not shared."""
    said = tuple(sorted((name, repr(value)) for name, value in options.items()))
    text = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
    if not isinstance(text, str) or text.startswith(("sqlite:", ":memory:")):
        return None
    if text.startswith("postgresql"):
        return text, said
    try:
        found = identity(os.path.expanduser(text))
    except (OSError, ValueError):
        return None
    return None if found is None else (found, said)
