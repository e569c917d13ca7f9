"""Open one ``Database`` per file or server in a process, however often it is asked for.

Writers of one ``Database`` share commits and connections; those of several wait for one another. A web server opens the
same file in many places without knowing of the others.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from headish.database.dialects import is_url
from headish.database.file.holding import identity
from headish.errors import Closed, DatabaseReadOnly
from headish.values.forking import PerProcess

if TYPE_CHECKING:
    from headish.store.database import Database


class Shared:
    """An open database and the number of its users. The last one closes it."""

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
        """End this use, for good. The last user closes the database."""
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
"""The open databases of this process. Only their users refer to them, so a database that all of them dropped is closed.
A forked child keeps the entries, for the users that it inherited."""


def _forget(shared: Shared) -> None:
    for key in [key for key, each in _open.items() if each is shared]:
        del _open[key]


def open_shared(target: str | os.PathLike[str], **options: Any) -> Share:
    """Open a database as ``Database.open`` does, or share the one that is open in this process.

    A file is shared under any of its paths, if the options are the same. ``:memory:`` and ``sqlite`` URLs are never
    shared.
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
    """Whether the database was closed directly, while its users still share it."""
    try:
        database.backend.check_writable()
    except Closed:
        return True
    except DatabaseReadOnly:  # it is open, if only for reading
        pass
    return False


def _key_of(target: object, options: dict[str, Any]) -> tuple[Any, ...] | None:
    """The key of a database in ``_open``; None if it is not shared."""
    options_key = tuple(sorted((name, repr(value)) for name, value in options.items()))
    text = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
    if not isinstance(text, str) or text.startswith(("sqlite:", ":memory:")):
        return None
    if is_url(text):
        return text, options_key
    try:
        file_key = identity(os.path.expanduser(text))
    except (OSError, ValueError):
        return None
    return None if file_key is None else (file_key, options_key)
