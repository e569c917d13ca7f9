"""Named statements, and the connection that runs them on the driver's own cursor.

A statement is SQL beside the function that runs it. Its first use spells it for the driver, and keeps the result. A
process that stores a turn imports no SQLAlchemy: the import would take longer than everything else that it does. Rows
are plain tuples. Parameters are only integers, text and bytes, so no type needs a processor. Placeholders are
positional, because SQLite looks named ones up again for each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any, Protocol, TypeVar

import msgspec

T = TypeVar("T")
Row = tuple[Any, ...]


class DriverCursor(Protocol):
    """The used parts of a driver's cursor (PEP 249)."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: str, parameters: Any = ..., /) -> Any: ...
    def executemany(self, sql: str, parameters: Any, /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> Sequence[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SchemaConnection(Protocol):
    """A driver's own connection in a transaction, for statements on tables, roles and the catalogue, which are not
    queries."""

    def execute(self, sql: str, values: Any = ..., /) -> Any:
        """Run a statement and return the driver's cursor. Only beside ``values``, PostgreSQL's driver takes a ``%`` in
        ``sql`` for a placeholder."""
        ...


class Compiled(msgspec.Struct, frozen=True, gc=False):
    """A statement in the driver's spelling, and the names of its parameters in the order of the placeholders."""

    sql: str
    names: tuple[str, ...] = ()


class Query:
    """One named statement in SQL, with ``:name`` for each parameter.

    Give ``sqlite`` and ``postgresql`` if the databases differ, and ``secured`` if a policy would make the statement for
    PostgreSQL slow. Lines are joined, and comments (``--``) left out.
    """

    __slots__ = ("_texts", "name")

    def __init__(self, name: str, sql: str = "", *, sqlite: str = "", postgresql: str = "", secured: str = "") -> None:
        server = postgresql or sql
        self.name = name
        self._texts = {"sqlite": sqlite or sql, "postgresql": server, "secured": secured or server}

    def text_for(self, database: str) -> str:
        """The SQL for one of the databases: ``sqlite``, ``postgresql`` or ``secured``."""
        return self._texts[database]

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


# The pattern begins with the colon itself, so that a search jumps from colon to colon; the lookbehind comes after it.
# "::" is a cast, and no parameter.
_PARAMETER = r":(?<![:\w]:)([a-z]\w*)"


class Spelling(dict[Query, Compiled]):
    """The statements in the spelling of one database, each spelled at its first use."""

    def __init__(self, database: str, placeholder: str, leave_out: Callable[[str], str]) -> None:
        super().__init__()
        self._database, self._placeholder, self._leave_out = database, placeholder, leave_out

    def __missing__(self, query: Query) -> Compiled:
        lines = [line.partition("--")[0] for line in query.text_for(self._database).splitlines()]
        text = self._leave_out(" ".join(" ".join(lines).split()))
        words = re.split(_PARAMETER, text)  # every second one is the name of a parameter
        # ``setdefault`` is atomic: threads that spell one statement at the same time all get the same result.
        return self.setdefault(query, Compiled(self._placeholder.join(words[::2]), tuple(words[1::2])))


# The common text of a statement may have a hint for SQLite's planner, and a lock that only a server needs (writers of
# SQLite lock the whole file). Each is removed for the database that does not know it.
def _without_hint(text: str) -> str:
    return re.sub(r" INDEXED BY \w+", "", text)


SQLITE = Spelling("sqlite", "?", lambda text: text.removesuffix(" FOR UPDATE"))
POSTGRESQL = Spelling("postgresql", "%s", _without_hint)
SECURED = Spelling("secured", "%s", _without_hint)


class Statement(msgspec.Struct, frozen=True, gc=False):
    """A statement and its values, in the order of its placeholders."""

    query: Query
    values: Sequence[Any]


_QUERY, _VALUES = attrgetter("query"), attrgetter("values")


class Connection:
    """A driver's cursor inside one transaction. Only a ``Backend`` opens and closes it."""

    __slots__ = ("_cursor", "_words", "statements")

    def __init__(self, cursor: DriverCursor, words: Spelling) -> None:
        self._cursor, self._words = cursor, words
        self.statements = 0

    def within(self, space: int) -> Connection:
        """The same transaction with its statements in one space. Returns itself if no policy separates the spaces."""
        return self

    def rows(self, query: Query, **parameters: Any) -> Sequence[Row]:
        """Run a statement and return all rows."""
        self._execute(query, parameters)
        return self._cursor.fetchall()

    def each(self, query: Query, make: Callable[..., T], **parameters: Any) -> list[T]:
        """Run a statement and call ``make`` with the values of each row. Returns the results."""
        self._execute(query, parameters)
        # From the cursor, not from ``rows``: all rows of a long thread would be in memory beside the results.
        return list(starmap(make, self._cursor))

    def row(self, query: Query, **parameters: Any) -> Row | None:
        """Run a statement and return the first row, or None."""
        self._execute(query, parameters)
        return self._cursor.fetchone()  # type: ignore[no-any-return]

    def run(self, query: Query, **parameters: Any) -> int:
        """Run a statement and return the number of rows that it changed."""
        self._execute(query, parameters)
        return self._cursor.rowcount

    def run_many(self, query: Query, parameters: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement once for each mapping."""
        names = self._words[query].names
        self.run_rows(query, [[each[name] for name in names] for each in parameters])

    def run_rows(self, query: Query, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row. The values of a row are in the order of the placeholders."""
        sql = self._words[query].sql
        self.statements += 1
        if len(rows) == 1:
            self._cursor.execute(sql, rows[0])
        else:
            self._cursor.executemany(sql, rows)

    def run_proven(self, proof: Statement, *others: Statement) -> bool:
        """Run the statements in order if the first one changes one row. Otherwise False, and nothing is changed.

        A server gets all the others as one message.
        """
        self.statements += 1
        self._cursor.execute(self._words[proof.query].sql, proof.values)
        if self._cursor.rowcount != 1:
            return False
        for query, same in groupby(others, _QUERY):  # equal statements that follow one another are one ``executemany``
            self.run_rows(query, [*map(_VALUES, same)])
        return True

    def run_whole(self, result: T, proof: Statement, *others: Statement) -> T | None:
        """Return ``result`` if ``run_proven`` succeeds, else None. The transaction must do only this.

        A server gets the transaction and its commit as one message.
        """
        return result if self.run_proven(proof, *others) else None

    def _execute(self, query: Query, parameters: dict[str, Any]) -> None:
        words = self._words[query]
        self.statements += 1
        self._cursor.execute(words.sql, [parameters[name] for name in words.names])
