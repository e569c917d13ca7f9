"""The statements of ``rows/objects``."""

from __future__ import annotations

from sqlalchemy import BindParameter, LargeBinary, and_, bindparam, delete, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from headish.database.schema import object
from headish.rows.objects import (
    FIND,
    HIGHEST,
    LIST,
    LIST_BACKWARDS,
    PAGE,
    PUT,
    REMOVE,
    REMOVE_SOME,
    REVISIONS,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_kind: BindParameter[str] = bindparam("kind")

_key: BindParameter[bytes] = bindparam("key")

_here = (object.c.space == _space, object.c.kind == _kind, object.c.key == _key)

_columns = (object.c.kind, object.c.key, object.c.revision, object.c.data, object.c.milliseconds)

_new = insert(object).values({column.name: bindparam(column.name) for column in object.c})

define(FIND, select(*_columns).where(*_here))

define(
    REVISIONS,
    select(object.c.key, object.c.revision).where(
        object.c.space == _space,
        object.c.kind == _kind,
        object.c.key.in_([_key, bindparam("removed", type_=LargeBinary)]),
    ),
)

define(
    PUT,
    _new.on_conflict_do_update(
        index_elements=[object.c.space, object.c.kind, object.c.key],
        set_={name: _new.excluded[name] for name in ("revision", "data", "milliseconds")},
    ),
)

define(REMOVE, delete(object).where(*_here))

_begins_so = and_(object.c.key >= bindparam("low", type_=LargeBinary), object.c.key < bindparam("high"))

define(
    HIGHEST,
    select(func.max(object.c.revision)).where(
        object.c.space == _space,
        object.c.kind == _kind,
        or_(_begins_so, object.c.key == bindparam("removed", type_=LargeBinary)),
    ),
)

define(REMOVE_SOME, delete(object).where(object.c.space == _space, object.c.kind == _kind, _begins_so))

define(
    LIST,
    select(*_columns)
    .where(
        object.c.space == _space,
        object.c.kind == _kind,
        object.c.key > bindparam("after"),
        object.c.key >= bindparam("low"),
        object.c.key < bindparam("high"),
    )
    .order_by(object.c.key)
    .limit(bindparam("limit")),
)

define(
    LIST_BACKWARDS,
    select(*_columns)
    .where(
        object.c.space == _space,
        object.c.kind == _kind,
        object.c.key >= bindparam("low"),
        object.c.key < bindparam("high"),
    )
    .order_by(object.c.key.desc())
    .limit(bindparam("limit")),
)

define(
    PAGE,
    select(*_columns)
    .where(
        object.c.space == _space,
        tuple_(object.c.kind, object.c.key) > tuple_(_kind, bindparam("key", type_=LargeBinary)),
    )
    .order_by(object.c.kind, object.c.key)
    .limit(bindparam("limit")),
)
