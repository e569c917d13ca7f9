"""The statements of ``rows/conversations``."""

from __future__ import annotations

from typing import Any

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

from headish.database.schema import bookmark, bookmark_log, conversation, link, record_log, turn
from headish.rows.conversations import (
    BY_KEY,
    FIND,
    FIND_SOME,
    FIRST,
    LOG,
    NAMES_IN,
    NEWEST_IN,
    PAGE,
    RENAME,
    TAKE_OVER,
    WRITE,
)
from headish.rows.payloads import PORTION
from headish.statements.compiling import define

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


define(FIND, select(*_stored).where(*_here))

define(
    FIND_SOME,
    select(*_stored).where(
        conversation.c.space == _space, conversation.c.subject.in_([bindparam(each) for each in PORTION])
    ),
)

define(
    BY_KEY,
    select(*_stored).where(conversation.c.space == _space, conversation.c.key == bindparam("key")),
)

define(
    WRITE,
    _new.on_conflict_do_update(
        index_elements=[conversation.c.space, conversation.c.subject],
        set_={name: _new.excluded[name] for name in ("revision", "archived", "pinned", "key", "data", "milliseconds")},
    ),
)

define(LOG, insert(record_log).values({column.name: bindparam(column.name) for column in record_log.c}))

define(RENAME, update(conversation).where(*_here).values(subject=bindparam("to_subject")))


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


define(
    TAKE_OVER,
    update(conversation)
    .where(
        conversation.c.space == _space,
        conversation.c.subject == _subject_of(_versions()),
        ~exists().where(_taken.c.space == _space, _taken.c.subject == bindparam("name")),
    )
    .values(subject=bindparam("name"))
    # Asked so, because Python's sqlite3 does not count the rows of a statement that begins with WITH.
    .returning(conversation.c.revision),
)

define(FIRST, _first(turn.c.chain, turn.c.pos, turn.c.id))

_GROWN = (
    "WITH RECURSIVE grown(chain, low) AS ("
    "SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT) UNION "
    "SELECT l.chain, 0 FROM grown JOIN link AS l "
    "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) "
)

define(
    NAMES_IN,
    text(
        _GROWN + "SELECT b.name FROM bookmark AS b WHERE b.space = :space AND b.chain IN (SELECT chain FROM grown) "
        "AND b.pos >= (SELECT min(low) FROM grown WHERE grown.chain = b.chain) ORDER BY b.name LIMIT :limit"
    ),
)

define(
    NEWEST_IN,
    text(
        _GROWN + "SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = (SELECT max(chain) FROM grown) "
        "ORDER BY t.pos DESC LIMIT 1"
    ),
)

define(
    PAGE,
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
