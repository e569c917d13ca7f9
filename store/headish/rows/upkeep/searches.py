"""Rows of the search index, and what it is made of: turns with their payloads, by commit number.

An entry is a turn: its commit number, and its words, each behind the number of the space and a sign. SQLite and
PostgreSQL get the same words and the same questions; a question is written in FTS5's words, and PostgreSQL's spelling
of the statement turns them into its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.database.file.fulltext import SEQ_BITS
from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, in_portions
from headish.rows.threads.reached import LISTED, as_list
from headish.rows.turns import T_COLUMNS, StoredTurn
from headish.values.ids import TurnId
from headish.values.places import Place

NO_SPACE = 0
"""No space has this number: its row says that the database keeps no index."""

OFF = -1
LAST = 2**SEQ_BITS - 1


class Indexed(NamedTuple):
    """How far an index is, as ``search`` has it."""

    seq: int
    version: int
    emptied: int


class Source(NamedTuple):
    """What of a turn is searched. ``data`` is null where its payload is large, erased or missing."""

    seq: int
    chain: int
    pos: int
    id: TurnId
    role: str
    type: str | None
    content_type: str | None
    system: bytes | None
    erased: int | None
    data: bytes | None

    @property
    def place(self) -> Place:
        return Place(self.chain, self.pos)


class Shown(NamedTuple):
    """A turn, the turn before it in its chain, and whether it is the first of a chain that grew from other turns."""

    turn: StoredTurn
    before: TurnId | None
    is_linked: bool


class State(NamedTuple):
    """How many turns a space has, and how far its index is; nulls where it has not begun."""

    turns: int
    seq: int | None
    version: int | None
    can_index: int


class Word(NamedTuple):
    """A word of the index, with its sign, and how many turns of the space have it."""

    word: str
    turns: int


_SPACE = f"(CAST(:space AS INTEGER) << {SEQ_BITS})"
"""Where the row numbers of a space begin in SQLite's index."""
CAN_INDEX = Query(
    "whether the database has a search index",
    sqlite="""
    SELECT count(*) FROM sqlite_master
    WHERE name = 'search_text' AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')
    """,
    postgresql="SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('search_text')",
)
# Whether the index is switched off is not asked: that row has another space, so it may lie on another server.
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
POSITION = Query("how far the search index is", "SELECT seq, version, emptied FROM search WHERE space = :space")
BEGIN = Query(
    "begin the search index of a space",
    """
    INSERT INTO search (space, seq, version, emptied) VALUES (:space, :seq, :version, :emptied)
    ON CONFLICT DO NOTHING
    """,
)
TAKE = Query(
    "the search index goes on",
    "UPDATE search SET seq = :to_seq WHERE space = :space AND seq = :known AND emptied = :known_emptied",
)
# FTS5 would write a large fill anew three times while it goes on. Whoever fills merges instead, once it is done. A
# thousand segments are merged by FTS5 itself, which takes two thousand at most.
CONFIGURE = Query(
    "how the search index is merged",
    sqlite="INSERT INTO search_text(search_text, rank) VALUES ('automerge', 0), ('crisismerge', 1000)",
    postgresql="SELECT 1",
)
EMPTIED = Query(
    "words were taken out of the search index",
    "UPDATE search SET emptied = emptied + 1 WHERE space = :space",
)
FORGET_POSITION = Query("forget how far the search index is", "DELETE FROM search WHERE space = :space")
# SQLite can empty its index, and not a part of it: every space begins anew, at its next search.
RESTART = Query(
    "begin the search index anew",
    sqlite="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE seq >= 0",
    postgresql="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE space = :space",
)
EMPTY = Query(
    "empty the search index",
    sqlite="INSERT INTO search_text(search_text) VALUES ('delete-all')",
    postgresql="DELETE FROM search_text WHERE space = :space",
)
ADD = Query(
    "add to the search index",
    sqlite=f"INSERT INTO search_text(rowid, words) VALUES ({_SPACE} + :seq, :words)",
    postgresql="""
    INSERT INTO search_text (space, seq, words)
    VALUES (:space, :seq, array_to_tsvector(string_to_array(:words, ' ')))
    """,
)
# GIN looks how long its list is when a row is added, and 64 KB is the shortest that a server takes. It holds for the
# transaction, and needs no right to the index, as its own setting or gin_clean_pending_list would.
SORT_IN = Query(
    "the next row sorts in what waits beside the search index",
    sqlite="SELECT 1",
    postgresql="SELECT set_config('gin_pending_list_limit', '64', true)",
)
REMOVE = Query(
    "take out of the search index",
    sqlite=f"INSERT INTO search_text(search_text, rowid, words) VALUES ('delete', {_SPACE} + :seq, :words)",
    postgresql="DELETE FROM search_text WHERE space = :space AND seq = :seq",
)
# Without it, words that were taken out stay in the file until FTS5 happens to merge what holds them.
MERGE = Query(
    "merge the search index",
    sqlite="INSERT INTO search_text(search_text) VALUES ('optimize')",
    postgresql="SELECT 1",
)
# Up to 250 pages of a level that has four segments or more.
MERGE_SOME = Query(
    "merge some of the search index",
    sqlite="INSERT INTO search_text(search_text, rank) VALUES ('merge', 250)",
    postgresql="SELECT 1",
)
CHANGED = Query(
    "how many rows this connection has changed",
    sqlite="SELECT total_changes()",
    postgresql="SELECT 0",
)
IS_SHARED = Query(
    "whether the search index can only be emptied for all spaces",
    sqlite="SELECT 1",
    postgresql="SELECT 0",
)
IS_WIPED = Query(
    "whether what is freed is overwritten",
    sqlite="PRAGMA secure_delete",
    postgresql="SELECT 1",
)
WIPE_FREED = Query(
    "overwrite what is freed",
    sqlite="PRAGMA secure_delete = ON",
    postgresql="SELECT 1",
)
KEEP_FREED = Query(
    "leave what is freed",
    sqlite="PRAGMA secure_delete = OFF",
    postgresql="SELECT 1",
)
_MATCHING = {
    "sqlite": f"""
    SELECT rowid & {LAST} AS seq FROM search_text
    WHERE search_text MATCH :question AND rowid > {_SPACE} + :low AND rowid < {_SPACE} + :high
    ORDER BY rowid DESC LIMIT :limit
    """,
    # OFFSET keeps the server from reading the space backwards until enough turns match.
    "postgresql": """
    SELECT seq FROM (
      SELECT seq FROM search_text
      WHERE space = :space AND seq > :low AND seq < :high AND words @@ CAST(replace(replace(replace(replace(
        CAST(:question AS text), ' AND ', ' & '), ' OR ', ' | '), '" *', ''':*'), '"', '''') AS tsquery)
      OFFSET 0
    ) AS found
    ORDER BY seq DESC LIMIT :limit
    """,
}
MATCHING = Query("turns that may match, the newest first", **_MATCHING)
_FOUND = """
    SELECT f.seq, {columns} FROM ({matching}) AS f LEFT JOIN turn AS t ON t.space = :space AND t.seq = f.seq
"""
FOUND = Query(
    "turns that may match, the newest first, with what of them is searched",
    **{
        database: _FOUND.format(columns=", ".join(f"t.{name}" for name in Source._fields), matching=matching)
        for database, matching in _MATCHING.items()
    },
)
COUNT_MATCHING = Query(
    "how many turns may match, the newest up to a limit",
    **{
        database: f"SELECT count(*), coalesce(min(seq), 0) FROM ({matching}) AS counted"
        for database, matching in _MATCHING.items()
    },
)
WORDS = Query(
    "words of the search index, a page",
    sqlite="SELECT term, doc FROM search_word WHERE term > :after AND term < :end ORDER BY term LIMIT :limit",
    postgresql="""
    SELECT w.lexeme, count(*) FROM search_text AS s, unnest(s.words) AS w
    WHERE s.space = :space AND w.lexeme COLLATE "C" > :after AND w.lexeme COLLATE "C" < :end GROUP BY w.lexeme
    ORDER BY w.lexeme COLLATE "C" LIMIT :limit
    """,
)
SUMS = Query(
    "how many words the search index has, and of which turns",
    sqlite=f"""
    SELECT count(*), coalesce(sum(doc & {LAST}), 0) FROM search_entry
    WHERE term > :after AND term < :end AND doc > {_SPACE} AND doc < {_SPACE} + {LAST}
    """,
    postgresql="""
    SELECT coalesce(sum(length(words)), 0), coalesce(sum(length(words) * seq), 0) FROM search_text
    WHERE space = :space
    """,
)
# Meant for the whole database, as what it finds belongs to no space.
FIRST_WORD = Query(
    "the next space with words in the search index",
    sqlite="SELECT term FROM search_word WHERE term > :after ORDER BY term LIMIT 1",
    postgresql="SELECT min(space) || '.' FROM search_text WHERE space > CAST(:number AS bigint)",
)
_SOURCE = ", ".join(Source._fields)
AFTER = Query(
    "what of turns after a commit number is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq > :seq ORDER BY seq LIMIT :limit",
)
BEFORE = Query(
    "what of turns before a commit number is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq > :low AND seq < :high ORDER BY seq DESC LIMIT :limit",
)
AT = Query(
    "what of turns with these commit numbers is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq IN ({WANTED})",
)
LARGE = Query(
    "large payload of a turn",
    """
    SELECT p.data FROM turn AS t JOIN payload AS p ON p.space = :space AND p.hash = t.hash AND t.erased IS NULL
    WHERE t.space = :space AND t.chain = :chain AND t.pos = :pos
    """,
)
# What is compared are columns, and none is computed there: under a policy an index answers nothing else. The outer
# joins fix the order: left to itself, SQLite begins with every turn of the space.
_PAGE = f"""
    WITH w(seq) AS MATERIALIZED (%s),
    t AS MATERIALIZED (
      SELECT {T_COLUMNS.replace("t.", "o.")}, o.pos - 1 AS earlier
      FROM w LEFT JOIN turn AS o ON o.space = :space AND o.seq = w.seq
    )
    SELECT {T_COLUMNS}, before.id,
      t.pos = 0 AND EXISTS (SELECT 1 FROM link AS l WHERE l.space = :space AND l.chain = t.chain)
    FROM t LEFT JOIN turn AS before ON before.space = :space AND before.chain = t.chain AND before.pos = t.earlier
"""
PAGE = Query(
    "turns of a page of hits, with what they continue",
    **{database: _PAGE % (each % "seqs") for database, each in LISTED.items()},
)
SPACES = Query("numbers of all spaces", "SELECT id FROM space ORDER BY id")
SUBJECTS = Query(
    "conversations that have tags, a page",
    "SELECT subject, data FROM conversation WHERE space = :space AND subject > :after ORDER BY subject LIMIT :limit",
)


