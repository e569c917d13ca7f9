"""The statements of ``verify/changes``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, func, select, union_all

from headish.database.schema import bookmark_log, counter, definition, erasure, payload, record_log, space, space_log
from headish.statements.compiling import define
from headish.verify.changes import CHANGES, NAME, NAMES, OUT_OF_ORDER, STATE

_space: BindParameter[int] = bindparam("space")

_numbered = union_all(
    *(
        select(table.c.change.label("change"), table.c.seq.label("seq")).where(
            table.c.space == _space, table.c.change.is_not(None)
        )
        for table in (bookmark_log, definition, erasure, record_log)
    )
).subquery("numbered")

define(
    CHANGES,
    select(func.count(), func.count(_numbered.c.change.distinct()), func.max(_numbered.c.change)).select_from(
        _numbered
    ),
)

_in_order = select(
    _numbered.c.change,
    _numbered.c.seq,
    func.lag(_numbered.c.seq).over(order_by=_numbered.c.change).label("before"),
).subquery("in_order")

define(
    OUT_OF_ORDER,
    select(_in_order).where(_in_order.c.seq < _in_order.c.before).order_by(_in_order.c.change),
)

define(
    STATE,
    select(
        counter.c.state,
        counter.c.bars,
        select(func.count()).where(payload.c.space == _space, payload.c.erased.is_not(None)).scalar_subquery(),
    ).where(counter.c.space == _space),
)

define(
    NAMES,
    select(space_log.c.number, space_log.c.name, space_log.c.milliseconds, space_log.c.running)
    .where(space_log.c.space == _space)
    .order_by(space_log.c.number),
)

define(NAME, select(space.c.name).where(space.c.id == _space))
