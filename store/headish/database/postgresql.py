"""PostgreSQL, and the distributed databases that speak it: many writers, READ COMMITTED.

The append path needs only row locks and unique constraints, nothing that a distributed PostgreSQL lacks. A transaction
that fails to serialize or deadlocks (a server may run at a stricter level) runs again; a connection that was lost
before the commit is opened again, once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy
from sqlalchemy import URL
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import DBAPIError

from headish.database.query import Connection
from headish.errors import (
    Closed,
    DatabaseError,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    InvalidArgument,
    NotADatabase,
)

T = TypeVar("T")

ATTEMPTS = 30
"""How often a transaction is tried that the server cannot serialize."""
_RETRIED = ("40001", "40P01", "23505")  # serialization_failure, deadlock_detected, unique_violation: a race was lost
_DIALECT = PGDialect_psycopg(paramstyle="format")  # type: ignore[no-untyped-call]
# Every statement of the append path has its index, but a plan made for a small table would not use it, and is kept.
_SETTINGS = "-c enable_seqscan=off"
_ERRORS: dict[str, tuple[type[DatabaseError], str]] = {
    "25006": (DatabaseReadOnly, "the server takes no writes (a replica, or a read-only transaction)"),
    "42501": (DatabaseReadOnly, "this role may not write here"),
    "53100": (DatabaseFull, "no space is left on the server's disk; nothing of this call was stored"),
}


class PostgreSQLBackend:
    """A database of a PostgreSQL server."""

    upgrades_itself = False

    def __init__(self, url: URL, *, durability: str, create: bool) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidArgument("PostgreSQL needs the extra: pip install 'headish[postgresql]'") from None
        self._psycopg = psycopg
        self._is_closed = False
        self.target = url.render_as_string(hide_password=True)
        commit = "off" if durability == "normal" else "on"
        given = url.query.get("options", "")  # ours are added to the user's own
        options = f"{given if isinstance(given, str) else ' '.join(given)} {_SETTINGS} -c synchronous_commit={commit}"
        self._engine = sqlalchemy.create_engine(
            url,
            pool_size=8,
            max_overflow=120,
            isolation_level="READ COMMITTED",
            connect_args={"options": options.strip()},
        )

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._attempt(work)

    def write(self, work: Callable[[Connection], T]) -> T:
        return self._attempt(work)

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        self._check_open()
        reconnected = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._transact(work)
            except _ConnectionLost as lost:
                if reconnected:
                    raise self._translate(lost.error) from lost.error
                reconnected = True
            except (self._psycopg.Error, DBAPIError) as error:
                if _state(error) not in _RETRIED or attempt == ATTEMPTS:
                    raise self._translate(error) from error
            time.sleep(random.uniform(0, 0.002 * attempt))  # noqa: S311 - no secret
        raise AssertionError("the last attempt returns or raises")

    def _transact(self, work: Callable[[Connection], T]) -> T:
        pooled = self._engine.raw_connection()
        try:
            try:
                result = work(Connection(pooled.cursor(), _DIALECT))
            except self._psycopg.OperationalError as error:
                if pooled.driver_connection is not None and pooled.driver_connection.closed:
                    pooled.invalidate(error)
                    # Nothing was committed yet, so the work may run again on a new connection.
                    raise _ConnectionLost(error) from error
                raise
            pooled.commit()
            return result
        finally:
            pooled.close()  # the pool rolls back what was not committed

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
        self._check_open()
        try:
            with self._engine.begin() as connection:
                yield connection
        except (self._psycopg.Error, DBAPIError) as error:
            raise self._translate(error) from error

    def is_headish(self, connection: sqlalchemy.Connection) -> bool:
        names = set(sqlalchemy.inspect(connection).get_table_names())
        if "turn" in names and "alembic_version" not in names:
            raise NotADatabase(self.target, "its schema holds tables of another program; choose another one")
        return "alembic_version" in names

    def mark(self, connection: sqlalchemy.Connection) -> None:
        """Nothing to sign: Alembic's table says whose it is."""

    def prepare(self) -> None:
        """Nothing to set."""

    def backup(self, label: str) -> str | None:
        return None

    def size_bytes(self) -> int:
        with self.schema_connection() as connection:
            size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
        return int(size)

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed(f"the database {self.target}")

    def close(self) -> None:
        self._is_closed = True
        self._engine.dispose()


class _ConnectionLost(Exception):
    def __init__(self, error: Exception) -> None:
        self.error = error


def _state(error: Exception) -> str:
    """The SQLSTATE, or the empty string if the server was not reached."""
    return getattr(getattr(error, "orig", None) or error, "sqlstate", None) or ""
