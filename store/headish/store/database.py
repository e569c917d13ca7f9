"""A database: its connections, and the spaces that it holds.

Many stores share one database, and so its connections. A program of one space opens a ``Store`` and needs no more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Self

from headish.database.backend import Durability
from headish.store.connections import Connections, Isolation
from headish.store.keeping.spaces import Spaces
from headish.store.space import Headishes
from headish.store.store import Store
from headish.values.checks.doors import WORDS, door
from headish.values.limits import PAYLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from headish.database.isolation.securing import Secured
    from headish.database.spreading import Placed
    from headish.history.writing.copies import Copied
    from headish.store.keeping.access_tokens import AccessTokens
    from headish.values.results.erasures import Collected
    from headish.values.results.exports import Backup
    from headish.values.results.reports import Report
    from headish.verify.space import Progress


class Database:
    """A database of conversations, kept apart in spaces. Safe to share between threads; a context manager.

    A database that is garbage-collected without being closed gives its connections back.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections, self.backend = connections, connections.backend

    @classmethod
    @door()
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        create: bool = True,
        read_only: bool = False,
        prepared: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
        isolation: Isolation | None = None,
    ) -> Self:
        """Open a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

        ``create`` makes the file and the tables where they are missing. A SQLite database of an older headish is
        upgraded, after a backup beside it; an older PostgreSQL one is refused until ``headish db upgrade``.
        ``durability="normal"`` trades the survival of a power cut for faster appends. ``prepared=False`` (in a URL
        ``?prepared=false``) keeps no statements prepared on a server, for a pooler that lends a connection per
        transaction.

        ``read_only`` makes, upgrades and recovers nothing, and a verb that writes raises ReadOnly before any statement.
        ``?mode=ro`` in a SQLite URL does the same. A SQLite file that cannot be written (its permissions, a read-only
        medium) is opened read-only in any case; ``Database.read_only`` tells.

        ``isolation="required"`` opens only a PostgreSQL database whose policies keep the spaces apart from this login
        (``Database.secure``), and makes nothing. Cost: one statement.
        Raises: InvalidArgument, UnknownDatabase, NotADatabase, DatabaseTooNew, DatabaseTooOld, NotIsolated.
        """
        connections = Connections.open(
            target, durability=durability, create=create, read_only=read_only, prepared=prepared,
            payload_limit_bytes=payload_limit_bytes, isolation=isolation,
        )  # fmt: skip
        return cls(connections)

    @property
    def target(self) -> str:
        """The path or URL, without a password."""
        return self.backend.target

    @property
    def read_only(self) -> bool:
        """Whether it was opened read-only."""
        return self.backend.read_only

    @property
    def spaces(self) -> Spaces:
        """The spaces of the database."""
        return Spaces(self._connections)

    @property
    def access_tokens(self) -> AccessTokens:
        """The access tokens: each lets a program use a headish server."""
        from headish.store.keeping.access_tokens import AccessTokens  # late: most programs serve nothing

        return AccessTokens(self._connections)

    def store(self, space: str = "default", *, create: bool = True, author: str | None = None) -> Store:
        """The store of a space, made where it is missing if ``create``. Cheap: call it whenever a store is needed.

        Closing it closes nothing else. To recover answers that a dead process left behind, call
        ``store.streams.recover()`` (``Store.open`` does it). ``author`` is written into every turn that is added or
        recorded here, under its seal: a claim that nothing proves. Replies and imports have none.
        Cost: two statements, three where the space is new.
        Raises: InvalidName, UnknownSpace, SpaceRestoring, InvalidArgument, Closed.
        """
        return Store._enter(self._connections, space, create=create, author=author)

    @door()
    def move(self, headish: Headishes, *, space: str = "default", to: str, keep: bool = False) -> Copied:
        """Move the threads that lead to a headish, or to several, from one space into another: ``Store.copy_to``.

        The bookmarks that point at their turns move; with ``keep`` they stay in ``space`` as well. The turns stay in
        both.
        Raises: UnknownSpace; as ``Store.copy_to``.
        """
        return self.store(space, create=False).copy_to(to, headish, keep=keep)

    @door()
    def backup(
        self,
        dest: str | os.PathLike[str],
        *,
        verify: Literal["full", "quick"] = "full",
        progress: Progress | None = None,
    ) -> Backup:
        """Back up all spaces as they are at one moment; writers go on meanwhile.

        A ``dest`` that ends with ``.db``, ``.sqlite`` or ``.sqlite3`` becomes a SQLite database without free pages,
        which can be opened as it is; it takes a SQLite database to make one. Any other is a file of frames
        (``headish-backup-1``) that ``restore`` puts back into either kind of database. The file gets its name once it
        is whole and checked; nothing is overwritten. ``verify="full"`` reads the backup back and derives every hash of
        it again; ``quick`` compares the sums of its frames, or asks SQLite. ``progress`` is called with numbers of
        turns.
        Cost: memory for a page; disk for the backup, and as much again to verify frames in full.
        Raises: FileTaken, InvalidArgument, InvalidBackup where it does not verify, DatabaseError.
        """
        from headish.store.keeping.backup import back_up

        return back_up(self._connections, os.fspath(dest), None, verify, progress)

    @door()
    def search_index(self, on: bool | None = None) -> bool:
        """Return whether the database keeps a search index; ``on`` switches it on or off first, for all spaces.

        Without an index a search reads every turn of its space, and finds the same. Switching it off removes all words
        from the database, but does not overwrite them on the disk. After it is switched on, each space builds its index
        at its next search.
        Cost: one statement to look; to switch, a transaction for each space.
        Raises when it switches: ReadOnly, and CannotIndex on a SQLite that was built without FTS5.
        """
        from headish.history.searching.switching import keeps_index, switch

        if on is not None:
            self.backend.check_writable()
            if not (on and self.backend.read(keeps_index)):
                switch(self.backend, on)
        return self.backend.read(keeps_index)

    @door()
    def verify(self, progress: Progress | None = None) -> dict[str, Report]:
        """Verify the database; return a report for each space, by name, and one for the database as a whole under the
        empty name.

        The latter lists what the database's own check finds, which compares every index with its table (on PostgreSQL
        it needs the extension amcheck), invalid names of spaces, and rows that belong to no space. A login under
        policies gets reports only of the spaces that are open to it.
        """
        from headish.store.reading.reports import verify_all

        return verify_all(self.backend, progress)

    @door()
    def distribute(self, *, dry_run: bool = False) -> list[Placed]:
        """Spread the tables over the machines of a PostgreSQL with the extension Citus, by space.

        Returns where each table is afterwards; with ``dry_run``, only the statements. Tables that are spread already
        are left alone, so run it again after an upgrade that added tables. No program should write meanwhile.
        Raises: DatabaseError without Citus, for a table that is kept in another way, and on a secured database;
        ReadOnly.
        """
        from headish.database.spreading import distribute

        return distribute(self.backend, dry_run=dry_run)

    @door(apps=WORDS)
    def secure(self, *, apps: Sequence[str] = (), check: bool = False) -> Secured:
        """Have a PostgreSQL server keep the spaces apart: make the roles, grants, functions and policies that it lacks.

        The tables then belong to the role ``headish_owner``. A login reads and writes what the policies open to it:
        ``apps`` may enter every space, others those that ``spaces.grant`` opens. Returns what was made, and what is
        still missing; ``check`` makes nothing, and examines ``apps`` or, without any, the current login. Run it as a
        superuser, or as a role that owns the tables and may make roles; a second run changes nothing, and an upgrade
        makes what its new tables need. Programs that have the database open must open it anew.
        Raises: NotIsolated on SQLite; InvalidArgument for an unknown login; RoleMissing; ReadOnly; DatabaseError on a
        database that is spread.
        """
        from headish.database.isolation.securing import secure

        return secure(self.backend, [apps] if isinstance(apps, str) else list(apps), check=check)

    @door()
    def gc(self, *, dry_run: bool = False, scrub: bool = False) -> Collected:
        """Remove what nothing uses any more: large payloads, streams that ended a day ago, parts of unfinished copies.

        On SQLite it also finishes erasures that are not off the disk yet. ``scrub`` does that in any case, on
        PostgreSQL by VACUUM (FULL), which locks the tables meanwhile. ``dry_run`` counts, and changes nothing.
        Cost: reads the payloads and turns of every space once.
        """
        from headish.store.keeping.erase import collect_all

        return collect_all(self._connections, dry_run=dry_run, forced=scrub)

    def close(self) -> None:
        """Give the connections back, for good: this database and its stores raise ``Closed`` from now on."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self.target}>"
