"""Ids and seals of turns, for a comparison with another store: by commit number, by id, or in a range of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from headish.database.query import Connection, Query, Row
from headish.rows.threads.places import LISTED, as_list
from headish.rows.turns import T_COLUMNS
from headish.values.ids import TurnId
from headish.values.places import Place

PAGE = 10_000


class SealedTurn(NamedTuple):
    """The id and seal of a turn, which tell it from any other, and its commit number here."""

    seq: int
    id: TurnId
    seal: bytes


SEALED_BEHIND = Query(
    "ids and seals behind a commit number",
    "SELECT seq, id, seal FROM turn WHERE space = :space AND seq > :low AND seq <= :high ORDER BY seq LIMIT :limit",
)


def sealed_behind(connection: Connection, space: int, low: int, high: int, limit: int) -> list[SealedTurn]:
    """The turns above commit number ``low`` and up to ``high``, in order; at most ``limit``."""
    rows = connection.rows(SEALED_BEHIND, space=space, low=low, high=high, limit=limit)
    return [*map(SealedTurn._make, rows)]


SEALED_AMONG = Query(
    "ids and seals of a range of ids",
    "SELECT seq, id, seal FROM turn WHERE space = :space AND id > :low AND id <= :high ORDER BY id LIMIT :limit",
)


def sealed_among(connection: Connection, space: int, low: str, high: str) -> Iterator[SealedTurn]:
    """The turns with ids above ``low`` and up to ``high``, by id. Cost: one statement for each ten thousand."""
    page: Sequence[SealedTurn] = ()
    # A page that is not full is the last one; this spares a statement that would find nothing.
    while not page or len(page) == PAGE:
        rows = connection.rows(SEALED_AMONG, space=space, low=low, high=high, limit=PAGE)
        page = [*map(SealedTurn._make, rows)]
        if not page:
            return
        yield from page
        low = page[-1].id


_WANTED_IDS = {
    "sqlite": "SELECT value FROM json_each(:ids)",
    "postgresql": "SELECT value FROM json_array_elements_text(CAST(:ids AS json))",
}
# CROSS JOIN fixes the order: left to itself, SQLite begins with every turn of the space.
_SEALED = """
    WITH wanted(id) AS MATERIALIZED (%s)
    SELECT t.seq, t.id, t.seal FROM wanted CROSS JOIN turn AS t WHERE t.space = :space AND t.id = wanted.id
"""
SEALED_WITH = Query("ids and seals of some turns", **{name: _SEALED % each for name, each in _WANTED_IDS.items()})


def sealed_with(connection: Connection, space: int, ids: Iterable[str]) -> dict[TurnId, SealedTurn]:
    """The turns among these that are here, by id. Cost: one statement; none without ids."""
    listed = list(dict.fromkeys(ids))
    rows = connection.rows(SEALED_WITH, space=space, ids=as_list(listed)) if listed else ()
    return {row[1]: SealedTurn._make(row) for row in rows}


BETWEEN = Query(
    "whether a range of ids has a turn",
    "SELECT 1 FROM turn WHERE space = :space AND id >= :low AND id <= :high LIMIT 1",
)


def has_between(connection: Connection, space: int, low: TurnId, high: TurnId) -> bool:
    """Whether any turn here has an id from ``low`` to ``high``. Cost: one look-up."""
    return connection.row(BETWEEN, space=space, low=low, high=high) is not None


class TurnHere(NamedTuple):
    """The parts of a stored turn that an arriving turn is compared with, or continues: seal, place and digest."""

    seal: bytes
    place: Place
    digest: bytes


_PLACED = """
    WITH wanted(id) AS MATERIALIZED (%s)
    SELECT t.id, t.seal, t.chain, t.pos, t.digest FROM wanted CROSS JOIN turn AS t
    WHERE t.space = :space AND t.id = wanted.id
"""
PLACED_WITH = Query(
    "seals, places and digests of some turns", **{name: _PLACED % each for name, each in _WANTED_IDS.items()}
)


def placed_with(connection: Connection, space: int, ids: Sequence[TurnId]) -> dict[TurnId, TurnHere]:
    """The turns among these that are here, by id. Cost: one statement; none without ids."""
    rows = connection.rows(PLACED_WITH, space=space, ids=as_list(ids)) if ids else ()
    return {id: TurnHere(seal, Place(chain, pos), digest) for id, seal, chain, pos, digest in rows}


_SPOKEN = f"""
    WITH wanted(seq) AS MATERIALIZED (%s)
    SELECT {T_COLUMNS}, t.data FROM wanted CROSS JOIN turn AS t WHERE t.space = :space AND t.seq = wanted.seq
    ORDER BY t.seq
"""
SPOKEN_WITH = Query(
    "turns with some commit numbers, with the payloads in their rows",
    **{name: _SPOKEN % (each % "seqs") for name, each in LISTED.items()},
)


def spoken_with(connection: Connection, space: int, seqs: Sequence[int]) -> Sequence[Row]:
    """The turns with these commit numbers, in order. The last column of a row is its payload if that is small.

    Cost: one statement; none without numbers.
    """
    return connection.rows(SPOKEN_WITH, space=space, seqs=as_list(seqs)) if seqs else ()
