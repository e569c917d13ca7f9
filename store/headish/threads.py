"""Reading whole threads: the statements that step from fork to fork.

``reach`` is the set of places that a head leads to, one for each link followed; ``top`` is how far into each chain.
Both take as many steps as there are forks, however long the chains are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, BigInteger, BindParameter, Select, and_, bindparam, cast, func, literal_column, select

from headish.dialects import Connection, Query, Row
from headish.order import Place
from headish.schema import link, payload, turn
from headish.turns import StoredTurn

_space: BindParameter[int] = bindparam("space")
_columns = [*(turn.c[name] for name in StoredTurn.__struct_fields__ if name != "hash"), payload.c.hash]
_addressed = and_(payload.c.space == turn.c.space, payload.c.number == turn.c.payload)


def _reach() -> CTE:
    start = select(
        cast(bindparam("chain"), BigInteger).label("chain"), cast(bindparam("pos"), BigInteger).label("pos")
    ).cte("reach", recursive=True)
    step = select(link.c.parent_chain, link.c.parent_pos).where(link.c.space == _space, link.c.chain == start.c.chain)
    return start.union(step)


def _top() -> CTE:
    reach = _reach()
    return select(reach.c.chain, func.max(reach.c.pos).label("pos")).group_by(reach.c.chain).cte("top")


def _thread(top: CTE) -> Select[Any]:
    within = and_(turn.c.space == _space, turn.c.chain == top.c.chain, turn.c.pos <= top.c.pos)
    return select(*_columns, payload.c.data).select_from(top.join(turn, within).join(payload, _addressed))


_links = _reach()
READ_LINKS = Query(
    "links that lead to a place",
    select(link.c.chain, link.c.parent_chain, link.c.parent_pos)
    .where(link.c.space == _space, link.c.chain.in_(select(_links.c.chain)))
    .order_by(link.c.chain, link.c.ordinal),
)
READ_THREAD = Query("turns that lead to a place, with payloads", _thread(_top()))
_options = _top()
READ_INHERITED = Query(
    "turns that set options on the way to a place",
    select(turn.c.chain, turn.c.pos, turn.c.id, turn.c.inherited).where(
        turn.c.space == _space,
        turn.c.chain == _options.c.chain,
        turn.c.pos <= _options.c.pos,
        literal_column("turn.inherited").is_not(None),
    ),
)


def _tree() -> CTE:
    """The chains of a whole tree: up to those that continue nothing, then down to all that grew from them."""
    up = select(cast(bindparam("chain"), BigInteger).label("chain")).cte("up", recursive=True)
    up = up.union(select(link.c.parent_chain).where(link.c.space == _space, link.c.chain == up.c.chain))
    down = select(up.c.chain.label("chain")).cte("down", recursive=True)
    return down.union(select(link.c.chain).where(link.c.space == _space, link.c.parent_chain == down.c.chain))


_chains = _tree()
READ_TREE = Query(
    "turns of a tree, with payloads",
    select(*_columns, payload.c.data)
    .select_from(
        _chains.join(turn, and_(turn.c.space == _space, turn.c.chain == _chains.c.chain)).join(payload, _addressed)
    )
    .order_by(turn.c.seq),
)
_tree_links = _tree()
READ_TREE_LINKS = Query(
    "links of a tree",
    select(link.c.chain, link.c.parent_chain, link.c.parent_pos)
    .where(link.c.space == _space, link.c.chain.in_(select(_tree_links.c.chain)))
    .order_by(link.c.chain, link.c.ordinal),
)


def read_links(connection: Connection, space: int, head: Place) -> dict[int, list[Place]]:
    """For each chain on the way to ``head``: what its first turn continues, in order."""
    return _grouped(connection.rows(READ_LINKS, space=space, chain=head.chain, pos=head.pos))


def read_thread(connection: Connection, space: int, head: Place) -> list[tuple[StoredTurn, bytes]]:
    """The turns that lead to ``head`` with their payloads, in no order."""
    return _with_payloads(connection.rows(READ_THREAD, space=space, chain=head.chain, pos=head.pos))


def read_inherited(connection: Connection, space: int, head: Place) -> Sequence[Row]:
    """``(chain, pos, id, inherited)`` of the turns that set options on the way to ``head``, in no order."""
    return connection.rows(READ_INHERITED, space=space, chain=head.chain, pos=head.pos)


def read_tree(connection: Connection, space: int, place: Place) -> list[tuple[StoredTurn, bytes]]:
    """All turns of the tree that ``place`` belongs to, with payloads, in commit order."""
    return _with_payloads(connection.rows(READ_TREE, space=space, chain=place.chain))


def read_tree_links(connection: Connection, space: int, place: Place) -> dict[int, list[Place]]:
    """The links of all chains of a tree."""
    return _grouped(connection.rows(READ_TREE_LINKS, space=space, chain=place.chain))


def _with_payloads(rows: Sequence[Row]) -> list[tuple[StoredTurn, bytes]]:
    return [(StoredTurn(*row[:-1]), row[-1]) for row in rows]


def _grouped(rows: Sequence[Row]) -> dict[int, list[Place]]:
    links: dict[int, list[Place]] = {}
    for chain, parent_chain, parent_pos in rows:
        links.setdefault(chain, []).append(Place(parent_chain, parent_pos))
    return links
