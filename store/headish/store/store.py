"""The door: a space of a database, its transactions, and nothing else.

``Store`` opens every transaction, calls one verb inside it and turns rows into values. No transaction is held while a
caller's code runs. Its methods stand in parts: writing.py, threadspace.py (reading), naming.py, importing.py,
defining.py (pointers and tools), requesting.py, replying.py, asking.py, looping.py and
counting.py.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Literal, Self

from headish.database.dialects import connect
from headish.database.query import Connection
from headish.database.upgrade import ensure_schema
from headish.errors import UnknownDatabase
from headish.limits import PAYLOAD_LIMIT_BYTES
from headish.rows import listings, payloads, spaces
from headish.rows.bookmarks import list_bookmarks
from headish.store.bookmarks import NamingSpace
from headish.store.imports import ImportingSpace
from headish.store.tools import LoopingSpace
from headish.store.usage import CountingSpace
from headish.values.names import check_name
from headish.values.reports import Report, Stats
from headish.verify.turns import Progress, verify


class Store(LoopingSpace, NamingSpace, ImportingSpace, CountingSpace):
    """One space of one database. Safe to share between threads; a context manager.

    A *headish* names a turn: an id or its unique prefix, a bookmark, ``@`` for the newest turn, each with suffixes
    (grammar.py). Every method that takes one raises UnknownTurn, Ambiguous or InvalidHeadish; every method raises
    DatabaseError where the database is in the way.
    """

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        space: str = "default",
        durability: Literal["full", "normal"] = "full",
        create: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
    ) -> Self:
        """Open a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

        ``create`` makes what is missing: file, tables, space. A SQLite database of an older headish is upgraded, after
        a backup beside it; an older PostgreSQL one is refused until ``headish db upgrade``.
        ``durability="normal"`` trades the survival of a power cut for faster appends.
        Answers that a dead process left behind are recovered, and the log (``headish``) says so.
        Raises: InvalidName, InvalidArgument, UnknownDatabase, NotADatabase, DatabaseTooNew, DatabaseTooOld.
        """
        name = check_name(space, "space")
        database = connect(target, durability=durability, create=create)
        try:
            ensure_schema(database, create=create)
            number = database.read(lambda connection: spaces.find_space(connection, name))
            if number is None and create:
                number = database.write(lambda connection: spaces.add_space(connection, name))
            if number is None:
                raise UnknownDatabase(database.target, f"it has no space {space!r}")
        except BaseException:
            database.close()
            raise
        store = cls(database, space, number, payload_limit_bytes)
        store._recover_on_open()
        return store

    def close(self) -> None:
        """Give the connections back. A closed store opens them again when it is used."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._database.target} space={self.space!r}>"

    def verify(self, progress: Progress | None = None) -> Report:
        """Derive every hash, digest and seal again, check links, chains and bookmarks, and say what disagrees."""
        return verify(self._database, self._number, progress)

    def stats(self) -> Stats:
        """Counts and sizes of the space."""

        def work(connection: Connection) -> tuple[int, int, int, int, int, int]:
            space = self._number
            [(count,)] = connection.rows(listings.COUNT_TURNS, space=space)
            [(roots,)] = connection.rows(listings.COUNT_ROOTS, space=space)
            [(number, size)] = connection.rows(payloads.COUNT_PAYLOADS, space=space)
            heads = len(listings.heads(connection, space))
            names = len(list_bookmarks(connection, space))
            return count, roots, heads, names, number, int(size)

        return Stats(*self._database.read(work), self._database.size_bytes())
