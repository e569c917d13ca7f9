"""What turns continue, of many turns in one statement."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import BindParameter, ColumnElement, Integer, ScalarSelect, bindparam, literal_column, select, union_all

from headish.database.query import Connection, Query
from headish.database.schema import link, turn
from headish.rows.payloads import LOOKED_UP
from headish.rows.places import place_portions, wanted_places
from headish.values.ids import TurnId
from headish.values.places import Place

_space: BindParameter[int] = bindparam("space")
_wanted = wanted_places()


def _id_at(chain: ColumnElement[int], pos: ColumnElement[int]) -> ScalarSelect[str]:
    # Looked up for each row: for a join PostgreSQL may read the whole space.
    found = select(turn.c.id).where(turn.c.space == _space, turn.c.chain == chain, turn.c.pos == pos)
    return found.scalar_subquery()


# The one before it in its chain; of a chain's first turn what its links name, in their order.
PARENTS = Query(
    "ids of what turns continue",
    union_all(
        select(
            _wanted.c.chain,
            _wanted.c.pos,
            literal_column("0", Integer),
            _id_at(_wanted.c.chain, _wanted.c.pos - literal_column("1")),
        ).where(_wanted.c.pos > literal_column("0")),
        select(
            link.c.chain,
            literal_column("0", Integer),
            link.c.ordinal,
            _id_at(link.c.parent_chain, link.c.parent_pos),
        ).where(link.c.space == _space, link.c.chain.in_([bindparam(f"chain{index}") for index in range(LOOKED_UP)])),
    ),
)


def parents_of_turns(
    connection: Connection, space: int, places: Iterable[Place]
) -> dict[Place, tuple[TurnId | None, ...]]:
    """The ids that the turns at these places continue, in order; None for one that is missing. A root has no entry.

    Cost: one statement for each ``LOOKED_UP`` places, however many turns each of them continues.
    """
    found: dict[Place, dict[int, TurnId | None]] = {}
    for portion in place_portions(places):
        for chain, pos, ordinal, turn_id in connection.rows(PARENTS, space=space, **portion):
            found.setdefault(Place(chain, pos), {})[ordinal] = turn_id
    return {place: tuple(parents[each] for each in sorted(parents)) for place, parents in found.items()}
