"""The questions of a search: which turns may match (``FOUND``), and their content, by commit number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, in_portions, look_up
from headish.rows.searching.indexing import LAST, ROWS_OF_SPACE
from headish.rows.threads.places import LISTED, as_list
from headish.rows.turns import T_COLUMNS, StoredTurn
from headish.values.ids import TurnId
from headish.values.places import Place


class SearchedTurn(NamedTuple):
    """The searched parts of a turn. ``data`` is None if its payload is large, erased or missing."""

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


_MATCHING = {
    "sqlite": f"""
    SELECT rowid & {LAST} AS seq FROM search_text
    WHERE search_text MATCH :question AND rowid > {ROWS_OF_SPACE} + :low AND rowid < {ROWS_OF_SPACE} + :high
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


def matching(connection: Connection, space: int, question: str, low: int, high: int, limit: int) -> list[int]:
    """The commit numbers above ``low`` and below ``high`` of turns that may match, the highest first."""
    rows = connection.rows(MATCHING, space=space, question=question, low=low, high=high, limit=limit)
    return [int(seq) for (seq,) in rows]


_FOUND = """
    SELECT f.seq, {columns} FROM ({matching}) AS f LEFT JOIN turn AS t ON t.space = :space AND t.seq = f.seq
"""
FOUND = Query(
    "turns that may match, the newest first, with what of them is searched",
    **{
        database: _FOUND.format(columns=", ".join(f"t.{name}" for name in SearchedTurn._fields), matching=matching)
        for database, matching in _MATCHING.items()
    },
)


def found_before(
    connection: Connection, space: int, question: str, low: int, high: int, limit: int
) -> tuple[list[SearchedTurn], int | None]:
    """The turns above ``low`` and below ``high`` that may match, the newest first; and the ``high`` of the next page,
    None at the end."""
    rows = connection.rows(FOUND, space=space, question=question, low=low, high=high, limit=limit)
    # The index may have a turn that is missing. That is damage, and ``verify`` reports it.
    sources = sorted((SearchedTurn._make(row[1:]) for row in rows if row[1] is not None), reverse=True)
    return sources, min(row[0] for row in rows) if len(rows) == limit else None


COUNT_MATCHING = Query(
    "how many turns may match, the newest up to a limit",
    **{
        database: f"SELECT count(*), coalesce(min(seq), 0) FROM ({matching}) AS counted"
        for database, matching in _MATCHING.items()
    },
)


def count_matching(connection: Connection, space: int, question: str, limit: int) -> tuple[int, int]:
    """The number of turns that may match, counting the newest up to a limit, and the lowest commit number of these."""
    row = connection.row(COUNT_MATCHING, space=space, question=question, low=0, high=LAST, limit=limit)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


_SOURCE = ", ".join(SearchedTurn._fields)
AFTER = Query(
    "what of turns after a commit number is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq > :seq ORDER BY seq LIMIT :limit",
)


def sources_after(connection: Connection, space: int, seq: int, limit: int) -> list[SearchedTurn]:
    """The searched parts of the turns after a commit number, in commit order; at most ``limit``."""
    return connection.each(AFTER, SearchedTurn, space=space, seq=seq, limit=limit)


BEFORE = Query(
    "what of turns before a commit number is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq > :low AND seq < :high ORDER BY seq DESC LIMIT :limit",
)


def sources_before(connection: Connection, space: int, low: int, high: int, limit: int) -> list[SearchedTurn]:
    """The searched parts of the turns above ``low`` and below ``high``, the newest first; at most ``limit``."""
    return connection.each(BEFORE, SearchedTurn, space=space, low=low, high=high, limit=limit)


SINCE = Query(
    "lowest commit number among the ids from one on",
    """
    SELECT count(*), coalesce(min(seq), :seq)
    FROM (SELECT seq FROM turn WHERE space = :space AND id >= :since ORDER BY id LIMIT :limit) AS known
    """,
)


def may_be_before(connection: Connection, space: int, since: TurnId, seq: int, limit: int) -> bool:
    """Whether a turn below a commit number has the id ``since`` or a higher one. Looks at ``limit`` ids at the most: if
    there are as many, one may be."""
    count, lowest = connection.rows(SINCE, space=space, since=since, seq=seq, limit=limit)[0]
    return bool(count == limit or lowest < seq)


AT = Query(
    "what of turns with these commit numbers is searched",
    f"SELECT {_SOURCE} FROM turn WHERE space = :space AND seq IN ({WANTED})",
)


def sources_at(connection: Connection, space: int, seqs: Iterable[int]) -> list[SearchedTurn]:
    """The searched parts of the turns with these commit numbers, the newest first.

    Cost: one statement for each ``LOOKED_UP`` numbers.
    """
    return sorted(map(SearchedTurn._make, look_up(connection, AT, space, seqs)), reverse=True)


# ``earlier`` is materialized before it is compared: under a policy, PostgreSQL uses no index for a condition that
# computes. The outer joins fix the order: left to itself, SQLite begins with every turn of the space.
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


def page_of(connection: Connection, space: int, seqs: Sequence[int]) -> dict[int, Shown]:
    """The turns with these commit numbers, by number. Cost: one statement."""
    rows = connection.rows(PAGE, space=space, seqs=as_list(seqs))
    shown = (Shown(StoredTurn(*row[:-2]), row[-2], bool(row[-1])) for row in rows if row[0] is not None)
    return {each.turn.seq: each for each in shown}


