"""Read PostgreSQL databases of other programs: in one transaction that writes nothing, and never trusted.

The transaction sees the database as it was when the import began, and blocks no writer. Rows come a page at a time from
a cursor on the server. Only plain tables are read, by their schema's name, and a value that is too large costs only its
row. The password of an address goes to the driver alone: no message, note or record holds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

from headish.database.urls import URL, parse_url, server_arguments
from headish.errors import InvalidImport
from headish.values.limits import IMPORT_LINE_BYTES

PAGE = 1000
"""The number of rows to fetch at a time."""
CONNECT_SECONDS = 10
TEXTS = ("text", "character varying")
_ADDRESS = re.compile(r"postgres(?:ql)?(?:\+\w+)?:/", re.IGNORECASE)
_WITHOUT_SLASH = re.compile(r":/(?!/)")
_SAID = "postgresql://USER@HOST:PORT/DATABASE"


def is_address(source: object) -> bool:
    """Whether a source is the URL of a PostgreSQL database. ``Path`` makes one slash of two, so one slash is enough."""
    return isinstance(source, str | os.PathLike) and _ADDRESS.match(os.fsdecode(source)) is not None


class ServerAddress:
    """The URL of a database. ``name`` is the URL without its password, for people to see."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        """Raises: InvalidImport, which repeats nothing that may be a password."""
        try:
            url = parse_url(_WITHOUT_SLASH.sub("://", os.fsdecode(source), count=1))
            self._arguments = server_arguments(url)
        except ValueError:
            raise InvalidImport("the server", None, f"its URL cannot be read; it is {_SAID}") from None
        if _has_stray_at(url):
            reason = f"an @ in a user or a password is written %40; the URL is {_SAID}"
            raise InvalidImport("the server", None, reason)
        self.name = str(url)

    def __repr__(self) -> str:
        return self.name

    def connect(self, psycopg: Any) -> Any:
        """Open a connection whose transaction is read-only and sees one state of the database. Raises:
        psycopg.Error."""
        connection = psycopg.connect(
            **{"connect_timeout": CONNECT_SECONDS, **self._arguments, "client_encoding": "utf8"},
            prepare_threshold=None,  # a pooler may give each transaction another connection
        )
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection


class ForeignServer:
    """An open database: its plain tables that are visible without a schema's name, with the types of their columns."""

    def __init__(self, connection: Any, psycopg: Any) -> None:
        self._connection, self._sql = connection, psycopg.sql
        self._numbers = count(1)
        self._schemas: dict[str, str] = {}
        self.tables: dict[str, dict[str, str]] = {}
        for table, schema, column, kind in connection.execute(_COLUMNS):
            self._schemas[table] = schema
            self.tables.setdefault(table, {})[column] = kind
        # The database could define an operator or a function of the same name in a schema that comes first.
        connection.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog', true)")

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a plain table with these columns."""
        return table in self.tables and self.tables[table].keys() >= set(columns)

    def rows(self, table: str, columns: str, where: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return columns of the rows that meet a condition. Raises: psycopg.Error."""
        statement = self._select(table, columns, where)
        rows: list[tuple[Any, ...]] = self._connection.execute(statement, values, binary=True).fetchall()
        return rows

    def stream(
        self, table: str, columns: str, where: str = "true", values: Sequence[Any] = (), order: str = "1"
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows as ``rows``, in an order and a page at a time. Raises: psycopg.Error."""
        statement = self._select(table, columns, where) + self._sql.SQL(f" ORDER BY {order}")
        # A named cursor stays on the server: without a name, the driver would fetch all rows at once.
        with closing(self._connection.cursor(name=f"headish_{next(self._numbers)}")) as cursor:
            cursor.itersize = PAGE
            cursor.execute(statement, values, binary=True)
            yield from cursor

    def _select(self, table: str, columns: str, where: str) -> Any:
        """Compose a statement: the caller's columns and condition are headish's own text; the table name comes from the
        schema and is quoted."""
        sql = self._sql
        name = sql.Identifier(self._schemas[table], table)
        return sql.SQL("SELECT {} FROM {} WHERE {}").format(sql.SQL(columns), name, sql.SQL(where))


@contextmanager
def opened(address: ServerAddress) -> Iterator[ForeignServer]:
    """Open a database for reading. Raises: InvalidImport."""
    try:
        import psycopg
        import psycopg.sql
    except ImportError:
        reason = "PostgreSQL needs the extra: pip install 'headish[postgresql]'"
        raise InvalidImport(address.name, None, reason) from None
    try:
        with closing(address.connect(psycopg)) as connection:
            yield ForeignServer(connection, psycopg)
    except (psycopg.Error, UnicodeError) as error:
        message = " ".join(str(error).split())[:300]
        raise InvalidImport(address.name, None, f"PostgreSQL cannot read it ({message})") from None


def bounded(column: str) -> str:
    """Return SQL for the size of a value, and for the value, which is null if it is too large to send."""
    size = f"octet_length({column})"
    return f"{size}, CASE WHEN {size} <= {IMPORT_LINE_BYTES} THEN {column} END"


def _has_stray_at(url: URL) -> bool:
    """Whether part of a password was read as a host or a database: an unescaped @ ends the user's part too early."""
    places: Mapping[str, object] = {"host": url.host, "database": url.database, **url.query}
    return any("@" in str(value) for key, value in places.items() if key in ("host", "database"))


_COLUMNS = """
SELECT c.relname, n.nspname, a.attname, pg_catalog.format_type(a.atttypid, NULL)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[]) AND pg_catalog.pg_table_is_visible(c.oid)
AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
AND n.nspname OPERATOR(pg_catalog.<>) ALL ('{pg_catalog,information_schema}'::pg_catalog.name[])
ORDER BY 1, 3
"""
