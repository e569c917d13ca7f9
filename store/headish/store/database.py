"""A database: its connections, and the spaces that it holds.

Many stores share one database, and so its connections. A program of one space opens a ``Store`` and needs no more.
"""

from __future__ import annotations

import builtins
import os
import weakref
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from headish.database.backend import Backend, Durability
from headish.database.dialects import connect
from headish.database.query import Connection
from headish.database.upgrade import ensure_schema
from headish.errors import (
    DatabaseError,
    InvalidArgument,
    RoleMissing,
    SpaceNotEmpty,
    SpaceRestoring,
    SpaceTaken,
    UnknownSpace,
    shown,
)
from headish.limits import PAYLOAD_LIMIT_BYTES
from headish.rows.counters import ERASED, lock_space, read_quota, set_quota, state_of
from headish.rows.spaces import add_space, count_spaces, find_space, list_spaces, remove_space, rename_space
from headish.store.paging import check_limit
from headish.store.space import Headishes
from headish.store.store import Store
from headish.values.checks.doors import CHOICE, FLAG, LIMIT, PATH, TEXT, WORDS, door
from headish.values.ids import IdMint
from headish.values.names import check_name, refusal, stored_name
from headish.values.results.quotas import Quota

if TYPE_CHECKING:
    from headish.database.isolation.members import Member
    from headish.database.isolation.securing import Secured
    from headish.database.spreading import Placed
    from headish.history.writing.copies import Copied
    from headish.values.results.backups import Backup
    from headish.values.results.erasures import Collected, Erasure
    from headish.values.results.reports import Report
    from headish.verify.space import Progress


# A server keeps a statement's plan with the connection. One made while the tables were empty may take any index, since
# all begin with the space, and then reads the whole space for every turn. The server's own statistics come a minute
# later, and a process that starts then has no plans to keep.
PLANNED_AGAIN_AT = (100, 10_000)
"""After how many turns of this process a server makes its plans again."""

Isolation = Literal["required"]
"""Open nothing whose spaces the database does not keep apart."""

PAGE = 500
"""Iteration over spaces reads so many names at a time."""


