"""Rows of ``conversation``, and what tells conversations apart (rule R33, conversations).

A conversation without a name begins with a *first* turn: on the way to it along first parents, the first that is
neither system nor developer. What people say of it stands under that turn's id, and goes to the first name given to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BigInteger,
    BindParameter,
    ColumnElement,
    LargeBinary,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    cast,
    exists,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from headish.database.query import Connection, Query, Row
from headish.database.schema import bookmark, bookmark_log, conversation, link, turn
from headish.rows.payloads import PORTION, in_portions
from headish.values.ids import TurnId
from headish.values.places import Place


class First(NamedTuple):
    """The first turn of a conversation."""

    place: Place
    id: TurnId


class Stored(NamedTuple):
    """What a row says of a conversation."""

    subject: bytes
    revision: int
    data: bytes


_space: BindParameter[int] = bindparam("space")
_subject: BindParameter[bytes] = bindparam("subject")
_here = (conversation.c.space == _space, conversation.c.subject == _subject)
_stored = (conversation.c.subject, conversation.c.revision, conversation.c.data)
_new = insert(conversation).values({column.name: bindparam(column.name) for column in conversation.c})
_other = turn.alias("other")
_taken = conversation.alias("taken")
_said = conversation.alias("said")
_older = turn.alias("older")


def _path() -> CTE:
    """The way back along first parents: how far into each chain. A parent's chain has the lower number, always."""
    start = select(
        cast(bindparam("chain"), BigInteger).label("chain"), cast(bindparam("pos"), BigInteger).label("pos")
    ).cte("path", recursive=True)
    step = select(link.c.parent_chain, link.c.parent_pos).where(
        link.c.space == _space,
        link.c.chain == start.c.chain,
        link.c.ordinal == literal_column("0"),
        link.c.parent_chain < start.c.chain,
    )
    return start.union_all(step)


def _first(*columns: ColumnElement[Any]) -> Select[Any]:
    path = _path()
    spoken = (
        select(_other.c.pos)
        .where(
            _other.c.space == _space,
            _other.c.chain == path.c.chain,
            _other.c.pos <= path.c.pos,
            _other.c.role != literal_column("'system'"),
            _other.c.role != literal_column("'developer'"),
        )
        .order_by(_other.c.pos)
        .limit(1)
        .scalar_subquery()
    )
    places = select(path.c.chain, spoken.label("pos")).cte("places")
    first = select(places).where(places.c.pos.is_not(None)).order_by(places.c.chain).limit(1).cte("first")
    # An outer join, because it fixes the order: left to itself, SQLite begins with every turn of the space.
    there = and_(turn.c.space == _space, turn.c.chain == first.c.chain, turn.c.pos == first.c.pos)
    return select(*columns).select_from(first.outerjoin(turn, there))


FIND = Query("what is said of a conversation", select(*_stored).where(*_here))
FIND_SOME = Query(
    "what is said of conversations",
    select(*_stored).where(
        conversation.c.space == _space, conversation.c.subject.in_([bindparam(each) for each in PORTION])
    ),
)
BY_KEY = Query(
    "conversation by key",
    select(*_stored).where(conversation.c.space == _space, conversation.c.key == bindparam("key")),
)
WRITE = Query(
    "say something of a conversation",
    _new.on_conflict_do_update(
        index_elements=[conversation.c.space, conversation.c.subject],
        set_={name: _new.excluded[name] for name in ("revision", "archived", "pinned", "key", "data", "milliseconds")},
    ),
)
RENAME = Query("rename a conversation", update(conversation).where(*_here).values(subject=bindparam("to_subject")))


def _versions() -> CTE:
    """The first turn of the conversation that a place belongs to, and those that it supersedes: what is said stands
    under one of them. A turn that supersedes another was stored later."""
    first = _first(turn.c.id, turn.c.supersedes, turn.c.seq).cte("versions", recursive=True)
    step = select(_older.c.id, _older.c.supersedes, _older.c.seq).where(
        _older.c.space == _space, _older.c.id == first.c.supersedes, _older.c.seq < first.c.seq
    )
    return first.union_all(step)


def _subject_of(versions: CTE) -> ScalarSelect[Any]:
    """Of the versions of a first turn the newest of which something is said."""
    said = and_(_said.c.space == _space, _said.c.subject == cast(versions.c.id, LargeBinary))
    return (
        select(_said.c.subject)
        .select_from(versions.join(_said, said))
        .order_by(versions.c.seq.desc())
        .limit(1)
        .scalar_subquery()
    )


