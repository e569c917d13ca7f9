"""Which names point at many turns: of a tree, or of ranges of chains. No other name of the space is read.

A name that moved with its turn stands in the turn (``turn.head``), if it still points there; the sparse index
``bookmark_place`` has those that were set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import CTE, BindParameter, CompoundSelect, Select, and_, bindparam, literal_column, select, union_all

from headish.database.query import Connection, Query, Row
from headish.database.schema import bookmark, turn
from headish.rows.payloads import PORTION, in_portions
from headish.rows.places import segment_portions, wanted_segments
from headish.rows.walks import chains_of_tree
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

_space: BindParameter[int] = bindparam("space")
_named = [bookmark.c[each] for each in ("name", "chain", "pos")]
_set = bookmark.c.own == literal_column("0")
_own = bookmark.c.own == literal_column("1")


def _of_tree(chains: CTE) -> CompoundSelect[Any]:
    """Names that were set onto turns of the chains, and those that their turns say they moved."""
    within = select(chains.c.chain)
    placed = (
        select(*_named)
        .where(bookmark.c.space == _space, _set, bookmark.c.chain.in_(within))
        .with_hint(bookmark, "INDEXED BY bookmark_place", "sqlite")
    )
    moved = select(turn.c.head).where(turn.c.space == _space, turn.c.chain.in_(within), turn.c.head.is_not(None))
    return union_all(placed, _still(moved))


def _still(moved: Select[Any]) -> Select[Any]:
    """Where names are that turns moved: a name once, however many turns it went along with."""
    heads = moved.distinct().subquery("heads")
    found = and_(bookmark.c.space == _space, bookmark.c.name == heads.c.head, _own)
    return select(*_named).select_from(heads.outerjoin(bookmark, found))


def _of_segments(wanted: CTE) -> CompoundSelect[Any]:
    set_here = and_(
        bookmark.c.space == _space, _set, bookmark.c.chain == wanted.c.chain, bookmark.c.pos >= wanted.c.low,
        bookmark.c.pos <= wanted.c.high,
    )  # fmt: skip
    placed = (
        select(*_named)
        .select_from(wanted.outerjoin(bookmark, set_here))
        .with_hint(bookmark, "INDEXED BY bookmark_place", "sqlite")
    )
    within = and_(
        turn.c.space == _space, turn.c.chain == wanted.c.chain, turn.c.pos >= wanted.c.low, turn.c.pos <= wanted.c.high
    )
    return union_all(placed, _still(select(turn.c.head).select_from(wanted.outerjoin(turn, within))))


PLACES_OF = Query(
    "places of turns by their ids",
    select(turn.c.id, turn.c.chain, turn.c.pos).where(
        turn.c.space == _space, turn.c.id.in_([bindparam(each) for each in PORTION])
    ),
)
NAMES_OF_TREE = Query("names at the turns of a tree", _of_tree(chains_of_tree()))
NAMES_OF_SEGMENTS = Query("names at the turns of ranges of chains", _of_segments(wanted_segments()))


def names_of_tree(connection: Connection, space: int, place: Place) -> dict[Place, list[bytes]]:
    """The names at each turn that grew from the roots of a place, in their order. Cost: one statement."""
    return _by_place(connection.rows(NAMES_OF_TREE, space=space, chain=place.chain))


def names_of_segments(connection: Connection, space: int, segments: Iterable[Segment]) -> dict[Place, list[bytes]]:
    """The names at each turn of ranges, in their order; those at other turns of these names may be there, too.

    Cost: one statement for each ``LOOKED_UP`` ranges.
    """
    rows: list[Row] = []
    for portion in segment_portions(segments):
        rows += connection.rows(NAMES_OF_SEGMENTS, space=space, **portion)
    return _by_place(rows)


def names_of_turns(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, list[bytes]]:
    """The names at turns, in their order; of turns without a name nothing.

    Cost: two statements for each ``LOOKED_UP`` ids.
    """
    rows = [row for portion in in_portions(ids) for row in connection.rows(PLACES_OF, space=space, **portion)]
    places = {Place(chain, pos): turn_id for turn_id, chain, pos in rows}
    names = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    return {turn_id: names[place] for place, turn_id in places.items() if place in names}


def _by_place(rows: Sequence[Row]) -> dict[Place, list[bytes]]:
    names: dict[Place, list[bytes]] = {}
    for name, place in sorted({(name, Place(chain, pos)) for name, chain, pos in rows if name is not None}):
        names.setdefault(place, []).append(name)
    return names
