"""Looking at what only the store's own tests may look at: rows and statements.

Used by every chapter that counts statements, or says that a refusal has stored nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from headish import Store
from headish.content.drafts import Draft
from headish.database.backend import Backend
from headish.database.query import Connection, Query
from headish.database.schema import metadata
from headish.history.writing.append import append

T = TypeVar("T")


def database_of(store: Store) -> Backend:
    return store._backend


def read(store: Store, work: Callable[[Connection], T]) -> T:
    """Run a piece of work in a transaction of the store's database."""
    return database_of(store).read(work)


def add_draft(store: Store, draft: Draft) -> None:
    """Store a turn of which the store says what no verb takes, as another writer could."""
    database_of(store).write(lambda connection: append(connection, store._number, [draft], store._database.mint))


def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the store's space, table by table."""
    space = store._number

    def work(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
        rows = {}
        for table in metadata.sorted_tables:
            column = "id" if table.name == "space" else "space"
            keys = ", ".join(each.name for each in table.primary_key)
            query = Query(f"dump {table.name}", f"SELECT * FROM {table.name} WHERE {column} = :space ORDER BY {keys}")
            rows[table.name] = [
                tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
                for row in connection.rows(query, space=space)
            ]
        return rows

    return read(store, work)


@contextmanager
def unchanged(store: Store) -> Iterator[None]:
    """Proves that nothing in the store's space changes inside the block, however it is left."""
    before = _rows(store)
    try:
        yield
    finally:
        assert _rows(store) == before


def _rows(store: Store) -> object:
    """As ``dump``, to be compared with another. A server is asked once, for each row as text: 24 round trips take
    longer than most refusals."""
    if database_of(store).dialect == "sqlite":
        return dump(store)
    return sorted(read(store, lambda connection: connection.rows(_AS_TEXT, space=store._number)))


_AS_TEXT = Query(
    "dump all tables",
    " UNION ALL ".join(
        f"SELECT '{table.name}', CAST(t AS text) FROM {table.name} AS t"
        f" WHERE t.{'id' if table.name == 'space' else 'space'} = :space"
        for table in metadata.sorted_tables
    ),
)


class Statements:
    """How many statements ran."""

    def __init__(self) -> None:
        self._connections: list[Connection] = []

    @property
    def count(self) -> int:
        return sum(connection.statements for connection in self._connections)


def own_threads() -> Callable[[], bool]:
    """Whether who asks is this thread, or one that began later. What an earlier test left behind (a journal, a server
    that ends or goes on) may still run statements, and is not meant."""
    others = {*threading.enumerate()} - {threading.current_thread()}  # no idents, which are used again
    return lambda: threading.current_thread() not in others


@contextmanager
def counted_statements() -> Iterator[Statements]:
    """Counts the statements of all stores inside the block, in its own threads."""
    counted, is_own = Statements(), own_threads()
    original = Connection.__init__

    def watched(self: Connection, *arguments: Any) -> None:
        original(self, *arguments)
        if is_own():
            counted._connections.append(self)

    Connection.__init__ = watched  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        Connection.__init__ = original  # type: ignore[method-assign]


@contextmanager
def counted_rows() -> Iterator[list[int]]:
    """Counts the rows that statements of all stores bring in its own threads inside the block: the only item."""
    counted, is_own = [0], own_threads()
    original = Connection.rows

    def watched(self: Connection, query: Query, **parameters: Any) -> Any:
        rows = original(self, query, **parameters)
        counted[0] += len(rows) if is_own() else 0
        return rows

    Connection.rows = watched  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        Connection.rows = original  # type: ignore[method-assign]


@contextmanager
def counted_steps(store: Store) -> Iterator[list[int]]:
    """Counts the steps of SQLite's machine that a store in memory takes inside the block: the list's only item.

    A measure of work that is the same on every run, unlike time.
    """
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    database: Any = store._backend
    driver = database._take_connection()
    driver.set_progress_handler(step, 1)
    try:
        yield steps
    finally:
        driver.set_progress_handler(None, 1)
        database._give_back(driver)


def run_sql(store: Store, sql: str) -> list[Any]:
    """Run a statement on the connection that a SQLite store uses next."""
    database: Any = database_of(store)
    pooled = database._take_connection()
    try:
        rows: list[Any] = pooled.cursor().execute(sql).fetchall()
        return rows
    finally:
        database._give_back(pooled)


@contextmanager
def on_connections(database: Any, prepare: Callable[[Any], object]) -> Iterator[None]:
    """Does something to each connection of a SQLite backend: the open ones, and those it opens inside the block."""
    for driver in list(database._pool._open):
        prepare(driver)
    original = database._set_pragmas

    def set_pragmas(driver: Any) -> None:
        original(driver)
        prepare(driver)

    database._set_pragmas = set_pragmas
    try:
        yield
    finally:
        del database._set_pragmas