def can_index(connection: Connection) -> bool:
    """Whether the database has the table of the index, and can use it."""
    row = connection.row(CAN_INDEX)
    return row is not None and bool(row[0])


def state_of(connection: Connection, space: int) -> State:
    """How far a space and its index are."""
    row = connection.row(STATE, space=space)
    return State(0, None, None, 0) if row is None else State._make(row)


def is_off(connection: Connection) -> bool:
    """Whether the database keeps no index."""
    return connection.row(POSITION, space=NO_SPACE) is not None


def switch(connection: Connection, on: bool, version: int) -> None:
    """Say whether the database keeps an index."""
    if on:
        connection.run(FORGET_POSITION, space=NO_SPACE)
    else:
        connection.run(BEGIN, space=NO_SPACE, seq=OFF, version=version, emptied=0)


def indexed(connection: Connection, space: int) -> Indexed | None:
    """How far the index of a space is; None where it has not begun."""
    row = connection.row(POSITION, space=space)
    return None if row is None else Indexed._make(row)


def begin(connection: Connection, space: int, version: int) -> None:
    """Begin the index of a space, if nobody has."""
    connection.run(BEGIN, space=space, seq=0, version=version, emptied=0)


def take(connection: Connection, space: int, known: Indexed, seq: int) -> bool:
    """Move the index on, if it is where it is known to be. Whoever did waits for nobody, and others for it."""
    return connection.run(TAKE, space=space, known=known.seq, known_emptied=known.emptied, to_seq=seq) == 1


