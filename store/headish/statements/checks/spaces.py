"""The statements of ``verify/spaces``."""

from __future__ import annotations

from sqlalchemy import LargeBinary, bindparam, case, cast, func, select

from headish.database.schema import counter, metadata
from headish.database.schema import space as space_table
from headish.rows.counters import REMOVED
from headish.statements.compiling import define
from headish.verify.spaces import ALL_SPACES, NEXT_SPACE

define(
    ALL_SPACES,
    # Bytes that are stored as text, and are none, could not be read as they are.
    select(space_table.c.id, cast(space_table.c.name, LargeBinary), case((counter.c.state == REMOVED, 1), else_=0))
    .select_from(space_table.outerjoin(counter, counter.c.space == space_table.c.id))
    .order_by(space_table.c.id),
)
for _name, _query in NEXT_SPACE.items():
    _table = metadata.tables[_name]
    define(_query, select(func.min(_table.c.space)).where(_table.c.space > bindparam("after")))
