"""PostgreSQL, and the distributed databases that speak it.

A read is REPEATABLE READ, READ ONLY: all of its statements see one moment. A write is READ COMMITTED and locks the row
of its space first, so writers of one space follow one another, and what a write reads after the lock is what the
writers before it left. A serialization failure or a deadlock (a server may run at a stricter level) is run again.

The first connection that is found lost takes the whole pool with it: after a restart of the server all others are
lost, too. A commit whose answer was lost is settled by looking for what it stored before it is run again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import URL, PoolProxiedConnection
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from headish.database.backend import ASKED_READ_ONLY, Settle
from headish.database.owner import Owner
from headish.database.query import Connection, Query, Statement
from headish.database.schema import metadata
from headish.errors import (
    DatabaseError,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseTimedOut,
    DatabaseUnavailable,
    InvalidArgument,
    NotADatabase,
    OutcomeUnknown,
    ReadOnly,
)

T = TypeVar("T")

CONNECT_SECONDS = 10
"""How long a server may take to answer a connection; ``?connect_timeout=`` of the URL wins."""
RECONNECT_SECONDS = 10.0
"""How long a server that was lost is waited for."""
ATTEMPTS = 30
"""How often a transaction is tried that the server cannot serialize."""
_RETRIED = ("40001", "40P01", "23505")  # serialization_failure, deadlock_detected, unique_violation: a race was lost
_DIALECT = PGDialect_psycopg(paramstyle="format")  # type: ignore[no-untyped-call]
# Settings hold for a transaction each. A pooler that lends a connection for one transaction refuses them at the start
# of a session, and would hand those that were made later to the next client.
_SETTINGS = (
    # Every statement of the append path has its index. A plan made for a small table would go without, and is kept.
    "SELECT set_config('enable_seqscan', 'off', true)"
    # A join begins with a few rows and looks the others up. Made for a small table, a plan would hash all of the space.
    ", set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
    # No transaction of ours is ever idle for longer than it takes to send the next statement. One that is was left
    # behind by a call that was interrupted twice, and its locks must not outlive it.
    ", set_config('idle_in_transaction_session_timeout', '60000', true)"
)
_ANOTHER_PROGRAM = (
    "its schema holds tables of another program; give headish a schema of its own"
    " (?options=-csearch_path%3Dheadish) or another database"
)
_HAS_AMCHECK = "SELECT 1 FROM pg_extension WHERE extname = 'amcheck'"
_OUR_INDEXES = """
SELECT i.indexrelid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
JOIN pg_class t ON t.oid = i.indrelid
WHERE a.amname = 'btree' AND i.indisvalid AND pg_table_is_visible(t.oid)
AND t.relname IN
    ('space', 'payload', 'turn', 'link', 'bookmark', 'bookmark_log', 'definition', 'stream', 'stream_chunk')
