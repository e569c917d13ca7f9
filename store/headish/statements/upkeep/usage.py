"""The statements of ``history/reading/usage``."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from headish.database.schema import turn
from headish.history.reading.outgrown import REPLACING
from headish.history.reading.usage import KEPT_AFTER
from headish.statements.compiling import define

define(
    KEPT_AFTER,
    select(turn.c.seq, turn.c.id, turn.c.head, turn.c.system)
    .where(turn.c.space == bindparam("space"), turn.c.seq > bindparam("seq"), turn.c.system.is_not(None))
    .order_by(turn.c.seq)
    .limit(bindparam("limit")),
)

define(
    REPLACING,
    select(turn.c.supersedes, turn.c.system).where(
        turn.c.space == bindparam("space"), turn.c.supersedes.is_not(None), turn.c.system.is_not(None)
    ),
)
