"""Parts of a large tree: what grew from a turn, as far as it is wanted, and how many turns continue each."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Integer,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from headish.database.query import Connection, Query
from headish.database.schema import link, turn
from headish.rows.places import place_portions, wanted_places
from headish.rows.walks import chains_of_tree
from headish.values.places import Place

_space: BindParameter[int] = bindparam("space")
_grown = select(
    cast(bindparam("chain"), BigInteger).label("chain"), cast(bindparam("pos"), BigInteger).label("pos")
).cte("grown", recursive=True)
# A recursive statement may name its own table once only: each place is looked at in two ways.
_ways = union_all(
    select(literal_column("0", Integer).label("way")), select(literal_column("1", Integer).label("way"))
).subquery("ways")
_next = and_(
    _ways.c.way == literal_column("0"),
    turn.c.space == _space,
    turn.c.chain == _grown.c.chain,
    turn.c.pos == _grown.c.pos + literal_column("1"),
)
_forked = and_(
    _ways.c.way == literal_column("1"),
    link.c.space == _space,
    link.c.parent_chain == _grown.c.chain,
    link.c.parent_pos == _grown.c.pos,
)
_step = (
    select(func.coalesce(turn.c.chain, link.c.chain), func.coalesce(turn.c.pos, literal_column("0")))
    .select_from(_grown.join(_ways, true()).outerjoin(turn, _next).outerjoin(link, _forked))
    .where(or_(turn.c.chain.is_not(None), link.c.chain.is_not(None)))
)
_reached = _grown.union(_step)
# Both databases yield the rows of a recursion as they are found, a step further from the start each time.
GROWN = Query(
    "places that grew from a place, the nearest first",
    select(_reached.c.chain, _reached.c.pos).limit(bindparam("limit")),
)
_chains = chains_of_tree()
_size = (
    select(func.max(turn.c.pos) + literal_column("1"))
    .where(turn.c.space == _space, turn.c.chain == _chains.c.chain)
    .scalar_subquery()
)
SIZES = Query("lengths of the chains of a tree", select(_size).select_from(_chains).limit(bindparam("limit")))
_wanted = wanted_places()
_other = turn.alias("other")
CONTINUED = Query(
    "how many turns continue each of some places",
    select(
        _wanted.c.chain,
        _wanted.c.pos,
        select(func.count())
        .where(link.c.space == _space, link.c.parent_chain == _wanted.c.chain, link.c.parent_pos == _wanted.c.pos)
        .scalar_subquery()
        + case((_other.c.pos.is_(None), literal_column("0")), else_=literal_column("1")),
    ).select_from(
        _wanted.outerjoin(
            _other,
            and_(
                _other.c.space == _space,
                _other.c.chain == _wanted.c.chain,
                _other.c.pos == _wanted.c.pos + literal_column("1"),
            ),
        )
    ),
)


def grown_from(connection: Connection, space: int, place: Place, limit: int) -> list[Place]:
    """A place and those that grew from it, the nearest first; ``limit`` at the most.

    Cost: one statement, which looks at as many places as it gives, and at all that continue one of them.
    """
    rows = connection.rows(GROWN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [Place(*row) for row in rows]


def has_at_most(connection: Connection, space: int, place: Place, limit: int) -> bool:
    """Whether the tree that a place belongs to has so many turns, or fewer.

    Cost: one statement; a step for each chain on the way to the roots, and for at most ``limit`` others.
    """
    sizes = connection.rows(SIZES, space=space, chain=place.chain, limit=limit + 1)
    return sum(int(size or 0) for (size,) in sizes) <= limit


def count_continuing(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, int]:
    """How many turns continue the turn at each place. Cost: one statement for each ``LOOKED_UP`` places."""
    return {
        Place(chain, pos): int(count)
        for portion in place_portions(places)
        for chain, pos, count in connection.rows(CONTINUED, space=space, **portion)
    }
