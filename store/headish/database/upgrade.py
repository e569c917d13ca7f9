"""Create, recognise, upgrade or refuse the schema of a database.

A new database gets its tables from ddl.py, an old one from the migrations; a test compares both. SQLAlchemy and Alembic
are imported only if a database needs another revision.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headish.database.backend import Backend
from headish.database.query import SchemaConnection
from headish.database.revisions import REVISION, REVISIONS
from headish.errors import (
    DatabaseError,
    DatabaseTooNew,
    DatabaseTooOld,
    DatabaseUnavailable,
    NotADatabase,
    UnknownDatabase,
)

if TYPE_CHECKING:
    import sqlalchemy

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
"""SQLAlchemy's names of our drivers."""
_REVISION = "SELECT version_num FROM alembic_version"
_VERSION_TABLE = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
_POSTGRESQL_WORDS = {
    "\n WITHOUT ROWID": "",
    '"': "",
    "id INTEGER": "id BIGSERIAL",
    "INTEGER": "BIGINT",
    "BLOB": "BYTEA",
    "VARCHAR(25)": 'VARCHAR(25) COLLATE "C"',
}
"""PostgreSQL's spelling for the words of SQLite's statements, in the order in which they are replaced: the quotation
marks go before ``COLLATE "C"`` brings new ones, and ``id INTEGER`` before ``INTEGER``."""


def ensure_schema(database: Backend, *, create: bool) -> None:
    """Leave the database at this library's revision, or refuse it.

    Makes a missing schema, in one transaction. Upgrades an older one if the database upgrades itself (SQLite does,
    after a backup beside the file). Makes, upgrades and sets nothing in a database that was opened read-only.
    Cost: one statement if the revision is right.
    Raises: NotADatabase, UnknownDatabase, DatabaseTooNew, DatabaseTooOld.
    """
    if _quick_revision(database) != REVISION:
        _settle(database, create and not database.read_only)
    if not database.read_only:
        database.prepare()


def current_revision(database: Backend) -> str | None:
    """The stored revision; None for a database without tables."""
    with database.schema_connection() as connection:
        return _revision(database, connection)


def check_current(database: Backend, done: str) -> None:
    """Check that the tables are of this library's revision; ``done`` says what is done to them.

    Raises: UnknownDatabase, DatabaseTooOld.
    """
    current = current_revision(database)
    if current is None:
        raise UnknownDatabase(database.target, "it holds no headish tables yet; run 'headish db init' first")
    if current != REVISION:
        reason = f"its schema is {current}, and {REVISION} is {done}; run 'headish db upgrade' first"
        raise DatabaseTooOld(database.target, reason)


def upgrade_schema(database: Backend, revision: str = REVISION) -> str | None:
    """Upgrade (or, given an older revision, downgrade) in one transaction; returns the backup's path if one was made.

    The lock is taken before the backup, so that the copy is what the upgrade starts from.
    Raises: ReadOnly, UnknownDatabase, DatabaseTooNew.
    """
    database.check_writable()
    with database.schema_connection() as connection:
        current = _revision(database, connection)
        if current is None:
            raise UnknownDatabase(database.target, "it holds no headish tables yet")
        _check_known(database, current)
        if current == revision:
            return None
        backup = database.backup(f"backup-{current}")
        try:
            with database.lifted(connection):
                _run_migrations(database.dialect, connection, current, revision)
        except BaseException:
            if backup is not None:
                os.unlink(backup)  # the database is as it was, so there is nothing to go back to
            raise
        return backup


def _quick_revision(database: Backend) -> str | None:
    try:
        return database.find_revision()
    except DatabaseError as error:
        if type(error) is not DatabaseError:
            raise
        return None  # no such table: ``_settle`` finds out what the database has


def _settle(database: Backend, create: bool) -> None:
    making = False
    try:
        with database.schema_connection() as connection:
            current = _revision(database, connection)
            if current is None:
                making = True
                _create(database, connection, create)
                return
            _check_known(database, current)
    except DatabaseError as error:
        # Another process may have made the tables between our look and our CREATE.
        if making and type(error) is DatabaseUnavailable:
            reason = f"{error.reason} while its tables were made; open it again, and what is missing is made"
            raise DatabaseUnavailable(error.target, reason) from error
        if type(error) is not DatabaseError or _quick_revision(database) != REVISION:
            raise
        return
    if current != REVISION:
        _upgrade_or_refuse(database, current)


def _upgrade_or_refuse(database: Backend, current: str) -> None:
    if database.read_only or not database.upgrades_itself:
        where = " where it can be written" if database.read_only else ""
        raise DatabaseTooOld(
            database.target, f"its schema is {current}, this headish writes {REVISION}; run 'headish db upgrade'{where}"
        )
    upgrade_schema(database)


def _create(database: Backend, connection: SchemaConnection, create: bool) -> None:
    if not create:
        raise UnknownDatabase(database.target, "it holds no headish tables, and none were to be created")
    # Late: needed only once for each database.
    from headish.database.ddl import TABLES
    from headish.database.file.fulltext import create_index

    for statement in TABLES:
        connection.execute(spelled_for(database.dialect, statement))
    create_index(database.dialect, connection)
    connection.execute(_VERSION_TABLE)
    connection.execute(f"INSERT INTO alembic_version (version_num) VALUES ('{REVISION}')")  # noqa: S608
    database.mark(connection)


def spelled_for(dialect: str, statement: str) -> str:
    """A statement of ``ddl.TABLES`` in the spelling of this database."""
    for ours, theirs in _POSTGRESQL_WORDS.items() if dialect == "postgresql" else ():
        statement = statement.replace(ours, theirs)
    return statement


def _revision(database: Backend, connection: SchemaConnection) -> str | None:
    if not database.is_headish(connection):
        return None
    row = connection.execute(_REVISION).fetchone()
    if row is None:
        raise NotADatabase(database.target, "the row that says its revision is missing; restore a backup")
    return str(row[0])


def _check_known(database: Backend, current: str) -> None:
    if current not in REVISIONS:
        raise DatabaseTooNew(
            database.target,
            f"its schema {current} is newer than this headish knows; it was left untouched, upgrade headish",
        )


def _run_migrations(dialect: str, driver: SchemaConnection, current: str, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "headish_migrations:")
    older = REVISIONS.index(revision) < REVISIONS.index(current)
    with alchemy_connection(dialect, driver) as connection:
        config.attributes["connection"] = connection
        (command.downgrade if older else command.upgrade)(config, revision)


@contextmanager
def alchemy_connection(dialect: str, driver: SchemaConnection) -> Iterator[sqlalchemy.Connection]:
    """A SQLAlchemy connection inside the driver's open transaction, which it neither commits nor rolls back.

    Raises: the driver's own errors, not SQLAlchemy's around them.
    """
    import sqlalchemy.exc  # late: it takes longer to import than a command takes to run

    engine = sqlalchemy.create_engine(
        f"{_DRIVERS[dialect]}://", creator=lambda: driver, poolclass=sqlalchemy.StaticPool, pool_reset_on_return=None
    )
    # SQLAlchemy tries a new connection out, and then rolls back: that would end the transaction of the upgrade.
    vars(engine.dialect).update(do_rollback=_leave, do_commit=_leave)
    try:
        with engine.connect() as connection:
            connection.begin()
            yield connection
    except sqlalchemy.exc.DBAPIError as error:
        if error.orig is None:
            raise
        raise error.orig from error


def _leave(_driver: object) -> None:
    """Do nothing: the code that opened the connection ends its transaction."""
