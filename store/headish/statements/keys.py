"""The statements of ``rows/keys``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, select

from headish.database.schema import turn
from headish.rows.keys import BY_IDS, BY_KEY, BY_KEYS, IDS, SUPERSEDING, SUPERSEDING_SOME
from headish.rows.payloads import PORTION
from headish.statements.compiling import define
from headish.statements.turns import select_turns

_space: BindParameter[int] = bindparam("space")
# A turn that lost its meta has the hash of its key.
_hashed = [f"{each}_hash" for each in PORTION]

define(BY_KEYS, select_turns().where(turn.c.key.in_([bindparam(each) for each in (*PORTION, *_hashed)])))

define(BY_KEY, select_turns().where(turn.c.key.in_([bindparam("key"), bindparam("key_hash")])))
# Without an order: to save the sort, SQLite would read the whole space by its commit numbers.
define(SUPERSEDING, select_turns().where(turn.c.supersedes == bindparam("id")))

define(
    SUPERSEDING_SOME,
    select_turns().where(turn.c.supersedes.in_([bindparam(each) for each in PORTION])),
)

define(BY_IDS, select_turns().where(turn.c.id.in_([bindparam(each) for each in PORTION])))

define(
    IDS,
    select(turn.c.id).where(turn.c.space == _space, turn.c.id.in_([bindparam(each) for each in PORTION])),
)
