"""SQLite: one file, many processes, one writer at a time.

WAL, foreign keys and one real transaction a ``begin``: the driver's own transaction handling is off, because it
commits before DDL and would leave half an upgrade behind. Writers take the lock at once (BEGIN IMMEDIATE) and wait
here, in short random sleeps, instead of in SQLite's own handler, whose growing sleeps starve all but one writer.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import URL, FromClause, PoolProxiedConnection, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from headish.database.query import Connection
from headish.errors import (
    Closed,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotADatabase,
    UnknownDatabase,
)

T = TypeVar("T")

APPLICATION_ID = 0x68647368  # "hdsh": `file` and other tools can tell a headish database
LOG_BYTES = 16 * 1024 * 1024
"""What is left of the write-ahead log's file once its contents are in the database."""
WAIT_SECONDS = 60.0
"""How long a writer waits for the lock before it gives up with DatabaseLocked."""
IDLE_CONNECTIONS = 4
"""So many open connections are kept at hand between transactions."""
_MAGIC = b"SQLite format 3\x00"
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
    sqlite3.SQLITE_CORRUPT: (DatabaseCorrupt, "the file is damaged; restore a backup"),
}


class SQLiteBackend:
    """A SQLite file, or memory."""

    upgrades_itself = True

    def __init__(self, url: URL, *, durability: str, create: bool, wait_seconds: float = WAIT_SECONDS) -> None:
        self.target = url.database or ":memory:"
        self._wait_seconds = wait_seconds
        self._is_closed = False
        self._synchronous = _SYNCHRONOUS[durability]
        self._in_memory = self.target == ":memory:" or "mode=memory" in self.target
        self._is_uri = self.target.startswith("file:")
        if not (self._in_memory or self._is_uri):
            _check_file(self.target, create)
        pool: dict[str, Any] = {"poolclass": StaticPool} if self._in_memory else {"poolclass": QueuePool}
        if not self._in_memory:
            # Threads wait for a connection as long as for the lock; a server may well have a hundred of them.
            pool |= {"pool_size": 8, "max_overflow": 120, "pool_timeout": wait_seconds}
        connect_args = {"check_same_thread": False, "timeout": 0, "isolation_level": None}
        self._engine = sqlalchemy.create_engine(url, connect_args=connect_args, pool_reset_on_return=None, **pool)
        event.listen(self._engine, "connect", self._set_pragmas)
        event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        self._idle: deque[PoolProxiedConnection] = deque()  # its methods are atomic between threads
        # Memory is one connection behind a lock (R13); for a file the lock spares threads the sleeping below.
        self._writing = threading.RLock()
        self._reading: AbstractContextManager[Any] = self._writing if self._in_memory else nullcontext()

    def read(self, work: Callable[[Connection], T]) -> T:
        self._check_open()
        with self._reading:
            return self._wait(lambda: self._transact("BEGIN", work))

    def write(self, work: Callable[[Connection], T]) -> T:
        self._check_open()
        with self._writing:
            return self._wait(lambda: self._transact("BEGIN IMMEDIATE", work))

    def _transact(self, begin: str, work: Callable[[Connection], T]) -> T:
        pooled = self._take_connection()
        try:
            cursor = pooled.cursor()
            cursor.execute(begin)
            try:
                result = work(Connection(cursor, _DIALECT))
                self._wait(lambda: cursor.execute("COMMIT"))
                return result
            except BaseException:
                if pooled.driver_connection is not None and pooled.driver_connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise
        finally:
            self._give_back(pooled)

    def _take_connection(self) -> PoolProxiedConnection:
        """One that is idle, else one from the pool, whose own hand-over costs as much as two statements."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._engine.raw_connection()

    def _give_back(self, pooled: PoolProxiedConnection) -> None:
        if len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(pooled)
        else:
            pooled.close()

    def _wait(self, attempt: Callable[[], T]) -> T:
        """Try until the lock is free or the time is up, then name the error."""
        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                return attempt()
            except (sqlite3.Error, DBAPIError) as error:
                if _primary_code(error) not in _BUSY or time.monotonic() > deadline:
                    raise self._translate(error) from error
            time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - no secret

    def _translate(self, error: Exception) -> DatabaseError:
        kind, reason = _ERRORS.get(_primary_code(error), (DatabaseError, f"SQLite says: {error}"))
        return kind(self.target, reason.format(wait=self._wait_seconds))

    def _set_pragmas(self, connection: sqlite3.Connection, _record: object) -> None:
        # Foreign keys are a connection's setting in SQLite, off by default, and cannot be set inside a transaction.
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        # Without it macOS does not wait for the disk; elsewhere it does nothing.
        connection.execute(f"PRAGMA fullfsync = {int(self._synchronous == 'FULL')}")
        connection.execute("PRAGMA cache_size = -16000")
        # The log of one large transaction would otherwise keep its size until the last connection closes.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")

    @contextmanager
    def schema_connection(self) -> Iterator[sqlalchemy.Connection]:
        self._check_open()
        with self._writing:
            connection = self._wait(self._begin_schema)
            try:
                yield connection
                self._wait(connection.commit)
            except (sqlite3.Error, DBAPIError) as error:
                raise self._translate(error) from error
            finally:
                connection.close()

    def _begin_schema(self) -> sqlalchemy.Connection:
        connection = self._engine.connect()
        try:
            connection.begin()
        except BaseException:
            connection.close()
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
        if self._in_memory or self._is_read_only():
            return
        pooled = self._engine.raw_connection()
        try:
            cursor = pooled.cursor()
            if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._wait(lambda: cursor.execute("PRAGMA journal_mode = WAL"))
        finally:
            pooled.close()

    def _is_read_only(self) -> bool:
        return not os.access(self.target, os.W_OK)

    def backup(self, label: str) -> str | None:
        """A consistent copy beside the file, made by SQLite itself and moved into place when it is whole."""
        if self._in_memory or self._is_uri:
            return None
        final = _unused(Path(f"{self.target}.{label}"))
        part = Path(f"{final}.part")
        part.unlink(missing_ok=True)
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

    def size_bytes(self) -> int:
        if self._in_memory or self._is_uri:
            return 0
        files = (Path(self.target + suffix) for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed(f"the database {self.target}")

    def close(self) -> None:
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()


def _check_file(target: str, create: bool) -> None:
    path = Path(target)
    if path.is_dir():
        raise NotADatabase(target, "it is a folder")
    if not path.exists():
        if not create:
            raise UnknownDatabase(target, "there is no database")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnavailable(target, f"its folder cannot be made ({error.strerror})") from None
        return
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except OSError as error:
        raise DatabaseUnavailable(target, f"it cannot be read ({error.strerror})") from None
    if beginning and beginning != _MAGIC:
        raise NotADatabase(target, "the file is not a SQLite database")


def _unused(path: Path) -> Path:
    """The path, with a number behind it where an earlier backup lies there: a backup is never overwritten."""
    numbered = (Path(f"{path}.{number}") for number in count(2))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


def _primary_code(error: Exception) -> int:
    """SQLite's primary result code: the low byte of the extended one; 0 where the driver raised by itself."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF
