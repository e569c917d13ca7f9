"""All rows of a space, table by table, as a backup reads and a restore writes them.

A restore marks the counter of its space with ``restoring:`` and 16 random hex digits. Nobody can open the space as long
as it has the mark. A restore that finds another mark has lost the space to a later one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headish.database.query import Connection, Query, Row
from headish.database.revisions import NEVER_COPIED, TABLES, columns_of
from headish.rows.counters import ERASED, state_of
from headish.rows.searching import indexing

APART = ("counter", "search", "space_log", *NEVER_COPIED)
"""The tables that a restore does not fill. It makes the space, with a name and a counter of its own. The next search
makes the index from the turns. Tokens are given out anew."""

BACKED_UP = tuple(table for table in TABLES if table not in APART)
"""The tables of a backup, each after those that it refers to."""

RESTORING = "restoring:"

FEW, MANY = 16, 1000
"""The number of rows in a page: of a table in ``_LARGE``, whose rows may be large, and of any other."""

_LARGE = ("payload", "object", "stream_chunk", "definition")


class Counts(NamedTuple):
    """The columns of a counter without its epoch and state."""

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
    """The columns of a table without ``space``, in the order of a page's rows."""
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
    """The counter of a space; None if its row is missing."""
    row = connection.row(READ_COUNTS, space=space)
    return None if row is None else Counts._make(row)


def is_restoring(connection: Connection, space: int) -> bool:
    """Whether a restore of the space is running, or was cut off."""
    return (state_of(connection, space) or "").startswith(RESTORING)


REMOVE = {
    table: Query(f"remove all rows of {table}", f"DELETE FROM {table} WHERE space = :space") for table in BACKED_UP
}
# A restore that was cut off leaves its mark, so a space with any such mark may be restored again. ``low`` and ``high``
# enclose all marks.
BEGIN = Query(
    "begin to restore a space",
    """
    UPDATE counter SET state = :mark
    WHERE space = :space AND (state IS NULL AND seq = 0 AND change = 0 OR state > :low AND state < :high)
    """,
)


def begin_restore(connection: Connection, space: int) -> str | None:
    """Mark a space that is empty, or whose restore was cut off, and remove its rows. None if the space is in use."""
    mark = RESTORING + os.urandom(8).hex()
    if connection.run(BEGIN, space=space, mark=mark, low=RESTORING, high=RESTORING + "~") != 1:
        return None
    for table in reversed(BACKED_UP):  # no row may go while another refers to it
        connection.run(REMOVE[table], space=space)
    _forget_index(connection, space)
    return mark


STILL = Query(
    "whether a space is still being restored",
    "SELECT space FROM counter WHERE space = :space AND state = :mark FOR UPDATE",
)


def still_restores(connection: Connection, space: int, mark: str) -> bool:
    """Whether the space still has this mark. Locks its row until the commit, so that no later restore takes it."""
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
    """Set the counter to the restored numbers. False if the space has another mark."""
    return connection.run(FINISH, space=space, mark=mark, **{f"to_{k}": v for k, v in counts._asdict().items()}) == 1


OPEN = Query(
    "open a restored space",
    "UPDATE counter SET epoch = :random, state = :became WHERE space = :space AND state = :mark",
)


def open_restored(connection: Connection, space: int, mark: str, *, is_erased: bool = False) -> bool:
    """Open the space to everybody, with a new epoch. False if the space has another mark.

    A space that was erased as a whole has only its receipts restored, and stays closed to writers.
    """
    became = ERASED if is_erased else None
    return connection.run(OPEN, space=space, mark=mark, random=os.urandom(16), became=became) == 1


def _forget_index(connection: Connection, space: int) -> None:
    """Restart the index of a space, which may have turns of an earlier restore that a store indexed meanwhile."""
    indexed = indexing.indexed(connection, space)
    if indexed is not None and indexed.seq > 0 and indexing.can_index(connection):
        indexing.restart(connection, space, indexed.version)
