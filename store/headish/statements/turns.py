"""The statements of ``rows/turns``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BindParameter,
    LargeBinary,
    Select,
    and_,
    bindparam,
    case,
    column,
    exists,
    func,
    insert,
    literal_column,
    select,
    text,
    true,
)

from headish.database.schema import counter, link, turn
from headish.rows.payloads import PORTION
from headish.rows.turns import (
    ADD_BARE_TURN,
    ADD_LINK,
    ADD_TURN,
    AT_DIGEST,
    AT_PLACE,
    BY_DIGEST,
    BY_ID,
    BY_KEY,
    BY_PREFIX,
    BY_SEQ,
    LINKS_OF,
    NEWEST,
    PARENT_AT,
    RANGE,
    TIP,
    StoredTurn,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

COLUMNS = [turn.c[name] for name in StoredTurn._fields]


def select_turns() -> Select[Any]:
    """A statement of ``StoredTurn``'s columns in a space, to be narrowed down."""
    return select(*COLUMNS).where(turn.c.space == _space)


_other = turn.alias("other")

define(AT_PLACE, select_turns().where(turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos")))

define(
    PARENT_AT,
    select(turn.c.id, turn.c.digest, turn.c.head).where(
        turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos")
    ),
)

define(BY_ID, select_turns().where(turn.c.id == bindparam("id")))

define(BY_KEY, select_turns().where(turn.c.key == bindparam("key")))

define(BY_SEQ, select_turns().where(turn.c.seq == bindparam("seq")))

define(
    BY_PREFIX,
    select_turns()
    .where(turn.c.id >= bindparam("low"), turn.c.id < bindparam("high"))
    .order_by(turn.c.id)
    .limit(bindparam("limit")),
)
# Not the highest number: what arrives from elsewhere is not what was said here last.
define(
    NEWEST,
    select_turns().where(turn.c.seq == select(counter.c.latest).where(counter.c.space == _space).scalar_subquery()),
)

_end = (
    select(func.max(turn.c.pos).label("pos"))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"))
    .subquery("chain_end")
)

_branched = exists().where(
    link.c.space == _space, link.c.parent_chain == bindparam("chain"), link.c.parent_pos == bindparam("pos")
)
# Whoever continues the middle of a chain need not look at the links: its next turn continues that place.
define(
    TIP,
    select(_end.c.pos, case((_end.c.pos == bindparam("pos"), _branched), else_=true())),
)
# First from digests to places, in the index alone, then to the turns: asked for whole turns, SQLite rates the index no
# better than the primary key and reads the whole space.
_rows = text(" UNION ALL ".join(f"SELECT :{each} AS digest" for each in PORTION))

_wanted = _rows.columns(column("digest", LargeBinary)).cte("wanted")

_short = func.substr(_wanted.c.digest, literal_column("1"), literal_column("8"))

_others = func.substr(_other.c.digest, literal_column("1"), literal_column("8"))

define(
    BY_DIGEST,
    select(*COLUMNS).select_from(
        _wanted.outerjoin(
            _other, and_(_other.c.space == _space, _others == _short, _other.c.digest == _wanted.c.digest)
        ).outerjoin(turn, and_(turn.c.space == _space, turn.c.chain == _other.c.chain, turn.c.pos == _other.c.pos))
    ),
)

define(
    AT_DIGEST,
    select(_other.c.digest, _other.c.seq, _other.c.chain, _other.c.pos).select_from(
        _wanted.join(_other, and_(_other.c.space == _space, _others == _short, _other.c.digest == _wanted.c.digest))
    ),
)

define(ADD_TURN, insert(turn).values({column.name: bindparam(column.name) for column in turn.c}))

_BARE = ("space", "chain", "pos", "seq", "id", "role", "digest", "hash", "data", "seal", "head", "app")

define(ADD_BARE_TURN, insert(turn).values({name: bindparam(name) for name in _BARE}))

define(ADD_LINK, insert(link).values({column.name: bindparam(column.name) for column in link.c}))

define(
    LINKS_OF,
    select(link.c.parent_chain, link.c.parent_pos)
    .where(link.c.space == _space, link.c.chain == bindparam("chain"))
    .order_by(link.c.ordinal),
)

define(
    RANGE,
    select_turns()
    .where(turn.c.chain == bindparam("chain"), turn.c.pos.between(bindparam("low"), bindparam("high")))
    .order_by(turn.c.pos),
)
