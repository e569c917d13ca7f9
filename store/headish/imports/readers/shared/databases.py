"""Read SQLite databases of other programs: opened read-only, and never trusted.

A database may be in use, with a log beside it; the reader sees what is in the log. As far as SQLite allows, nothing is
written, neither to the database nor beside it; otherwise a copy is read. No lock is held between two reads, so that the
program that owns the database can write.

Only plain tables are read. Whatever a schema could do to a reader (views, virtual tables, functions in columns) is
denied, and a value that is too large costs only its row.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES
from headish.values.checks.files import open_regular
from headish.values.limits import IMPORT_LINE_BYTES

SQLITE = b"SQLite format 3\0"
_MODE_AT, _WAL = 18, 2
"""The byte of the header that gives the write version, and its value in WAL mode. Source: SQLite, "Database File
Format", section 1.3.3."""
_BESIDE = ("-wal", "-journal")
_ALLOWED = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
_FUNCTIONS = frozenset(("length", "max", "count"))
COMMON = "up"
"""The only common table expression that a reader's statement may use; it hides a view of that name."""
PAGE = 1000
"""The number of keys to read at a time."""


class TooLargeValue(Exception):
    """A value that is too large to read."""


class ForeignFile:
    """An open database. ``tables`` are the plain tables with their columns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.row_factory = _as_row
        # By default, one text that is not UTF-8 would fail the whole statement.
        connection.text_factory = lambda data: data.decode(errors="replace")
        # A row may hold a value of any size: SQLite refuses it before it takes memory.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, IMPORT_LINE_BYTES)
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
        self.tables = {name: self._columns(name) for name in self._plain_tables()}
        # Last, because it denies the statements above.
        connection.set_authorizer(_authorize)

    def _plain_tables(self) -> list[str]:
        rows = self._connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        return [
            row["name"]
            for row in rows
            if isinstance(row["name"], str) and isinstance(row["sql"], str) and not _is_virtual(row["sql"])
        ]

    def _columns(self, table: str) -> frozenset[str]:
        rows = self._connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
        return frozenset(row["name"] for row in rows)

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a plain table with these columns."""
        return table in self.tables and self.tables[table].issuperset(columns)

    def find(self, *columns: str) -> str | None:
        """Return the first plain table that has these columns."""
        return next((table for table in sorted(self.tables) if self.has(table, *columns)), None)

    def rows(self, table: str, columns: Sequence[str], *order: str, **equal: Any) -> list[dict[str, Any]]:
        """Return columns of the rows that match all of ``equal``, in an order.

        Raises: TooLargeValue; sqlite3.Error.
        """
        where = " AND ".join(f"{quoted(column)} = ?" for column in equal)
        return self._run(table, columns, f"WHERE {where}" if where else "", order, 0, equal.values())

    def keys(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the distinct keys of a table in their order, a page at a time. Raises: TooLargeValue; sqlite3.Error."""
        behind = f"WHERE ({', '.join(map(quoted, columns))}) > ({', '.join('?' * len(columns))})"
        after: tuple[Any, ...] = ()
        while True:
            page = self._run(table, columns, behind if after else "", columns, PAGE, after)
            keys = [tuple(row[column] for column in columns) for row in page]
            yield from dict.fromkeys(keys)
            if len(page) < PAGE or keys[-1] == after or None in keys[-1]:
                return  # no comparison with NULL is true, so there is no next page after one
            after = keys[-1]

    def select(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a reader's own statement. The guards apply to it, too: one that names a view is refused.

        Raises: TooLargeValue; sqlite3.Error.
        """
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.DataError) or "too big" in str(error):
                raise TooLargeValue(str(error)) from None
            raise

    def _run(
        self, table: str, columns: Sequence[str], where: str, order: Sequence[str], limit: int, values: Iterable[Any]
    ) -> list[dict[str, Any]]:
        """Return rows of one plain table; with a limit, distinct ones, as for keys."""
        statement = (
            f"SELECT {'DISTINCT ' if limit else ''}{', '.join(map(quoted, columns))} FROM {quoted(table)} {where}"  # noqa: S608, quoted
        )
        statement += f" ORDER BY {', '.join(map(quoted, order))}" if order else ""
        statement += f" LIMIT {limit}" if limit else ""
        return self.select(statement, *values)


