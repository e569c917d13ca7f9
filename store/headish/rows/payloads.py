"""Payload bytes: a small payload is in the row that has it, a large one is stored once per space by its address (rule
R28, small payloads)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from headish.database.query import Connection, Query, Row, Statement
from headish.errors import BarredContent
from headish.values.ids import TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.places import Place

K = TypeVar("K", bytes, TurnId)

LOOKED_UP = 64
"""The number of keys that one statement looks up. A shorter list is filled up with its last key."""

PORTION = tuple(f"wanted{index}" for index in range(LOOKED_UP))
"""The names of the parameters of such a statement."""

WANTED = ", ".join(f":{each}" for each in PORTION)
"""These parameters as the list of an ``IN``."""

LEFT_JOIN_PAYLOAD = (
    "LEFT JOIN payload AS p ON p.space = :space AND p.hash = t.hash AND t.erased IS NULL AND t.data IS NULL"
)
"""Joins the large payload of a turn ``t``, unless the turn is erased: the bytes of an erased turn may still be stored,
because another turn needs them."""

PAYLOAD = """coalesce(t.data, (
      SELECT p.data FROM payload AS p WHERE p.space = :space AND p.hash = t.hash AND t.erased IS NULL
    ))"""
"""The payload of a turn ``t``. A sub-select, because most payloads are in the row of their turn, and a join would seek
in the other table for these, too."""

T = TypeVar("T", bytes, TurnId, int)


def split_payload(data: bytes) -> bytes | None:
    """The bytes to store in the row itself: those of a small payload, None for a large one."""
    return data if len(data) <= INLINE_BYTES else None


# If the stored bytes are missing or damaged, the row gets them again, so that a turn acknowledged now can be read.
# A row that an erasure has emptied (``erased``) stays empty.
ADD_PAYLOAD = Query(
    "add payload",
    sqlite="""
    INSERT INTO payload (space, hash, size, data) VALUES (:space, :hash, :size, :data)
    ON CONFLICT (space, hash) DO UPDATE SET size = excluded.size, data = excluded.data
    WHERE payload.data IS NOT excluded.data AND payload.erased IS NULL
    """,
    postgresql="""
    INSERT INTO payload (space, hash, size, data) VALUES (:space, :hash, :size, :data)
    ON CONFLICT (space, hash) DO UPDATE SET size = excluded.size, data = excluded.data WHERE payload.data IS DISTINCT
    FROM excluded.data AND payload.erased IS NULL
    """,
)


def add_payloads(connection: Connection, space: int, payloads: Mapping[bytes, bytes]) -> None:
    """Store the large ones among these payloads, by address. Cost: one statement, or none."""
    rows = [each.values for each in payload_statements(space, payloads)]
    if rows:
        connection.run_rows(ADD_PAYLOAD, rows)


def payload_statements(space: int, payloads: Mapping[bytes, bytes]) -> list[Statement]:
    """The statements of ``add_payloads``, one for each large payload."""
    large = [hash for hash, data in payloads.items() if len(data) > INLINE_BYTES]
    # In the order of the addresses: writers that lock the same rows in different orders could deadlock.
    return [Statement(ADD_PAYLOAD, (space, hash, len(payloads[hash]), payloads[hash])) for hash in sorted(large)]


BARRED_AMONG = Query(
    "which addresses are barred",
    f"SELECT hash, erased FROM payload WHERE space = :space AND hash IN ({WANTED}) AND erased IS NOT NULL",
)


def refuse_barred(connection: Connection, space: int, hashes: Iterable[bytes]) -> None:
    """Refuse content that an erasure has barred. Cost: one statement for each ``LOOKED_UP`` addresses.

    Raises: BarredContent.
    """
    for hash, erased in barred_among(connection, space, hashes).items():
        raise BarredContent(hash.hex(), erased)


def barred_among(connection: Connection, space: int, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """The barred ones among the addresses, each with the number of the erasure. Cost: as ``refuse_barred``."""
    # This covers small payloads, too: one has no row in this table until an erasure bars it.
    rows = look_up(connection, BARRED_AMONG, space, dict.fromkeys(hashes))
    return {bytes(hash): int(erased) for hash, erased in rows}


READ_PAYLOAD = Query(
    "read the payload of a turn",
    f"SELECT {PAYLOAD} FROM turn AS t WHERE t.space = :space AND t.chain = :chain AND t.pos = :pos",
)


def read_payload_at(connection: Connection, space: int, place: Place) -> bytes | None:
    """The payload of the turn at a place, from its row or from ``payload``; None if it is missing or erased."""
    row = connection.row(READ_PAYLOAD, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else row[0]


SMALL_PAYLOADS = Query(
    "small payloads of turns by their ids",
    f"SELECT id, data FROM turn WHERE space = :space AND id IN ({WANTED}) AND data IS NOT NULL",
)


def small_payloads_of(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, bytes]:
    """The payloads of those turns that have them in their own row, by id. Cost: one statement for each ``LOOKED_UP``
    ids."""
    return {row[0]: row[1] for row in look_up(connection, SMALL_PAYLOADS, space, ids)}


def in_portions(keys: Iterable[T], filler: T | None = None) -> Iterator[dict[str, T]]:
    """Divide keys into the parameters of statements that look up ``LOOKED_UP`` keys each.

    ``filler``, or else the last key, fills up the last portion. Give a ``filler`` where one key may have many rows.
    """
    listed = list(keys)
    for start in range(0, len(listed), LOOKED_UP):
        portion = listed[start : start + LOOKED_UP]
        # Always the same number of parameters, so that a database prepares and plans the statement only once.
        portion += [portion[-1] if filler is None else filler] * (LOOKED_UP - len(portion))
        yield dict(zip(PORTION, portion, strict=True))


def look_up(
    connection: Connection, query: Query, space: int, keys: Iterable[Any], filler: bytes | None = None
) -> Iterator[Row]:
    """The rows that a query finds by keys. Cost: one statement for each ``LOOKED_UP`` keys."""
    for portion in in_portions(keys, filler):
        yield from connection.rows(query, space=space, **portion)


PAYLOADS_AFTER = Query(
    "payloads after an address",
    "SELECT hash, size, data, erased FROM payload WHERE space = :space AND hash > :hash ORDER BY hash LIMIT :limit",
)


def payloads_after(connection: Connection, space: int, hash: bytes, limit: int) -> Sequence[Row]:
    """A page of ``(hash, size, data, erased)`` of the large payloads, in the order of their addresses."""
    return connection.rows(PAYLOADS_AFTER, space=space, hash=hash, limit=limit)
