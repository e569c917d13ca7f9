"""Lists of turns: in commit order, by place, those that continue a turn, those that nothing continues; and counts."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
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

from headish.database.query import Connection, Query
from headish.database.schema import erasure, link, payload, turn
from headish.rows.payloads import OF_TURN
from headish.rows.turns import COLUMNS, StoredTurn, read_turns, select_turns
from headish.values.places import Place

_space: BindParameter[int] = bindparam("space")
_other = turn.alias("other")

AFTER = Query(
    "turns after a commit number",
    select_turns().where(turn.c.seq > bindparam("seq")).order_by(turn.c.seq).limit(bindparam("limit")),
)
# The next of the same chain, if there is one, and the first of each chain that begins here. The outer join fixes
# the order: left to itself, SQLite begins with every turn of the space.
_continuing = union_all(
    select(cast(bindparam("chain"), BigInteger).label("chain"), (cast(bindparam("pos"), BigInteger) + 1).label("pos")),
    select(link.c.chain, literal_column("0")).where(
        link.c.space == _space, link.c.parent_chain == bindparam("chain"), link.c.parent_pos == bindparam("pos")
    ),
).cte("continuing")
CHILDREN = Query(
    "turns that continue a place",
    select(*COLUMNS).select_from(
        _continuing.outerjoin(
            turn, and_(turn.c.space == _space, turn.c.chain == _continuing.c.chain, turn.c.pos == _continuing.c.pos)
        )
    ),
)
PAGE = Query(
    "turns by place, a page, with the bytes in their rows",
    select_turns()
    .add_columns(turn.c.data)
    # A row value seeks along the primary key on both databases; the same condition in OR and AND reads from the start.
    .where(
        tuple_(turn.c.chain, turn.c.pos)
        > tuple_(cast(bindparam("chain"), BigInteger), cast(bindparam("pos"), BigInteger))
    )
    .order_by(turn.c.chain, turn.c.pos)
    .limit(bindparam("limit")),
)
LINKS_BETWEEN = Query(
    "links of a range of chains",
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

ORPHANS = Query(
    "turns without a payload",
    select(turn.c.id)
    .where(
        turn.c.space == _space,
        turn.c.data.is_(None),
        turn.c.erased.is_(None),
        ~exists().where(payload.c.space == _space, payload.c.hash == turn.c.hash),
    )
    .order_by(turn.c.id),
)
UNRECEIPTED = Query(
    "erased turns without a receipt",
    select(turn.c.id)
    .where(
        turn.c.space == _space,
        turn.c.erased.is_not(None),
        ~exists().where(erasure.c.space == _space, erasure.c.number == turn.c.erased),
    )
    .order_by(turn.c.id),
)
LINKS_OF_NOTHING = Query(
    "links of chains without a first turn",
    select(link.c.chain, link.c.ordinal)
    .where(
        link.c.space == _space,
        ~exists().where(turn.c.space == _space, turn.c.chain == link.c.chain, turn.c.pos == 0),
    )
    .order_by(link.c.chain, link.c.ordinal),
)
COUNT_TURNS = Query("count turns", select(func.count()).where(turn.c.space == _space))
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
HEADS = Query(
    "turns that nothing continues",
    select_turns()
    .where(
        turn.c.chain == _chains.c.chain,
        turn.c.pos == _last,
        ~exists().where(link.c.space == _space, link.c.parent_chain == turn.c.chain, link.c.parent_pos == turn.c.pos),
    )
    .order_by(turn.c.seq.desc()),
)
COUNT_HEADS = Query(
    "count turns that nothing continues",
    select(func.count())
    .select_from(turn)
    .where(
        turn.c.space == _space,
        turn.c.chain == _chains.c.chain,
        turn.c.pos == _last,
        ~exists().where(link.c.space == _space, link.c.parent_chain == turn.c.chain, link.c.parent_pos == turn.c.pos),
    ),
)
SUM_PAYLOADS = Query(
    "bytes of the payloads of all turns",
    select(func.coalesce(func.sum(func.coalesce(func.length(turn.c.data), payload.c.size, 0)), 0))
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(turn.c.space == _space),
)
COUNT_ROOTS = Query(
    "count turns that continue nothing",
    select(func.count())
    .select_from(_chains)
    .where(_chains.c.chain.is_not(None), ~exists().where(link.c.space == _space, link.c.chain == _chains.c.chain)),
)


def turns_after(connection: Connection, space: int, seq: int, limit: int) -> list[StoredTurn]:
    """A page of turns in commit order."""
    return read_turns(connection.rows(AFTER, space=space, seq=seq, limit=limit))


def children(connection: Connection, space: int, place: Place) -> list[StoredTurn]:
    """The turns that continue the one at a place, in commit order."""
    rows = connection.rows(CHILDREN, space=space, chain=place.chain, pos=place.pos)
    return sorted(read_turns(row for row in rows if row[0] is not None), key=lambda stored: stored.seq)


def heads(connection: Connection, space: int) -> list[StoredTurn]:
    """The turns that nothing continues, newest first. Cost: a few index look-ups for each chain."""
    return read_turns(connection.rows(HEADS, space=space))


def turns_page(connection: Connection, space: int, after: Place, limit: int) -> list[tuple[StoredTurn, bytes | None]]:
    """A page of turns by place, each with the bytes that stand in its row."""
    rows = connection.rows(PAGE, space=space, chain=after.chain, pos=after.pos, limit=limit)
    return [(StoredTurn._make(row[:-1]), row[-1]) for row in rows]


class Counted(NamedTuple):
    """What a space holds, counted again."""

    turns: int
    roots: int
    heads: int
    given_bytes: int


def count_again(connection: Connection, space: int) -> Counted:
    """Count what the counter keeps. Cost: four statements that read the whole space."""
    counts = (connection.row(query, space=space) for query in (COUNT_TURNS, COUNT_ROOTS, COUNT_HEADS, SUM_PAYLOADS))
    return Counted(*(0 if row is None else int(row[0]) for row in counts))
