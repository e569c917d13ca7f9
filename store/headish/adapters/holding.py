"""Share one open ``Database`` among all adapter objects of a process that name the same file or URL.

Frameworks make an object for each session and seldom close it, and opening a database costs milliseconds and file
handles. So each object has a hold, and holds are counted: when the last one is closed or garbage-collected, the
database is closed.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from headish import Database, Store
from headish.adapters.remembering import TurnMemory
from headish.database.identity import DatabaseIdentity, identify
from headish.errors import AdapterClosed, Closed
from headish.values.forking import PerProcess

Db = str | os.PathLike[str] | Database
"""The argument ``db`` of an adapter: a path, a URL, ``":memory:"``, or a database that the caller opens and closes."""


class _SharedDatabase:
    """A database with several holders. It keeps one store per space, because what a store remembers makes appends
    cheap."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.holders = 0
        self._stores: dict[str, Store] = {}
        self._memories: dict[tuple[str, str], TurnMemory] = {}

    def memory(self, adapter: str, space: str) -> TurnMemory:
        return self._memories.setdefault((adapter, space), TurnMemory())

    def store(self, space: str) -> Store:
        found = self._stores.get(space)
        if found is None:
            found = self._stores.setdefault(space, self.database.store(space))
        return found


_open: dict[DatabaseIdentity, _SharedDatabase] = {}
_given: weakref.WeakValueDictionary[int, _SharedDatabase] = weakref.WeakValueDictionary()
"""Databases that callers opened, by ``id``. An entry keeps its database alive, so no other one can get the ``id``."""
# Reentrant: the garbage collector may release a hold in any thread, even in one that has this lock.
_lock = PerProcess(threading.RLock)


class DatabaseHold:
    """An adapter object's hold on one space of a database. Safe to share between threads, and across a fork.

    ``what`` names the object in the error that follows a ``close`` ("the session"). ``db`` may be another hold: the new
    one then shares its database, even if that is in memory.
    A hold that is made in a coroutine opens a path or URL at its first use, in the thread that uses it: a new file
    takes a third of a second, which would block the event loop.
    Cost: one look-up if another object of the process holds the database.
    Raises: as ``Database.open`` and ``Database.store``.
    """

    def __init__(self, db: Db | DatabaseHold, what: str, space: str = "default") -> None:
        self._what, self._space, self._uses, self._is_closed = what, space, 0, False
        self._db: Db | DatabaseHold = db
        self._release: Callable[[], object] | None = None
        if not isinstance(db, str | os.PathLike) or not _is_in_a_loop():
            self._take_hold()
        else:
            identify(db)  # refuses an invalid address now, not at the first use

    def memory(self, adapter: str) -> TurnMemory:
        """The messages that the process remembers of the space, for one kind of adapter. Call it inside ``use``."""
        return self._shared.memory(adapter, self._space)

    def _take_hold(self) -> None:
        """Open the database, or share the one that is open."""
        if self._release is not None:
            return
        db = self._db
        self._shared, self._is_ours = _hold_again(db) if isinstance(db, DatabaseHold) else _hold(db)
        release = weakref.finalize(self, _let_go, self._shared, self._is_ours)
        release.atexit = False
        try:
            self._store = self._shared.store(self._space)
        except BaseException:
            release()
            raise
        self._release, self._db = release, self._shared.database  # the hold that it was made from may be collected

    @contextmanager
    def use(self) -> Iterator[Store]:
        """Yield the store. It stays open until the block ends, even if another thread closes the object meanwhile.

        Raises: AdapterClosed (a RuntimeError) after ``close``.
        """
        with _lock.now:
            self.check()
            self._take_hold()
            self._uses += 1
        try:
            yield self._store
        except Closed as error:
            raise AdapterClosed(self._what) from error  # the caller closed their own database
        finally:
            with _lock.now:
                self._uses -= 1
                self._end()

    def check(self) -> None:
        """Refuse to go on after ``close``. Raises: AdapterClosed."""
        if self._is_closed:
            raise AdapterClosed(self._what)

    def close(self) -> None:
        """Release the database once running calls have ended. Does not wait for them; a second ``close`` does
        nothing."""
        with _lock.now:
            self._is_closed = True
            self._end()

    def _end(self) -> None:
        if self._is_closed and not self._uses and self._release is not None:
            self._release()


def _is_in_a_loop() -> bool:
    return "asyncio" in sys.modules and sys.modules["asyncio"]._get_running_loop() is not None


def _hold(db: Db) -> tuple[_SharedDatabase, bool]:
    """Return the shared database, with this hold counted, and whether we close it when no hold is left."""
    if isinstance(db, Database):
        with _lock.now:
            return _given.setdefault(id(db), _SharedDatabase(db)), False
    found = identify(db)
    if found is None:
        shared = _SharedDatabase(Database.open(db))
        shared.holders = 1
        return shared, True
    with _lock.now:
        known = _open.get(found)
        if known is None:
            known = _SharedDatabase(Database.open(db))
            _open[identify(db) or found] = known  # again: a new file has its identity only now
        known.holders += 1
        return known, True


def _hold_again(held: DatabaseHold) -> tuple[_SharedDatabase, bool]:
    with held.use(), _lock.now:
        held._shared.holders += 1
        return held._shared, held._is_ours


def _let_go(shared: _SharedDatabase, is_ours: bool) -> None:
    with _lock.now:
        shared.holders -= 1
        if shared.holders > 0 or not is_ours:
            return
        for key in [key for key, each in _open.items() if each is shared]:
            del _open[key]
    shared.database.close()


class Scoped:
    """An adapter object that is closed at the end of its ``with`` block, also after an exception."""

    def close(self) -> None:
        """Release the database."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
