"""An adapter's hold on a database. All objects of a process that name one file, or one URL, share one ``Database``.

Frameworks make an object for each session and seldom close it, and an open database costs milliseconds and file
handles. So holds are counted: the last one that is closed or garbage-collected closes the database.
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
"""What an adapter takes as ``db``: a path, a URL, ``":memory:"``, or a database that the caller opened and closes."""


class _SharedDatabase:
    """A database with several holders, and one store for each of its spaces: appends are cheap because a store
    remembers where the names are."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.holders = 0
        self._stores: dict[str, Store] = {}
        self._memories: dict[tuple[str, str], TurnMemory] = {}

    def memory(self, adapter: str, space: str) -> TurnMemory:
        return self._memories.setdefault((adapter, space), TurnMemory())

    def store(self, space: str) -> Store:
        store = self._stores.get(space)
        if store is None:  # ``setdefault``: of two threads that come here at once, one store wins
            store = self._stores.setdefault(space, self.database.store(space))
        return store


_open: dict[DatabaseIdentity, _SharedDatabase] = {}
_given: weakref.WeakValueDictionary[int, _SharedDatabase] = weakref.WeakValueDictionary()
"""The databases that callers opened, by ``id()``. An entry keeps its database alive, so no other object has its id."""
# Reentrant: the garbage collector may release a hold in any thread at any point, within this lock too.
_lock = PerProcess(threading.RLock)


class DatabaseHold:
    """The hold of an adapter's object on one space of a database. Safe to share between threads, and across a fork.

    ``what`` names the object in the error after it was closed ("the session"). ``db`` may be another hold, for an
    object that is made from one; that works in memory, too. If it is made in a coroutine, it opens a path or URL at its
    first use, in the thread that uses it, so that no event loop waits.
    Cost: only a look-up if another object of the process holds the database.
    Raises: as ``Database.open`` and ``Database.store``.
    """

    def __init__(self, db: Db | DatabaseHold, what: str, space: str = "default") -> None:
        self._what, self._space, self._uses, self._is_closed = what, space, 0, False
        self._db: Db | DatabaseHold = db
        self._release: Callable[[], object] | None = None
        if not isinstance(db, str | os.PathLike) or not _is_in_a_loop():
            self._take_hold()
        else:
            identify(db)  # a value that names no database is refused at once, not at the first use

    def memory(self, adapter: str) -> TurnMemory:
        """The process's memory of the space for one kind of adapter. Call it inside ``use``."""
        return self._shared.memory(adapter, self._space)

    def _take_hold(self) -> None:
        """Open the database, or share the one that is open."""
        if self._release is not None:
            return
        db = self._db
        self._shared, self._is_ours = _hold_again(db) if isinstance(db, DatabaseHold) else _hold(db)
        release = weakref.finalize(self, _let_go, self._shared, self._is_ours)
        # At exit it would close the database of an object that still lives, and that may store something yet.
        release.atexit = False
        try:
            self._store = self._shared.store(self._space)
        except BaseException:
            release()
            raise
        self._release, self._db = release, self._shared.database  # the hold that this was made from may be collected

    @contextmanager
    def use(self) -> Iterator[Store]:
        """The store. It stays open until the block ends, even if the object is closed meanwhile.

        Raises: AdapterClosed (a RuntimeError) after ``close``.
        """
        with _lock.now:
            self.check()
            self._take_hold()
            self._uses += 1
        try:
            yield self._store
        except Closed as error:
            raise AdapterClosed(self._what) from error  # the caller closed the database that they had passed
        finally:
            with _lock.now:
                self._uses -= 1
                self._end()

    def check(self) -> None:
        """Check that the object is not closed. Raises: AdapterClosed."""
        if self._is_closed:
            raise AdapterClosed(self._what)

    def close(self) -> None:
        """Release the database for good, after running calls have ended. A second ``close`` does nothing."""
        with _lock.now:
            self._is_closed = True
            self._end()

    def _end(self) -> None:
        if self._is_closed and not self._uses and self._release is not None:
            self._release()


def _is_in_a_loop() -> bool:
    return "asyncio" in sys.modules and sys.modules["asyncio"]._get_running_loop() is not None


def _hold(db: Db) -> tuple[_SharedDatabase, bool]:
    """Return the shared database with one more holder, and whether headish closes it."""
    if isinstance(db, Database):
        with _lock.now:
            return _given.setdefault(id(db), _SharedDatabase(db)), False
    identity = identify(db)
    if identity is None:  # in memory: nothing identifies it, so nobody else can mean this one
        shared = _SharedDatabase(Database.open(db))
        shared.holders = 1
        return shared, True
    with _lock.now:
        entry = _open.get(identity)
        if entry is None:
            entry = _SharedDatabase(Database.open(db))
            _open[identify(db) or identity] = entry  # again: a new file has an identity only now
        entry.holders += 1
        return entry, True


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
    """An object of an adapter that closes at the end of its ``with`` block."""

    def close(self) -> None:
        """Release what the object holds: each adapter has its own way."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
