"""Read ranges of a chain: whole rows with payloads, or only some columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from headish.database.query import Connection, Query, Row
from headish.errors import CorruptTurn
from headish.rows.payloads import PAYLOAD
from headish.rows.threads.places import WANTED_SEGMENTS, on_each, rows_at
from headish.rows.turns import COLUMNS, T_COLUMNS, StoredTurn, read_turns
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.places import Segment

T = TypeVar("T")


class Whole(msgspec.Struct, frozen=True, gc=False):
    """A row of ``turn`` and its payload, None if it is missing. ``history/reading/walk`` replaces what was erased by a
    mark."""

    turn: StoredTurn
    payload: bytes | Erased | None


class SpokenTurn(msgspec.Struct, frozen=True, gc=False):
    """The content of a turn, without its chain, digest and seal. ``payload`` is None if it is missing or erased."""

    pos: int
    id: TurnId
    role: str
    type: str | None
    attributes: bytes | None
    system: bytes | None
    app: bytes | None
    hash: bytes
    erased: int | None
    payload: bytes | None


WHOLE_RANGE = Query(
    "turns of a range, with payloads",
    f"""
    SELECT {T_COLUMNS}, {PAYLOAD} FROM turn AS t
    WHERE t.space = :space AND t.chain = :chain AND t.pos BETWEEN :low AND :high ORDER BY t.pos
    """,
)


def read_range(connection: Connection, space: int, segment: Segment) -> list[Whole]:
    """The turns of a range of a chain with their payloads, by position."""
    chain, low, high = segment
    rows = connection.rows(WHOLE_RANGE, space=space, chain=chain, low=low, high=high)
    return [Whole(StoredTurn(*row[:-1]), row[-1]) for row in rows]


def whole_range(connection: Connection, space: int, segment: Segment) -> list[StoredTurn]:
    """The turns of a range. Raises: CorruptTurn if one is missing."""
    turns = turns_of(connection, space, segment)
    check_gapless(segment, turns)
    return turns


def check_gapless(segment: Segment, turns: Sequence[StoredTurn]) -> None:
    """Check that all turns of a range were found; positions have no gaps. Raises: CorruptTurn."""
    if [turn.pos for turn in turns] != list(range(segment.low, segment.high + 1)):
        raise CorruptTurn(f"{segment.chain}/{segment.high}", "it or one before it in its chain is missing")


WHOLE_RANGES = Query(
    "turns of some ranges, with payloads",
    **on_each(
        f"""
    WITH wanted AS MATERIALIZED (%s)
    SELECT {T_COLUMNS}, {PAYLOAD} FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos BETWEEN wanted.low AND wanted.high
    """,
        WANTED_SEGMENTS,
    ),
)


def read_ranges(connection: Connection, space: int, segments: Sequence[Segment]) -> list[list[Whole]]:
    """The lists of ``read_range`` for several ranges. Cost: one statement for each ``AT_ONCE`` ranges."""
    if len(segments) == 1:  # nearly always the case, and ``read_range`` takes half as long
        return [read_range(connection, space, segments[0])]
    rows = [row for row in rows_at(connection, WHOLE_RANGES, space, segments) if row[0] is not None]
    wholes = {(row[0], row[1]): Whole(StoredTurn(*row[:-1]), row[-1]) for row in rows}
    return [of_range(wholes, segment) for segment in segments]


SAID_RANGE = Query(
    "what the turns of a range say",
    f"""
    SELECT t.pos, t.id, t.role, t.type, t.attributes, t.system, t.app, t.hash, t.erased, {PAYLOAD}
    FROM turn AS t WHERE t.space = :space AND t.chain = :chain AND t.pos BETWEEN :low AND :high
    ORDER BY t.pos
    """,
)


def said_range(connection: Connection, space: int, segment: Segment) -> list[SpokenTurn]:
    """The content of the turns of a range, by position. Cost: half of ``read_range``."""
    chain, low, high = segment
    return connection.each(SAID_RANGE, SpokenTurn, space=space, chain=chain, low=low, high=high)


IDS_OF_RANGE = Query(
    "ids of the turns of a range, and what was erased of them",
    "SELECT id, erased FROM turn WHERE space = :space AND chain = :chain AND pos BETWEEN :low AND :high ORDER BY pos",
)


def ids_of_range(connection: Connection, space: int, segment: Segment) -> Sequence[Row]:
    """``(id, erased)`` of the turns of a range of a chain, by position. Cost: a quarter of ``said_range``."""
    chain, low, high = segment
    return connection.rows(IDS_OF_RANGE, space=space, chain=chain, low=low, high=high)


IDS_OF_RANGES = Query(
    "ids of the turns of some ranges, and what was erased of them",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT t.id, t.erased FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos BETWEEN wanted.low AND wanted.high
    """,
        WANTED_SEGMENTS,
    ),
)


