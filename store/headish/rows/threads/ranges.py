"""Ranges of a chain with everything that their turns say: the row, and the payload."""

from __future__ import annotations

from typing import NamedTuple

from headish.database.query import Connection, Query
from headish.rows.turns import StoredTurn
from headish.values.blocks import Erased
from headish.values.places import Segment


class Whole(NamedTuple):
    """A row of ``turn`` and its payload, None where that is missing; of what was erased
    ``history/reading/walk`` makes a mark."""

    turn: StoredTurn
    payload: bytes | Erased | None


WHOLE_RANGE = Query("turns of a range, with payloads")
SMALL_PAYLOADS = Query("payloads in the rows of a range")


def read_range(connection: Connection, space: int, segment: Segment) -> list[Whole]:
    """The turns of a range of a chain with their payloads, by position."""
    chain, low, high = segment
    rows = connection.rows(WHOLE_RANGE, space=space, chain=chain, low=low, high=high)
    return [Whole(StoredTurn._make(row[:-1]), row[-1]) for row in rows]


def small_payloads(connection: Connection, space: int, segment: Segment) -> dict[int, bytes]:
    """The payloads that stand in the rows of a range, by position: at most ``INLINE_BYTES`` each."""
    chain, low, high = segment
    return dict(connection.rows(SMALL_PAYLOADS, space=space, chain=chain, low=low, high=high))
