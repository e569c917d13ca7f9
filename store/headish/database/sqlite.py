"""SQLite: one file, many processes, one writer at a time.

WAL, foreign keys and one real transaction per ``begin``: the driver's own transaction handling is off, because it
commits before DDL and would leave half an upgrade behind. Writers take the lock at once (BEGIN IMMEDIATE) and wait
here, in short random sleeps, instead of in SQLite's own handler, whose growing sleeps starve all but one writer.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import URL, FromClause, PoolProxiedConnection, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool, StaticPool

from headish.database.backend import ASKED_READ_ONLY, Settle
from headish.database.files import as_read_only, check_file, file_state, identity, is_writable, locate, unused
from headish.database.owner import Owner
from headish.database.query import Connection
from headish.database.sharing import SharedCommits
from headish.database.wal import Log, lock_of
from headish.errors import (
    DatabaseCorrupt,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseReplaced,
    DatabaseUnavailable,
    NotADatabase,
    ReadOnly,
)

T = TypeVar("T")

APPLICATION_ID = 0x68647368  # "hdsh": `file` and other tools can tell a headish database
LOG_BYTES = 16 * 1024 * 1024
"""What is left of the write-ahead log's file once its contents are in the database."""
WAIT_SECONDS = 60.0
"""How long a writer waits for the lock before it gives up with DatabaseLocked."""
LONGEST_SLEEP_SECONDS = 0.03
"""How rarely a writer that has waited for long asks for the lock again."""
PROBLEMS_SHOWN = 100
"""How many problems of its own a database reports at the most."""
SCRUB_SECONDS = 2.0
"""How long an erasure waits for the readers of the log."""
PART_SECONDS = 24 * 60 * 60
"""How old a part of a copy is before it is taken for one that was never finished."""
UPGRADE_ROOM = 4
"""How many times its size a database needs of its disk to be upgraded."""
IDLE_CONNECTIONS = 4
"""How many open connections are kept between transactions."""
FOUND_READ_ONLY = "it cannot be written here; check the permissions of file and folder, or copy it to a folder of yours"
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}


class _Compiler(SQLiteCompiler):
    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text  # INDEXED BY, which SQLAlchemy itself does not write


class _Dialect(SQLiteDialect_pysqlite):
    statement_compiler = _Compiler


