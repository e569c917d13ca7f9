"""The statements of ``rows/definitions``."""

from __future__ import annotations

from sqlalchemy import BindParameter, and_, bindparam, func, insert, select

from headish.database.schema import definition, payload
from headish.rows.definitions import ADD, FIND, HISTORY, LIST
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_kind: BindParameter[str] = bindparam("kind")

_name: BindParameter[bytes] = bindparam("name")

_later = definition.alias("later")
# Each table is bound to the space itself, so that a distributed database finds all rows in one place.
_last = (
    select(func.max(_later.c.number))
    .where(_later.c.space == _space, _later.c.kind == _kind, _later.c.name == definition.c.name)
    .scalar_subquery()
)

_here = (definition.c.space == _space, definition.c.kind == _kind, definition.c.name == _name)

_with_payload = definition.outerjoin(
    payload, and_(payload.c.space == _space, payload.c.hash == definition.c.hash, definition.c.data.is_(None))
)

_columns = (
    definition.c.name,
    definition.c.number,
    definition.c.hash,
    func.coalesce(definition.c.data, payload.c.data),
    definition.c.milliseconds,
    definition.c.running,
)

define(FIND, select(*_columns).select_from(_with_payload).where(*_here, definition.c.number == _last))

define(
    LIST,
    select(*_columns)
    .select_from(_with_payload)
    .where(definition.c.space == _space, definition.c.kind == _kind, definition.c.hash.is_not(None))
    .where(definition.c.number == _last)
    .order_by(definition.c.name),
)

define(
    HISTORY,
    select(*_columns).select_from(_with_payload).where(*_here).order_by(definition.c.number.desc()),
)

define(ADD, insert(definition).values({column.name: bindparam(column.name) for column in definition.c}))
