"""Rows of ``definition``: values under names, each with its history. The bytes are payloads, stored once.

Every writer has locked the space, so two of them cannot take one number.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from headish.content.hashes import DEFINITION_LOG, hash_payload, run_on
from headish.database.query import Connection, Query, Row
from headish.rows.counters import take_change
from headish.rows.payloads import add_payloads, refuse_barred, split_payload

POINTER, TOOLS, DEFAULT = "pointer", "tools", "default"
"""The kinds of definitions."""
# Each table is compared with the space itself, so that a distributed database finds all rows on one server.
FIND = Query(
    "find definition",
    """
    SELECT d.name, d.number, d.hash, coalesce(d.data, p.data), d.milliseconds, d.running FROM definition AS d
    LEFT JOIN payload AS p ON p.space = :space AND p.hash = d.hash AND d.data IS NULL
    WHERE d.space = :space AND d.kind = :kind AND d.name = :name
      AND d.number = (
        SELECT max(later.number) FROM definition AS later
        WHERE later.space = :space AND later.kind = :kind AND later.name = d.name
      )
    """,
)


def find_definition(connection: Connection, space: int, kind: str, name: bytes) -> Row | None:
    """``(name, number, hash, data, milliseconds, running)`` of the value under a name, or None."""
    row = connection.row(FIND, space=space, kind=kind, name=name)
    # A removal is a row, too, without a hash.
    return row if row is not None and row[2] is not None else None


LIST = Query(
    "list definitions",
    """
    SELECT d.name, d.number, d.hash, coalesce(d.data, p.data), d.milliseconds, d.running FROM definition AS d
    LEFT JOIN payload AS p ON p.space = :space AND p.hash = d.hash AND d.data IS NULL
    WHERE d.space = :space AND d.kind = :kind AND d.hash IS NOT NULL
      AND d.number = (
        SELECT max(later.number) FROM definition AS later
        WHERE later.space = :space AND later.kind = :kind AND later.name = d.name
      )
    ORDER BY d.name
    """,
)


def list_definitions(connection: Connection, space: int, kind: str) -> Sequence[Row]:
    """The rows of ``find_definition`` for all names of a kind, by name."""
    return connection.rows(LIST, space=space, kind=kind)


HISTORY = Query(
    "history of a definition",
    """
    SELECT d.name, d.number, d.hash, coalesce(d.data, p.data), d.milliseconds, d.running FROM definition AS d
    LEFT JOIN payload AS p ON p.space = :space AND p.hash = d.hash AND d.data IS NULL
    WHERE d.space = :space AND d.kind = :kind AND d.name = :name ORDER BY d.number DESC
    """,
)


def definition_history(connection: Connection, space: int, kind: str, name: bytes) -> Sequence[Row]:
    """The rows of ``find_definition`` for every value that a name ever had, the last first. In the row of a removal,
    hash and data are null."""
    return connection.rows(HISTORY, space=space, kind=kind, name=name)


ADD = Query(
    "add definition",
    """
    INSERT INTO definition (space, kind, name, number, hash, data, milliseconds, seq, change, running)
    VALUES (:space, :kind, :name, :number, :hash, :data, :milliseconds, :seq, :change, :running)
    """,
)


def set_definition(connection: Connection, space: int, kind: str, name: bytes, data: bytes | None) -> int | None:
    """Set the value under a name; None removes it. Returns its number, or None if the name has this value already.

    Cost: four statements, five for a large value. Raises: BarredContent.
    """
    last = connection.row(FIND, space=space, kind=kind, name=name)
    number, before, holds = (0, b"", None) if last is None else (int(last[1]), last[5], last[2])
    hash = None if data is None else hash_payload(data)
    # Setting the same value again leaves no row, so a program may do it at each start.
    if hash == holds:
        return None
    seq, change = take_change(connection, space)
    now = time.time_ns() // 1_000_000
    if data is not None and hash is not None:
        refuse_barred(connection, space, [hash])
        add_payloads(connection, space, {hash: data})
    connection.run(
        ADD,
        space=space,
        kind=kind,
        name=name,
        number=number + 1,
        hash=hash,
        data=None if data is None else split_payload(data),
        milliseconds=now,
        seq=seq,
        change=change,
        running=run_on(DEFINITION_LOG, before, number + 1, b"" if hash is None else hash.hex().encode(), now),
    )
    return number + 1


def definition_is(
    connection: Connection, space: int, kind: str, name: bytes, number: int | None, data: bytes | None
) -> bool:
    """Whether the definition with this number has this value. For a commit whose answer was lost."""
    wanted = None if data is None else hash_payload(data)
    rows = definition_history(connection, space, kind, name)
    return any(row[1] == number and row[2] == wanted for row in rows)
