"""The limit of the store's own tables: plain sqlite3 writes the same rows, byte for byte, into the same tables.

Tables, indexes and columns are read from the store's own ``sqlite_master``, so they follow the schema. Every value is
ready before the clock starts: the rows are those that a store has written just before. Statements are as few as do it:
the next turn of a name takes four (counter, turn, bookmark, log), as ``headish.history.writing.tips`` has it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.plain import connect

Row = tuple[Any, ...]
FILLED = ("space", "space_log", "counter", "payload", "turn", "link", "bookmark", "bookmark_log")
BY_ID = "SELECT chain, pos, digest FROM turn WHERE space = 1 AND id = ?"
TAKE_NEXT = (
    "UPDATE counter SET seq = ?, latest = ?, given_bytes = given_bytes + ?"
    " WHERE space = 1 AND seq = ? AND change = ? AND state IS NULL"
)
TAKE = (
    "UPDATE counter SET seq = seq + ?, latest = seq + ?, roots = roots + ?, heads = heads + ?,"
    " given_bytes = given_bytes + ? WHERE space = 1"
)
MOVE = (
    "UPDATE bookmark SET chain = ?, pos = ?, move = ?, recent = ?, own = ?, running = ?"
    " WHERE space = 1 AND name = ? AND move = ?"
)
READ_THREAD = (
    "SELECT t.chain, t.pos, t.id, t.role, t.digest, t.hash,"
    " coalesce(t.data, (SELECT p.data FROM payload p WHERE p.space = t.space AND p.hash = t.hash)) FROM turn t"
    " WHERE t.space = 1 AND t.chain = ? AND t.pos <= ? ORDER BY t.pos"
)
EVERY_TURN = (
    "SELECT t.digest, t.seal, coalesce(t.data, p.data) AS data FROM turn t LEFT JOIN payload p"
    " ON t.data IS NULL AND p.space = t.space AND p.hash = t.hash"
)
PLACE = "SELECT chain, pos, move FROM bookmark WHERE space = 1 AND name = ?"
FIND = (
    "SELECT t.* FROM bookmark b JOIN turn t ON t.space = b.space AND t.chain = b.chain AND t.pos = b.pos"
    " WHERE b.space = 1 AND b.name = ?"
)


class Written(NamedTuple):
    """What a store wrote for one turn, each row as it stands in its table."""

    turn: Row
    payload: Row | None
    links: list[Row]
    log: Row | None


class Tables:
    """The columns of each table, and its INSERT."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        listed = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in FILLED}
        self.columns = {name: [column[1] for column in columns] for name, columns in listed.items()}
        self.insert = {
            name: f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})"
            for name, columns in self.columns.items()
        }
        turn = self.columns["turn"]
        self.chain, self.pos, self.seq, self.id = (turn.index(each) for each in ("chain", "pos", "seq", "id"))
        self.data, self.hash, self.head = (turn.index(each) for each in ("data", "hash", "head"))


class Rows:
    """What a store wrote behind a commit number, in commit order."""

    def __init__(self, path: Path, after: int) -> None:
        with closing(sqlite3.connect(path)) as source:
            one = source.execute
            self.tables = Tables(source)
            turns = one("SELECT * FROM turn WHERE seq > ? ORDER BY seq", (after,)).fetchall()
            payloads = {row[1]: row for row in one("SELECT * FROM payload")}
            logs = {row[6]: row for row in one("SELECT * FROM bookmark_log WHERE seq > ? AND change IS NULL", (after,))}
            links: dict[int, list[Row]] = {}
            for row in one("SELECT * FROM link"):
                links.setdefault(row[1], []).append(row)
        self.written = [self._written(row, payloads, links, logs) for row in turns]
        self.size_bytes = [self._size(each) for each in self.written]

    def _written(
        self, turn: Row, payloads: dict[bytes, Row], links: dict[int, list[Row]], logs: dict[int, Row]
    ) -> Written:
        tables = self.tables
        payload = payloads.get(turn[tables.hash]) if turn[tables.data] is None else None
        begun = links.get(turn[tables.chain], []) if turn[tables.pos] == 0 else []
        return Written(turn, payload, begun, logs.get(turn[tables.seq]))

    def _size(self, written: Written) -> int:
        data = written.turn[self.tables.data]
        return len(data) if written.payload is None else int(written.payload[2])