ORDER BY c.relname
"""
_ERRORS: dict[str, tuple[type[DatabaseError], str]] = {
    "25006": (DatabaseReadOnly, "the server takes no writes (a replica, or a read-only transaction)"),
    "42501": (DatabaseReadOnly, "this role may not write here"),
    "57014": (DatabaseTimedOut, "the statement took longer than the server's statement_timeout allows"),
    "55P03": (DatabaseTimedOut, "a lock was held for longer than the server's lock_timeout allows"),
    "53100": (DatabaseFull, "no space is left on the server's disk; nothing of this call was stored"),
}


_ANALYZE = Query("refresh statistics", sqlalchemy.text("ANALYZE turn, payload, link, bookmark, bookmark_log"))


class _ServerConnection(Connection):
    """A connection that sends what belongs together as one message: BEGIN, the settings and the first statement."""

    __slots__ = ("_driver", "_settings")

    def __init__(self, driver: Any, settings: str) -> None:
        super().__init__(driver.cursor(), _DIALECT)
        self._driver, self._settings = driver, settings

    def run_rows(self, query: Query, rows: Sequence[Sequence[Any]]) -> None:
        with self._first():
            super().run_rows(query, rows)

    def run_proven(self, proof: Statement, *others: Statement) -> bool:
        # The proof goes alone: a statement that fails among others is prepared for the driver, and not for the server.
        self.run_rows(proof.query, [proof.values])
        if self._cursor.rowcount != 1:
            return False
        self.statements += len(others)
        with self._piped():
            for query, values in others:
                self._driver.cursor().execute(query.compiled_for(_DIALECT).sql, values)
        return True

    def _execute(self, query: Query, parameters: dict[str, Any]) -> None:
        with self._first():
            super()._execute(query, parameters)

    def _first(self) -> AbstractContextManager[Any]:
        """Sends the settings, if nothing was sent yet, in one message with what follows inside."""
        if not self._settings:
            return nullcontext()
        settings, self._settings = self._settings, ""
        return self._together(settings)

    @contextmanager
    def _together(self, settings: str) -> Iterator[None]:
        with self._piped():
            self._driver.execute(settings, prepare=False)
            yield

    @contextmanager
    def _piped(self) -> Iterator[None]:
        """What is sent inside goes out as one message. An interrupt comes out as itself."""
        try:
            with self._driver.pipeline():
                yield
        except Exception as error:
            # The driver, which cannot leave its pipeline in the middle, says so in place of the interrupt.
            cause = error.__context__
            while cause is not None and isinstance(cause, Exception):
                cause = cause.__context__
            if cause is not None:
                raise cause from None
            raise


class PostgreSQLBackend:
    """A database of a PostgreSQL server."""

    upgrades_itself = False
    scrubs_itself = False
    not_reached: tuple[str, ...] = (
        "dead rows, until 'headish gc --scrub' or VACUUM (FULL)",
        "the server's write-ahead log, archives, replicas and base backups",
    )

    def __init__(
        self, url: URL, *, durability: str, create: bool, read_only: bool = False, prepared: bool = True
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidArgument("PostgreSQL needs the extra: pip install 'headish[postgresql]'") from None
        self._psycopg = psycopg
        self.target, self.read_only = url.render_as_string(hide_password=True), read_only
        commit = "off" if durability == "normal" else "on"
        self._settings = f"{_SETTINGS}, set_config('synchronous_commit', '{commit}', true)"
        self._url, self._prepared = url, prepared
        self._owner = Owner(self.target, self._renew)
        self._renew()

    def _renew(self) -> object:
        """Make the connections of a process. Returns those that it replaces."""
        before = vars(self).get("_engine")
        try:
            self._engine = sqlalchemy.create_engine(
                self._url,
                pool_size=8,
                max_overflow=120,
                isolation_level="READ COMMITTED",
                connect_args={"connect_timeout": CONNECT_SECONDS, **self._url_arguments()},
            )
        except (ArgumentError, TypeError, ValueError) as error:
            raise InvalidArgument(f"the database URL cannot be used: {error}") from None
        return before

    def _url_arguments(self) -> dict[str, Any]:
        """Settings of the URL that win over ours."""
        given = self._url.query.get("connect_timeout")
        arguments: dict[str, Any] = {} if given is None else {"connect_timeout": given}
        return arguments if self._prepared else arguments | {"prepare_threshold": None}

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._attempt(lambda: self._transact(work, reads=True))

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        self.check_writable()
        unsettled: list[T] = []

        def settled(connection: Connection) -> T:
            if settle is not None and unsettled and settle(connection, unsettled[-1]):
                return unsettled[-1]
            return work(connection)

        def attempt() -> T:
            try:
                return self._transact(settled, reads=False)
            except _CommitLost as lost:
                unsettled.append(lost.result)
                raise

        try:
            return self._attempt(attempt)
        except DatabaseUnavailable as error:
            if not unsettled:
                raise
            reason = f"the connection was lost during the commit, so it may be stored or not ({error.reason})"
            raise OutcomeUnknown(self.target, reason) from error

    def check_writable(self) -> None:
        self._owner.check()
        if self.read_only:
            raise ReadOnly(self.target, ASKED_READ_ONLY)

    def _attempt(self, attempt: Callable[[], T]) -> T:
        """Try until the server could order the transaction with the others, or for a while after it was lost."""
        self._owner.check()
        deadline: float | None = None
        tries = 0
        while True:
            tries += 1
            try:
                return attempt()
            except _ConnectionLost as lost:
                deadline = deadline or time.monotonic() + RECONNECT_SECONDS
                if time.monotonic() > deadline:
                    raise self._translate(lost.error) from lost.error
            except PoolTimeout:
                raise DatabaseUnavailable(self.target, "all connections are in use; try again") from None
            except (self._psycopg.Error, DBAPIError) as error:
                # Once a connection was lost the server may still be starting; before that, nobody is there to wait for.
                waits = deadline is not None and time.monotonic() < deadline and _is_away(error)
                if not waits and (_state(error) not in _RETRIED or tries >= ATTEMPTS):
                    raise self._translate(error) from error
            time.sleep(random.uniform(0, min(0.002 * tries, 0.1)))  # noqa: S311 - no secret

    def _transact(self, work: Callable[[Connection], T], *, reads: bool) -> T:
        pooled = self._engine.raw_connection()
        try:
            self._begin(pooled, reads)
            try:
                result = work(_ServerConnection(pooled.driver_connection, self._settings))
            except self._psycopg.Error as error:
                self._check_lost(pooled, _ConnectionLost(error))
                raise
            try:
                self._commit(pooled)
            except self._psycopg.Error as error:
                self._check_lost(pooled, _CommitLost(error, result) if not reads else _ConnectionLost(error))
                raise
            return result
        except Exception:
            raise
        except BaseException:
            # An interrupt, perhaps between a statement and its answer: nothing can follow it, not even a ROLLBACK.
            pooled.invalidate()
            raise
        finally:
            pooled.close()  # the pool rolls back what was not committed

    def _commit(self, pooled: PoolProxiedConnection) -> None:
        pooled.commit()

    def _begin(self, pooled: PoolProxiedConnection, reads: bool) -> None:
        driver: Any = pooled.driver_connection
        level = self._psycopg.IsolationLevel
        driver.isolation_level = level.REPEATABLE_READ if reads else level.READ_COMMITTED
        driver.read_only = reads or None  # None leaves a read-only server read-only

    def _check_lost(self, pooled: PoolProxiedConnection, lost: _ConnectionLost) -> None:
        """Raises ``lost`` where the connection is; those that lie idle were lost with it."""
        driver: Any = pooled.driver_connection
        if driver is None or driver.closed or driver.broken:
            pooled.invalidate(lost.error)
            self._engine.dispose()
            raise lost from lost.error

    def _translate(self, error: Exception) -> DatabaseError:
        state = _state(error)
        if state in _ERRORS:
            kind, reason = _ERRORS[state]
            return kind(self.target, reason)
        sentence = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        kind = DatabaseUnavailable if not state or state[:2] in ("08", "57", "3D", "28") else DatabaseError
        return kind(self.target, f"PostgreSQL says: {sentence}")

    @contextmanager
    def schema_connection(self) -> Iterator[sqlalchemy.Connection]:
        self._owner.check()
        try:
            with self._engine.connect() as connection:
                self._begin(connection.connection, reads=self.read_only)
                with connection.begin():
                    yield connection
        except (self._psycopg.Error, DBAPIError) as error:
            raise self._translate(error) from error

    def is_headish(self, connection: sqlalchemy.Connection) -> bool:
        names = set(sqlalchemy.inspect(connection).get_table_names())
        if "turn" in names and "alembic_version" not in names:
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        if "alembic_version" not in names:
            return False
        row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").fetchone()
        if row is not None and not row[0].startswith("headish_"):
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        return row is not None

    def mark(self, connection: sqlalchemy.Connection) -> None:
        """Nothing to sign: Alembic's table says whose it is."""

    def prepare(self) -> None:
        """Nothing to set."""

    def backup(self, label: str) -> str | None:
        return None

    def check_integrity(self) -> list[str]:
        """What the extension amcheck finds in our indexes, if it is installed; nothing is checked without it."""
        problems = []
        with self.schema_connection() as connection:
            if not connection.exec_driver_sql(_HAS_AMCHECK).scalar():
                return []
            for oid, name in connection.exec_driver_sql(_OUR_INDEXES).fetchall():
                savepoint = connection.begin_nested()
                try:
                    connection.exec_driver_sql(f"SELECT bt_index_check({int(oid)}, true)")
                    savepoint.commit()
                except DBAPIError as error:
                    savepoint.rollback()
                    problems.append(f"index {name}: {str(error.orig).strip().splitlines()[0]}")
        return problems

    def plan_again(self) -> None:
        self._attempt(lambda: self._transact(lambda connection: connection.run(_ANALYZE), reads=False))

    def scrub(self) -> str:
        """VACUUM (FULL) writes every table anew, under a lock that nobody else may share; the log keeps what it has."""
        self.check_writable()
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for table in metadata.sorted_tables:
                    connection.exec_driver_sql(f'VACUUM (FULL) "{table.name}"')
        except (self._psycopg.Error, DBAPIError) as error:
            return self._translate(error).reason
        return ""

    def copies(self) -> list[str]:
        return []

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        return []

    def size_bytes(self) -> int:
        with self.schema_connection() as connection:
            size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
        return int(size)

    def close(self) -> None:
        if self._owner.is_closed or self._owner.is_child:
            return  # what a forked child has of its parent is the parent's to close
        self._owner.is_closed = True
        self._engine.dispose()


class _ConnectionLost(Exception):
    """The connection was lost before the commit was sent: nothing is stored."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _CommitLost(_ConnectionLost):
    """The connection was lost while the commit was under way: ``result`` may be stored."""

    def __init__(self, error: Exception, result: Any) -> None:
        super().__init__(error)
        self.result = result


def _is_away(error: Exception) -> bool:
    """Whether the server cannot be reached, or is starting or stopping."""
    state = _state(error)
    return not state or state[:2] in ("08", "57")


def _state(error: Exception) -> str:
    """The SQLSTATE, or the empty string if the server was not reached."""
    return getattr(getattr(error, "orig", None) or error, "sqlstate", None) or ""
