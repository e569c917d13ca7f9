"""Statements compiled once, and the connection that runs them on the driver's own cursor.

SQLAlchemy builds, names and compiles every statement; running it through Core's result machinery would cost several
times what SQLite needs for the statement itself (docs/explanation/performance.md), so the compiled text goes straight
to the driver (R13). Rows are plain tuples. Only integers, text and bytes are bound, so no type needs a processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Executable
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]


class Cursor(Protocol):
    """What is used of a driver's cursor (PEP 249)."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...
    def executemany(self, sql: str, parameters: Any, /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> Sequence[Any]: ...


class Query:
    """One named statement. ``text_for`` compiles it for a dialect, the first time it is asked."""

    __slots__ = ("_compiled", "name", "statement")

    def __init__(self, name: str, statement: Executable) -> None:
        self.name, self.statement = name, statement
        self._compiled: dict[str, tuple[str, dict[str, Any]]] = {}

    def text_for(self, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        """The SQL text, with named parameters, and the parameters whose values are part of the statement."""
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self.statement.compile(dialect=dialect)  # type: ignore[attr-defined]
            assert isinstance(compiled, SQLCompiler)
            constants = {key: value for key, value in compiled.params.items() if value is not None}
            found = self._compiled[dialect.name] = (str(compiled), constants)
        return found

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


class Connection:
    """A driver's cursor inside one transaction. Opened and closed by a ``Database`` alone."""

    __slots__ = ("_cursor", "_dialect", "statements")

    def __init__(self, cursor: Cursor, dialect: Dialect) -> None:
        self._cursor, self._dialect = cursor, dialect
        self.statements = 0

    def rows(self, query: Query, **parameters: Any) -> Sequence[Row]:
        """All rows."""
        self._execute(query, parameters)
        return self._cursor.fetchall()

    def row(self, query: Query, **parameters: Any) -> Row | None:
        """The first row, or None."""
        self._execute(query, parameters)
        return self._cursor.fetchone()  # type: ignore[no-any-return]

    def run(self, query: Query, **parameters: Any) -> int:
        """The number of rows that the statement changed."""
        self._execute(query, parameters)
        return self._cursor.rowcount

    def run_many(self, query: Query, parameters: Iterable[Mapping[str, Any]]) -> None:
        """The statement once for each mapping."""
        sql, constants = query.text_for(self._dialect)
        self.statements += 1
        self._cursor.executemany(sql, [{**constants, **each} for each in parameters] if constants else parameters)

    def _execute(self, query: Query, parameters: dict[str, Any]) -> None:
        sql, constants = query.text_for(self._dialect)
        self.statements += 1
        self._cursor.execute(sql, {**constants, **parameters} if constants else parameters)
