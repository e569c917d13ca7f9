"""Rows of the search index (``search_text``), how far it reaches (``search``), and the turns that it is built from.

An entry is a turn: its commit number, and its words, each prefixed with the number of the space and a sign. SQLite and
PostgreSQL get the same words and the same questions. A question is written in FTS5's syntax; PostgreSQL's statement
translates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.database.file.fulltext import SEQ_BITS
from headish.database.query import Connection, Query

NO_SPACE = 0
"""No space has this number. A row with it says that the database keeps no index."""

OFF = -1
LAST = 2**SEQ_BITS - 1


class Indexed(NamedTuple):
    """A row of ``search``: the last commit number in the index, its version, and how often words were removed."""

    seq: int
    version: int
    emptied: int


class SearchState(NamedTuple):
    """The number of turns of a space, and how far its index is; None if it has not begun."""

    turns: int
    seq: int | None
    version: int | None
    can_index: int


ROWS_OF_SPACE = f"(CAST(:space AS INTEGER) << {SEQ_BITS})"
"""Where the row numbers of a space begin in SQLite's index."""
CAN_INDEX = Query(
    "whether the database has a search index",
    sqlite="""
    SELECT count(*) FROM sqlite_master
    WHERE name = 'search_text' AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')
    """,
    postgresql="SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('search_text')",
)


def can_index(connection: Connection) -> bool:
    """Whether the database has the table of the index, and can use it."""
    row = connection.row(CAN_INDEX)
    return row is not None and bool(row[0])


# Whether the index is off stands in a row of space 0, which may be on another server: it is not read here.
STATE = Query(
    "what a search can use",
    sqlite="""
    SELECT c.seq, s.seq, s.version, EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'search_text')
      AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')
    FROM counter AS c LEFT JOIN search AS s ON s.space = :space WHERE c.space = :space
    """,
    postgresql="""
    SELECT c.seq, s.seq, s.version, 1 FROM counter AS c LEFT JOIN search AS s ON s.space = :space
    WHERE c.space = :space
    """,
)


def state_of(connection: Connection, space: int) -> SearchState:
    """The state of a space and its index."""
    row = connection.row(STATE, space=space)
    return SearchState(0, None, None, 0) if row is None else SearchState._make(row)


POSITION = Query("how far the search index is", "SELECT seq, version, emptied FROM search WHERE space = :space")


def is_off(connection: Connection) -> bool:
    """Whether the database keeps no index."""
    return connection.row(POSITION, space=NO_SPACE) is not None


BEGIN = Query(
    "begin the search index of a space",
    """
    INSERT INTO search (space, seq, version, emptied) VALUES (:space, :seq, :version, :emptied)
    ON CONFLICT DO NOTHING
    """,
)
FORGET_POSITION = Query("forget how far the search index is", "DELETE FROM search WHERE space = :space")


def switch(connection: Connection, on: bool, version: int) -> None:
    """Switch the index of the database on or off."""
    if on:
        connection.run(FORGET_POSITION, space=NO_SPACE)
    else:
        connection.run(BEGIN, space=NO_SPACE, seq=OFF, version=version, emptied=0)


def indexed(connection: Connection, space: int) -> Indexed | None:
    """How far the index of a space is; None if it has not begun."""
    row = connection.row(POSITION, space=space)
    return None if row is None else Indexed._make(row)


def begin(connection: Connection, space: int, version: int) -> None:
    """Begin the index of a space, unless another process has."""
    connection.run(BEGIN, space=space, seq=0, version=version, emptied=0)


TAKE = Query(
    "the search index goes on",
    "UPDATE search SET seq = :to_seq WHERE space = :space AND seq = :known AND emptied = :known_emptied",
)


def take(connection: Connection, space: int, known: Indexed, seq: int) -> bool:
    """Move the index on to ``seq`` if it still is where ``known`` says; False if it is not.

    The first process to do so fills the index; others wait for its commit.
    """
    return connection.run(TAKE, space=space, known=known.seq, known_emptied=known.emptied, to_seq=seq) == 1


# With its own automatic merge, FTS5 would write a large fill three times. The process that fills merges instead, once
# it is done. At a thousand segments FTS5 still merges by itself, because it takes two thousand at most.
CONFIGURE = Query(
    "how the search index is merged",
    sqlite="INSERT INTO search_text(search_text, rank) VALUES ('automerge', 0), ('crisismerge', 1000)",
    postgresql="SELECT 1",
)


def configure(connection: Connection) -> None:
    """Switch the automatic merge of the index off: ``merge_some`` does it after a fill."""
    connection.run(CONFIGURE)


EMPTIED = Query(
    "words were taken out of the search index", "UPDATE search SET emptied = emptied + 1 WHERE space = :space"
)


def count_emptied(connection: Connection, space: int) -> None:
    """Note that words are removed. No other transaction moves the index on until this one ends."""
    connection.run(EMPTIED, space=space)


def forget_position(connection: Connection, space: int) -> None:
    """Forget how far the index of a space is, as if it had not begun."""
    connection.run(FORGET_POSITION, space=space)


