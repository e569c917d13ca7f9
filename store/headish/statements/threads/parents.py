"""The statements of ``rows/threads/parents``."""

from __future__ import annotations

from sqlalchemy import BindParameter, ColumnElement, Integer, ScalarSelect, bindparam, literal_column, select, union_all

from headish.database.schema import link, turn
from headish.rows.payloads import LOOKED_UP
from headish.rows.threads.parents import PARENTS
from headish.statements.compiling import define
from headish.statements.threads.places import wanted_places

_space: BindParameter[int] = bindparam("space")

_wanted = wanted_places()


def _id_at(chain: ColumnElement[int], pos: ColumnElement[int]) -> ScalarSelect[str]:
    # Looked up for each row: for a join PostgreSQL may read the whole space.
    found = select(turn.c.id).where(turn.c.space == _space, turn.c.chain == chain, turn.c.pos == pos)
    return found.scalar_subquery()


# The one before it in its chain; of a chain's first turn what its links name, in their order.
define(
    PARENTS,
    union_all(
        select(
            _wanted.c.chain,
            _wanted.c.pos,
            literal_column("0", Integer),
            _id_at(_wanted.c.chain, _wanted.c.pos - literal_column("1")),
        ).where(_wanted.c.pos > literal_column("0")),
        select(
            link.c.chain,
            literal_column("0", Integer),
            link.c.ordinal,
            _id_at(link.c.parent_chain, link.c.parent_pos),
        ).where(link.c.space == _space, link.c.chain.in_([bindparam(f"chain{index}") for index in range(LOOKED_UP)])),
    ),
)
