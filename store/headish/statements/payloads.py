"""The statements of ``rows/payloads``."""

from __future__ import annotations

from sqlalchemy import BindParameter, and_, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from headish.database.schema import payload, turn
from headish.rows.payloads import ADD_PAYLOAD, BARRED_AMONG, PAYLOADS_AFTER, PORTION, READ_PAYLOAD
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_new = insert(payload).values(space=_space, hash=bindparam("hash"), size=bindparam("size"), data=bindparam("data"))
# The same words on SQLite. An old row whose bytes are missing or damaged gets them again, so that a turn that was
# acknowledged can be read.
define(
    ADD_PAYLOAD,
    _new.on_conflict_do_update(
        index_elements=[payload.c.space, payload.c.hash],
        set_={"data": _new.excluded.data, "size": _new.excluded.size},
        where=payload.c.data.is_distinct_from(_new.excluded.data) & payload.c.erased.is_(None),
    ),
)

OF_TURN = and_(payload.c.space == _space, payload.c.hash == turn.c.hash, turn.c.erased.is_(None))
"""What a turn's large payload is found by. That of an erased turn may be there still, because another one needs it."""

define(
    READ_PAYLOAD,
    select(func.coalesce(turn.c.data, payload.c.data))
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos")),
)

define(
    BARRED_AMONG,
    select(payload.c.hash, payload.c.erased).where(
        payload.c.space == _space,
        payload.c.hash.in_([bindparam(each) for each in PORTION]),
        payload.c.erased.is_not(None),
    ),
)

define(
    PAYLOADS_AFTER,
    select(payload.c.hash, payload.c.size, payload.c.data, payload.c.erased)
    .where(payload.c.space == _space, payload.c.hash > bindparam("hash"))
    .order_by(payload.c.hash)
    .limit(bindparam("limit")),
)