def configure(connection: Connection) -> None:
    """Have the index not merge by itself: ``merge_some`` does, once it is filled."""
    connection.run(CONFIGURE)


def count_emptied(connection: Connection, space: int) -> None:
    """Say that words are taken out. Nobody moves the index on until this transaction ends."""
    connection.run(EMPTIED, space=space)


def forget_position(connection: Connection, space: int) -> None:
    """The index of a space has not begun."""
    connection.run(FORGET_POSITION, space=space)


def restart(connection: Connection, space: int, version: int) -> None:
    """Empty the index of a space, on SQLite that of all spaces, and begin it anew."""
    connection.run(RESTART, space=space, version=version)
    empty(connection, space)


def empty(connection: Connection, space: int) -> None:
    """Take all words of a space out of the index; on SQLite those of all spaces."""
    connection.run(EMPTY, space=space)


def add_entries(connection: Connection, space: int, entries: Iterable[tuple[int, str]]) -> None:
    """Add turns: pairs of a commit number and its words, separated by blanks.

    A server's index lets words wait in a list, which every search reads. The last row sorts in what waits, all at once:
    row by row it would take three times as long.
    """
    rows = [(space, seq, words) for seq, words in entries]
    if len(rows) > 1:
        connection.run_rows(ADD, rows[:-1])
    if rows:
        connection.run(SORT_IN)
        connection.run_rows(ADD, rows[-1:])