def ids_of_ranges(connection: Connection, space: int, segments: Iterable[Segment]) -> Iterator[Row]:
    """The rows of ``ids_of_range`` for several ranges, in no order. Cost: one statement for each ``AT_ONCE`` ranges."""
    return (row for row in rows_at(connection, IDS_OF_RANGES, space, segments) if row[0] is not None)


SEALS_OF_RANGE = Query(
    "seals of the turns of a range",
    "SELECT seal FROM turn WHERE space = :space AND chain = :chain AND pos BETWEEN :low AND :high ORDER BY pos",
)


def seals_of_range(connection: Connection, space: int, segment: Segment) -> list[bytes]:
    """The seals of the turns of a range of a chain, by position."""
    chain, low, high = segment
    rows = connection.rows(SEALS_OF_RANGE, space=space, chain=chain, low=low, high=high)
    return [bytes(row[0]) for row in rows]


# In place of a walk, if all wanted turns are of the last chain: a walk ends with the chain of its end.
LAST_IDS = Query(
    "ids of the last turns of a chain in which a name ends, and what was erased of them",
    """
    SELECT t.id, t.erased FROM bookmark AS b CROSS JOIN turn AS t
    WHERE t.space = :space AND t.chain = b.chain AND b.space = :space AND b.name = :name
      AND t.pos BETWEEN b.pos - :before AND b.pos ORDER BY t.pos
    """,
)


def last_ids(connection: Connection, space: int, name: bytes, count: int) -> Sequence[Row]:
    """``(id, erased)`` of the last ``count`` turns up to a name in the chain that it points into, by position. Fewer if
    the chain is shorter, none if there is no such name."""
    return connection.rows(LAST_IDS, space=space, name=name, before=count - 1)


SMALL_PAYLOADS = Query(
    "payloads in the rows of a range",
    """
    SELECT pos, data FROM turn
    WHERE space = :space AND chain = :chain AND pos BETWEEN :low AND :high AND data IS NOT NULL
    """,
)


def small_payloads(connection: Connection, space: int, segment: Segment) -> dict[int, bytes]:
    """The small payloads of a range, which its rows have, by position: at most ``INLINE_BYTES`` each."""
    chain, low, high = segment
    return dict(connection.rows(SMALL_PAYLOADS, space=space, chain=chain, low=low, high=high))


RANGE = Query(
    "turns of a range",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND chain = :chain AND pos BETWEEN :low AND :high ORDER BY pos",
)


RANGES = Query(
    "turns of some ranges",
    **on_each(
        f"""
    WITH wanted AS MATERIALIZED (%s)
    SELECT {T_COLUMNS} FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos BETWEEN wanted.low AND wanted.high
    """,
        WANTED_SEGMENTS,
    ),
)


def turns_of_ranges(connection: Connection, space: int, segments: Sequence[Segment]) -> list[list[StoredTurn]]:
    """The lists of ``turns_of`` for several ranges. Cost: one statement for each ``AT_ONCE`` ranges."""
    if len(segments) == 1:
        return [turns_of(connection, space, segments[0])]
    rows = rows_at(connection, RANGES, space, segments)
    turns = {(turn.chain, turn.pos): turn for turn in read_turns(row for row in rows if row[0] is not None)}
    return [of_range(turns, segment) for segment in segments]


def of_range(found: Mapping[tuple[int, int], T], segment: Segment) -> list[T]:
    """The values of ``found`` at the places of a range, by position. Missing places are left out."""
    places = ((segment.chain, pos) for pos in range(segment.low, segment.high + 1))
    return [found[place] for place in places if place in found]


def turns_of(connection: Connection, space: int, segment: Segment) -> list[StoredTurn]:
    """The turns of a range of a chain, by position."""
    chain, low, high = segment
    return read_turns(connection.rows(RANGE, space=space, chain=chain, low=low, high=high))
