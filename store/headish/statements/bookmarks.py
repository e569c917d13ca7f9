"""The statements of ``rows/bookmarks``."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    BindParameter,
    LargeBinary,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    text,
    tuple_,
    update,
)

from headish.database.schema import bookmark, bookmark_log, turn
from headish.rows.bookmarks import (
    ADD,
    ADD_LOG,
    AHEAD,
    COUNT,
    FIND,
    FIND_AT,
    FIND_SOME,
    HISTORY,
    LAST_LOG,
    LIST_BY_NAME,
    LIST_BY_RECENCY,
    LOG_AT_MOVE,
    LOG_AT_TIME,
    MOVE,
    MOVE_NUMBER,
    REACHED,
    RECENCY,
    REMOVE,
    RENAME,
    RENAME_LOG,
)
from headish.rows.payloads import PORTION
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_name: BindParameter[bytes] = bindparam("name")

_here = (bookmark.c.space == _space, bookmark.c.name == _name)

_logged = (bookmark_log.c.space == _space, bookmark_log.c.name == _name)

_log = select(bookmark_log.c.move, bookmark_log.c.chain, bookmark_log.c.pos, bookmark_log.c.milliseconds)

_points = (turn.c.space == _space, turn.c.chain == bookmark.c.chain, turn.c.pos == bookmark.c.pos)


define(FIND, select(bookmark.c.chain, bookmark.c.pos, bookmark.c.move, bookmark.c.running).where(*_here))

define(
    FIND_SOME,
    select(bookmark.c.name, bookmark.c.chain, bookmark.c.pos, bookmark.c.move, bookmark.c.running).where(
        bookmark.c.space == _space, bookmark.c.name.in_([bindparam(each) for each in PORTION])
    ),
)
# A name that moved with the turn stands in the turn; the sparse index has the others.
define(
    FIND_AT,
    text(
        "SELECT name FROM bookmark WHERE space = :space AND chain = :chain AND pos = :pos AND own = 0 UNION ALL "
        "SELECT name FROM bookmark WHERE space = :space AND name = :head AND chain = :chain AND pos = :pos AND own = 1 "
        "ORDER BY name LIMIT :limit"
    ),
)

_listed = select(bookmark.c.name, turn.c.id, bookmark.c.chain, bookmark.c.pos).where(
    bookmark.c.space == _space,
    bookmark.c.name >= bindparam("low"),
    bookmark.c.name < bindparam("high"),
    *_points,
)

define(
    LIST_BY_NAME,
    _listed.where(bookmark.c.name > bindparam("after")).order_by(bookmark.c.name).limit(bindparam("limit")),
)

define(
    LIST_BY_RECENCY,
    # In the order of the index: a batch moves many names in one millisecond, and a page must not sort them all.
    _listed.where(
        bookmark.c.recent >= literal_column("0"),  # as the index says of itself
        tuple_(bookmark.c.recent, bookmark.c.name)
        < tuple_(bindparam("recent", type_=BigInteger), bindparam("after", type_=LargeBinary)),
    )
    .order_by(bookmark.c.recent.desc(), bookmark.c.name.desc())
    .limit(bindparam("limit")),
)

define(RECENCY, select(bookmark.c.recent).where(*_here))

define(COUNT, select(func.count()).select_from(bookmark).where(bookmark.c.space == _space))

define(ADD, insert(bookmark).values({each.name: bindparam(each.name) for each in bookmark.c}))

define(
    MOVE,
    update(bookmark)
    .where(*_here, bookmark.c.move == bindparam("before"))
    .values({name: bindparam(f"to_{name}") for name in ("chain", "pos", "move", "recent", "own", "running")}),
)

define(REMOVE, delete(bookmark).where(*_here))

define(
    LAST_LOG,
    select(bookmark_log.c.move, bookmark_log.c.running).where(*_logged).order_by(bookmark_log.c.move.desc()).limit(1),
)

define(ADD_LOG, insert(bookmark_log).values({each.name: bindparam(each.name) for each in bookmark_log.c}))

define(
    RENAME,
    update(bookmark)
    .where(*_here)
    .values({name: bindparam(f"to_{name}") for name in ("name", "move", "own", "running")}),
)

define(RENAME_LOG, update(bookmark_log).where(*_logged).values(name=bindparam("to_name")))

define(MOVE_NUMBER, select(bookmark.c.move).where(*_here))

define(LOG_AT_MOVE, _log.where(*_logged, bookmark_log.c.move == bindparam("move")))

define(
    LOG_AT_TIME,
    _log.where(*_logged, bookmark_log.c.milliseconds <= bindparam("milliseconds"))
    .order_by(bookmark_log.c.move.desc())
    .limit(1),
)

define(
    HISTORY,
    select(bookmark_log.c.move, turn.c.id, bookmark_log.c.milliseconds)
    .select_from(
        bookmark_log.outerjoin(
            turn,
            (turn.c.space == _space) & (turn.c.chain == bookmark_log.c.chain) & (turn.c.pos == bookmark_log.c.pos),
        )
    )
    .where(*_logged)
    .order_by(bookmark_log.c.move.desc()),
)

define(
    REACHED,
    select(bookmark_log.c.chain, func.max(bookmark_log.c.pos))
    .where(*_logged, bookmark_log.c.chain.is_not(None))
    .group_by(bookmark_log.c.chain)
    .order_by(bookmark_log.c.chain),
)

define(
    AHEAD,
    select(bookmark.c.name)
    .where(
        bookmark.c.space == _space,
        exists().where(
            bookmark_log.c.space == _space,
            bookmark_log.c.name == bookmark.c.name,
            bookmark_log.c.move > bookmark.c.move,
        ),
    )
    .order_by(bookmark.c.name)
    .limit(literal_column("1")),
)
