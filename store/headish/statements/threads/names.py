"""The statements of ``rows/threads/names``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, BindParameter, CompoundSelect, Select, and_, bindparam, literal_column, select, union_all

from headish.database.schema import bookmark, turn
from headish.rows.payloads import PORTION
from headish.rows.threads.names import NAMES_OF_SEGMENTS, NAMES_OF_TREE, PLACES_OF
from headish.statements.compiling import define
from headish.statements.threads.places import wanted_segments
from headish.statements.threads.walks import chains_of_tree

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


define(
    PLACES_OF,
    select(turn.c.id, turn.c.chain, turn.c.pos).where(
        turn.c.space == _space, turn.c.id.in_([bindparam(each) for each in PORTION])
    ),
)

define(NAMES_OF_TREE, _of_tree(chains_of_tree()))

define(NAMES_OF_SEGMENTS, _of_segments(wanted_segments()))
