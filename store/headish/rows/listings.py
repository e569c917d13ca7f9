"""Lists of turns: in commit order, by place, those that continue a turn, those that nothing continues; and counts."""

from __future__ import annotations

from typing import NamedTuple

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

from headish.database.query import Connection, Query
from headish.database.schema import erasure, link, payload, turn
from headish.rows.bookmarks import ALL
from headish.rows.payloads import OF_TURN
from headish.rows.turns import COLUMNS, StoredTurn, read_turns, select_turns
from headish.values.places import Place

CHAINS_READ = 500
"""The ends of how many chains one statement reads."""

_space: BindParameter[int] = bindparam("space")
_other = turn.alias("other")

AFTER = Query(
    "turns after a commit number",
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
    # So it does on SQLite if a value is cast: the comparison then is not the index's own.
    .where(
        tuple_(turn.c.chain, turn.c.pos)
        > tuple_(bindparam("chain", type_=BigInteger), bindparam("pos", type_=BigInteger))
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
HEADS_BY_TIP = Query(
    "turns that nothing continues, the last stored first",
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
ENDS = Query(
    "last turns of chains, the youngest chain first",
    select(_branch, *COLUMNS).select_from(
        _ends.outerjoin(turn, and_(turn.c.space == _space, turn.c.chain == _ends.c.chain, turn.c.pos == _ends.c.pos))
    ),
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


def children(connection: Connection, space: int, place: Place, *, after: int = 0, limit: int = ALL) -> list[StoredTurn]:
    """The turns that continue the one at a place, in commit order, behind a commit number; ``limit`` at the most.

    Cost: one statement. PostgreSQL looks at an index entry for each of them.
    """
    rows = connection.rows(CHILDREN, space=space, chain=place.chain, pos=place.pos, seq=after, limit=limit)
    found = (stored for stored in read_turns(row for row in rows if row[0] is not None) if stored.seq > after)
    return sorted(found, key=lambda stored: stored.seq)[:limit]


def heads(connection: Connection, space: int, *, before: int = ALL, limit: int = ALL) -> list[StoredTurn]:
    """The turns that nothing continues, those of the youngest chain first; of chains below a number.

    Cost: one statement for as many chains as turns are wanted, ``CHAINS_READ`` at the most; more where chains have no
    head, since turns of other chains continue their ends.
    """
    found: list[StoredTurn] = []
    while len(found) < limit:
        wanted = min(limit - len(found), CHAINS_READ)
        rows = [row for row in connection.rows(ENDS, space=space, before=before, limit=wanted) if row[1] is not None]
        ends = sorted(read_turns(row[1:] for row in rows), key=lambda stored: -stored.chain)
        continued = {row[1] for row in rows if row[0] is not None}
        found += [stored for stored in ends if stored.chain not in continued]
        if len(ends) < wanted:
            break
        before = ends[-1].chain
    return found


def heads_by_tip(connection: Connection, space: int, *, before: int = ALL, limit: int = ALL) -> list[StoredTurn]:
    """The turns that nothing continues, the last stored first; those below a commit number.

    Cost: one statement, with a few index look-ups for each chain of the space.
    """
    return read_turns(connection.rows(HEADS_BY_TIP, space=space, before=before, limit=limit))


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