_DIALECT = _Dialect(paramstyle="qmark")
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_ERRORS: dict[int, tuple[type[DatabaseError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseLocked, "another process has held it for {wait:g} seconds; try again"),
    sqlite3.SQLITE_LOCKED: (DatabaseLocked, "another connection has held it for {wait:g} seconds; try again"),
    sqlite3.SQLITE_READONLY: (
        DatabaseReadOnly,
        "it cannot be written; check the permissions of file and folder",
    ),
    sqlite3.SQLITE_FULL: (DatabaseFull, "no space is left on its disk; nothing of this call was stored"),
    sqlite3.SQLITE_IOERR: (DatabaseUnavailable, "reading or writing the file failed"),
    sqlite3.SQLITE_CANTOPEN: (DatabaseUnavailable, "the file cannot be opened; check the path and its permissions"),
    sqlite3.SQLITE_NOTADB: (NotADatabase, "the file is not a SQLite database"),
    sqlite3.SQLITE_CORRUPT: (
        DatabaseCorrupt,
        "the file cannot be read as a database; check its disk, then restore a backup",
    ),
}


class SQLiteBackend:
    """A SQLite file, or memory."""

    upgrades_itself = True
    scrubs_itself = True
    not_reached: tuple[str, ...] = (
        "copies and backups of the file",
        "snapshots of the file system, and what a disk keeps on its own",
    )

    def __init__(
        self, url: URL, *, durability: str, create: bool, read_only: bool = False, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        found = locate(url)
        self.target, self._url, self._in_memory, self._is_uri = found.path, found.url, found.in_memory, found.is_uri
        self._wait_seconds = wait_seconds
        self._owner = Owner(self.target, self._renew)
        self._synchronous = _SYNCHRONOUS[durability]
        self.read_only, self._why_read_only = read_only or found.read_only, ASKED_READ_ONLY
        self._state: tuple[int, ...] | None = None
        self._identity = None
        if not (self._in_memory or self._is_uri):
            check_file(self.target, create and found.may_create and not self.read_only)
            self._identity = identity(self.target)
            self._choose_access()
        self._renew()

    def _choose_access(self) -> None:
        """Open read-only what was asked for so, and what cannot be written from here."""
        if not self.read_only and not is_writable(self.target):
            self.read_only, self._why_read_only = True, FOUND_READ_ONLY
        if self.read_only:
            self._url, self._state = as_read_only(self.target)

    def _renew(self) -> object:
        """Make what a process needs: connections and locks of its own. Returns what it replaces."""
        before = vars(self).get("_engine"), vars(self).get("_idle"), vars(self).get("_writing")
        pool: dict[str, Any] = {"poolclass": StaticPool} if self._in_memory else {"poolclass": QueuePool}
        if not self._in_memory:
            # Threads wait for a connection as long as for the lock; a server may well have a hundred of them.
            pool |= {"pool_size": 8, "max_overflow": 120, "pool_timeout": self._wait_seconds}
        connect_args = {"check_same_thread": False, "timeout": 0, "isolation_level": None}
        self._engine = sqlalchemy.create_engine(self._url, connect_args=connect_args, **pool)
        event.listen(self._engine, "connect", self._set_pragmas)
        begin = "BEGIN" if self.read_only else "BEGIN IMMEDIATE"
        event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        self._idle: deque[PoolProxiedConnection] = deque()  # its methods are atomic between threads
        # Memory is one connection behind a lock (rule R13, connections and statements); for a file the lock spares
        # threads the sleeps below.
        self._writing = threading.RLock() if self._in_memory else lock_of(self.target)
        self._reading: AbstractContextManager[Any] = self._writing if self._in_memory else nullcontext()
        self._shared = SharedCommits(self, self._writing)
        self._log = None if self._in_memory or self._is_uri else Log(self.target)
        return before

    def read(self, work: Callable[[Connection], T]) -> T:
        self._owner.check()
        with self._reading:
            try:
                result = self._wait(lambda: self._transact("BEGIN", lambda cursor: work(self.connection(cursor)), []))
            except DatabaseError:
                self._check_state()  # without locks, a write beside it may look like any damage
                raise
            self._check_state()
            return result

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        """As ``Backend.write``. A commit here fails or succeeds in this process, so there is nothing to settle."""
        self.check_writable()
        return self._shared.write(work)

    def check_writable(self) -> None:
        self._owner.check()
        if self.read_only:
            raise ReadOnly(self.target, self._why_read_only)

    def connection(self, cursor: sqlite3.Cursor) -> Connection:
        return Connection(cursor, _DIALECT)

    def wait_to_write(self, attempt: Callable[[], T], since: float) -> T:
        return self._wait(attempt, since)

    def write_once(self, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        self._owner.check()  # somebody may have closed it while the caller waited
        self._check_identity()
        return self._transact("BEGIN IMMEDIATE", run, committed)

    def end_writing(self, *, others_wait: bool) -> None:
        if self._log is not None:
            self._log.shorten(others_wait=others_wait)

    def _transact(self, begin: str, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        pooled = self._take_connection()
        driver = pooled.driver_connection
        assert driver is not None
        # The driver's own context manager rolls back in C: no signal handler can raise between an exception and it,
        # as one could at the first byte code of a ``finally`` of ours. A connection that is in a transaction would
        # lock everybody out.
        cursor = driver.cursor()
        try:
            with driver:
                cursor.execute(begin)
                result = run(cursor)
                # One call in C: nothing can raise between the COMMIT and the note that it succeeded.
                self._wait(lambda: committed.extend(map(cursor.execute, ("COMMIT",))))
        except Exception:
            cursor.close()  # else its statement goes on, and no COMMIT of this connection succeeds while it does
            self._give_back(pooled)
            raise
        except BaseException:
            # An interrupt: whoever keeps its traceback keeps the cursor. Memory has no other connection.
            cursor.close() if self._in_memory else pooled.invalidate()
            raise
        self._give_back(pooled)
        return result

    def _take_connection(self) -> PoolProxiedConnection:
        """An idle one, otherwise one from the pool, which costs as much as two statements."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._engine.raw_connection()
        except PoolTimeout:
            raise DatabaseUnavailable(self.target, "all of its connections are in use; try again") from None

    def _give_back(self, pooled: PoolProxiedConnection) -> None:
        if self._owner.is_closed:
            pooled.invalidate()
        elif len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(pooled)
        else:
            pooled.close()

    def _wait(self, attempt: Callable[[], T], since: float | None = None) -> T:
        """Try until the lock is free or the time is up, which began ``since`` then or now; then name the error."""
        began = time.monotonic() if since is None else since
        while True:
            try:
                return attempt()
            except (sqlite3.Error, DBAPIError) as error:
                waited = time.monotonic() - began
                if _primary_code(error) not in _BUSY or waited > self._wait_seconds:
                    raise self._translate(error) from error
            # Where many wait, each waits long, and asks less often: else asking takes the processor from the writer.
            time.sleep(random.uniform(0.0002, min(0.002 + waited / 10, LONGEST_SLEEP_SECONDS)))  # noqa: S311 - no secret

    def _translate(self, error: Exception) -> DatabaseError:
        # The driver's own words, without a code; and a sum of numbers that nobody stored.
        if str(error).startswith(("Could not decode", "integer overflow")):
            return DatabaseCorrupt(self.target, f"{error}; 'headish verify' lists every damaged value")
        kind, reason = _ERRORS.get(_primary_code(error), (DatabaseError, f"SQLite says: {error}"))
        return kind(self.target, reason.format(wait=self._wait_seconds))

    def _set_pragmas(self, connection: sqlite3.Connection, _record: object) -> None:
        if self._identity is None and not (self._in_memory or self._is_uri):
            self._identity = identity(self.target)  # the connection has just made the file
        # Foreign keys are a connection's setting in SQLite, off by default, and cannot be set inside a transaction.
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        # Without it macOS does not wait for the disk; elsewhere it does nothing.
        connection.execute(f"PRAGMA fullfsync = {int(self._synchronous == 'FULL')}")
        connection.execute("PRAGMA cache_size = -16000")
        # The log of one large transaction would otherwise keep its size until the last connection closes.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # The driver refuses to write too, whatever becomes of the checks above it.
        connection.execute(f"PRAGMA query_only = {int(self.read_only)}")

    @contextmanager
    def schema_connection(self) -> Iterator[sqlalchemy.Connection]:
        self._owner.check()
        with self._writing:
            connection = self._wait(self._begin_schema)
            try:
                yield connection
                self._wait(connection.commit)
            except (sqlite3.Error, DBAPIError) as error:
                raise self._translate(error) from error
            finally:
                self._end_schema(connection)

    def _end_schema(self, connection: sqlalchemy.Connection) -> None:
        connection.rollback()
        try:
            _driver(connection).execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.invalidate()
            raise
        finally:
            connection.close()

    def _begin_schema(self) -> sqlalchemy.Connection:
        connection = self._engine.connect()
        try:
            # A table that is written anew takes its name while others refer to it. In a transaction this has no effect.
            _driver(connection).execute("PRAGMA foreign_keys = OFF")
            connection.begin()
        except BaseException:
            self._end_schema(connection)
            raise
        return connection

    def is_headish(self, connection: sqlalchemy.Connection) -> bool:
        ours = connection.exec_driver_sql("PRAGMA application_id").scalar_one() == APPLICATION_ID
        if not ours and connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one():
            raise NotADatabase(self.target, "it is a SQLite database of another program; choose another path")
        return bool(ours)

    def mark(self, connection: sqlalchemy.Connection) -> None:
        """Sign a new database as ours, in the transaction that makes its tables."""
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    def prepare(self) -> None:
        """Switch to write-ahead logging, which stays with the file; two processes may try at once."""
        if self._in_memory or self._is_uri:
            return
        pooled = self._engine.raw_connection()
        try:
            cursor = pooled.cursor()
            if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._wait(lambda: cursor.execute("PRAGMA journal_mode = WAL"))
        finally:
            pooled.close()

    def backup(self, label: str) -> str | None:
        """A consistent copy beside the file, made by SQLite itself and moved into place when it is whole."""
        if self._in_memory or self._is_uri:
            return None
        self._check_room()
        final = unused(Path(f"{self.target}.{label}"))
        part = Path(f"{final}.part")
        part.unlink(missing_ok=True)
        # With the mode of the database from the start: what only its owner may read must not lie open beside it.
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IMODE(os.stat(self.target).st_mode)))
        source, copy = sqlite3.connect(self.target), sqlite3.connect(part)
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            part.unlink(missing_ok=True)
            raise self._translate(error) from error
        finally:
            copy.close()
            source.close()
        part.replace(final)
        return str(final)

    def _check_room(self) -> None:
        """Whether the disk takes the copy, the log of one large transaction, and the tables that it writes anew."""
        needed, free = UPGRADE_ROOM * self.size_bytes(), shutil.disk_usage(Path(self.target).parent).free
        if free < needed:
            raise DatabaseFull(self.target, f"an upgrade needs {needed:,} bytes of its disk, and {free:,} are free")

    def check_integrity(self) -> list[str]:
        """SQLite's ``integrity_check`` and ``foreign_key_check``: every index against its table, every reference."""
        pooled = self._take_connection()
        try:
            cursor = pooled.cursor()
            found = [row[0] for row in cursor.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})").fetchall()]
            lost = cursor.execute("PRAGMA foreign_key_check").fetchmany(PROBLEMS_SHOWN)
        except sqlite3.Error as error:
            raise self._translate(error) from error
        finally:
            self._give_back(pooled)
        problems = [] if found == ["ok"] else found
        return problems + [f"a row of {row[0]} refers to a row of {row[2]} that is missing" for row in lost]

    def plan_again(self) -> None:
        """SQLite plans without statistics."""

    def scrub(self) -> str:
        """VACUUM writes every page anew, so that no free page and no gap in one keeps old words; then the log is
        emptied into the file. A reader that is in the middle of something keeps the log."""
        if self._in_memory:
            return ""
        self.check_writable()
        with self._writing:
            self._check_identity()
            pooled = self._take_connection()
            try:
                cursor = pooled.cursor()
                self._wait(lambda: cursor.execute("VACUUM"))
                return self._wait(lambda: self._empty_log(cursor))
            except DatabaseError as error:
                return error.reason
            finally:
                self._give_back(pooled)

    def _empty_log(self, cursor: Any) -> str:
        until = time.monotonic() + SCRUB_SECONDS
        while True:
            [is_busy, *_] = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not is_busy:
                return ""
            if time.monotonic() > until:
                return "somebody else is reading the database, and its log keeps what they read"
            time.sleep(0.02)

    def copies(self) -> list[str]:
        return self._beside(parts=False)

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        old = time.time() - PART_SECONDS
        parts = [path for path in self._beside(parts=True) if os.stat(path).st_mtime < old]
        for path in [] if dry_run else parts:
            Path(path).unlink(missing_ok=True)
        return parts

    def _beside(self, *, parts: bool) -> list[str]:
        """The copies beside the file: whole ones, or parts of some that were never finished."""
        if self._in_memory or self._is_uri:
            return []
        path = Path(self.target)
        try:
            names = sorted(os.listdir(path.absolute().parent))
        except OSError:
            return []
        return [
            str(path.parent / name)
            for name in names
            if name.startswith(f"{path.name}.backup-") and name.endswith(".part") == parts
        ]

    def size_bytes(self) -> int:
        if self._in_memory or self._is_uri:
            return 0
        files = (Path(self.target + suffix) for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _check_state(self) -> None:
        """Refuse what was read of a file that is read without locks, if somebody wrote it meanwhile."""
        if self._state is not None and (identity(self.target) is None or file_state(self.target) != self._state):
            raise DatabaseReplaced(self.target, "it was written while it was open read-only; open it anew")

    def _check_identity(self) -> None:
        """Refuse to write into a file that has another name now, or none: nobody would find it there."""
        if self._identity is not None and identity(self.target) != self._identity:
            raise DatabaseReplaced(self.target, "it was removed or replaced while it was open; open it anew")

    def close(self) -> None:
        if self._owner.is_closed or self._owner.is_child:
            return  # what a forked child has of its parent is the parent's to close
        self._owner.is_closed = True
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()


def _driver(connection: sqlalchemy.Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _primary_code(error: Exception) -> int:
    """SQLite's primary result code: the low byte of the extended one; 0 if the driver itself raised."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF
