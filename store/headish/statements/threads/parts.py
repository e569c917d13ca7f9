"""The statements of ``rows/threads/parts``."""

from __future__ import annotations

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

from headish.database.schema import link, turn
from headish.rows.threads.parts import CONTINUED, FORKED, GROWN, SIZES
from headish.statements.compiling import define
from headish.statements.threads.places import wanted_places
from headish.statements.threads.walks import chains_of_tree

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
define(
    GROWN,
    select(_reached.c.chain, _reached.c.pos).limit(bindparam("limit")),
)

_chains = chains_of_tree()

_size = (
    select(func.max(turn.c.pos) + literal_column("1"))
    .where(turn.c.space == _space, turn.c.chain == _chains.c.chain)
    .scalar_subquery()
)

define(SIZES, select(_size).select_from(_chains).limit(bindparam("limit")))

_wanted = wanted_places()

_other = turn.alias("other")

define(
    CONTINUED,
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


define(
    FORKED,
    select(link.c.chain)
    .where(link.c.space == _space, link.c.parent_chain == bindparam("chain"), link.c.parent_pos >= bindparam("pos"))
    .limit(1),
)
