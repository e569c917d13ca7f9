"""Named statements, and the connection that runs them on the driver's own cursor.

SQLAlchemy builds and compiles every statement ahead of time (``headish.statements``); what it compiled stands in
``headish.database.sql``, a module for each database, and goes straight to the driver (rule R13, connections and
statements). So a process that keeps a turn does not import SQLAlchemy, which would take longer than all else that it
does. Rows are plain tuples. Only integers, text and bytes are bound, so no type needs a processor. Placeholders are
positional: SQLite looks up named ones again for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

Row = tuple[Any, ...]


class Cursor(Protocol):
    """What is used of a driver's cursor (PEP 249)."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...
    def executemany(self, sql: str, parameters: Any, /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> Sequence[Any]: ...


class Compiled(NamedTuple):
    """A statement in a database's words: the parameters in the order of its placeholders, and those known already."""

    sql: str
    names: tuple[str, ...] = ()
    constants: Mapping[str, Any] = {}


Texts = Mapping[str, Compiled]
"""The statements of a database, by name."""


class Query:
    """One named statement. What it says stands in ``headish.statements``, unless every database takes the same words:
    those may be given here."""

    __slots__ = ("_same", "name")

    def __init__(self, name: str, same: Compiled | None = None) -> None:
        self.name, self._same = name, same

    def compiled_in(self, texts: Texts) -> Compiled:
        """The SQL text with placeholders by position, and what goes into them."""
        return texts[self.name] if self._same is None else self._same

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


class Statement(NamedTuple):
    """A statement and its values, in the order of its placeholders."""

    query: Query
    values: Sequence[Any]


class Connection:
    """A driver's cursor inside one transaction. Only a ``Backend`` opens and closes it."""

    __slots__ = ("_cursor", "_texts", "statements")

    def __init__(self, cursor: Cursor, texts: Texts) -> None:
        self._cursor, self._texts = cursor, texts
        self.statements = 0

    def within(self, space: int) -> Connection:
        """The same transaction, its statements in one space; itself where nothing keeps spaces apart."""
        return self

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
        _, names, constants = query.compiled_in(self._texts)
        rows = [{**constants, **each} for each in parameters] if constants else parameters
        self.run_rows(query, [[each[name] for name in names] for each in rows])

    def run_rows(self, query: Query, rows: Sequence[Sequence[Any]]) -> None:
        """The statement once for each row; the values of a row are in the order of its placeholders."""
        sql = query.compiled_in(self._texts).sql
        self.statements += 1
        if len(rows) == 1:
            self._cursor.execute(sql, rows[0])
        else:
            self._cursor.executemany(sql, rows)

    def run_proven(self, proof: Statement, *others: Statement) -> bool:
        """The statements in order, if the first changes one row. False, and nothing is changed, if it does not.

        A server gets all others as one message.
        """
        self.statements += 1
        self._cursor.execute(proof.query.compiled_in(self._texts).sql, proof.values)
        if self._cursor.rowcount != 1:
            return False
        for query, same in groupby(others, itemgetter(0)):
            self.run_rows(query, [values for _, values in same])
        return True

    def parameters_of(self, query: Query) -> tuple[str, ...]:
        """The names of a statement's parameters, in the order of its placeholders."""
        return query.compiled_in(self._texts).names

    def _execute(self, query: Query, parameters: dict[str, Any]) -> None:
        sql, names, constants = query.compiled_in(self._texts)
        self.statements += 1
        values = {**constants, **parameters} if constants else parameters
        self._cursor.execute(sql, [values[name] for name in names])