@contextmanager
def opened(path: str | None, name: str) -> Iterator[ForeignFile]:
    """Open a database for reading.

    Raises: InvalidImport for a stream, another kind of file, a damaged one, and one that changed while it was read.
    """
    if path is None:
        raise InvalidImport(name, None, "a SQLite database is read as a file: give its path")
    before = _state(path)
    try:
        with ExitStack() as stack:
            foreign, settled = _open(stack, path)
            yield foreign
            if settled and _state(path) != before:
                raise InvalidImport(name, None, "it changed while it was read; import it again")
    except (sqlite3.Error, TooLargeValue) as error:
        raise InvalidImport(name, None, f"SQLite cannot read it ({error})") from None
    except OSError as error:
        raise InvalidImport(name, None, f"it cannot be read ({error.strerror or error})") from None


def _open(stack: ExitStack, path: str) -> tuple[ForeignFile, bool]:
    """Open the database. Returns also whether it was opened on the promise that nobody changes it."""
    for ending in _BESIDE:
        # SQLite would follow a link and read a file outside of the folder as the log.
        if os.path.islink(path + ending):
            raise OSError(0, f"{os.path.basename(path)}{ending} is a link")
    if not _has_log(path):
        # Without ``immutable``, SQLite would make an empty log and its index beside the database, and leave them there.
        settled = _has_wal_mode(path)
        return _connect(stack, path, "mode=ro&immutable=1" if settled else "mode=ro"), settled
    try:
        return _connect(stack, path, "mode=ro"), False
    except sqlite3.OperationalError:
        folder = stack.enter_context(TemporaryDirectory(prefix="headish-"))
        return _connect(stack, _copied(path, folder), "mode=rw"), False


def _connect(stack: ExitStack, path: str, mode: str) -> ForeignFile:
    connection = stack.enter_context(closing(sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True)))
    return ForeignFile(connection)


def _copied(path: str, folder: str) -> str:
    """Copy a database that SQLite could only read by writing beside it, for instance in a read-only folder."""
    copy = os.path.join(folder, "copy.db")
    for ending in ("", *_BESIDE):
        if os.path.exists(path + ending):
            with open_regular(path + ending) as source, open(copy + ending, "wb") as target:
                shutil.copyfileobj(source, target, CHUNK_BYTES)
    return copy


def _has_log(path: str) -> bool:
    return any(os.path.exists(path + ending) and os.path.getsize(path + ending) > 0 for ending in _BESIDE)


def _has_wal_mode(path: str) -> bool:
    with open_regular(path) as file:
        beginning = file.read(_MODE_AT + 1)
    return beginning.startswith(SQLITE) and beginning[_MODE_AT:] == bytes([_WAL])


def _state(path: str) -> tuple[int, int, bool] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, _has_log(path)


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _is_virtual(sql: str) -> bool:
    return sql.lstrip().upper().startswith("CREATE VIRTUAL")


def _authorize(action: int, first: str | None, second: str | None, _: str | None, within: str | None) -> int:
    """Allow or deny an action. ``within`` is the view or the common table expression of a statement in which it
    happens."""
    if within is not None and within != COMMON:
        return sqlite3.SQLITE_DENY
    is_function = action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS
    return sqlite3.SQLITE_OK if action in _ALLOWED or is_function else sqlite3.SQLITE_DENY


class _Row(dict[str, Any]):
    """A row of ``SELECT *``. A column that the table lacks is SQLite's error, as it is where a statement names one."""

    def __missing__(self, column: str) -> Any:
        raise sqlite3.OperationalError(f"no such column: {column}")


def _as_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> _Row:
    return _Row(zip((column[0] for column in cursor.description), row, strict=True))