# SQLite can only empty its whole index, so the index of every space begins anew, at its next search.
RESTART = Query(
    "begin the search index anew",
    sqlite="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE seq >= 0",
    postgresql="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE space = :space",
)


def restart(connection: Connection, space: int, version: int) -> None:
    """Empty the index of a space (on SQLite of all spaces) and begin it anew."""
    connection.run(RESTART, space=space, version=version)
    empty(connection, space)


EMPTY = Query(
    "empty the search index",
    sqlite="INSERT INTO search_text(search_text) VALUES ('delete-all')",
    postgresql="DELETE FROM search_text WHERE space = :space",
)


def empty(connection: Connection, space: int) -> None:
    """Remove all words of a space (on SQLite of all spaces) from the index."""
    connection.run(EMPTY, space=space)


ADD = Query(
    "add to the search index",
    sqlite=f"INSERT INTO search_text(rowid, words) VALUES ({ROWS_OF_SPACE} + :seq, :words)",
    postgresql="""
    INSERT INTO search_text (space, seq, words)
    VALUES (:space, :seq, array_to_tsvector(string_to_array(:words, ' ')))
    """,
)
# GIN compares its pending list with this limit when a row is added; 64 KB is the lowest that a server accepts. The
# setting is the transaction's, and needs no right to the index, unlike gin_clean_pending_list or the index's own.
SORT_IN = Query(
    "the next row sorts in what waits beside the search index",
    sqlite="SELECT 1",
    postgresql="SELECT set_config('gin_pending_list_limit', '64', true)",
)


def add_entries(connection: Connection, space: int, entries: Iterable[tuple[int, str]]) -> None:
    """Add turns: pairs of a commit number and its words, separated by blanks.

    The index of a server keeps new words in a pending list, which every search reads. The last row has the server sort
    the whole list in at once; to sort it in for each row would take three times as long.
    """
    rows = [(space, seq, words) for seq, words in entries]
    if len(rows) > 1:
        connection.run_rows(ADD, rows[:-1])
    if rows:
        connection.run(SORT_IN)
        connection.run_rows(ADD, rows[-1:])


# Merges up to 250 pages, of a level that has four segments or more.
MERGE_SOME = Query(
    "merge some of the search index",
    sqlite="INSERT INTO search_text(search_text, rank) VALUES ('merge', 250)",
    postgresql="SELECT 1",
)
CHANGED = Query("how many rows this connection has changed", sqlite="SELECT total_changes()", postgresql="SELECT 0")


def merge_some(connection: Connection) -> bool:
    """Merge a portion of the index, if it has segments. True if there was work, so that there may be more.

    Cost: writes 1 MB at most, some 50 ms.
    """
    before = connection.row(CHANGED)
    connection.run(MERGE_SOME)
    after = connection.row(CHANGED)
    # The command itself counts as one changed row.
    return before is not None and after is not None and int(after[0]) > int(before[0]) + 1


IS_SHARED = Query(
    "whether the search index can only be emptied for all spaces", sqlite="SELECT 1", postgresql="SELECT 0"
)


def is_shared(connection: Connection) -> bool:
    """Whether ``empty`` removes the words of all spaces."""
    return connection.row(IS_SHARED) == (1,)


REMOVE = Query(
    "take out of the search index",
    sqlite=f"INSERT INTO search_text(search_text, rowid, words) VALUES ('delete', {ROWS_OF_SPACE} + :seq, :words)",
    postgresql="DELETE FROM search_text WHERE space = :space AND seq = :seq",
)
# Without it, removed words stay in the file until FTS5 happens to merge the segments that have them.
MERGE = Query(
    "merge the search index", sqlite="INSERT INTO search_text(search_text) VALUES ('optimize')", postgresql="SELECT 1"
)
IS_WIPED = Query("whether what is freed is overwritten", sqlite="PRAGMA secure_delete", postgresql="SELECT 1")
WIPE_FREED = Query("overwrite what is freed", sqlite="PRAGMA secure_delete = ON", postgresql="SELECT 1")
KEEP_FREED = Query("leave what is freed", sqlite="PRAGMA secure_delete = OFF", postgresql="SELECT 1")


def remove_entries(
    connection: Connection, space: int, entries: Sequence[tuple[int, str]], *, merge: bool = True
) -> None:
    """Remove turns from the index, and overwrite their words on the disk.

    ``entries`` must have exactly the words that were added. Only ``merge`` removes the words from the file; of several
    portions, only the last one needs it.
    """
    # Some builds of SQLite have ``secure_delete`` on. Otherwise it is set back, because the pool reuses the connection.
    is_wiped = connection.row(IS_WIPED) == (1,)
    if not is_wiped:
        connection.rows(WIPE_FREED)
    try:
        connection.run_many(REMOVE, [{"space": space, "seq": seq, "words": words} for seq, words in entries])
        if merge:
            connection.run(MERGE)
    finally:
        if not is_wiped:
            connection.rows(KEEP_FREED)