def make_like(path: Path, store_path: Path, durability: str) -> sqlite3.Connection:
    """A copy of a store: the same tables and indexes, and the rows that are there already."""
    with closing(sqlite3.connect(store_path)) as source:
        made = source.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    # A virtual table makes the tables that it lies in.
    virtual = tuple(f"{name}_" for name, statement in made if statement.startswith("CREATE VIRTUAL"))
    statements = [statement for name, statement in made if not name.startswith(virtual)]
    connection = connect(path, durability)
    for statement in statements:
        connection.execute(statement)
    connection.execute("ATTACH ? AS source", (str(store_path),))
    connection.execute("BEGIN")
    for table in FILLED:
        connection.execute(f"INSERT INTO {table} SELECT * FROM source.{table}")
    connection.execute("COMMIT")
    connection.execute("DETACH source")
    return connection


def seq_of(path: Path) -> int:
    """The commit number of the last turn."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT seq FROM counter").fetchone()[0])


def append_by_name(connection: sqlite3.Connection, rows: Rows) -> Iterator[None]:
    """One transaction a turn, nothing read: take the number, write the turn, move the name, log the move."""
    execute, insert = connection.execute, rows.tables.insert
    seq, change = execute("SELECT seq, change FROM counter").fetchone()
    for (turn, payload, _, log), size in zip(rows.written, rows.size_bytes, strict=True):
        assert log is not None
        execute("BEGIN IMMEDIATE")
        taken = execute(TAKE_NEXT, (seq + 1, seq + 1, size, seq, change)).rowcount
        if payload is not None:
            execute(insert["payload"], payload)
        execute(insert["turn"], turn)
        moved = execute(MOVE, (log[3], log[4], log[2], log[5], 1, log[8], log[1], log[2] - 1)).rowcount
        execute(insert["bookmark_log"], log)
        execute("COMMIT")
        if taken != 1 or moved != 1:
            raise SystemExit("the limit's tables are not where the store's are")
        seq += 1
        yield


def append_by_id(connection: sqlite3.Connection, rows: Rows, before: str) -> Iterator[None]:
    """One transaction a turn: read what it continues by its id, write the turn. ``before`` is the first parent."""
    execute, insert, tables = connection.execute, rows.tables.insert, rows.tables
    for (turn, payload, links, _), size in zip(rows.written, rows.size_bytes, strict=True):
        execute("BEGIN IMMEDIATE")
        execute(BY_ID, (before,)).fetchone()
        execute(TAKE, (1, 1, 0, int(bool(links)), size))
        if payload is not None:
            execute(insert["payload"], payload)
        execute(insert["turn"], turn)
        for link in links:
            execute(insert["link"], link)
        execute("COMMIT")
        before = turn[tables.id]
        yield


def append_batches(connection: sqlite3.Connection, rows: Rows, batch: int) -> None:
    """Many turns a transaction; the name is moved once, each move is logged."""
    execute, insert = connection.execute, rows.tables.insert
    for start in range(0, len(rows.written), batch):
        written = rows.written[start : start + batch]
        sizes = sum(rows.size_bytes[start : start + batch])
        logs = [each.log for each in written if each.log is not None]
        execute("BEGIN IMMEDIATE")
        connection.executemany(insert["payload"], [each.payload for each in written if each.payload is not None])
        execute(TAKE, (len(written), len(written), 0, 0, sizes))
        connection.executemany(insert["turn"], [each.turn for each in written])
        if logs:
            last = logs[-1]
            execute(MOVE, (last[3], last[4], last[2], last[5], 1, last[8], last[1], logs[0][2] - 1))
            connection.executemany(insert["bookmark_log"], logs)
        execute("COMMIT")


def check_same(path: Path, store_path: Path) -> None:
    """Compare the tables row by row, outside the clock. Raises: SystemExit."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ATTACH ? AS source", (str(store_path),))
        for table in FILLED:
            here, there = f"SELECT * FROM main.{table}", f"SELECT * FROM source.{table}"
            differing = f"SELECT count(*) FROM ({here} EXCEPT {there})", f"SELECT count(*) FROM ({there} EXCEPT {here})"
            if any(connection.execute(each).fetchone()[0] for each in differing):
                raise SystemExit(f"the limit wrote other rows of {table} than the store")


def read_thread(connection: sqlite3.Connection, name: bytes) -> list[Row]:
    """The rows of a thread that is one chain."""
    connection.execute("BEGIN")
    chain, pos, _ = connection.execute(PLACE, (name,)).fetchone()
    rows = connection.execute(READ_THREAD, (chain, pos)).fetchall()
    connection.execute("COMMIT")
    return rows
