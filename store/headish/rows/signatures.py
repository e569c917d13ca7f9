"""Rows of ``signature``: a signature of a turn alone, or of everything that leads to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from headish.content.hashes import seal_signature
from headish.database.query import Connection, Query
from headish.rows.payloads import WANTED, in_portions, look_up
from headish.values.ids import TurnId


class StoredSignature(NamedTuple):
    """A row of ``signature``.

    ``remote`` is the name of the remote that the signature came from. It is empty if the signature was made here, and
    ``/own``, ``/plain``, ``/stranger`` or ``/copy`` if a caller, a file or another space brought it
    (``ArrivalOrigin.bringer``).
    """

    number: int
    turn: TurnId
    kind: str
    key: str
    data: bytes
    milliseconds: int
    remote: bytes
    seal: bytes


_COLUMNS = "number, turn, kind, key, bytes, milliseconds, remote, seal"
PAGE = 500
BEHIND = Query(
    "signatures behind a number",
    f"SELECT {_COLUMNS} FROM signature WHERE space = :space AND number > :after ORDER BY number LIMIT :limit",
)


def all_signatures(connection: Connection, space: int, after: int = -(2**63)) -> Iterator[StoredSignature]:
    """The signatures after a number, in the order of their numbers."""
    # In pages: the next statement on this connection, which has one cursor, would end a single long read.
    while page := connection.rows(BEHIND, space=space, after=after, limit=PAGE):
        yield from map(StoredSignature._make, page)
        after = page[-1][0]


OF_TURNS = Query("signatures of turns", f"SELECT {_COLUMNS} FROM signature WHERE space = :space AND turn IN ({WANTED})")


def signatures_of(connection: Connection, space: int, turns: Iterable[TurnId]) -> list[StoredSignature]:
    """The signatures of turns, in the order of their numbers. Cost: one statement for each 64 turns."""
    rows = look_up(connection, OF_TURNS, space, dict.fromkeys(turns))
    return sorted(map(StoredSignature._make, rows))


LAST = Query("number of the last signature", "SELECT max(number) FROM signature WHERE space = :space")


def last_signature(connection: Connection, space: int) -> int:
    """The number of the last signature; 0 if there is none."""
    row = connection.row(LAST, space=space)
    return 0 if row is None or row[0] is None else int(row[0])


ADD = Query(
    "add signature",
    """
    INSERT INTO signature (space, number, turn, kind, key, bytes, milliseconds, remote, seal)
    VALUES (:space, :number, :turn, :kind, :key, :data, :milliseconds, :remote, :seal)
    """,
)


def add_signatures(connection: Connection, space: int, signatures: Sequence[StoredSignature]) -> None:
    """Store signatures after the last one, with new numbers and seals. The caller has locked the space."""
    first = last_signature(connection, space) + 1 if signatures else 0
    numbered = [each._replace(number=number) for number, each in enumerate(signatures, first)]
    rows = [{"space": space, **each._asdict(), "seal": seal_signature(*each[:-1])} for each in numbered]
    if rows:
        connection.run_many(ADD, rows)


# By their numbers: a DELETE by ``turn`` reads all signatures of the space in SQLite 3.53, in spite of the index.
FORGET = Query(
    "forget signatures of turns",
    f"""
    DELETE FROM signature WHERE space = :space AND number IN (
      SELECT s.number FROM signature AS s WHERE s.space = :space AND s.turn IN ({WANTED})
    )
    """,
)


def forget_signatures(connection: Connection, space: int, turns: Iterable[TurnId]) -> None:
    """Remove the signatures of turns. Cost: one statement for each 64 turns."""
    for portion in in_portions(list(turns)):
        connection.run(FORGET, space=space, **portion)
