"""The statements of ``rows/upkeep/names``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, func, literal_column, null, select, update

from headish.database.schema import bookmark_log, record_log, turn
from headish.rows.upkeep.names import (
    COUNT_MOVES,
    COUNT_SAYING,
    FIRST_MOVE,
    FIRST_MOVES,
    FORGET_FORMER,
    FORMER,
    MOVE_RECORD_LOG,
    RENAMED_FROM,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")
_name: BindParameter[bytes] = bindparam("name")
_was: BindParameter[bytes] = bindparam("was")

_here = (bookmark_log.c.space == _space, bookmark_log.c.name == _name)
# Only moves that no turn made can be renames, and a sparse index has those.
_renamed = (bookmark_log.c.space == _space, bookmark_log.c.change.is_not(None), bookmark_log.c.was == _was)
_first = bookmark_log.c.move == literal_column("1")

define(
    FORMER,
    select(bookmark_log.c.was).where(*_here, bookmark_log.c.was.is_not(None)).distinct().order_by(bookmark_log.c.was),
)

define(
    RENAMED_FROM,
    select(bookmark_log.c.name).where(*_renamed).distinct().order_by(bookmark_log.c.name),
)

define(FIRST_MOVE, select(bookmark_log.c.running).where(*_here, _first))

define(
    FIRST_MOVES,
    select(bookmark_log.c.name, bookmark_log.c.running)
    .where(bookmark_log.c.space == _space, _first)
    .order_by(bookmark_log.c.name),
)

define(COUNT_MOVES, select(func.count()).select_from(bookmark_log).where(*_here))

define(COUNT_SAYING, select(func.count()).where(turn.c.space == _space, turn.c.head == _name))

define(FORGET_FORMER, update(bookmark_log).where(*_renamed).values(was=null()))

define(
    MOVE_RECORD_LOG,
    update(record_log)
    .where(record_log.c.space == _space, record_log.c.subject == bindparam("subject"))
    .values(subject=bindparam("to_subject")),
)
