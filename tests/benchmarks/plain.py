"""The limit that a program without headish would reach: one plain table, a row a turn.

A row is an integer primary key, the session as text with an index, the role, and the blocks as JSON bytes, which
msgspec encodes and decodes inside the clock. A table of this kind knows no branches, names, hashes or histories.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.canonical import Said, conversation, decode, encode

SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
TABLE = "CREATE TABLE message (id INTEGER PRIMARY KEY, session TEXT NOT NULL, role TEXT NOT NULL, data BLOB NOT NULL)"
INDEX = "CREATE INDEX message_session ON message (session)"
ADD = "INSERT INTO message (session, role, data) VALUES (?, ?, ?)"
READ = "SELECT role, data FROM message WHERE session = ? ORDER BY id"
FRAME_BYTES = 4096 + 24
"""A page in the write-ahead log, with its header; the log's own header has 32 bytes."""


def connect(path: Path, durability: str = "full") -> sqlite3.Connection:
    """Plain sqlite3 with the pragmas that a store sets."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    synchronous = SYNCHRONOUS[durability]
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", f"synchronous = {synchronous}", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def make_table(path: Path, durability: str = "full") -> sqlite3.Connection:
    """A new database with the table."""
    connection = connect(path, durability)
    connection.execute(TABLE)
    connection.execute(INDEX)
    return connection


def add(connection: sqlite3.Connection, said: Said, session: str = "main") -> None:
    """Add a turn. A single statement is a transaction."""
    connection.execute(ADD, (session, said.role, encode(said.content)))


def add_batch(connection: sqlite3.Connection, batch: Iterable[Said], session: str = "main") -> None:
    """Add turns in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(ADD, [(session, said.role, encode(said.content)) for said in batch])
    connection.execute("COMMIT")


def load(connection: sqlite3.Connection, session: str = "main") -> list[tuple[str, Any]]:
    """The role and the blocks of each turn of a session, in order."""
    return [(role, decode(data)) for role, data in connection.execute(READ, (session,))]


def fill(path: Path, said: Sequence[Said], session: str = "main") -> None:
    """A new database that holds a conversation."""
    with closing(make_table(path, "normal")) as connection:
        add_batch(connection, said, session)


def said_by(writer: int, turns: int) -> list[Said]:
    """What one of many writers says: each has numbers of its own."""
    return conversation(turns, 1_000_000 * (writer + 1))


def write_rows(path: Path, durability: str, each: int, writer: int, barrier: Any) -> None:
    """A process that adds turns to one session, once all are ready."""
    with closing(connect(path, durability)) as table:
        said = said_by(writer, each)
        barrier.wait()
        for one in said:
            add(table, one)


def settled_bytes(path: Path) -> int:
    """The size of a database, with all of its log in it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def log_bytes(path: Path) -> int:
    """The size of the write-ahead log."""
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
