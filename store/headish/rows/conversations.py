"""Rows of ``conversation``, and the first turns that tell conversations apart (rule R33, conversations).

The *first* turn of a conversation is the first one along first parents whose role is neither system nor developer. The
*record* of a conversation is what people say of it: title, tags and the like. Without a name, the record is stored
under the id of the first turn; the first name that the conversation gets takes it over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import asdict

from headish.content.hashes import seal_entry, seal_record
from headish.database.query import Connection, Query, Row
from headish.rows.counters import take_change
from headish.rows.payloads import WANTED, look_up
from headish.values.ids import TurnId
from headish.values.places import Place

PAGE_RECORDS = 100


class First(msgspec.Struct, frozen=True, gc=False):
    """The first turn of a conversation."""

    place: Place
    id: TurnId


class StoredRecord(msgspec.Struct, frozen=True, gc=False):
    """The record of a conversation. ``subject`` is its name, or the id of its first turn; ``data`` is JSON."""

    subject: bytes
    revision: int
    data: bytes


FIND = Query(
    "what is said of a conversation",
    "SELECT subject, revision, data FROM conversation WHERE space = :space AND subject = :subject",
)


def find_record(connection: Connection, space: int, subject: bytes) -> StoredRecord | None:
    """The record of a conversation, or None."""
    return _read(connection.row(FIND, space=space, subject=subject))


FIND_OF_BOOKMARK = Query(
    "what is said of the conversation of a bookmark",
    """
    SELECT c.subject, c.revision, c.data FROM bookmark AS b
    LEFT JOIN conversation AS c ON c.space = :space AND c.subject = :name
    WHERE b.space = :space AND b.name = :name
    """,
)


def record_of_bookmark(connection: Connection, space: int, name: bytes) -> tuple[bool, StoredRecord | None]:
    """Return whether there is such a bookmark, and the record of its conversation or None."""
    row = connection.row(FIND_OF_BOOKMARK, space=space, name=name)
    # No row: no bookmark. Nulls of the outer join: a bookmark without a record.
    return row is not None, None if row is None or row[0] is None else _read(row)


FIND_DATED = Query(
    "what is said of a conversation, and since when",
    "SELECT revision, milliseconds, data FROM conversation WHERE space = :space AND subject = :subject",
)


def find_dated_record(connection: Connection, space: int, subject: bytes) -> tuple[int, int, bytes] | None:
    """The revision of a record, the time when it was written in Unix milliseconds, and its JSON; or None."""
    row = connection.row(FIND_DATED, space=space, subject=subject)
    return None if row is None else (int(row[0]), int(row[1]), bytes(row[2]))


FIND_SOME = Query(
    "what is said of conversations",
    f"SELECT subject, revision, data FROM conversation WHERE space = :space AND subject IN ({WANTED})",
)


def find_records(connection: Connection, space: int, subjects: Iterable[bytes]) -> dict[bytes, StoredRecord]:
    """The records of conversations, by subject; those without one are left out. Cost: one statement for each 64."""
    rows = look_up(connection, FIND_SOME, space, subjects)
    return {record.subject: record for record in map(_read, rows) if record is not None}


ALL_RECORDS = Query(
    "what is said of all conversations, a page",
    """
    SELECT subject, revision, milliseconds, data FROM conversation WHERE space = :space AND subject > :after
    ORDER BY subject LIMIT :limit
    """,
)


def records_after(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """``(subject, revision, milliseconds, data)`` of the records after a subject, in order; at most ``limit``."""
    return connection.rows(ALL_RECORDS, space=space, after=after, limit=limit)


BY_KEY = Query(
    "conversation by key", "SELECT subject, revision, data FROM conversation WHERE space = :space AND key = :key"
)


def record_by_key(connection: Connection, space: int, key: bytes) -> StoredRecord | None:
    """The record of the conversation that has this key; None if there is none."""
    return _read(connection.row(BY_KEY, space=space, key=key))


BY_KEYS = Query(
    "what is said of named conversations by their keys",
    f"""
    SELECT c.key, c.data FROM conversation AS c CROSS JOIN bookmark AS b
    WHERE b.name = c.subject AND c.space = :space AND b.space = :space AND c.key IN ({WANTED})
    """,
)


def records_by_keys(connection: Connection, space: int, keys: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
    """``(key, data)`` of the records with one of the keys, if their conversation has a name.

    Cost: one statement for each 64 keys.
    """
    return [(bytes(key), bytes(data)) for key, data in look_up(connection, BY_KEYS, space, keys)]


BELOW_KEY = Query(
    "conversations whose keys lie between two",
    """
    SELECT subject, revision, data FROM conversation WHERE space = :space AND key > :low AND key < :high
    ORDER BY key LIMIT :limit
    """,
)


def records_below_key(connection: Connection, space: int, key: bytes, limit: int) -> list[StoredRecord]:
    """The records of conversations whose keys are ``KEY:…``, by key; at most ``limit``."""
    # `;` is the byte after `:`, so the range has all keys that begin with this one and a colon.
    rows = connection.rows(BELOW_KEY, space=space, low=key + b":", high=key + b";", limit=limit)
    return [record for record in map(_read, rows) if record is not None]


WRITE = Query(
    "say something of a conversation",
    """
    INSERT INTO conversation (space, subject, revision, archived, pinned, key, data, milliseconds, seal)
    VALUES (:space, :subject, :revision, :archived, :pinned, :key, :data, :milliseconds, :seal)
    ON CONFLICT (space, subject) DO UPDATE
    SET revision = excluded.revision, archived = excluded.archived, pinned = excluded.pinned, key = excluded.key,
      data = excluded.data, milliseconds = excluded.milliseconds, seal = excluded.seal
    """,
)


def write_record(
    connection: Connection, space: int, stored: StoredRecord, *, archived: bool, pinned: bool, key: bytes | None,
    milliseconds: int | None = None,
) -> None:  # fmt: skip
    """Store the record of a conversation in place of an earlier one.

    ``archived``, ``pinned`` and ``key`` are copies of what ``data`` says. ``milliseconds`` is the time of its last
    change, the present without it. Cost: three statements.
    """
    now = time.time_ns() // 1_000_000
    written = now if milliseconds is None else milliseconds
    connection.run(
        WRITE,
        space=space,
        **asdict(stored),
        archived=int(archived),
        pinned=int(pinned),
        key=key,
        milliseconds=written,
        seal=seal_record(stored.subject, stored.revision, written, stored.data),
    )
    _log(connection, space, stored.subject, now)


RENAME = Query(
    "rename a conversation",
    """
    UPDATE conversation SET subject = :to_subject WHERE space = :space AND subject = :subject
    RETURNING revision, milliseconds, data
    """,
)
RESEAL = Query(
    "seal what is said of a conversation under its new subject",
    "UPDATE conversation SET seal = :seal WHERE space = :space AND subject = :subject",
)


def rename_record(connection: Connection, space: int, old: bytes, new: bytes) -> None:
    """Move the record of a name to another name."""
    _settle(connection, space, new, connection.rows(RENAME, space=space, subject=old, to_subject=new))


def _settle(connection: Connection, space: int, subject: bytes, moved: Sequence[Row]) -> None:
    """Seal and log the record that an UPDATE moved to another subject, if it moved one."""
    # The seal covers the subject, and SQL cannot compute it: hence a second statement.
    for revision, milliseconds, data in moved:
        seal = seal_record(subject, revision, milliseconds, data)
        connection.run(RESEAL, space=space, subject=subject, seal=seal)
        _log(connection, space, subject)


# ``path`` goes back along first parents: how far into each chain. A parent's chain always has a lower number; the
# condition ends the recursion even in a damaged database that has a cycle. ``first`` is the first turn that is neither
# system nor developer. The outer join fixes the order: left to itself, SQLite begins with every turn of the space.
_FIRST = """
    WITH RECURSIVE path(chain, pos) AS (
      SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT)
      UNION ALL SELECT l.parent_chain, l.parent_pos FROM path CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain
    ),
    places AS (
      SELECT path.chain, (
        SELECT o.pos FROM turn AS o
        WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos
          AND o.role <> 'system' AND o.role <> 'developer'
        ORDER BY o.pos LIMIT 1
      ) AS pos
      FROM path
    ),
    first AS (SELECT chain, pos FROM places WHERE pos IS NOT NULL ORDER BY chain LIMIT 1)"""

_OF_FIRST = "FROM first LEFT JOIN turn AS t ON t.space = :space AND t.chain = first.chain AND t.pos = first.pos"

# The record may be under the first turn, or under a turn that it supersedes: the newest of them counts. UNION ends the
# recursion even in a damaged database that has a cycle. ``seq`` would not do: the older turn may have arrived later.
# RETURNING, because Python's sqlite3 does not count the rows that a statement beginning with WITH has changed.
_TAKE_OVER = f"""{_FIRST},
    versions(id, supersedes, seq) AS (
      SELECT t.id, t.supersedes, t.seq {_OF_FIRST}
      UNION SELECT o.id, o.supersedes, o.seq FROM versions CROSS JOIN turn AS o
      WHERE o.space = :space AND o.id = versions.supersedes
    )
    UPDATE conversation SET subject = :name
    WHERE conversation.space = :space AND conversation.subject = (
        SELECT said.subject FROM versions
        CROSS JOIN conversation AS said WHERE said.space = :space AND said.subject = CAST(versions.id AS %s)
        ORDER BY versions.seq DESC LIMIT 1
      )
      AND NOT EXISTS (SELECT 1 FROM conversation AS taken WHERE taken.space = :space AND taken.subject = :name)
    RETURNING revision, milliseconds, data
