"""PostgreSQL, and the distributed databases that speak it.

headish runs a transaction again after a serialization failure or a deadlock (a server may run at a stricter level) and,
for a while, after its connection was lost. If the answer to a commit was lost, headish first looks for what the commit
stored.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from headish.database.backend import ASKED_READ_ONLY, Backend, Settle
from headish.database.isolation.confined import why_not_held
from headish.database.isolation.grants import WRITER
from headish.database.isolation.locating import OWN_SCHEMA
from headish.database.pause import pause
from headish.database.pool import AllInUse
from headish.database.query import Connection, Query, SchemaConnection
from headish.database.server.failures import (
    NO_TABLE,
    RETRIED,
    CommitLost,
    ConnectionLost,
    is_away,
    key_taken,
    state_of,
    translate,
)
from headish.database.server.transactions import ServerTransactions
from headish.database.server.upkeep import find_problems, forget_statistics, rewrite, size_of
from headish.errors import (
    DatabaseError,
    DatabaseUnavailable,
    NotADatabase,
    NotIsolated,
    OutcomeUnknown,
    ReadOnly,
    RoleMissing,
)

T = TypeVar("T")

RECONNECT_SECONDS = 10.0
"""How long to wait for a server whose connection was lost."""
ATTEMPTS = 30
"""How often to try a transaction that the server cannot serialize."""
_ANOTHER_PROGRAM = (
    "its schema holds tables of another program; give headish a schema of its own"
    " (?options=-csearch_path%3Dheadish) or another database"
)
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
_IS_REPLICA = Query("whether the server is a replica", "SELECT pg_is_in_recovery()")
# The start time tells a server from its copy, and the table's number tells apart the schemas of one database, of which
# each may have tables of headish.
_WHICH = Query(
    "which database of which server this is",
    "SELECT pg_postmaster_start_time(), oid, to_regclass('turn')::oid FROM pg_database "
    "WHERE datname = current_database()",
)
_ANALYZE = Query("refresh statistics", "ANALYZE turn, payload, link, bookmark, bookmark_log")
_ANALYZE_AS_OWNER = Query("refresh statistics as the owner", "SELECT headish_analyze()")
# Whether a server takes an append as one message. Citus accepts no INSERT inside another statement. And a transaction
# without our BEGIN has the server's default level; a stricter one may be refused at its very end, where the driver does
# not tell why.
_TAKES_WHOLE = (
    "to_regclass('pg_catalog.pg_dist_partition') IS NULL"
    " AND current_setting('default_transaction_isolation') = 'read committed'"
)
# With the revision, which is read anyway, come all other facts that opening needs: so it is one round trip.
_REVISION = Query(
    "find revision, and whether policies hold",
    f"SELECT version_num, row_security_active('turn'), has_table_privilege('turn', 'INSERT'), ({OWN_SCHEMA}), "  # noqa: S608
    f"{_TAKES_WHOLE} FROM alembic_version",
)


class PostgreSQLBackend(ServerTransactions):
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

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._attempt(lambda: self._transact(work, reads=True))

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        self.check_writable()
        unsettled: list[T] = []

        def settled(connection: Connection) -> T:
            # Without this look, a commit whose answer alone was lost would store everything twice.
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
        """Try a transaction until the server can serialize it with others; after a lost connection, for a while."""
        self._owner.check()
        deadline: float | None = None
        tries, taken_key = 0, ""
        while True:
            tries += 1
            settings = self._shared.path.settings
            try:
                return attempt()
            except ConnectionLost as lost:
                # Counted from the first loss: a server that comes and goes must not be waited for without end.
                deadline = deadline or time.monotonic() + RECONNECT_SECONDS
                if time.monotonic() > deadline:
                    raise translate(self.target, lost.error) from lost.error
            except AllInUse:
                raise DatabaseUnavailable(self.target, "all connections are in use; try again") from None
            except self._psycopg.Error as error:
                if tries < ATTEMPTS and self._was_moved(error, settings):
                    continue
                # After a lost connection the server may be restarting. At the first attempt there is none to wait for.
                waits = deadline is not None and time.monotonic() < deadline and is_away(error)
                # After a lost race, the next attempt sees the other writer's row. If the same key is taken again, it
                # was no race.
                before, taken_key = taken_key, key_taken(error)
                is_lost = state_of(error) in RETRIED and not (taken_key and taken_key == before)
                if not waits and (not is_lost or tries >= ATTEMPTS):
                    raise translate(self.target, error) from error
            pause(0, min(0.002 * tries, 0.1))

    def _was_moved(self, error: Exception, settings: str) -> bool:
        """Whether ``db secure`` has moved the tables since they were found. Then the next attempt looks elsewhere."""
        path = self._shared.path
        if state_of(error) != NO_TABLE or not path.was_found:
            return False
        if not path.settings:  # otherwise another thread is finding them
            self.find_revision()
        return settings in ("", path.asking) and bool(path.settings)

    def is_headish(self, connection: SchemaConnection) -> bool:
        names = {row[0] for row in connection.execute(_TABLES)}
        # Another program may have a table of this common name, and an upgrade would write into it.
        if "turn" in names and "alembic_version" not in names:
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        if "alembic_version" not in names:
            return False
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if row is not None and not row[0].startswith("headish_"):
            raise NotADatabase(self.target, _ANOTHER_PROGRAM)
        return row is not None or "turn" in names

    def mark(self, connection: SchemaConnection) -> None:
        """Note that the tables are where the search path leads. The mark itself is Alembic's table."""
        self._shared.path.note(None, is_confined=False)

    def prepare(self) -> None:
        """Do nothing: a server needs no settings."""

    def backup(self, label: str) -> str | None:
        return None

    def which(self) -> tuple[object, ...] | None:
        [row] = self.read(lambda connection: connection.rows(_WHICH))
        return tuple(row)

    def may_lag(self) -> bool:
        # Called after a look-up has failed. If the server does not answer any more, that failure is what counts.
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
            return []  # only superusers may call amcheck by default, and no policy applies to them
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

    def copies(self) -> list[str]:
        return []

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        return []

    def size_bytes(self) -> int:
        with self.schema_connection() as connection:
            return size_of(connection)
