"""Rows of the search index, and what it is made of: turns with their payloads, by commit number.

An entry is a turn: its commit number, and its words, each behind the number of the space and a sign. SQLite and
PostgreSQL get the same words and the same questions; a question is written in FTS5's words, and PostgreSQL's spelling
of the statement turns them into its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import BindParameter, bindparam, select, text, update
from sqlalchemy.dialects.postgresql import insert

from headish.database.dialects import spelled
from headish.database.fulltext import SEQ_BITS
from headish.database.query import Connection, Query, Row
from headish.database.schema import payload, search, turn
from headish.database.schema import space as spaces
from headish.rows.payloads import OF_TURN, PORTION, in_portions
from headish.values.ids import TurnId
from headish.values.places import Place

NO_SPACE = 0
"""No space has this number: its row says that the database keeps no index."""
OFF = -1
LAST = 2**SEQ_BITS - 1

_space: BindParameter[int] = bindparam("space")
_ROWID = f"(CAST(:space AS INTEGER) << {SEQ_BITS})"
_SEQ = f"& {LAST}"
_ASKED = (
    "CAST(replace(replace(replace(replace(CAST(:question AS text), ' AND ', ' & '), ' OR ', ' | '), '\" *', ''':*'), "
    "'\"', '''') AS tsquery)"
)


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


class Word(NamedTuple):
    """A word of the index, with its sign, and how many turns of the space have it."""

    word: str
    turns: int


CAN_INDEX = Query(
    "whether the database has a search index",
    spelled(
        sqlite="SELECT count(*) FROM sqlite_master WHERE name = 'search_text' "
        "AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')",
        postgresql="SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('search_text')",
    ),
)
POSITION = Query(
    "how far the search index is",
    select(search.c.seq, search.c.version, search.c.emptied).where(search.c.space == _space),
)
_new = insert(search).values({column.name: bindparam(column.name) for column in search.c})
BEGIN = Query("begin the search index of a space", _new.on_conflict_do_nothing())
TAKE = Query(
    "the search index goes on",
    update(search)
    .where(search.c.space == _space, search.c.seq == bindparam("known"), search.c.emptied == bindparam("known_emptied"))
    .values(seq=bindparam("to_seq")),
)
EMPTIED = Query(
    "words were taken out of the search index",
    update(search).where(search.c.space == _space).values(emptied=search.c.emptied + 1),
)
FORGET_POSITION = Query(
    "forget how far the search index is",
    spelled(sqlite="DELETE FROM search WHERE space = :space", postgresql="DELETE FROM search WHERE space = :space"),
)
RESTART = Query(
    # SQLite can empty its index, and not a part of it: every space begins anew, at its next search.
    "begin the search index anew",
    spelled(
        sqlite="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE seq >= 0",
        postgresql="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE space = :space",
    ),
)
EMPTY = Query(
    "empty the search index",
    spelled(
        sqlite="INSERT INTO search_text(search_text) VALUES ('delete-all')",
        postgresql="DELETE FROM search_text WHERE space = :space",
    ),
)
ADD = Query(
    "add to the search index",
    spelled(
        sqlite=f"INSERT INTO search_text(rowid, words) VALUES ({_ROWID} + :seq, :words)",
        postgresql="INSERT INTO search_text (space, seq, words) "
        "VALUES (:space, :seq, array_to_tsvector(string_to_array(:words, ' ')))",
    ),
)
REMOVE = Query(
    "take out of the search index",
    spelled(
        sqlite=f"INSERT INTO search_text(search_text, rowid, words) VALUES ('delete', {_ROWID} + :seq, :words)",
        postgresql="DELETE FROM search_text WHERE space = :space AND seq = :seq",
    ),
)
# Without it, words that were taken out stay in the file until FTS5 happens to merge what holds them.
MERGE = Query(
    "merge the search index",
    spelled(sqlite="INSERT INTO search_text(search_text) VALUES ('optimize')", postgresql="SELECT 1"),
)
IS_WIPED = Query("whether what is freed is overwritten", spelled(sqlite="PRAGMA secure_delete", postgresql="SELECT 1"))
WIPE_FREED = Query("overwrite what is freed", spelled(sqlite="PRAGMA secure_delete = ON", postgresql="SELECT 1"))
KEEP_FREED = Query("leave what is freed", spelled(sqlite="PRAGMA secure_delete = OFF", postgresql="SELECT 1"))
MATCHING = Query(
    "turns that may match, the newest first",
    spelled(
        sqlite=f"SELECT rowid {_SEQ} FROM search_text WHERE search_text MATCH :question "
        f"AND rowid > {_ROWID} + :low AND rowid < {_ROWID} + :high ORDER BY rowid DESC LIMIT :limit",
        # OFFSET keeps the server from reading the space backwards until enough turns match.
        postgresql=f"SELECT seq FROM (SELECT seq FROM search_text WHERE space = :space AND words @@ {_ASKED} "
        "AND seq > :low AND seq < :high OFFSET 0) AS found ORDER BY seq DESC LIMIT :limit",
    ),
)
COUNT_MATCHING = Query(
    "how many turns may match, up to a limit",
    spelled(
        sqlite="SELECT count(*) FROM (SELECT rowid FROM search_text WHERE search_text MATCH :question "
        f"AND rowid > {_ROWID} AND rowid < {_ROWID} + :high LIMIT :limit)",
        postgresql=f"SELECT count(*) FROM (SELECT seq FROM search_text WHERE space = :space AND words @@ {_ASKED} "
        "AND seq < :high LIMIT :limit) AS found",
    ),
)
WORDS = Query(
    "words of the search index, a page",
    spelled(
        sqlite="SELECT term, doc FROM search_word WHERE term > :after AND term < :end ORDER BY term LIMIT :limit",
        postgresql="SELECT w.lexeme, count(*) FROM search_text AS s, unnest(s.words) AS w WHERE s.space = :space "
        'AND w.lexeme COLLATE "C" > :after AND w.lexeme COLLATE "C" < :end '
        'GROUP BY w.lexeme ORDER BY w.lexeme COLLATE "C" LIMIT :limit',
    ),
)
SUMS = Query(
    "how many words the search index has, and of which turns",
    spelled(
        sqlite=f"SELECT count(*), coalesce(sum(doc {_SEQ}), 0) FROM search_entry WHERE term > :after AND term < :end "
        f"AND doc > {_ROWID} AND doc < {_ROWID} + {LAST}",
        postgresql="SELECT coalesce(sum(length(words)), 0), coalesce(sum(length(words) * seq), 0) FROM search_text "
        "WHERE space = :space",
    ),
)
# Meant for the whole database, as what it finds belongs to no space.
FIRST_WORD = Query(
    "the next space with words in the search index",
    spelled(
        sqlite="SELECT term FROM search_word WHERE term > :after ORDER BY term LIMIT 1",
        postgresql="SELECT min(space) || '.' FROM search_text WHERE space > CAST(:number AS bigint)",
    ),
)
_columns = [turn.c[name] for name in Source._fields]
AFTER = Query(
    "what of turns after a commit number is searched",
    select(*_columns)
    .where(turn.c.space == _space, turn.c.seq > bindparam("seq"))
    .order_by(turn.c.seq)
    .limit(bindparam("limit")),
)
BEFORE = Query(
    "what of turns before a commit number is searched",
    select(*_columns)
    .where(turn.c.space == _space, turn.c.seq > bindparam("low"), turn.c.seq < bindparam("high"))
    .order_by(turn.c.seq.desc())
    .limit(bindparam("limit")),
)
AT = Query(
    "what of turns with these commit numbers is searched",
    select(*_columns).where(turn.c.space == _space, turn.c.seq.in_([bindparam(each) for each in PORTION])),
)
LARGE = Query(
    "large payload of a turn",
    select(payload.c.data)
    .select_from(turn.join(payload, OF_TURN))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos")),
)
SPACES = Query("numbers of all spaces", select(spaces.c.id).order_by(spaces.c.id))
SUBJECTS = Query(
    "conversations that have tags, a page",
    text(
        "SELECT subject, data FROM conversation WHERE space = :space AND subject > :after ORDER BY subject LIMIT :limit"
    ),
)


def can_index(connection: Connection) -> bool:
    """Whether the database has the table of the index, and can use it."""
    row = connection.row(CAN_INDEX)
    return row is not None and bool(row[0])


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
    """Add turns: pairs of a commit number and its words, separated by blanks."""
    connection.run_many(ADD, [{"space": space, "seq": seq, "words": words} for seq, words in entries])


def remove_entries(connection: Connection, space: int, entries: Sequence[tuple[int, str]]) -> None:
    """Take turns out, given the very words that were added, and leave nothing of them where they stood."""
    is_wiped = connection.row(IS_WIPED) == (1,)
    if not is_wiped:
        connection.rows(WIPE_FREED)
    try:
        connection.run_many(REMOVE, [{"space": space, "seq": seq, "words": words} for seq, words in entries])
        connection.run(MERGE)
    finally:
        if not is_wiped:
            connection.rows(KEEP_FREED)


def matching(connection: Connection, space: int, question: str, low: int, high: int, limit: int) -> list[int]:
    """The commit numbers between two, both left out, of turns that may match, the highest first."""
    rows = connection.rows(MATCHING, space=space, question=question, low=low, high=high, limit=limit)
    return [int(seq) for (seq,) in rows]


def count_matching(connection: Connection, space: int, question: str, limit: int) -> int:
    """How many turns may match; counted up to the limit."""
    row = connection.row(COUNT_MATCHING, space=space, question=question, high=LAST, limit=limit)
    return 0 if row is None else int(row[0])


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
