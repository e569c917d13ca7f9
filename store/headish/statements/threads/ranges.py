"""The statements of ``rows/threads/ranges``."""

from __future__ import annotations

from sqlalchemy import BigInteger, bindparam, func, select

from headish.database.schema import bookmark, payload, turn
from headish.rows.threads.ranges import IDS_OF_RANGE, LAST_IDS, SAID_RANGE, SMALL_PAYLOADS, WHOLE_RANGE
from headish.statements.compiling import define
from headish.statements.payloads import OF_TURN
from headish.statements.turns import COLUMNS

define(
    WHOLE_RANGE,
    select(*COLUMNS, func.coalesce(turn.c.data, payload.c.data))
    # Most payloads stand in their rows: then no other table is looked at.
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(
        turn.c.space == bindparam("space"),
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)

define(
    SAID_RANGE,
    select(
        turn.c.pos,
        turn.c.id,
        turn.c.role,
        turn.c.type,
        turn.c.attributes,
        turn.c.system,
        turn.c.app,
        turn.c.hash,
        turn.c.erased,
        func.coalesce(turn.c.data, payload.c.data),
    )
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(
        turn.c.space == bindparam("space"),
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)

define(
    IDS_OF_RANGE,
    select(turn.c.id, turn.c.erased)
    .where(
        turn.c.space == bindparam("space"),
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)

define(
    LAST_IDS,
    select(turn.c.id, turn.c.erased)
    .select_from(bookmark.join(turn, (turn.c.space == bindparam("space")) & (turn.c.chain == bookmark.c.chain)))
    .where(
        bookmark.c.space == bindparam("space"),
        bookmark.c.name == bindparam("name"),
        turn.c.pos.between(bookmark.c.pos - bindparam("before", type_=BigInteger), bookmark.c.pos),
    )
    .order_by(turn.c.pos),
)

define(
    SMALL_PAYLOADS,
    select(turn.c.pos, turn.c.data).where(
        turn.c.space == bindparam("space"),
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
        turn.c.data.is_not(None),
    ),
)