TAKE_OVER = Query(
    "what is said of a nameless conversation goes to its name",
    update(conversation)
    .where(
        conversation.c.space == _space,
        conversation.c.subject == _subject_of(_versions()),
        ~exists().where(_taken.c.space == _space, _taken.c.subject == bindparam("name")),
    )
    .values(subject=bindparam("name")),
)
FIRST = Query("first turn of a conversation", _first(turn.c.chain, turn.c.pos, turn.c.id))
_GROWN = (
    "WITH RECURSIVE grown(chain, low) AS ("
    "SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT) UNION "
    "SELECT l.chain, 0 FROM grown JOIN link AS l "
    "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) "
)
NAMES_IN = Query(
    "names in what grew from a turn",
    text(
        _GROWN + "SELECT b.name FROM bookmark AS b WHERE b.space = :space AND b.chain IN (SELECT chain FROM grown) "
        "AND b.pos >= (SELECT min(low) FROM grown WHERE grown.chain = b.chain) ORDER BY b.name LIMIT :limit"
    ),
)
NEWEST_IN = Query(
    "end of the newest branch that grew from a turn",
    text(
        _GROWN + "SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = (SELECT max(chain) FROM grown) "
        "ORDER BY t.pos DESC LIMIT 1"
    ),
)
PAGE = Query(
    "what is said of conversations, a page",
    select(
        *_stored,
        conversation.c.archived,
        conversation.c.pinned,
        conversation.c.key,
        conversation.c.milliseconds,
        exists().where(bookmark.c.space == _space, bookmark.c.name == conversation.c.subject),
        exists().where(bookmark_log.c.space == _space, bookmark_log.c.name == conversation.c.subject),
    )
    .where(conversation.c.space == _space, conversation.c.subject > _subject)
    .order_by(conversation.c.subject)
    .limit(bindparam("limit")),
)


def find_record(connection: Connection, space: int, subject: bytes) -> Stored | None:
    """What is said of a conversation."""
    return _read(connection.row(FIND, space=space, subject=subject))


def find_records(connection: Connection, space: int, subjects: Iterable[bytes]) -> dict[bytes, Stored]:
    """What is said of conversations, of those of which something is. Cost: one statement for each 64 of them."""
    rows = [row for portion in in_portions(subjects) for row in connection.rows(FIND_SOME, space=space, **portion)]
    return {stored.subject: stored for stored in map(_read, rows) if stored is not None}


def record_by_key(connection: Connection, space: int, key: bytes) -> Stored | None:
    """What is said of the conversation that has this key."""
    return _read(connection.row(BY_KEY, space=space, key=key))


def write_record(
    connection: Connection,
    space: int,
    stored: Stored,
    *,
    archived: bool,
    pinned: bool,
    key: bytes | None,
) -> None:
    """Let this be said of a conversation from now on. The rest are copies of what ``data`` says."""
    connection.run(
        WRITE,
        space=space,
        **stored._asdict(),
        archived=int(archived),
        pinned=int(pinned),
        key=key,
        milliseconds=time.time_ns() // 1_000_000,
    )


def rename_record(connection: Connection, space: int, old: bytes, new: bytes) -> None:
    """What was said of a name is said of another one."""
    connection.run(RENAME, space=space, subject=old, to_subject=new)


def take_record_over(connection: Connection, space: int, name: bytes, place: Place) -> None:
    """A name was made: what is said of the nameless conversation that it lies in is said of the name from now on."""
    connection.run(TAKE_OVER, space=space, name=name, chain=place.chain, pos=place.pos)


def find_first(connection: Connection, space: int, place: Place) -> First | None:
    """The first turn of the conversation that a place belongs to; None where only system turns lead to it."""
    row = connection.row(FIRST, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else First(Place(row[0], row[1]), row[2])


def names_in(connection: Connection, space: int, place: Place, limit: int) -> list[bytes]:
    """The names in what grew from a place. Cost: a step for each branch, and one look at every name."""
    rows = connection.rows(NAMES_IN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [name for (name,) in rows]


def newest_in(connection: Connection, space: int, place: Place) -> TurnId | None:
    """The end of the newest branch of what grew from a place."""
    row = connection.row(NEWEST_IN, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else row[0]


def records_page(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """A page of rows behind a subject: what is said, its copies, the time, and whether the subject is a name and
    whether it ever was."""
    return connection.rows(PAGE, space=space, subject=after, limit=limit)


def _read(row: Row | None) -> Stored | None:
    return None if row is None else Stored(row[0], int(row[1]), row[2])