def merge_some(connection: Connection) -> bool:
    """Merge a portion of what was added, where the index has segments; whether that was any work, so that there may be
    more. Cost: writes 1 MB at most, some 50 ms."""
    before = connection.row(CHANGED)
    connection.run(MERGE_SOME)
    after = connection.row(CHANGED)
    # The command itself counts as one.
    return before is not None and after is not None and int(after[0]) > int(before[0]) + 1


def is_shared(connection: Connection) -> bool:
    """Whether ``empty`` takes the words of all spaces."""
    return connection.row(IS_SHARED) == (1,)


def remove_entries(
    connection: Connection, space: int, entries: Sequence[tuple[int, str]], *, merge: bool = True
) -> None:
    """Take turns out, given the very words that were added, and leave nothing of them where they stood: with ``merge``,
    which whoever takes several portions out needs for the last one."""
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


def matching(connection: Connection, space: int, question: str, low: int, high: int, limit: int) -> list[int]:
    """The commit numbers between two, both left out, of turns that may match, the highest first."""
    rows = connection.rows(MATCHING, space=space, question=question, low=low, high=high, limit=limit)
    return [int(seq) for (seq,) in rows]


def found_before(
    connection: Connection, space: int, question: str, low: int, high: int, limit: int
) -> tuple[list[Source], int | None]:
    """Turns between two commit numbers that may match, the newest first; and before which to go on, None at the end."""
    rows = connection.rows(FOUND, space=space, question=question, low=low, high=high, limit=limit)
    # A turn that an index holds and nobody has is verify's to name.
    sources = sorted((Source._make(row[1:]) for row in rows if row[1] is not None), reverse=True)
    return sources, min(row[0] for row in rows) if len(rows) == limit else None


def count_matching(connection: Connection, space: int, question: str, limit: int) -> tuple[int, int]:
    """How many turns may match, the newest up to a limit, and the commit number of the first of these."""
    row = connection.row(COUNT_MATCHING, space=space, question=question, low=0, high=LAST, limit=limit)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def words_page(connection: Connection, space: int, after: str, end: str, limit: int) -> list[Word]:
    """Words of a space between two, by their bytes."""
    rows = connection.rows(WORDS, space=space, after=after, end=end, limit=limit)
    return [Word(word, int(count)) for word, count in rows]


def sums(connection: Connection, space: int, after: str, end: str) -> tuple[int, int]:
    """How many words all turns have together, each of a turn once, and the sum of the turns' numbers over them."""
    row = connection.row(SUMS, space=space, after=after, end=end)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def next_space(connection: Connection, number: int) -> str | None:
    """The first word of the next space behind a number that has any, in the order of the words."""
    row = connection.row(FIRST_WORD, after=f"{number}/" if number else "", number=number)
    return None if row is None else row[0]


def sources_after(connection: Connection, space: int, seq: int, limit: int) -> list[Source]:
    """Turns behind a commit number, in commit order."""
    return list(map(Source._make, connection.rows(AFTER, space=space, seq=seq, limit=limit)))


def sources_before(connection: Connection, space: int, low: int, high: int, limit: int) -> list[Source]:
    """Turns between two commit numbers, both left out, the newest first."""
    return list(map(Source._make, connection.rows(BEFORE, space=space, low=low, high=high, limit=limit)))


def sources_at(connection: Connection, space: int, seqs: Iterable[int]) -> list[Source]:
    """Turns by their commit numbers, the newest first. Cost: one statement for each ``LOOKED_UP``."""
    rows = [row for portion in in_portions(seqs) for row in connection.rows(AT, space=space, **portion)]
    return sorted(map(Source._make, rows), reverse=True)


def page_of(connection: Connection, space: int, seqs: Sequence[int]) -> dict[int, Shown]:
    """The turns with these commit numbers, by these. One statement."""
    rows = connection.rows(PAGE, space=space, seqs=as_list(seqs))
    shown = (Shown(StoredTurn._make(row[:-2]), row[-2], bool(row[-1])) for row in rows if row[0] is not None)
    return {each.turn.seq: each for each in shown}


def large_payload(connection: Connection, space: int, place: Place) -> bytes | None:
    """The payload of a turn that does not stand in its row."""
    row = connection.row(LARGE, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else row[0]


def subjects_page(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """``(subject, data)`` of what is said of conversations, by subject."""
    return connection.rows(SUBJECTS, space=space, after=after, limit=limit)


def all_spaces(connection: Connection) -> list[int]:
    """The numbers of all spaces, those of the removed ones too."""
    return [number for (number,) in connection.rows(SPACES)]
