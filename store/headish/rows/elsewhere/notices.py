"""Rows of ``notice``: receipts of erasures that were made in other stores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from headish.content.hashes import seal_notice
from headish.database.query import Connection, Query, Row

APPLIED, PENDING, IGNORED = "applied", "pending", "ignored"
"""What became of a notice here: what it lists was erased, and is when it arrives; somebody is to say so; nothing."""


class Notice(NamedTuple):
    """A row: the receipt's id and its stored bytes, the remote and the device that brought it, and its state."""

    id: str
    remote: bytes
    device: bytes
    receipt: bytes
    state: str
    milliseconds: int
    seal: bytes


# An id that was emptied stands at the beginning: it is damage, and is read to be named.
NOTICES = Query(
    "erasures of other stores, a page",
    """
    SELECT id, remote, device, receipt, state, milliseconds, seal FROM notice
    WHERE space = :space AND (id > :after OR (:after = '' AND id = '')) ORDER BY id LIMIT :limit
    """,
)
PAGE = 100


def all_notices(connection: Connection, space: int) -> list[Notice]:
    """The erasures of other stores, by id. One statement for each hundred."""
    found: list[Notice] = []
    page: Sequence[Row] | None = None
    while page is None or len(page) == PAGE:
        page = connection.rows(NOTICES, space=space, after=found[-1].id if found else "", limit=PAGE)
        found += map(Notice._make, page)
    return found


COUNT = Query(
    "how many erasures of other stores have a state",
    "SELECT count(*), coalesce(sum(length(receipt)), 0) FROM notice WHERE space = :space AND state = :state",
)


def count_notices(connection: Connection, space: int, state: str) -> tuple[int, int]:
    """How many erasures of other stores have a state, and how many bytes their receipts have."""
    row = connection.row(COUNT, space=space, state=state)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


STATE = Query("state of an erasure of another store", "SELECT state FROM notice WHERE space = :space AND id = :id")


def find_state(connection: Connection, space: int, id: str) -> str | None:
    """What became of an erasure of another store; None for one that is not known."""
    row = connection.row(STATE, space=space, id=id)
    return None if row is None else str(row[0])


WRITE = Query(
    "note an erasure of another store",
    """
    INSERT INTO notice (space, id, remote, device, receipt, state, milliseconds, seal)
    VALUES (:space, :id, :remote, :device, :receipt, :state, :milliseconds, :seal)
    ON CONFLICT (space, id) DO UPDATE SET state = excluded.state, seal = excluded.seal,
      milliseconds = excluded.milliseconds
    """,
)


def write_notice(
    connection: Connection, space: int, id: str, remote: bytes, device: bytes, receipt: bytes, state: str
) -> None:
    """Note an erasure, or what became of it."""
    now = time.time_ns() // 1_000_000
    seal = seal_notice(id, remote, device, receipt, state, now)
    connection.run(
        WRITE, space=space, id=id, remote=remote, device=device, receipt=receipt, state=state, milliseconds=now,
        seal=seal,
    )  # fmt: skip
