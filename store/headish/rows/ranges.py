"""Ranges of a chain with everything that their turns say: the row, and the payload."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from headish.database.query import Connection, Query
from headish.database.schema import payload, turn
from headish.rows.payloads import OF_TURN
from headish.rows.turns import COLUMNS, StoredTurn
from headish.values.blocks import Erased
from headish.values.places import Segment


class Whole(NamedTuple):
    """A row of ``turn`` and its payload, None where that is missing; of what was erased
    ``history/walk`` makes a mark."""

    turn: StoredTurn
    payload: bytes | Erased | None


WHOLE_RANGE = Query(
    "turns of a range, with payloads",
    select(*COLUMNS, func.coalesce(turn.c.data, payload.c.data))
    # Most payloads stand in their rows: then no other table is looked at.
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(
        turn.c.space == bindparam("space"),
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)


def read_range(connection: Connection, space: int, segment: Segment) -> list[Whole]:
    """The turns of a range of a chain with their payloads, by position."""
    chain, low, high = segment
    rows = connection.rows(WHOLE_RANGE, space=space, chain=chain, low=low, high=high)
    return [Whole(StoredTurn._make(row[:-1]), row[-1]) for row in rows]
