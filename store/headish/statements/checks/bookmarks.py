"""The statements of ``verify/bookmarks``."""

from __future__ import annotations

from sqlalchemy import BindParameter, LargeBinary, and_, bindparam, exists, func, select, tuple_

from headish.database.schema import bookmark, bookmark_log, counter, turn
from headish.statements.compiling import define
from headish.verify.bookmarks import CARRIED, LOG, LOGGED_CARRIED, UNLOGGED, _Logged

_space: BindParameter[int] = bindparam("space")


define(
    LOG,
    select(
        *(bookmark_log.c[each] for each in _Logged._fields[:8]),
        turn.c.id,
        turn.c.digest,
        turn.c.head,
        bookmark_log.c.seq,
        turn.c.seq,
        *(bookmark.c[each] for each in ("chain", "pos", "move", "own", "running")),
        select(counter.c.seq).where(counter.c.space == _space).scalar_subquery(),
        turn.c.erased,
    )
    .select_from(
        bookmark_log.outerjoin(
            turn,
            and_(turn.c.space == _space, turn.c.chain == bookmark_log.c.chain, turn.c.pos == bookmark_log.c.pos),
        ).outerjoin(bookmark, and_(bookmark.c.space == _space, bookmark.c.name == bookmark_log.c.name))
    )
    .where(
        bookmark_log.c.space == _space,
        tuple_(bookmark_log.c.name, bookmark_log.c.move)
        > tuple_(bindparam("name", type_=LargeBinary), bindparam("move")),
    )
    .order_by(bookmark_log.c.name, bookmark_log.c.move)
    .limit(bindparam("limit")),
)

define(
    UNLOGGED,
    select(bookmark.c.name)
    .where(
        bookmark.c.space == _space,
        ~exists().where(bookmark_log.c.space == _space, bookmark_log.c.name == bookmark.c.name),
    )
    .order_by(bookmark.c.name),
)

define(
    CARRIED,
    select(turn.c.head, func.count()).where(turn.c.space == _space, turn.c.head.is_not(None)).group_by(turn.c.head),
)

define(
    LOGGED_CARRIED,
    select(turn.c.head, func.count())
    .select_from(
        bookmark_log.join(
            turn,
            and_(turn.c.space == _space, turn.c.chain == bookmark_log.c.chain, turn.c.pos == bookmark_log.c.pos),
        )
    )
    .where(bookmark_log.c.space == _space, bookmark_log.c.change.is_(None), turn.c.head.is_not(None))
    .group_by(turn.c.head),
)
