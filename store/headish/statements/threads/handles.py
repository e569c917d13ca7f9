"""The statements of ``rows/threads/handles``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, select, text

from headish.database.schema import SHORT_DIGEST, bookmark_log, turn
from headish.rows.payloads import PORTION
from headish.rows.threads.handles import AROUND, BY_HANDLE, LOGGED, TWINS
from headish.statements.compiling import define
from headish.statements.turns import select_turns

_space: BindParameter[int] = bindparam("space")

_IDS = ", ".join(f":{each}" for each in PORTION)

_SHORT, _OTHERS = "substr(t.digest, 1, 8)", "substr(o.digest, 1, 8)"

define(
    AROUND,
    text(
        "SELECT t.id, t.digest, "
        f"(SELECT {_OTHERS} FROM turn AS o WHERE o.space = :space AND {_OTHERS} < {_SHORT} "
        f"ORDER BY {_OTHERS} DESC LIMIT 1), "
        f"(SELECT {_OTHERS} FROM turn AS o WHERE o.space = :space AND {_OTHERS} > {_SHORT} "
        f"ORDER BY {_OTHERS} LIMIT 1), "
        f"(SELECT o.id FROM turn AS o WHERE o.space = :space AND {_OTHERS} = {_SHORT} AND o.id <> t.id LIMIT 1) "
        f"FROM turn AS t WHERE t.space = :space AND t.id IN ({_IDS})"
    ),
)

define(
    TWINS,
    select(turn.c.id)
    .where(turn.c.space == _space, bindparam("short") == SHORT_DIGEST)
    .limit(bindparam("limit"))
    .with_hint(turn, "INDEXED BY turn_digest", "sqlite"),
)

define(
    BY_HANDLE,
    select_turns()
    .where(
        bindparam("low_short") <= SHORT_DIGEST,
        bindparam("high_short") >= SHORT_DIGEST,
        turn.c.digest >= bindparam("low"),
        turn.c.digest <= bindparam("high"),
        turn.c.id.like(bindparam("ending")),
    )
    .limit(bindparam("limit"))
    .with_hint(turn, "INDEXED BY turn_digest", "sqlite"),
)

_names: list[BindParameter[bytes]] = [bindparam(each) for each in PORTION]

define(
    LOGGED,
    select(bookmark_log.c.name).where(bookmark_log.c.space == _space, bookmark_log.c.name.in_(_names)).distinct(),
)
