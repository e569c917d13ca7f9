"""SQLite: one file, many processes, one writer at a time.

Every connection uses WAL, foreign keys and explicit transactions. The driver's own transaction handling is off, because
it commits before DDL and would leave half an upgrade behind. Writers take the lock at once (BEGIN IMMEDIATE). They wait
for it in a queue of headish's own (``file/queue``), not in SQLite's handler, whose growing sleeps starve all but one
writer.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from headish.database.backend import ASKED_READ_ONLY
from headish.database.file.files import Location, as_read_only, check_file, file_state, is_writable
from headish.database.file.forking import FORKS
from headish.database.file.holding import Holding, hold, identity, lock_of
from headish.database.owner import Owner
from headish.database.pause import pause
from headish.database.pool import AllInUse, Pool
from headish.database.query import SQLITE, Connection, Query, SchemaConnection
from headish.database.revisions import NEVER_COPIED
from headish.errors import DatabaseError, DatabaseReplaced, DatabaseUnavailable, NotADatabase, NotIsolated, ReadOnly
from headish.values.forking import cached_property

if TYPE_CHECKING:
    from headish.database.backend import Settle
    from headish.database.file.queue import Queue
    from headish.database.file.sharing import SharedCommits
    from headish.database.file.wal import Log

T = TypeVar("T")

APPLICATION_ID = 0x68647368  # "hdsh": `file` and other tools can recognise a headish database
LOG_BYTES = 16 * 1024 * 1024
"""The size to which SQLite cuts the write-ahead log once its contents are in the database."""
WAIT_SECONDS = 60.0
"""How long a writer waits for the lock before it gives up with DatabaseLocked."""
LONGEST_SLEEP_SECONDS = 0.03
"""The longest time between two attempts of a writer that has waited for long."""
IDLE_CONNECTIONS = 4
"""The number of open connections that are kept between transactions."""
KEPT_STATEMENTS = 512
"""The number of statements that a connection keeps prepared. The driver's default of 128 is less than the library has:
a process that verifies or serves would spend a quarter of its time on preparing the same statements again."""
FOUND_READ_ONLY = "it cannot be written here; check the permissions of file and folder, or copy it to a folder of yours"
NO_ROLES = "SQLite has no roles, so nothing in a file keeps spaces apart: give every tenant a file of its own"
_FIND_REVISION = Query("find revision", "SELECT version_num FROM alembic_version")
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
_OF_A_PROCESS = ("_pool", "_memory", "_writing", "_shared", "_log", "_queue")
"""The attributes that a backend makes anew in a forked child."""


class SQLiteBackend:
    """A SQLite file, or memory."""

    dialect = "sqlite"
    upgrades_itself = True
    scrubs_itself = True
    has_segments = True
    is_confined = False
    not_reached: tuple[str, ...] = (
        "copies and backups of the file",
        "copies of turns in other databases, exports, and what was sent to a provider",
        "snapshots of the file system, and what a disk keeps on its own",
    )

    def __init__(
        self,
        found: Location,
        *,
        durability: str,
        create: bool,
        read_only: bool = False,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.target, self._in_memory = found.path, found.in_memory
        self._opened, self._is_uri = found.opened, found.is_uri
        self._is_file = not (found.in_memory or found.is_foreign)
        self._wait_seconds = wait_seconds
        self._owner = Owner(self.target, self._renew)
        self._synchronous = _SYNCHRONOUS[durability]
        self.read_only, self._why_read_only = read_only or found.read_only, ASKED_READ_ONLY
        self._state: tuple[int, ...] | None = None
        self._identity = None
        if self._is_file:
            check_file(self.target, create and found.may_create and not self.read_only)
            self._identity = identity(self.target)
            self._choose_access()
        self._renew()

    def _choose_access(self) -> None:
        """Choose read-only access if the caller wants it, or if this process cannot write the database."""
        if not self.read_only and not is_writable(self.target):
            self.read_only, self._why_read_only = True, FOUND_READ_ONLY
        if self.read_only:
            file = as_read_only(self.target)
            self._opened, self._state, self._is_uri = file.uri, file.state, True

    def _renew(self) -> object:
        """Make connections and locks of its own for a process. Returns those that it replaces."""
        # Popped, so that the cached properties among them are made anew, too.
        before = [vars(self).pop(name, None) for name in _OF_A_PROCESS]
        # Threads wait for a connection as long as for the lock; a server may well have a hundred threads.
        self._pool = Pool(self._connect, kept=IDLE_CONNECTIONS, wait_seconds=self._wait_seconds)
        FORKS.close_before(self._pool)
        # Memory is one connection behind a lock (rule R13, connections and statements); for a file the lock spares
        # threads the sleeps below.
        self._memory = self._connect() if self._in_memory else None
        self._writing = threading.RLock() if self._in_memory else lock_of(self.target)
        self._reading: AbstractContextManager[Any] = self._writing if self._in_memory else nullcontext()
        return before

    # The following are imported and made for the first writer: most processes only read.

    @cached_property
    def _shared(self) -> SharedCommits:
        """The group of writers. If two threads make one each, they still take turns, because both use one lock."""
        from headish.database.file.sharing import SharedCommits

        return SharedCommits(self, self._writing)

    @cached_property
    def _log(self) -> Log | None:
        from headish.database.file.wal import Log

        return Log(self.target) if self._is_file else None

    @cached_property
    def _queue(self) -> Queue | None:
        from headish.database.file.queue import Queue

        return Queue(self.target) if self._is_file else None

    def _connect(self) -> _Driver:
        # A file that is read without locks has none to lose, so it is not noted as held.
        has_locks = self._is_file and self._state is None
        connection = hold(self.target, self._opened_anew) if has_locks else self._opened_anew()
        try:
            self._set_pragmas(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _opened_anew(self) -> _Driver:
        # ``timeout=0``: headish waits for locks itself. ``isolation_level=None``: it begins transactions itself.
        # ``check_same_thread``: the pool lends a connection to one thread at a time, but not always to the same one.
        return sqlite3.connect(
            self._opened, uri=self._is_uri, timeout=0, isolation_level=None, check_same_thread=False, factory=_Driver,
            cached_statements=KEPT_STATEMENTS,
        )  # fmt: skip

    def within(self, space: int) -> Self:
        return self

    def find_revision(self) -> str | None:
        row = self.read(lambda connection: connection.row(_FIND_REVISION))
        return row[0] if row else None

    def check_isolated(self) -> None:
        raise NotIsolated(self.target, NO_ROLES)

    def lifted(self, connection: SchemaConnection) -> AbstractContextManager[None]:
        return nullcontext()

    def read(self, work: Callable[[Connection], T]) -> T:
        self._owner.check()
        with self._reading:
            try:
                result = self._wait(lambda: self._transact("BEGIN", lambda cursor: work(self.connection(cursor)), []))
            except DatabaseError:
                self._check_state()  # without locks, a concurrent write may look like damage
                raise
            self._check_state()
            return result

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        """Write as ``Backend.write``. A commit succeeds or fails in this process, so there is nothing to settle."""
        self.check_writable()
        return self._shared.write(work)

    def check_writable(self) -> None:
        self._owner.check()
        if self.read_only:
            raise ReadOnly(self.target, self._why_read_only)

    def connection(self, cursor: sqlite3.Cursor) -> Connection:
        return Connection(cursor, SQLITE)

    def wait_to_write(self, attempt: Callable[[], T], since: float) -> T:
        if self._queue is None:
            return self._wait(attempt, since)
        with self._queue:
            return self._wait(attempt, since, self._queue.wait)

    def write_once(self, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        self._owner.check()  # another thread may have closed it while the caller waited
        self._check_identity()
        return self._transact("BEGIN IMMEDIATE", run, committed)

    def end_writing(self, *, others_wait: bool) -> None:
        if self._log is not None:
            self._log.shorten(others_wait=others_wait)

    def _transact(self, begin: str, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        with FORKS.transaction():
            driver = self._take_connection()
            # The driver's own context manager rolls back in C. Before a ``finally`` of ours, a signal's handler could
            # raise at the first byte code, and the connection would stay in its transaction and lock all writers out.
            cursor = driver.cursor()
            try:
                with driver:
                    cursor.execute(begin)
                    if self._owner.is_closed:  # meanwhile: who waits for the lock may get it after that
                        self._owner.check()
                    result = run(cursor)
                    # One call in C, so that nothing can raise between the COMMIT and the note that it succeeded.
                    self._wait(lambda: committed.extend(map(cursor.execute, ("COMMIT",))))
            except Exception:
                cursor.close()  # else its statement stays active, and the next COMMIT of this connection would fail
                self._give_back(driver)
                raise
            except BaseException:
                # An interrupt, whose traceback may keep the cursor alive: the connection is not used again. Memory has
                # no other connection.
                cursor.close() if self._in_memory else self._pool.discard(driver)
                raise
            self._give_back(driver)
            return result

    def _take_connection(self) -> _Driver:
        if self._memory is not None:
            return self._memory
        try:
            return self._pool.take()
        except AllInUse:
            raise DatabaseUnavailable(self.target, "all of its connections are in use; try again") from None

    def _give_back(self, driver: _Driver) -> None:
        if self._memory is not None:
            return
        if self._owner.is_closed:
            self._pool.discard(driver)
        else:
            self._pool.give_back(driver)

    def _wait(
        self,
        attempt: Callable[[], T],
        since: float | None = None,
        wait: Callable[[float], None] = partial(pause, 0.0002),
    ) -> T:
        """Try until the lock is free. After ``_wait_seconds`` since ``since``, or since now, raise our own error."""
        began = time.monotonic() if since is None else since
        while True:
            try:
                return attempt()
            except sqlite3.Error as error:
                from headish.database.file.failures import is_busy  # late: most statements succeed at once

                waited = time.monotonic() - began
                if not is_busy(error) or waited > self._wait_seconds:
                    raise self._translate(error) from error
            # The longer it has waited, the less often it asks: many waiters would take the processor from the writer.
            wait(min(0.002 + waited / 10, LONGEST_SLEEP_SECONDS))

    def _translate(self, error: Exception) -> DatabaseError:
        from headish.database.file.failures import translate

        return translate(self.target, error, self._wait_seconds)

    def _set_pragmas(self, connection: sqlite3.Connection) -> None:
        if self._identity is None and self._is_file:
            self._identity = identity(self.target)  # the connection has just made the file
        # Foreign keys are a connection's setting in SQLite, off by default, and cannot be set inside a transaction.
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        # Without it macOS does not wait for the disk; elsewhere it does nothing.
        connection.execute(f"PRAGMA fullfsync = {int(self._synchronous == 'FULL')}")
        connection.execute("PRAGMA cache_size = -16000")  # in KiB, because it is negative
        # The log of one large transaction would otherwise keep its size until the last connection closes.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # SQLite refuses writes as well, in case a check of ours is missing.
        connection.execute(f"PRAGMA query_only = {int(self.read_only)}")

    @contextmanager
    def schema_connection(self) -> Iterator[SchemaConnection]:
        self._owner.check()
        with self._writing, FORKS.transaction():
            driver = self._memory or self._wait(self._connect)
            # Take the lock at once: two processes that both read the old revision would both upgrade.
            begin = "BEGIN" if self.read_only else "BEGIN IMMEDIATE"
            try:
                # A migration drops a table that others refer to, and gives its name to the new one. Before BEGIN,
                # because SQLite ignores this setting inside a transaction.
                driver.execute("PRAGMA foreign_keys = OFF")
                self._wait(lambda: driver.execute(begin))
                yield driver
                self._wait(driver.commit)
            except sqlite3.Error as error:
                raise self._translate(error) from error
            finally:
                self._end_schema(driver)

    def _end_schema(self, driver: _Driver) -> None:
        with suppress(sqlite3.ProgrammingError):  # SQLAlchemy has closed it after an interrupt of an upgrade
            driver.rollback()
        if self._memory is None:
            driver.close()
            # The idle connections remember the old tables. If a disk error keeps SQLite from checking that, it would
            # report "no such table" instead of the error.
            self._pool.discard_idle()
        else:
            driver.execute("PRAGMA foreign_keys = ON")

    def is_headish(self, connection: SchemaConnection) -> bool:
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if not ours and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise NotADatabase(self.target, "it is a SQLite database of another program; choose another path")
        return bool(ours)

    def mark(self, connection: SchemaConnection) -> None:
        """Mark a new database as ours, in the transaction that makes its tables."""
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def prepare(self) -> None:
        """Switch to write-ahead logging, a setting of the file. Two processes may try at once."""
        if not self._is_file:
            return
        with FORKS.transaction():
            driver = self._wait(self._take_connection)
            try:
                if driver.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                    self._wait(lambda: driver.execute("PRAGMA journal_mode = WAL"))
            finally:
                self._give_back(driver)

    def backup(self, label: str) -> str | None:
        """Make a consistent copy beside the file with SQLite's own backup, and move it into place when it is whole."""
        if not self._is_file:
            return None
        from headish.database.file.upkeep import back_up

        try:
            return back_up(self.target, label)
        except sqlite3.Error as error:
            raise self._translate(error) from error

    def which(self) -> tuple[object, ...] | None:
        return identity(self.target) if self._is_file else None

    def may_lag(self) -> bool:
        return False

    def copy_into(self, path: str) -> bool:
        """Copy by VACUUM INTO, without deleted content and the tables of ``NEVER_COPIED``, and with epochs of its own.
        Writers go on meanwhile."""
        from headish.database.file.failures import is_of_writing, translate

        with self._reading, FORKS.transaction():
            driver = self._take_connection()
            try:
                self._wait(lambda: driver.execute("VACUUM INTO ?", [path]))
            except DatabaseError as error:
                # The copy is all that it writes.
                raise (
                    type(error)(path, error.reason) if is_of_writing(error.__cause__) else error
                ) from error.__cause__
            finally:
                self._give_back(driver)
        from headish.database.file.upkeep import set_apart

        try:
            set_apart(path, NEVER_COPIED)
        except sqlite3.Error as error:
            raise translate(path, error, 0) from error
        return True

    def check_integrity(self) -> list[str]:
        """SQLite's ``integrity_check`` and ``foreign_key_check``: every index against its table, every reference."""
        from headish.database.file.upkeep import find_problems

        with FORKS.transaction():
            driver = self._take_connection()
            try:
                return find_problems(driver)
            except sqlite3.Error as error:
                raise self._translate(error) from error
            finally:
                self._give_back(driver)

    def plan_again(self) -> None:
        """SQLite plans without statistics."""

    def scrub(self) -> str:
        """Write every page anew by VACUUM, so that no free page and no gap in a page keeps old words. Then empty the
        log into the file. A reader in the middle of a transaction keeps the log."""
        if self._in_memory:
            return ""
        self.check_writable()
        from headish.database.file.upkeep import rewrite

        with self._writing, FORKS.transaction():
            self._check_identity()
            driver = self._take_connection()
            try:
                return self._wait(lambda: rewrite(driver))
            except DatabaseError as error:
                return error.reason
            finally:
                self._give_back(driver)

    def forget_statistics(self) -> str:
        return ""  # SQLite's statistics have counts and no values

    def copies(self) -> list[str]:
        from headish.database.file.upkeep import copies_of

        return copies_of(self.target) if self._is_file else []

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        from headish.database.file.upkeep import remove_parts

        return remove_parts(self.target, dry_run=dry_run) if self._is_file else []

    def size_bytes(self) -> int:
        from headish.database.file.upkeep import size_of

        return size_of(self.target) if self._is_file else 0

    def _check_state(self) -> None:
        """Refuse the result of a read without locks if another process wrote the file meanwhile."""
        if self._state is not None and (identity(self.target) is None or file_state(self.target) != self._state):
            raise DatabaseReplaced(self.target, "it was written while it was open read-only; open it anew")

    def _check_identity(self) -> None:
        """Refuse to write into a file that was removed or replaced: nobody would find the turns there."""
        if self._identity is not None and identity(self.target) != self._identity:
            raise DatabaseReplaced(self.target, "it was removed or replaced while it was open; open it anew")

    def close(self) -> None:
        if self._owner.is_closed or self._owner.is_child:
            return  # the connections are the parent's, and only the parent may close them
        self._owner.is_closed = True
        self._pool.discard_idle()
        queue: Queue | None = vars(self).get("_queue")  # not by the property, which would make one
        if queue is not None:
            queue.close()
        if self._memory is not None:
            self._memory.close()


class _Driver(sqlite3.Connection):
    """A connection that a pool can refer to weakly, which sqlite3's own class does not allow."""

    holding: Holding | None = None

    def close(self) -> None:
        super().close()
        self.holding = None  # a closed connection holds no file, and the inode may be another file's next
