"""The statements of ``rows/spaces``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, exists, func, insert, select, text, update

from headish.database.schema import conversation, object, space, space_log, stream
from headish.rows.spaces import (
    ADD_NAME,
    ADD_SPACE,
    COUNT_SPACES,
    FIND_SPACE,
    HOLDS_MORE,
    LAST_NAME,
    LIST_SPACES,
    RENAME_SPACE,
    SPACE_NUMBERS,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

define(FIND_SPACE, select(space.c.id).where(space.c.name == bindparam("name")))

define(ADD_SPACE, text("INSERT INTO space (name) VALUES (:name) ON CONFLICT DO NOTHING"))

define(
    LIST_SPACES,
    select(space.c.name).where(space.c.name > bindparam("after")).order_by(space.c.name).limit(bindparam("limit")),
)

define(
    SPACE_NUMBERS,
    select(space.c.id, space.c.name).where(space.c.name > bindparam("after")).order_by(space.c.id),
)

define(RENAME_SPACE, update(space).where(space.c.id == _space).values(name=bindparam("new")))

define(COUNT_SPACES, select(func.count()).select_from(space).where(space.c.name > bindparam("after")))

define(
    HOLDS_MORE,
    select(*(exists().where(table.c.space == _space) for table in (stream, conversation, object))),
)

define(
    LAST_NAME,
    select(space_log.c.number, space_log.c.running)
    .where(space_log.c.space == _space)
    .order_by(space_log.c.number.desc())
    .limit(1),
)

define(ADD_NAME, insert(space_log).values({each.name: bindparam(each.name) for each in space_log.c}))
