"""A database whose rows can be replaced behind the library's back, and put back. Used by tests/corruption."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import sqlalchemy
from sqlalchemy import Table

from headish import Database
from headish.database.schema import metadata
from headish.values.results.reports import Problem
from headish.verify.space import verify_space
from headish.verify.spaces import check_spaces
from support.damage.rows import Damage, NotText, Row

WHOLE = {"space", "space_log", "counter"}
"""Tables whose rows say which spaces there are."""


class Refused(Exception):
    """The database itself does not take the damaged rows."""


class Damaged(Protocol):
    """A database that was filled, its rows as they were, and how to do damage."""

    database: Database
    rows: dict[str, list[Row]]
    in_use: set[int]

    def replace(self, table: Table, rows: Sequence[Row], *, nulls: bool = False) -> None: ...


@contextmanager
def damage_done(damaged: Damaged, table: Table, damage: Damage) -> Iterator[None]:
    """The damage, as long as the context lasts. Raises: Refused."""
    rows = damaged.rows[table.name]
    left = [row for row in rows if row not in damage.touched]
    damaged.replace(table, [*left, *damage.instead], nulls=any(None in row for row in damage.instead))
    try:
        yield
    finally:
        damaged.replace(table, rows)


def problems_of(database: Database) -> list[Problem]:
    """Everything that verify finds."""
    return [problem for report in database.verify().values() for problem in report.problems]


def problems_near(damaged: Damaged, table: Table, damage: Damage) -> list[Problem]:
    """Of all that verify finds, what it finds in the spaces of the damaged rows: half the work, if that is enough."""
    if table.name in WHOLE:
        return []
    at = list(table.c).index(table.c.space)
    spaces = {row[at] for row in damage.touched} & damaged.in_use
    backend = damaged.database.backend
    return [each for number in spaces for each in verify_space(backend.within(number), number).problems]


def spaces_in_use(database: Database) -> set[int]:
    """The numbers of the spaces that verify looks into."""
    return {number for number, _ in check_spaces(database.backend)[0]}


def key_order(table: Table) -> str:
    """The columns of the key, as SQL."""
    return ", ".join(column.name for column in table.primary_key)


class DamagedFile:
    """A SQLite file. What its constraints forbid is done while they are out of its schema."""

    def __init__(self, path: str, database: Database) -> None:
        self.database, self.in_use = database, spaces_in_use(database)
        self._driver = sqlite3.connect(path, isolation_level=None)
        self._driver.execute("PRAGMA ignore_check_constraints = ON")
        self._driver.execute("PRAGMA synchronous = OFF")
        self._tables = self._driver.execute("SELECT sql, name FROM sqlite_master WHERE type = 'table'").fetchall()
        self.rows = {
            table.name: self._driver.execute(f"SELECT * FROM {table.name} ORDER BY {key_order(table)}").fetchall()
            for table in metadata.sorted_tables
        }

    def replace(self, table: Table, rows: Sequence[Row], *, nulls: bool = False) -> None:
        if nulls:
            self._write_schema("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
        try:
            with self._transaction():
                self._driver.execute(f"DELETE FROM {table.name}")
                for row in rows:
                    values = ", ".join("CAST(? AS TEXT)" if isinstance(each, NotText) else "?" for each in row)
                    self._driver.execute(f"INSERT INTO {table.name} VALUES ({values})", row)
        except sqlite3.IntegrityError as error:
            raise Refused(str(error)) from None
        finally:
            if nulls:
                self._write_schema("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?", *self._tables)

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._driver.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._driver.execute("ROLLBACK")
            raise
        self._driver.execute("COMMIT")

    def _write_schema(self, sql: str, *rows: Sequence[Any]) -> None:
        self._driver.execute("PRAGMA writable_schema = ON")
        self._driver.executemany(sql, rows or [()])
        self._driver.execute("PRAGMA writable_schema = RESET")


class DamagedServer:
    """A PostgreSQL database of its own. References are not checked for whoever does the damage; all else is."""

    def __init__(self, url: str, database: Database) -> None:
        import psycopg

        self.database, self.in_use = database, spaces_in_use(database)
        self._refusal: type[Exception] = psycopg.IntegrityError
        self._driver = psycopg.connect(
            sqlalchemy.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        )
        self._driver.execute("SET session_replication_role = replica")
        self.rows = {
            table.name: self._driver.execute(f"SELECT * FROM {table.name} ORDER BY {key_order(table)}").fetchall()
            for table in metadata.sorted_tables
        }
        self._driver.commit()

    def replace(self, table: Table, rows: Sequence[Row], *, nulls: bool = False) -> None:
        try:
            with self._driver.transaction():
                self._driver.execute(f"DELETE FROM {table.name}")
                for row in rows:
                    self._driver.execute(f"INSERT INTO {table.name} VALUES ({', '.join(['%s'] * len(row))})", row)
        except self._refusal as error:
            raise Refused(str(error)) from None

    def close(self) -> None:
        self._driver.close()
