"""The statements of ``rows/threads/walks``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, BigInteger, BindParameter, ColumnElement, Select, and_, bindparam, cast, func, or_, select

from headish.database.schema import link, payload, turn
from headish.rows.threads.walks import (
    HAS_LINKS,
    READ_CHAIN,
    READ_INHERITED,
    READ_INHERITED_OF_SEVERAL,
    READ_LINKS,
    READ_LINKS_OF_SEVERAL,
    READ_MARKED,
    READ_NEWEST,
    READ_PLACES,
    READ_THREAD,
    READ_THREADS,
    READ_TREE,
    READ_TREE_LINKS,
    Walked,
)
from headish.statements.compiling import define
from headish.statements.payloads import OF_TURN
from headish.statements.threads.places import wanted_places

_space: BindParameter[int] = bindparam("space")

_columns: list[ColumnElement[Any]] = [
    *(turn.c[name] for name in Walked._fields[:-1]),
    func.coalesce(turn.c.data, payload.c.data),
]
# Most payloads stand in their rows: then no other table is looked at.
_addressed = OF_TURN & turn.c.data.is_(None)


def _reach(ends: CTE | None = None) -> CTE:
    """From one place, or from the places of a table."""
    one = (cast(bindparam("chain"), BigInteger).label("chain"), cast(bindparam("pos"), BigInteger).label("pos"))
    start = select(*(one if ends is None else (ends.c.chain, ends.c.pos)))
    reach = start.cte("reach", recursive=True)
    step = select(link.c.parent_chain, link.c.parent_pos).where(link.c.space == _space, link.c.chain == reach.c.chain)
    return reach.union(step)


def _top(reach: CTE) -> CTE:
    return select(reach.c.chain, func.max(reach.c.pos).label("pos")).group_by(reach.c.chain).cte("top")


def _thread(top: CTE) -> Select[Any]:
    # Outer joins, because they fix the order: left to itself, SQLite begins with every turn of the space.
    within = and_(turn.c.space == _space, turn.c.chain == top.c.chain, turn.c.pos <= top.c.pos)
    return select(*_columns).select_from(top.outerjoin(turn, within).outerjoin(payload, _addressed))


# Beginning a recursion costs more than reading a few turns, and most threads are one chain.
define(
    HAS_LINKS,
    select(link.c.ordinal).where(link.c.space == _space, link.c.chain == bindparam("chain")).limit(1),
)

define(READ_THREAD, _thread(_top(_reach())))

define(
    READ_CHAIN,
    select(*_columns)
    .select_from(turn.outerjoin(payload, _addressed))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos <= bindparam("pos"))
    .order_by(turn.c.pos),
)

_wanted = wanted_places()

define(
    READ_PLACES,
    select(*_columns).select_from(
        _wanted.outerjoin(
            turn, and_(turn.c.space == _space, turn.c.chain == _wanted.c.chain, turn.c.pos == _wanted.c.pos)
        ).outerjoin(payload, _addressed)
    ),
)


def _inherited(top: CTE) -> Select[Any]:
    within = and_(
        turn.c.space == _space, turn.c.chain == top.c.chain, turn.c.pos <= top.c.pos, turn.c.inherited.is_not(None)
    )
    return (
        select(*[turn.c[name] for name in ("chain", "pos", "id", "inherited")])
        .select_from(top.outerjoin(turn, within))
        # The primary key has the same columns and would read every turn of the thread.
        .with_hint(turn, "INDEXED BY turn_inherited", "sqlite")
    )


def _links(reach: CTE) -> Select[Any]:
    return (
        select(*[link.c[name] for name in ("chain", "parent_chain", "parent_pos")])
        .where(link.c.space == _space, link.c.chain.in_(select(reach.c.chain)))
        .order_by(link.c.chain, link.c.ordinal)
    )


def _ends() -> CTE:
    """What several places lead to: each place once, however many of them lead to it."""
    return _reach(wanted_places("places"))


define(READ_LINKS, _links(_reach()))

define(READ_LINKS_OF_SEVERAL, _links(_ends()))

define(READ_INHERITED, _inherited(_top(_reach())))

define(READ_INHERITED_OF_SEVERAL, _inherited(_top(_ends())))

define(READ_THREADS, _thread(_top(_ends())))


def chains_of_tree() -> CTE:
    """The chains of a tree: up to those that continue nothing, then down to all that grew from them."""
    up = select(cast(bindparam("chain"), BigInteger).label("chain")).cte("up", recursive=True)
    up = up.union(select(link.c.parent_chain).where(link.c.space == _space, link.c.chain == up.c.chain))
    down = select(up.c.chain.label("chain")).cte("down", recursive=True)
    return down.union(select(link.c.chain).where(link.c.space == _space, link.c.parent_chain == down.c.chain))


_chains = chains_of_tree()
# By IN and without an order: for a join, or to save the sort, SQLite would read the whole space.
define(
    READ_TREE,
    select(*_columns)
    .select_from(turn.outerjoin(payload, _addressed))
    .where(turn.c.space == _space, turn.c.chain.in_(select(_chains.c.chain))),
)

_tree_links = chains_of_tree()

define(
    READ_TREE_LINKS,
    select(link.c.chain, link.c.parent_chain, link.c.parent_pos)
    .where(link.c.space == _space, link.c.chain.in_(select(_tree_links.c.chain)))
    .order_by(link.c.chain, link.c.ordinal),
)


def _marked(top: CTE) -> Select[Any]:
    # In the join, not behind it: a condition there would make it an inner one, whose order SQLite chooses.
    within = and_(
        turn.c.space == _space,
        turn.c.chain == top.c.chain,
        turn.c.pos <= top.c.pos,
        or_(turn.c.type.is_not(None), turn.c.attributes.is_not(None)),
    )
    return select(*[turn.c[name] for name in ("type", "attributes")]).select_from(top.outerjoin(turn, within))


define(READ_MARKED, _marked(_top(_reach())))


define(
    READ_NEWEST,
    select(*_columns)
    .select_from(turn.outerjoin(payload, _addressed))
    .where(turn.c.space == _space)
    .order_by(turn.c.seq.desc())
    .limit(bindparam("limit")),
)
