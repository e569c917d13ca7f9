"""The statements of ``rows/threads/listings``."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Integer,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)

from headish.database.schema import erasure, link, payload, turn
from headish.rows.threads.listings import (
    AFTER,
    CHILDREN,
    COUNT_HEADS,
    COUNT_ROOTS,
    COUNT_TURNS,
    ENDS,
    HEADS_BY_TIP,
    LINKS_BETWEEN,
    LINKS_OF_NOTHING,
    ORPHANS,
    PAGE,
    SUM_PAYLOADS,
    UNRECEIPTED,
)
from headish.statements.compiling import define
from headish.statements.payloads import OF_TURN
from headish.statements.turns import COLUMNS, select_turns

_space: BindParameter[int] = bindparam("space")

_other = turn.alias("other")

define(
    AFTER,
    select_turns().where(turn.c.seq > bindparam("seq")).order_by(turn.c.seq).limit(bindparam("limit")),
)
# The next of the same chain, if there is one, and the first of each chain that begins here, as many as are wanted: the
# number of a chain is the commit number of its first. The outer join fixes the order: left to itself, SQLite begins
# with every turn of the space.
_begun = (
    select(link.c.chain, literal_column("0").label("pos"))
    .where(
        link.c.space == _space,
        link.c.parent_chain == bindparam("chain"),
        link.c.parent_pos == bindparam("pos"),
        link.c.chain > bindparam("seq"),
    )
    .order_by(link.c.chain)
    .limit(bindparam("limit"))
    .subquery("begun")
)

_continuing = union_all(
    select(cast(bindparam("chain"), BigInteger).label("chain"), (cast(bindparam("pos"), BigInteger) + 1).label("pos")),
    select(_begun.c.chain, _begun.c.pos),
).cte("continuing")

define(
    CHILDREN,
    select(*COLUMNS).select_from(
        _continuing.outerjoin(
            turn, and_(turn.c.space == _space, turn.c.chain == _continuing.c.chain, turn.c.pos == _continuing.c.pos)
        )
    ),
)

define(
    PAGE,
    select_turns()
    .add_columns(turn.c.data)
    # A row value seeks along the primary key on both databases; the same condition in OR and AND reads from the start.
    # So it does on SQLite if a value is cast: the comparison then is not the index's own.
    .where(
        tuple_(turn.c.chain, turn.c.pos)
        > tuple_(bindparam("chain", type_=BigInteger), bindparam("pos", type_=BigInteger))
    )
    .order_by(turn.c.chain, turn.c.pos)
    .limit(bindparam("limit")),
)

define(
    LINKS_BETWEEN,
    select(link.c.chain, link.c.ordinal, link.c.parent_chain, link.c.parent_pos, turn.c.id, turn.c.digest, turn.c.seq)
    .select_from(
        link.outerjoin(
            turn,
            and_(
                turn.c.space == _space,
                turn.c.chain == link.c.parent_chain,
                turn.c.pos == link.c.parent_pos,
            ),
        )
    )
    .where(link.c.space == _space, link.c.chain.between(bindparam("low"), bindparam("high")))
    .order_by(link.c.chain, link.c.ordinal),
)

define(
    ORPHANS,
    select(turn.c.id)
    .where(
        turn.c.space == _space,
        turn.c.data.is_(None),
        turn.c.erased.is_(None),
        ~exists().where(payload.c.space == _space, payload.c.hash == turn.c.hash),
    )
    .order_by(turn.c.id),
)

define(
    UNRECEIPTED,
    select(turn.c.id)
    .where(
        turn.c.space == _space,
        turn.c.erased.is_not(None),
        ~exists().where(erasure.c.space == _space, erasure.c.number == turn.c.erased),
    )
    .order_by(turn.c.id),
)

define(
    LINKS_OF_NOTHING,
    select(link.c.chain, link.c.ordinal)
    .where(
        link.c.space == _space,
        ~exists().where(turn.c.space == _space, turn.c.chain == link.c.chain, turn.c.pos == 0),
    )
    .order_by(link.c.chain, link.c.ordinal),
)

define(COUNT_TURNS, select(func.count()).where(turn.c.space == _space))
# The chains of a space, by skipping from one to the next along the primary key instead of reading every turn.
_chain = select(func.min(turn.c.chain).label("chain")).where(turn.c.space == _space).cte("chains", recursive=True)

_next = select(func.min(_other.c.chain)).where(_other.c.space == _space, _other.c.chain > _chain.c.chain)

_chains = _chain.union_all(select(_next.scalar_subquery()).where(_chain.c.chain.is_not(None)))

_last = (
    select(_other.c.pos)
    .where(_other.c.space == _space, _other.c.chain == _chains.c.chain)
    .order_by(_other.c.pos.desc())
    .limit(1)
    .scalar_subquery()
)

define(
    HEADS_BY_TIP,
    select_turns()
    .where(
        turn.c.chain == _chains.c.chain,
        turn.c.pos == _last,
        turn.c.seq < bindparam("before"),
        ~exists().where(link.c.space == _space, link.c.parent_chain == turn.c.chain, link.c.parent_pos == turn.c.pos),
    )
    .order_by(turn.c.seq.desc())
    .limit(bindparam("limit")),
)
# The chains below a number, the highest first: as many as are wanted, and no more of the space is looked at.
_below = (
    select(func.max(turn.c.chain).label("chain"), literal_column("1", Integer).label("number"))
    .where(turn.c.space == _space, turn.c.chain < bindparam("before"))
    .cte("below", recursive=True)
)

_lower = select(func.max(_other.c.chain)).where(_other.c.space == _space, _other.c.chain < _below.c.chain)

_below = _below.union_all(
    select(_lower.scalar_subquery(), _below.c.number + literal_column("1")).where(
        _below.c.chain.is_not(None), _below.c.number < bindparam("limit")
    )
)

_end = (
    select(func.max(_other.c.pos)).where(_other.c.space == _space, _other.c.chain == _below.c.chain).scalar_subquery()
)

_ends = select(_below.c.chain, _end.label("pos")).cte("ends")

_branch = (
    select(link.c.chain)
    .where(link.c.space == _space, link.c.parent_chain == _ends.c.chain, link.c.parent_pos == _ends.c.pos)
    .limit(1)
    .scalar_subquery()
)

define(
    ENDS,
    select(_branch, *COLUMNS).select_from(
        _ends.outerjoin(turn, and_(turn.c.space == _space, turn.c.chain == _ends.c.chain, turn.c.pos == _ends.c.pos))
    ),
)

define(
    COUNT_HEADS,
    select(func.count())
    .select_from(turn)
    .where(
        turn.c.space == _space,
        turn.c.chain == _chains.c.chain,
        turn.c.pos == _last,
        ~exists().where(link.c.space == _space, link.c.parent_chain == turn.c.chain, link.c.parent_pos == turn.c.pos),
    ),
)

define(
    SUM_PAYLOADS,
    select(func.coalesce(func.sum(func.coalesce(func.length(turn.c.data), payload.c.size, 0)), 0))
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(turn.c.space == _space),
)

define(
    COUNT_ROOTS,
    select(func.count())
    .select_from(_chains)
    .where(_chains.c.chain.is_not(None), ~exists().where(link.c.space == _space, link.c.chain == _chains.c.chain)),
)
