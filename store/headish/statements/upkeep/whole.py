"""The statements of ``rows/upkeep/whole``."""

from __future__ import annotations

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    String,
    and_,
    bindparam,
    delete,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from headish.database.schema import counter, metadata
from headish.rows.upkeep.whole import (
    ADD,
    BACKED_UP,
    BEGIN,
    FINISH,
    FIRST,
    NEXT,
    OPEN,
    READ_COUNTS,
    REMOVE,
    STILL,
    Counts,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")
_mine = (counter.c.space == _space, counter.c.state == bindparam("mark"))
_zero: ColumnElement[int] = literal_column("0")

for _name in BACKED_UP:
    _table = metadata.tables[_name]
    _keys = [column for column in _table.primary_key if column.name != "space"]
    _rows = (
        select(*[column for column in _table.c if column.name != "space"])
        .where(_table.c.space == _space)
        .order_by(*_keys)
        .limit(bindparam("limit"))
    )
    _after = [bindparam(f"after_{column.name}", type_=column.type) for column in _keys]
    define(FIRST[_name], _rows)
    define(NEXT[_name], _rows.where(tuple_(*_keys) > tuple_(*_after)))
    define(ADD[_name], insert(_table).values({column.name: bindparam(column.name) for column in _table.c}))
    define(REMOVE[_name], delete(_table).where(_table.c.space == _space))

define(READ_COUNTS, select(*[counter.c[name] for name in Counts._fields]).where(counter.c.space == _space))
# A restore that was cut off leaves its mark, and another may begin anew.
define(
    BEGIN,
    update(counter)
    .where(
        counter.c.space == _space,
        or_(
            and_(counter.c.state.is_(None), counter.c.seq == _zero, counter.c.change == _zero),
            and_(counter.c.state > bindparam("low", type_=String), counter.c.state < bindparam("high", type_=String)),
        ),
    )
    .values(state=bindparam("mark")),
)
define(STILL, select(counter.c.space).where(*_mine).with_for_update())
_counts = {name: bindparam(f"to_{name}", type_=counter.c[name].type) for name in Counts._fields}
define(FINISH, update(counter).where(*_mine).values(_counts))
define(OPEN, update(counter).where(*_mine).values(state=bindparam("became", type_=String), epoch=bindparam("random")))
