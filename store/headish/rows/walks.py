"""Reading whole threads: the statements that step from fork to fork.

``reach`` is the set of places that the end of a thread leads to, one for each link followed; ``top`` is how far into
each chain. Both take as many steps as there are forks, however long the chains are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import CTE, BigInteger, BindParameter, ColumnElement, Select, and_, bindparam, cast, func, select

from headish.database.query import Connection, Query, Row
from headish.database.schema import link, payload, turn
from headish.rows.payloads import OF_TURN
from headish.rows.places import place_portions, wanted_places
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.places import Place


class Walked(NamedTuple):
    """A turn met on a walk: only what a context window needs of it, because a long thread pays for every column.

    ``history/walk`` compared ``payload`` with ``hash``, and both with ``digest``; of what was erased it is a mark.
    Fields in column order, places first: sorted rows are in order.
    """

    chain: int
    pos: int
    seq: int
    id: TurnId
    role: str
    type: str | None
    content_type: str | None
    cache: int | None
    attributes: bytes | None
    inherited: bytes | None
    system: bytes | None
    digest: bytes
    hash: bytes
    payload: bytes | Erased

    @property
    def place(self) -> Place:
        return Place(self.chain, self.pos)


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
HAS_LINKS = Query(
    "whether a chain continues anything",
    select(link.c.ordinal).where(link.c.space == _space, link.c.chain == bindparam("chain")).limit(1),
)
READ_THREAD = Query("turns that lead to a place, with payloads", _thread(_top(_reach())))
READ_CHAIN = Query(
    "turns of a chain up to a place, with payloads",
    select(*_columns)
    .select_from(turn.outerjoin(payload, _addressed))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos <= bindparam("pos"))
    .order_by(turn.c.pos),
)
_wanted = wanted_places()
READ_PLACES = Query(
    "turns at places, with payloads",
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


READ_LINKS = Query("links that lead to a place", _links(_reach()))
READ_LINKS_OF_SEVERAL = Query("links that lead to some places", _links(_ends()))
READ_INHERITED = Query("turns that set options on the way to a place", _inherited(_top(_reach())))
READ_INHERITED_OF_SEVERAL = Query("turns that set options on the way to some places", _inherited(_top(_ends())))
READ_THREADS = Query("turns that lead to some places, with payloads", _thread(_top(_ends())))


def chains_of_tree() -> CTE:
    """The chains of a tree: up to those that continue nothing, then down to all that grew from them."""
    up = select(cast(bindparam("chain"), BigInteger).label("chain")).cte("up", recursive=True)
    up = up.union(select(link.c.parent_chain).where(link.c.space == _space, link.c.chain == up.c.chain))
    down = select(up.c.chain.label("chain")).cte("down", recursive=True)
    return down.union(select(link.c.chain).where(link.c.space == _space, link.c.parent_chain == down.c.chain))


_chains = chains_of_tree()
# By IN and without an order: for a join, or to save the sort, SQLite would read the whole space.
READ_TREE = Query(
    "turns of a tree, with payloads",
    select(*_columns)
    .select_from(turn.outerjoin(payload, _addressed))
    .where(turn.c.space == _space, turn.c.chain.in_(select(_chains.c.chain))),
)
_tree_links = chains_of_tree()
READ_TREE_LINKS = Query(
    "links of a tree",
    select(link.c.chain, link.c.parent_chain, link.c.parent_pos)
    .where(link.c.space == _space, link.c.chain.in_(select(_tree_links.c.chain)))
    .order_by(link.c.chain, link.c.ordinal),
)


def read_links(connection: Connection, space: int, end: Place) -> dict[int, list[Place]]:
    """For each chain on the way to ``end``: what its first turn continues, in order.

    Cost: one look-up if the thread is linear, otherwise one more statement.
    """
    if connection.row(HAS_LINKS, space=space, chain=end.chain) is None:
        return {}
    return _grouped(connection.rows(READ_LINKS, space=space, chain=end.chain, pos=end.pos))


def read_links_of(connection: Connection, space: int, ends: Sequence[Place]) -> dict[int, list[Place]]:
    """As ``read_links``, of all chains on the way to any of the ends. Cost: one statement for ``LOOKED_UP`` ends."""
    if len(ends) == 1:
        return read_links(connection, space, ends[0])
    links: dict[int, list[Place]] = {}
    for portion in place_portions(ends):
        links |= _grouped(connection.rows(READ_LINKS_OF_SEVERAL, space=space, **portion))
    return links


def read_thread(connection: Connection, space: int, end: Place, *, linear: bool) -> list[Walked]:
    """The turns that lead to ``end`` with their payloads, by place; ``linear`` if nothing leads to its chain."""
    query = READ_CHAIN if linear else READ_THREAD
    rows = connection.rows(query, space=space, chain=end.chain, pos=end.pos)
    return _walked(rows if linear else _sorted(rows))


def read_threads(connection: Connection, space: int, ends: Sequence[Place]) -> Iterator[list[Walked]]:
    """The turns that lead to any of the ends with their payloads, by place; a list for ``LOOKED_UP`` ends.

    Cost: one statement for a list, which reads each turn once.
    """
    for portion in place_portions(ends):
        yield _walked(_sorted(connection.rows(READ_THREADS, space=space, **portion)))


def read_inherited(connection: Connection, space: int, ends: Sequence[Place]) -> Sequence[Row]:
    """``(chain, pos, id, inherited)`` of the turns that set options on the way to the ends, in no order.

    Cost: one statement for ``LOOKED_UP`` ends.
    """
    rows: list[Row] = []
    if len(ends) == 1:
        rows += connection.rows(READ_INHERITED, space=space, chain=ends[0].chain, pos=ends[0].pos)
    else:
        for portion in place_portions(ends):
            rows += connection.rows(READ_INHERITED_OF_SEVERAL, space=space, **portion)
    return [row for row in rows if row[0] is not None]


def _sorted(rows: Sequence[Row]) -> Sequence[Row]:
    return sorted(row for row in rows if row[0] is not None)


def read_places(connection: Connection, space: int, places: Iterable[Place]) -> list[Walked]:
    """The turns at places with their payloads, in no order. Cost: one statement for each ``LOOKED_UP`` places."""
    found: dict[Place, Walked] = {}
    for portion in place_portions(places):
        rows = connection.rows(READ_PLACES, space=space, **portion)
        found |= {each.place: each for each in _walked([row for row in rows if row[0] is not None])}
    return list(found.values())


def read_tree(connection: Connection, space: int, place: Place) -> list[Walked]:
    """All turns that grew from the roots of ``place``, with payloads, in no order."""
    return _walked(connection.rows(READ_TREE, space=space, chain=place.chain))


def read_tree_links(connection: Connection, space: int, place: Place) -> dict[int, list[Place]]:
    """The links of all chains that grew from the roots of ``place``."""
    return _grouped(connection.rows(READ_TREE_LINKS, space=space, chain=place.chain))


def _walked(rows: Sequence[Row]) -> list[Walked]:
    return list(map(Walked._make, rows))


def _grouped(rows: Sequence[Row]) -> dict[int, list[Place]]:
    links: dict[int, list[Place]] = {}
    for chain, parent_chain, parent_pos in rows:
        links.setdefault(chain, []).append(Place(parent_chain, parent_pos))
    return links
