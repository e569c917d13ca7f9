"""Rows of ``notice``: receipts of erasures that were made in other stores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from headish.content.hashes import seal_notice
from headish.database.query import Connection, Query, Row

APPLIED, PENDING, IGNORED = "applied", "pending", "ignored"
"""The state of a notice here. ``APPLIED``: what it lists was erased, and will be erased if it arrives later.
``PENDING``: it waits for somebody's decision. ``IGNORED``: nothing is erased."""


class Notice(NamedTuple):
    """A row of ``notice``: the receipt's id and stored bytes, the remote and device that brought it, and its state."""

    id: str
    remote: bytes
    device: bytes
    receipt: bytes
    state: str
    milliseconds: int
    seal: bytes


# The first page begins with an empty id, if there is one: it is damage, and must be read to be reported.
NOTICES = Query(
    "erasures of other stores, a page",
    """
    SELECT id, remote, device, receipt, state, milliseconds, seal FROM notice
    WHERE space = :space AND (id > :after OR (:after = '' AND id = '')) ORDER BY id LIMIT :limit
    """,
)
PAGE = 100


def all_notices(connection: Connection, space: int) -> list[Notice]:
    """The erasures of other stores, by id. Cost: one statement for each hundred."""
    notices: list[Notice] = []
    page: Sequence[Row] | None = None
    while page is None or len(page) == PAGE:
        page = connection.rows(NOTICES, space=space, after=notices[-1].id if notices else "", limit=PAGE)
        notices += map(Notice._make, page)
    return notices


COUNT = Query(
    "how many erasures of other stores have a state",
    "SELECT count(*), coalesce(sum(length(receipt)), 0) FROM notice WHERE space = :space AND state = :state",
)


def count_notices(connection: Connection, space: int, state: str) -> tuple[int, int]:
    """The number of erasures of other stores with a state, and the size of their receipts in bytes."""
    row = connection.row(COUNT, space=space, state=state)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


STATE = Query("state of an erasure of another store", "SELECT state FROM notice WHERE space = :space AND id = :id")


def find_state(connection: Connection, space: int, id: str) -> str | None:
    """The state of an erasure of another store; None if it is not known here."""
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
    """Store an erasure of another store, or a new state for it."""
    now = time.time_ns() // 1_000_000
    seal = seal_notice(id, remote, device, receipt, state, now)
    connection.run(
        WRITE, space=space, id=id, remote=remote, device=device, receipt=receipt, state=state, milliseconds=now,
        seal=seal,
    )  # fmt: skip
