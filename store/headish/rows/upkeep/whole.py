"""All rows of a space, table by table, as a backup reads and a restore writes them.

A restore marks the counter of its space with a word of its own, ``restoring:`` and 16 hex digits. As long as the mark
stands nobody opens the space, and whoever finds another mark has lost it to a later restore.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headish.database.query import Connection, Query, Row
from headish.database.revisions import NEVER_COPIED, TABLES, columns_of
from headish.rows.counters import ERASED, state_of
from headish.rows.upkeep import searches

APART = ("counter", "search", "space_log", *NEVER_COPIED)
"""Tables that a restore does not fill: it makes the space, which has its own name and counter, the next search makes
its index from the turns, and who may come in is said anew."""

BACKED_UP = tuple(table for table in TABLES if table not in APART)
"""The tables of a backup, each after those that it refers to."""

RESTORING = "restoring:"

FEW, MANY = 16, 1000
"""Rows of a page: of tables whose rows may be large, and of the others."""

_LARGE = ("payload", "object", "stream_chunk", "definition")


class Counts(NamedTuple):
    """What a counter says beside its epoch and state."""

    seq: int
    change: int
    latest: int
    roots: int
    heads: int
    given_bytes: int
    bars: int
    limit_turns: int | None
    limit_bytes: int | None


def names_of(table: str) -> tuple[str, ...]:
    """The columns of a table's rows, without ``space``, in the order of a page."""
    return tuple(column.name for column in columns_of(table))


def _listed(table: str, *, key: bool = False) -> str:
    return ", ".join(column.name for column in columns_of(table) if column.in_key or not key)


def _page(table: str, behind: str = "") -> str:
    return f"""
    SELECT {_listed(table)} FROM {table} WHERE space = :space {behind} ORDER BY {_listed(table, key=True)} LIMIT :limit
    """


FIRST = {table: Query(f"first rows of {table}", _page(table)) for table in BACKED_UP}


def _behind(table: str) -> str:
    after = ", ".join(f":after_{column.name}" for column in columns_of(table) if column.in_key)
    return f"AND ({_listed(table, key=True)}) > ({after})"


NEXT = {table: Query(f"rows of {table} behind a key", _page(table, _behind(table))) for table in BACKED_UP}


def pages_of(connection: Connection, space: int, table: str) -> Iterator[Sequence[Row]]:
    """All rows of a table without ``space``, in pages, by key. One statement for each page."""
    limit = FEW if table in _LARGE else MANY
    keys = [(place, f"after_{column.name}") for place, column in enumerate(columns_of(table)) if column.in_key]
    page = connection.rows(FIRST[table], space=space, limit=limit)
    while page:
        yield page
        after = {name: page[-1][place] for place, name in keys}
        page = connection.rows(NEXT[table], space=space, limit=limit, **after)


def _put_back(table: str) -> str:
    values = ", ".join(f":{column.name}" for column in columns_of(table))
    return f"INSERT INTO {table} (space, {_listed(table)}) VALUES (:space, {values})"


ADD = {table: Query(f"put a row of {table} back", _put_back(table)) for table in BACKED_UP}


def add_rows(connection: Connection, space: int, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Store rows of a table, their values in the order of ``names_of``."""
    connection.run_rows(ADD[table], [(space, *row) for row in rows])


READ_COUNTS = Query(
    "all that the counter of a space says",
    """
    SELECT seq, change, latest, roots, heads, given_bytes, bars, limit_turns, limit_bytes FROM counter
    WHERE space = :space
    """,
)


def counts_of(connection: Connection, space: int) -> Counts | None:
    """What the counter of a space says; None where its row is missing."""
    row = connection.row(READ_COUNTS, space=space)
    return None if row is None else Counts._make(row)


def is_restoring(connection: Connection, space: int) -> bool:
    """Whether a space is being restored, or its restore was cut off."""
    return (state_of(connection, space) or "").startswith(RESTORING)


REMOVE = {
    table: Query(f"remove all rows of {table}", f"DELETE FROM {table} WHERE space = :space") for table in BACKED_UP
}
# A restore that was cut off leaves its mark, and another may begin anew.
BEGIN = Query(
    "begin to restore a space",
    """
    UPDATE counter SET state = :mark
    WHERE space = :space AND (state IS NULL AND seq = 0 AND change = 0 OR state > :low AND state < :high)
    """,
)


def begin_restore(connection: Connection, space: int) -> str | None:
    """Mark a space that holds nothing, or that a restore has left unfinished, and empty it. None where it is in use."""
    mark = RESTORING + os.urandom(8).hex()
    if connection.run(BEGIN, space=space, mark=mark, low=RESTORING, high=RESTORING + "~") != 1:
        return None
    for table in reversed(BACKED_UP):
        connection.run(REMOVE[table], space=space)
    _forget_index(connection, space)
    return mark


STILL = Query(
    "whether a space is still being restored",
    "SELECT space FROM counter WHERE space = :space AND state = :mark FOR UPDATE",
)


def still_restores(connection: Connection, space: int, mark: str) -> bool:
    """Whether the space still bears this mark; its row is then locked until the commit."""
    return connection.row(STILL, space=space, mark=mark) is not None


FINISH = Query(
    "count what was restored",
    """
    UPDATE counter
    SET seq = :to_seq, change = :to_change, latest = :to_latest, roots = :to_roots, heads = :to_heads,
      given_bytes = :to_given_bytes, bars = :to_bars, limit_turns = :to_limit_turns, limit_bytes = :to_limit_bytes
    WHERE space = :space AND state = :mark
    """,
)


def finish_restore(connection: Connection, space: int, mark: str, counts: Counts) -> bool:
    """Let the counter say what was restored. False where the mark is another's."""
    return connection.run(FINISH, space=space, mark=mark, **{f"to_{k}": v for k, v in counts._asdict().items()}) == 1


OPEN = Query(
    "open a restored space",
    "UPDATE counter SET epoch = :random, state = :became WHERE space = :space AND state = :mark",
)


def open_restored(connection: Connection, space: int, mark: str, *, is_erased: bool = False) -> bool:
    """Let everybody in, under a new epoch. False where the mark is another's.

    Of a space that was erased as a whole only the receipts were restored, and it takes nothing any more.
    """
    became = ERASED if is_erased else None
    return connection.run(OPEN, space=space, mark=mark, random=os.urandom(16), became=became) == 1


def _forget_index(connection: Connection, space: int) -> None:
    """A store that was open before an earlier restore may have indexed what that one left, and what is gone now."""
    known = searches.indexed(connection, space)
    if known is not None and known.seq > 0 and searches.can_index(connection):
        searches.restart(connection, space, known.version)