class Database:
    """A database of conversations, kept apart in spaces. Safe to share between threads; a context manager.

    One that is dropped without being closed gives its connections back.
    """

    def __init__(self, backend: Backend, payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES) -> None:
        self.backend, self.payload_limit_bytes = backend, payload_limit_bytes
        self.mint = IdMint().mint
        self._written = 0
        # Not at exit: a forked child would close what its parent uses.
        weakref.finalize(self, backend.close).atexit = False

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

        ``read_only``: nothing is made, upgraded or recovered, and a verb that writes raises ReadOnly before any
        statement. ``?mode=ro`` in a SQLite URL says the same. A SQLite file that cannot be written (its permissions, a
        read-only medium) is opened so without being asked; ``Database.read_only`` tells.

        ``isolation="required"``: open only a PostgreSQL database whose policies keep the spaces apart from this login
        (``Database.secure``); nothing is made then. Cost: one statement.
        Raises: InvalidArgument, UnknownDatabase, NotADatabase, DatabaseTooNew, DatabaseTooOld, NotIsolated.
        """
        if isolation not in (None, "required"):
            raise InvalidArgument(f"isolation is 'required' or None, not {shown(isolation)}")
        backend = connect(target, durability=durability, create=create, read_only=read_only, prepared=prepared)
        try:
            if isolation is not None:
                backend.check_isolated()
            ensure_schema(backend, create=create and isolation is None)
        except BaseException:
            backend.close()
            raise
        return cls(backend, payload_limit_bytes)

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
        return Spaces(self)

    def store(self, space: str = "default", *, create: bool = True, author: str | None = None) -> Store:
        """The store of a space, made where it is missing if ``create``. Cheap: call it whenever a store is needed.

        Closing it closes nothing else. Answers that a dead process left behind are recovered by ``Store.open``; here
        by ``store.streams.recover()``. ``author`` is written into every turn that is added or recorded here, under its
        seal: a claim that nothing proves. What a reply or an import stores was said by others, and has none.
        Cost: two statements, three where the space is new.
        Raises: InvalidName, UnknownSpace, SpaceRestoring, InvalidArgument, Closed.
        """
        if author is not None:
            from headish.content.facts import read_short

            author = read_short("author", author)
        name = check_name(space, "space")
        number, state = self.backend.read(partial(_look_up, name=name))
        if number is None and create and not self.read_only:
            check_name(space, "space", is_new=True)
            try:
                number = self.backend.write(lambda connection: add_space(connection, name))
            except RoleMissing as error:  # whether it is there is not said to whom it is not open
                raise UnknownSpace(self.target, space) from error
        if number is None:
            raise UnknownSpace(self.target, space)
        if state not in (None, ERASED):  # the receipts of an erased space can be read
            raise SpaceRestoring(self.target, space)
        return Store(self, space, number, author)

    @door()
    def move(self, headish: Headishes, *, space: str = "default", to: str, keep: bool = False) -> Copied:
        """Move the threads that lead to a headish, or to several, from one space into another: ``Store.copy_to``.

        The bookmarks that point at their turns go over; with ``keep`` they stay in ``space`` as well. The turns stay in
        both, since a turn never goes.
        Raises: UnknownSpace; as ``Store.copy_to``.
        """
        return self.store(space, create=False).copy_to(to, headish, keep=keep)

    @door(dest=PATH)
    def backup(
        self,
        dest: str | os.PathLike[str],
        *,
        verify: Literal["full", "quick"] = "full",
        progress: Progress | None = None,
    ) -> Backup:
        """Back up all spaces as they stand at one moment; writers go on meanwhile.

        A ``dest`` that ends with ``.db``, ``.sqlite`` or ``.sqlite3`` becomes a SQLite database without free pages,
        which can be opened as it is; it takes a SQLite database to make one. Any other is a file of frames
        (``headish-backup-1``) that ``restore`` puts back into either kind of database. The file gets its name once it
        is whole and was checked, and nothing is ever overwritten. ``verify="full"`` reads the backup back and derives
        every hash of it again; ``quick`` compares the sums of its frames, or asks SQLite. ``progress`` is called with
        numbers of turns.
        Cost: memory for a page; disk for the backup, and as much again to verify frames in full.
        Raises: FileTaken, InvalidArgument, InvalidBackup where it does not verify, DatabaseError.
        """
        from headish.store.keeping.backup import back_up

        return back_up(self, os.fspath(dest), None, verify, progress)

    @door(on=CHOICE)
    def search_index(self, on: bool | None = None) -> bool:
        """Whether the database keeps a search index; ``on`` switches it, for all spaces.

        Without one a search reads every turn of its space, and finds the same. Switching it off takes all words out of
        the database; they are not overwritten on the disk. Switched on, each space builds its own at its next search.
        Cost: one statement to ask; to switch, a transaction for each space.
        Raises: ReadOnly, and CannotIndex on a SQLite that was built without FTS5, where one is switched.
        """
        from headish.searching.switching import keeps_index, switch

        if on is not None:
            self.backend.check_writable()
            if not (on and self.backend.read(keeps_index)):
                switch(self.backend, on)
        return self.backend.read(keeps_index)

    @door()
    def verify(self, progress: Progress | None = None) -> dict[str, Report]:
        """The report of every space, by name; under the empty name what is wrong with the database as a whole.

        That is what the database's own check finds, which compares every index with its table (on PostgreSQL it needs
        the extension amcheck), names of spaces that cannot be names, and rows that belong to no space. Where policies
        hold this login, it is the spaces that are open to it, and nothing outside of them.
        """
        from headish.values.results.reports import Problem, Report
        from headish.verify.space import verify_space
        from headish.verify.spaces import check_spaces

        found = [Problem("database", what) for what in self.backend.check_integrity()]
        spaces, problems = check_spaces(self.backend)
        reports = {"": Report(turns=0, payloads=0, bookmarks=0, problems=(*found, *problems))}
        # By number: a space whose name was damaged cannot be opened, and what it holds is checked all the same.
        # Names that were damaged may look alike, or be empty.
        for number, name in spaces:
            told = f"{name} ({number})" if name in reports else name
            reports[told] = verify_space(self.backend.within(number), number, progress)
        return reports

    @door()
    def distribute(self, *, dry_run: bool = False) -> list[Placed]:
        """Spread the tables over the machines of a PostgreSQL with the extension Citus, by space.

        Where each table is then; with ``dry_run``, what would be done, and nothing is. What is spread already is left
        alone, so it is run again after an upgrade that brought new tables. Nobody should write meanwhile.
        Raises: DatabaseError without Citus, for a table that is kept in another way, and on a secured database;
        ReadOnly.
        """
        from headish.database.spreading import distribute

        return distribute(self.backend, dry_run=dry_run)

    @door(apps=WORDS, check=FLAG)
    def secure(self, *, apps: Sequence[str] = (), check: bool = False) -> Secured:
        """Have a PostgreSQL server keep the spaces apart: make the roles, grants, functions and policies that it lacks.

        The tables then belong to the role ``headish_owner``. A login reads and writes what the policies open to it:
        ``apps`` may enter every space, others those that ``spaces.grant`` opens. What was made, and what is missing
        still; with ``check`` nothing is made, and ``apps``, or else the login that asks, are looked at. Run it as a
        superuser, or as a role that owns the tables and may make roles; a second run changes nothing, and an upgrade
        makes what its new tables need. Whoever has the database open opens it anew.
        Raises: NotIsolated on SQLite; InvalidArgument for an unknown login; RoleMissing; ReadOnly; DatabaseError on a
        database that is spread.
        """
        from headish.database.isolation.securing import secure

        return secure(self.backend, [apps] if isinstance(apps, str) else list(apps), check=check)

    @door(dry_run=FLAG, scrub=FLAG)
    def gc(self, *, dry_run: bool = False, scrub: bool = False) -> Collected:
        """Remove what nothing names: large payloads, streams that ended a day ago, parts of unfinished copies.

        On SQLite it also finishes erasures that are not off the disk yet. ``scrub`` does that in any case, on
        PostgreSQL by VACUUM (FULL), which locks the tables meanwhile. ``dry_run`` counts, and changes nothing.
        Cost: reads the payloads and turns of every space once.
        """
        from headish.store.keeping.erase import collect_all

        return collect_all(self, dry_run=dry_run, forced=scrub)

    def _count_written(self, turns: int) -> None:
        """Count turns of this process; new plans are made where they are many more than when its first ones were."""
        before, self._written = self._written, self._written + turns
        if bisect(PLANNED_AGAIN_AT, before) < bisect(PLANNED_AGAIN_AT, self._written):
            # Statistics that cannot be made now leave the plans as they are.
            with suppress(DatabaseError):
                self.backend.plan_again()

    def close(self) -> None:
        """Give the connections back, for good: this database and its stores raise ``Closed`` from now on."""
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self.target}>"


def _look_up(connection: Connection, *, name: bytes) -> tuple[int | None, str | None]:
    """The number of a space, and why it may not be opened."""
    number = find_space(connection, name)
    return number, None if number is None else state_of(connection, number)


class Spaces:
    """The spaces of a database: iterate over their names, add, rename, limit, remove an empty one."""

    def __init__(self, database: Database) -> None:
        self._database, self._backend = database, database.backend

    def __iter__(self) -> Iterator[str]:
        """The names, read in pages, each when it is reached."""
        after = b""
        while page := self._page(PAGE, after):
            yield from map(stored_name, page)
            after = page[-1]

    def __len__(self) -> int:
        return self._backend.read(lambda connection: count_spaces(connection))

    def __contains__(self, space: object) -> bool:
        if not isinstance(space, str) or refusal(space) is not None:
            return False
        name = space.encode()
        return self._backend.read(lambda connection: find_space(connection, name)) is not None

    @door()
    def list(self, *, limit: int | None = None, after: str | None = None) -> builtins.list[str]:
        """The names, in the order of their bytes; ``limit`` of them, behind the name ``after``, which need not exist.

        Cost: one statement over the names of the page. Raises: InvalidArgument for a ``limit`` below 1.
        """
        page = self._page(check_limit(limit), (after or "").encode(errors="surrogatepass"))
        return [stored_name(name) for name in page]

    def _page(self, limit: int, after: bytes) -> builtins.list[bytes]:
        return self._backend.read(lambda connection: list_spaces(connection, after=after, limit=limit))

    def add(self, space: str) -> None:
        """Make a space. Raises: InvalidName, SpaceTaken."""
        name = check_name(space, "space", is_new=True)

        def work(connection: Connection) -> None:
            if find_space(connection, name) is not None:
                raise SpaceTaken(space)
            add_space(connection, name)

        self._backend.write(work)

    def rename(self, old: str, new: str) -> None:
        """Give a space another name; stores that have it open go on. Raises: InvalidName, UnknownSpace, SpaceTaken."""
        old_name, new_name = check_name(old, "space"), check_name(new, "space", is_new=True)

        def work(connection: Connection) -> None:
            if old_name != new_name and find_space(connection, new_name) is not None:
                raise SpaceTaken(new)
            if not rename_space(connection, old_name, new_name):
                raise UnknownSpace(self._backend.target, old)

        self._backend.write(work)

    def remove(self, space: str) -> None:
        """Remove a space that never held a turn, a pointer or tools. Raises: InvalidName, UnknownSpace, SpaceNotEmpty.

        Its number is not given out again, so a store that still has it open cannot write into another space.
        """
        name = check_name(space, "space")

        def work(connection: Connection) -> None:
            number = find_space(connection, name)
            if number is None:
                raise UnknownSpace(self._backend.target, space)
            if not remove_space(connection, number):
                raise SpaceNotEmpty(space)

        self._backend.write(work)

    @door(turns=LIMIT, bytes=LIMIT)
    def limit(
        self, space: str, *, turns: int | Literal["none"] | None = None, bytes: int | Literal["none"] | None = None
    ) -> Quota:
        """Let a space hold so many turns, and so many bytes of payloads; what it may hold, and holds, from then on.

        ``"none"`` takes a limit away; what is left out stays as it is, so without both nothing changes. A write past a
        limit raises ``QuotaExceeded``, whoever writes and however: the numbers are compared in the statement that takes
        the turn's number. A limit below what the space holds takes nothing away from it.
        Raises: InvalidName, UnknownSpace, InvalidArgument.
        """
        name = check_name(space, "space")

        def find(connection: Connection) -> int:
            number = find_space(connection, name)
            if number is None:
                raise UnknownSpace(self._backend.target, space)
            return number

        def work(connection: Connection) -> Quota:
            number = find(connection)
            lock_space(connection, number)
            now = read_quota(connection, number)
            set_quota(connection, number, _limit(turns, now.limit_turns), _limit(bytes, now.limit_bytes))
            return read_quota(connection, number)

        if turns is None and bytes is None:
            return self._backend.read(lambda connection: read_quota(connection, find(connection)))
        return self._backend.write(work)

    @door(dry_run=FLAG, scrub=FLAG)
    def erase(
        self, space: str, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase a space with all that it holds: turns, names, pointers, tools, objects, what is said of conversations.

        Its line stays, called ``erased-N``, with the receipts of its erasures; the names that it had go. Its number is
        never given out again, a store that has it open can store nothing, and what follows it is told that it is gone.
        ``reason``, ``by``, ``dry_run`` and ``scrub`` are those of ``Store.erase``.
        Cost: deletes every row of the space in one transaction; then SQLite writes the file anew.
        Raises: InvalidName, UnknownSpace, RemovedSpace, InvalidArgument.
        """
        from headish.store.keeping.erase import erase_whole

        return erase_whole(self._database, space, reason=reason, by=by, dry_run=dry_run, scrub=scrub)

    @door(login=TEXT, role=TEXT)
    def grant(self, space: str, login: str, *, role: Literal["reader", "writer", "eraser"] = "writer") -> None:
        """Open a space of a secured database to a login of the server, and give that the role if it has none.

        A role is that of a login, for all spaces that are open to it: a ``reader`` reads, a ``writer`` stores, an
        ``eraser`` erases, too.
        Raises: NotIsolated, UnknownSpace, InvalidName, InvalidArgument for an unknown login or one that has another
        role; RoleMissing for whoever is not the owner.
        """
        from headish.database.isolation.members import grant

        grant(self._backend, check_name(space, "space"), login, role)

    @door(login=TEXT)
    def revoke(self, space: str, login: str) -> None:
        """Close a space to a login: what it has open fails from its next transaction on. The role goes with the last.

        Raises: NotIsolated, UnknownSpace, InvalidName, InvalidArgument where it was not open to it; RoleMissing.
        """
        from headish.database.isolation.members import revoke

        revoke(self._backend, check_name(space, "space"), login)

    def members(self) -> builtins.list[Member]:
        """Which login may enter which space, by login and space. Raises: NotIsolated, RoleMissing."""
        from headish.database.isolation.members import list_members

        return list_members(self._backend)

    def __repr__(self) -> str:
        return f"<Spaces of {self._backend.target}>"


def _limit(given: int | str | None, now: int | None) -> int | None:
    return now if given is None else given if isinstance(given, int) else None