# The sizes are added up before any bytes are read, so that no more comes into memory than there is room for. The first
# payload is read however large it is: left out, it would look missing to the caller, who goes on with the next.
LARGE = Query(
    "large payloads of turns, as many as there is room for",
    f"""
    WITH w AS MATERIALIZED (
      SELECT t.seq, p.hash, sum(p.size) OVER (ORDER BY t.seq * :way) - p.size AS before
      FROM turn AS t CROSS JOIN payload AS p
      WHERE p.space = :space AND p.hash = t.hash AND t.space = :space AND t.seq IN ({WANTED}) AND t.erased IS NULL
    )
    SELECT w.seq, p.data FROM w CROSS JOIN payload AS p
    WHERE p.space = :space AND p.hash = w.hash AND (w.before < :room OR w.seq = :first)
    """,
)


def large_payloads(connection: Connection, space: int, seqs: Sequence[int], room: int) -> dict[int, bytes | None]:
    """The large payloads of turns, by commit number.

    ``seqs`` has 1 to ``LOOKED_UP`` numbers, rising or falling. Payloads are taken in this order while those before have
    less than ``room`` bytes in all; the first one is always taken.
    """
    way = 1 if seqs[0] <= seqs[-1] else -1
    [portion] = in_portions(seqs)
    return {
        int(seq): data
        for seq, data in connection.rows(LARGE, space=space, way=way, room=room, first=seqs[0], **portion)
    }


class LargePayloads:
    """Reads the large payloads of turns, in the order in which they are asked for. Keeps at most ``room`` bytes in
    memory, or one payload."""

    def __init__(self, connection: Connection, space: int, wanted: Sequence[int], room: int) -> None:
        """``wanted`` are commit numbers, ``LOOKED_UP`` at the most."""
        self._connection, self._space, self._wanted, self._room = connection, space, wanted, room
        self._held: dict[int, bytes | None] = {}

    def take(self, seq: int) -> bytes | None:
        """The payload of a turn, which is the next in order; None if it is missing."""
        if seq not in self._held:
            wanted = self._wanted[self._wanted.index(seq) :]
            self._held = large_payloads(self._connection, self._space, wanted, self._room)
        return self._held.pop(seq, None)


SUBJECTS = Query(
    "conversations that have tags, a page",
    "SELECT subject, data FROM conversation WHERE space = :space AND subject > :after ORDER BY subject LIMIT :limit",
)


def subjects_page(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """``(subject, data)`` of the records of conversations after a subject, in order; at most ``limit``."""
    return connection.rows(SUBJECTS, space=space, after=after, limit=limit)


SPACES = Query("numbers of all spaces", "SELECT id FROM space ORDER BY id")


def all_spaces(connection: Connection) -> list[int]:
    """The numbers of all spaces, removed ones included."""
    return [number for (number,) in connection.rows(SPACES)]


class IndexWord(NamedTuple):
    """A word of the index, with its sign, and the number of turns of the space that have it."""

    word: str
    turns: int


WORDS = Query(
    "words of the search index, a page",
    sqlite="SELECT term, doc FROM search_word WHERE term > :after AND term < :end ORDER BY term LIMIT :limit",
    postgresql="""
    SELECT w.lexeme, count(*) FROM search_text AS s, unnest(s.words) AS w
    WHERE s.space = :space AND w.lexeme COLLATE "C" > :after AND w.lexeme COLLATE "C" < :end GROUP BY w.lexeme
    ORDER BY w.lexeme COLLATE "C" LIMIT :limit
    """,
)


def words_page(connection: Connection, space: int, after: str, end: str, limit: int) -> list[IndexWord]:
    """The words of a space between ``after`` and ``end``, both left out, by their bytes; at most ``limit``."""
    rows = connection.rows(WORDS, space=space, after=after, end=end, limit=limit)
    return [IndexWord(word, int(count)) for word, count in rows]


SUMS = Query(
    "how many words the search index has, and of which turns",
    sqlite=f"""
    SELECT count(*), coalesce(sum(doc & {LAST}), 0) FROM search_entry
    WHERE term > :after AND term < :end AND doc > {ROWS_OF_SPACE} AND doc < {ROWS_OF_SPACE} + {LAST}
    """,
    postgresql="""
    SELECT coalesce(sum(length(words)), 0), coalesce(sum(length(words) * seq), 0) FROM search_text
    WHERE space = :space
    """,
)


def sums(connection: Connection, space: int, after: str, end: str) -> tuple[int, int]:
    """The number of entries (pairs of a word and a turn) in the index of a space, and the sum of commit numbers."""
    row = connection.row(SUMS, space=space, after=after, end=end)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


# Over all spaces on purpose: ``verify`` looks for words whose space does not exist.
FIRST_WORD = Query(
    "the next space with words in the search index",
    sqlite="SELECT term FROM search_word WHERE term > :after ORDER BY term LIMIT 1",
    postgresql="SELECT min(space) || '.' FROM search_text WHERE space > CAST(:number AS bigint)",
)


def next_space(connection: Connection, number: int) -> str | None:
    """The first word of the next space after a number that has words, in the order of the words; None at the end."""
    row = connection.row(FIRST_WORD, after=f"{number}/" if number else "", number=number)
    return None if row is None else row[0]
