"""PostgreSQL, and the distributed databases that speak it.

A read is REPEATABLE READ, READ ONLY: all of its statements see one moment. A write is READ COMMITTED and locks the row
of its space first, so writers of one space follow one another, and what a write reads after the lock is what the
writers before it left. A serialization failure or a deadlock (a server may run at a stricter level) is run again.

The first connection that is found lost takes the whole pool with it: after a restart of the server all others are
lost, too. A commit whose answer was lost is settled by looking for what it stored before it is run again.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from headish.database.backend import ASKED_READ_ONLY, Backend, Settle
from headish.database.isolation.confined import SentSettings, translate_refusal, why_not_held
from headish.database.isolation.grants import WRITER
from headish.database.isolation.locating import OWN_SCHEMA, SearchPath
from headish.database.owner import Owner
from headish.database.pause import pause
from headish.database.pool import AllInUse, Pool
from headish.database.query import POSTGRESQL, SECURED, Connection, Query, SchemaConnection
from headish.database.server.connection import SETTINGS, ServerConnection
from headish.database.server.failures import (
    NO_TABLE,
    RETRIED,
    CommitLost,
    ConnectionLost,
    interrupt_behind,
    is_away,
    key_taken,
    state_of,
    translate,
)
from headish.database.server.upkeep import find_problems, forget_statistics, rewrite, size_of
from headish.database.urls import URL, server_arguments
from headish.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidArgument,
    NotADatabase,
    NotIsolated,
    OutcomeUnknown,
    ReadOnly,
    RoleMissing,
)

T = TypeVar("T")

CONNECT_SECONDS = 10
"""How long a server may take to answer a connection; ``?connect_timeout=`` of the URL wins."""
WAIT_SECONDS = 30.0
"""How long a thread waits for one of the connections of its process."""
IDLE_CONNECTIONS = 8
"""How many open connections are kept between transactions."""
RECONNECT_SECONDS = 10.0
"""How long a server that was lost is waited for."""
ATTEMPTS = 30
"""How often a transaction is tried that the server cannot serialize."""
_ANOTHER_PROGRAM = (
    "its schema holds tables of another program; give headish a schema of its own"
    " (?options=-csearch_path%3Dheadish) or another database"
)
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
_IS_REPLICA = Query("whether the server is a replica", "SELECT pg_is_in_recovery()")
# A server that was copied began at another moment; and a database may hold the tables of several, each in a schema.
_WHICH = Query(
    "which database of which server this is",
    "SELECT pg_postmaster_start_time(), oid, to_regclass('turn')::oid FROM pg_database "
    "WHERE datname = current_database()",
)
_ANALYZE = Query("refresh statistics", "ANALYZE turn, payload, link, bookmark, bookmark_log")
_ANALYZE_AS_OWNER = Query("refresh statistics as the owner", "SELECT headish_analyze()")
# Citus takes no INSERT inside another statement. A transaction without our BEGIN is as strict as the server's default;
# a strict one may be refused at its very end, and there the driver does not tell why.
_TAKES_WHOLE = (
    "to_regclass('pg_catalog.pg_dist_partition') IS NULL"
    " AND current_setting('default_transaction_isolation') = 'read committed'"
)
# Whether policies hold this login, and in which schema, is asked where something is asked anyway.
_REVISION = Query(
    "find revision, and whether policies hold",
    f"SELECT version_num, row_security_active('turn'), has_table_privilege('turn', 'INSERT'), ({OWN_SCHEMA}), "  # noqa: S608
    f"{_TAKES_WHOLE} FROM alembic_version",
)


class _SharedPool:
    """What the backend of a database and those of its spaces share."""

    pool: Pool[Any]
    path: SearchPath


class PostgreSQLBackend:
    """A database of a PostgreSQL server."""

    dialect = "postgresql"
    upgrades_itself = False
    scrubs_itself = False
    has_segments = False
    not_reached: tuple[str, ...] = (
        "dead rows, until 'headish gc --scrub' or VACUUM (FULL)",
        "the server's write-ahead log, archives, replicas and base backups",
        "copies of turns in other databases, exports, and what was sent to a provider",
    )

    _is_reader = False

    def __init__(
        self, url: URL, *, durability: str, create: bool, read_only: bool = False, prepared: bool = True
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidArgument("PostgreSQL needs the extra: pip install 'headish[postgresql]'") from None
        self._psycopg = psycopg
        self.target, self.read_only = str(url), read_only
        commit = "off" if durability == "normal" else "on"
        self._settings = f"{SETTINGS}, pg_catalog.set_config('synchronous_commit', '{commit}', true)"
        self._url, self._prepared = url, prepared
        self._arguments = self._read_arguments()
        self.is_confined, self._takes_whole = False, True
        self._space: int | None = None
        self._shared = _SharedPool()
        self._shared.path = SearchPath(self._arguments)
        self._owner = Owner(self.target, self._renew)
        self._renew()

    @property
    def _pool(self) -> Pool[Any]:
        return self._shared.pool

    def _renew(self) -> object:
        """Make the connections of a process. Returns those that it replaces."""
        before = vars(self._shared).get("pool")
        self._shared.pool = Pool(self._connect, kept=IDLE_CONNECTIONS, wait_seconds=WAIT_SECONDS)
        return before

    def within(self, space: int) -> Backend:
        if not self.is_confined:
            return self
        inside = copy.copy(self)  # the connections are shared
        inside._space = space
        return inside

    def find_revision(self) -> str | None:
        path = self._shared.path
        path.ask()
        row = self.read(lambda connection: connection.row(_REVISION))
        if row is None:
            return None
        revision, self.is_confined, may_write, schema, self._takes_whole = row
        path.note(schema, is_confined=self.is_confined)
        if self.is_confined and not may_write:
            self.read_only = self._is_reader = True
        return str(revision)

    def check_isolated(self) -> None:
        with self.schema_connection() as connection:
            why = why_not_held(connection)
        if why:
            raise NotIsolated(self.target, why)

    def lifted(self, connection: SchemaConnection) -> AbstractContextManager[None]:
        from headish.database.isolation.securing import lifted

        return lifted(connection)

    def _connect(self) -> Any:
        return self._psycopg.connect(**self._arguments)

    def _read_arguments(self) -> dict[str, Any]:
        """What the driver is told: the URL, whose settings win over ours."""
        from psycopg.conninfo import make_conninfo

        try:
            arguments = {"connect_timeout": CONNECT_SECONDS, **server_arguments(self._url)}
            make_conninfo(**arguments)
        except (ValueError, self._psycopg.Error) as error:
            raise InvalidArgument(f"the database URL cannot be used: {error}") from None
        return arguments if self._prepared else arguments | {"prepare_threshold": None}

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._attempt(lambda: self._transact(work, reads=True))

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        self.check_writable()
        unsettled: list[T] = []

        def settled(connection: Connection) -> T:
            # Run again without looking, a commit whose answer alone was lost would store everything twice.
            if settle is not None and unsettled and settle(connection, unsettled[-1]):
                return unsettled[-1]
            return work(connection)

        def attempt() -> T:
            try:
                return self._transact(settled, reads=False)
            except CommitLost as lost:
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
        if self._is_reader:
            raise RoleMissing(self.target, WRITER)
        if self.read_only:
            raise ReadOnly(self.target, ASKED_READ_ONLY)

    def _attempt(self, attempt: Callable[[], T]) -> T:
        """Try until the server could order the transaction with the others, or for a while after it was lost."""
        self._owner.check()
        deadline: float | None = None
        tries, taken = 0, ""
        while True:
            tries += 1
            settings = self._shared.path.settings
            try:
                return attempt()
            except ConnectionLost as lost:
                # Counted from the first loss, so that a server that comes and goes is not waited for without end.
                deadline = deadline or time.monotonic() + RECONNECT_SECONDS
                if time.monotonic() > deadline:
                    raise translate(self.target, lost.error) from lost.error
            except AllInUse:
                raise DatabaseUnavailable(self.target, "all connections are in use; try again") from None
            except self._psycopg.Error as error:
                if tries < ATTEMPTS and self._was_moved(error, settings):
                    continue
                # Once a connection was lost the server may still be starting; before that, nobody is there to wait for.
                waits = deadline is not None and time.monotonic() < deadline and is_away(error)
                # Who lost a race sees the other's row when it tries again. A key that is taken once more was no race.
                before, taken = taken, key_taken(error)
                is_lost = state_of(error) in RETRIED and not (taken and taken == before)
                if not waits and (not is_lost or tries >= ATTEMPTS):
                    raise translate(self.target, error) from error
            pause(0, min(0.002 * tries, 0.1))

    def _was_moved(self, error: Exception, settings: str) -> bool:
        """Whether ``db secure`` moved the tables since they were found: they are looked for again."""
        path = self._shared.path
        if state_of(error) != NO_TABLE or not path.was_found:
            return False
        if not path.settings:  # else another thread asks
            self.find_revision()
        return settings in ("", path.asking) and bool(path.settings)

    def _transact(self, work: Callable[[Connection], T], *, reads: bool) -> T:
        handled = sys.exc_info()[1]
        driver = self._pool.take()
        try:
            self._begin(driver, reads)
            sent = SentSettings(self._settings + self._shared.path.settings, is_confined=self.is_confined)
            try:
                words = SECURED if self.is_confined else POSTGRESQL
                result = work(ServerConnection(driver, sent, words, self._space, takes_whole=self._takes_whole))
            except self._psycopg.Error as error:
                lost = ConnectionLost(error) if sent.whole is None else CommitLost(error, sent.whole)
                self._check_lost(driver, lost)
                refusal = translate_refusal(self.target, error, sent)
                if refusal is not None:
                    raise refusal from error
                raise
            try:
                self._commit(driver)
            except self._psycopg.Error as error:
                self._check_lost(driver, CommitLost(error, result) if not reads else ConnectionLost(error))
                raise
        except Exception as error:
            interrupt = interrupt_behind(error, handled)
            if interrupt is not None:
                self._pool.discard(driver)
                raise interrupt from None
            self._undo(driver)
            raise
        except BaseException:
            # An interrupt, perhaps between a statement and its answer: nothing can follow it, not even a ROLLBACK.
            self._pool.discard(driver)
            raise
        self._give_back(driver)
        return result

    def _undo(self, driver: Any) -> None:
        # At a ROLLBACK the driver forgets what it prepared. A message that is a transaction has none, and a statement
        # of it that failed may be prepared for the driver, and not for the server.
        if driver.closed or driver.autocommit:
            self._pool.discard(driver)
            return
        try:
            driver.rollback()
        except self._psycopg.Error:
            self._pool.discard(driver)  # the server ends what it was in the middle of
        except BaseException:
            self._pool.discard(driver)
            raise
        else:
            self._give_back(driver)

    def _give_back(self, driver: Any) -> None:
        if self._owner.is_closed or driver.closed:
            self._pool.discard(driver)
        else:
            self._pool.give_back(driver)

    def _commit(self, driver: Any) -> None:
        driver.commit()

    def _begin(self, driver: Any, reads: bool) -> None:
        level = self._psycopg.IsolationLevel
        # REPEATABLE READ for a write would fix its snapshot before it has the lock of its space, and miss the writer
        # before.
        # To set what is set costs as much as to look ten times.
        isolation = level.REPEATABLE_READ if reads else level.READ_COMMITTED
        if driver.isolation_level != isolation:
            driver.isolation_level = isolation
            driver.read_only = reads or None  # None leaves a read-only server read-only

    def _check_lost(self, driver: Any, lost: ConnectionLost) -> None:
        """Raises ``lost`` where the connection is; those that lie idle were lost with it."""
        if driver.closed or driver.broken:
            self._pool.discard_idle()
            raise lost from lost.error

    @contextmanager
    def schema_connection(self) -> Iterator[SchemaConnection]:
        self._owner.check()
        try:
            driver = self._connect()
            try:
                self._begin(driver, reads=self.read_only)
                driver.execute(f"SELECT {self._shared.path.find}")
                yield driver
                driver.commit()
            finally:
                driver.close()
        except self._psycopg.Error as error:
            raise translate(self.target, error) from error

    def is_headish(self, connection: SchemaConnection) -> bool:
        names = {row[0] for row in connection.execute(_TABLES)}
        # Another program may have a table of this name, and an upgrade would write into it.
        if "turn" in names and "alembic_version" not in names:
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        if "alembic_version" not in names:
            return False
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if row is not None and not row[0].startswith("headish_"):
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        return row is not None or "turn" in names

    def mark(self, connection: SchemaConnection) -> None:
        """Nothing to sign: Alembic's table says whose it is. The tables lie where the search path leads."""
        self._shared.path.note(None, is_confined=False)

    def prepare(self) -> None:
        """Nothing to set."""

    def backup(self, label: str) -> str | None:
        return None

    def which(self) -> tuple[object, ...] | None:
        [row] = self.read(lambda connection: connection.rows(_WHICH))
        return tuple(row)

    def may_lag(self) -> bool:
        # Asked where something was not found. A server that no longer answers has nothing to add to that.
        if self.read_only and not self._is_reader:
            return True
        try:
            [(lags,)] = self.read(lambda connection: connection.rows(_IS_REPLICA))
        except DatabaseError:
            return False
        return bool(lags)

    def copy_into(self, path: str) -> bool:
        return False

    def check_integrity(self) -> list[str]:
        if self.is_confined:
            return []  # the extension is for whom no policy holds
        with self.schema_connection() as connection:
            return find_problems(connection)

    def plan_again(self) -> None:
        query = _ANALYZE_AS_OWNER if self.is_confined else _ANALYZE
        self._attempt(lambda: self._transact(lambda connection: connection.run(query), reads=False))

    def scrub(self) -> str:
        self.check_writable()
        return self._care(rewrite)

    def forget_statistics(self) -> str:
        return self._care(forget_statistics)

    def _care(self, work: Callable[[Any, str], str]) -> str:
        """Work on a connection whose statements are transactions of their own. Empty, or why it was not done."""
        try:
            driver = self._connect()
            try:
                driver.autocommit = True
                return work(driver, self._shared.path.find)
            finally:
                driver.close()
        except self._psycopg.Error as error:
            return translate(self.target, error).reason

    def copies(self) -> list[str]:
        return []

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        return []

    def size_bytes(self) -> int:
        with self.schema_connection() as connection:
            return size_of(connection)

    def close(self) -> None:
        if self._owner.is_closed or self._owner.is_child:
            return  # what a forked child has of its parent is the parent's to close
        self._owner.is_closed = True
        self._pool.discard_idle()