"""
TAKE_OVER = Query(
    "what is said of a nameless conversation goes to its name",
    sqlite=_TAKE_OVER % "BLOB",
    postgresql=_TAKE_OVER % "BYTEA",
)


def take_record_over(connection: Connection, space: int, name: bytes, place: Place) -> None:
    """Move the record of a conversation without a name to the name that was just given to a place in it."""
    rows = connection.rows(TAKE_OVER, space=space, name=name, chain=place.chain, pos=place.pos)
    _settle(connection, space, name, rows)


FIRST = Query("first turn of a conversation", f"{_FIRST} SELECT t.chain, t.pos, t.id {_OF_FIRST}")


def find_first(connection: Connection, space: int, place: Place) -> First | None:
    """The first turn of the conversation that a place belongs to; None if only system or developer turns lead to it."""
    row = connection.row(FIRST, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else First(Place(row[0], row[1]), row[2])


_GROWN = """
    WITH RECURSIVE grown(chain, low) AS (
      SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT)
      UNION SELECT l.chain, 0 FROM grown CROSS JOIN link AS l
      WHERE l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low
    )"""
NAMES_IN = Query(
    "names in what grew from a turn",
    f"""{_GROWN}
    SELECT b.name FROM bookmark AS b
    WHERE b.space = :space AND b.chain IN (SELECT chain FROM grown)
      AND b.pos >= (SELECT min(low) FROM grown WHERE grown.chain = b.chain)
    ORDER BY b.name LIMIT :limit
    """,
)


def names_in(connection: Connection, space: int, place: Place, limit: int) -> list[bytes]:
    """The names at a place and at what grew from it, by name; at most ``limit``.

    Cost: a step for each branch, and one look at every name.
    """
    rows = connection.rows(NAMES_IN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [name for (name,) in rows]


NEWEST_IN = Query(
    "end of the newest branch that grew from a turn",
    f"""{_GROWN}
    SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = (SELECT max(chain) FROM grown)
    ORDER BY t.pos DESC LIMIT 1
    """,
)


def newest_in(connection: Connection, space: int, place: Place) -> TurnId | None:
    """The id of the last turn in the newest chain that grew from a place, or None."""
    row = connection.row(NEWEST_IN, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else row[0]


PAGE = Query(
    "what is said of conversations, a page",
    """
    SELECT c.subject, c.revision, c.data, c.archived, c.pinned, c.key, c.milliseconds, c.seal,
      EXISTS (SELECT 1 FROM bookmark AS b WHERE b.space = :space AND b.name = c.subject),
      EXISTS (SELECT 1 FROM bookmark_log AS m WHERE m.space = :space AND m.name = c.subject)
    FROM conversation AS c WHERE c.space = :space AND c.subject > :subject ORDER BY c.subject LIMIT :limit
    """,
)


def every_record(connection: Connection, space: int) -> Iterator[Row]:
    """The records of all conversations: each with its copies, the time, the seal, whether the subject is a bookmark,
    and whether it ever was one. Cost: one statement for each ``PAGE_RECORDS``."""
    after = b""
    while page := connection.rows(PAGE, space=space, subject=after, limit=PAGE_RECORDS):
        yield from page
        after = page[-1][0]


LOG = Query(
    "log that something was said of a conversation",
    """
    INSERT INTO record_log (space, change, seq, subject, milliseconds, seal)
    VALUES (:space, :change, :seq, :subject, :milliseconds, :seal)
    """,
)


def _log(connection: Connection, space: int, subject: bytes, now: int | None = None) -> None:
    """Log a change of a record under a number of its own, so that readers who follow the space see it."""
    seq, change = take_change(connection, space)
    milliseconds = time.time_ns() // 1_000_000 if now is None else now
    seal = seal_entry(change, seq, subject, milliseconds)
    connection.run(LOG, space=space, change=change, seq=seq, subject=subject, milliseconds=milliseconds, seal=seal)


ENTRIES = Query(
    "log of what was said of conversations, a page",
    """
    SELECT change, seq, subject, milliseconds, seal FROM record_log WHERE space = :space AND change > :change
    ORDER BY change LIMIT :limit
    """,
)


def entries_page(connection: Connection, space: int, after: int, limit: int) -> Sequence[Row]:
    """A page of the log of records after a change: ``(change, seq, subject, milliseconds, seal)``."""
    return connection.rows(ENTRIES, space=space, change=after, limit=limit)


MOVE_ENTRIES = Query(
    "give what was said of a conversation another subject in its log",
    """
    UPDATE record_log SET subject = :to_subject WHERE space = :space AND subject = :subject
    RETURNING change, seq, milliseconds
    """,
)
RESEAL_ENTRY = Query(
    "seal a row of the log of what was said under its new subject",
    "UPDATE record_log SET seal = :seal WHERE space = :space AND change = :change",
)


def move_entries(connection: Connection, space: int, old: bytes, new: bytes) -> None:
    """Give the rows of the log with the subject ``old`` the subject ``new``.

    Cost: one statement, and one more if there are such rows.
    """
    moved = connection.rows(MOVE_ENTRIES, space=space, subject=old, to_subject=new)
    seals = [
        {"space": space, "change": change, "seal": seal_entry(change, seq, new, milliseconds)}
        for change, seq, milliseconds in moved
    ]
    if seals:
        connection.run_many(RESEAL_ENTRY, seals)


def _read(row: Row | None) -> StoredRecord | None:
    return None if row is None else StoredRecord(row[0], int(row[1]), row[2])
