"""Rows of ``payload``: bytes by their address, once per space (rule I3, one address)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from headish.database.dialects import next_payload_number
from headish.database.query import Connection, Query, Row
from headish.database.schema import payload

LOOKED_UP = 64
"""How many keys one statement looks up; a shorter list is filled up with its last key."""
PORTION = tuple(f"wanted{index}" for index in range(LOOKED_UP))
"""The parameters of such a statement."""

_new = insert(payload).values(
    space=bindparam("space"),
    number=next_payload_number(),
    hash=bindparam("hash"),
    size=bindparam("size"),
    data=bindparam("data"),
)
# The same words on SQLite. An old row whose bytes are missing or damaged gets them again, so that a turn that was
# acknowledged can be read.
_add = _new.on_conflict_do_update(
    index_elements=[payload.c.space, payload.c.hash],
    set_={"data": _new.excluded.data, "size": _new.excluded.size},
    where=payload.c.data.is_distinct_from(_new.excluded.data),
)
ADD_PAYLOAD = Query("add payload", _add.returning(payload.c.number))
ADD_PAYLOADS = Query("add payloads", _add)
FIND_PAYLOAD = Query(
    "find payload",
    select(payload.c.number).where(payload.c.space == bindparam("space"), payload.c.hash == bindparam("hash")),
)
FIND_PAYLOADS = Query(
    "find payloads",
    select(payload.c.hash, payload.c.number).where(
        payload.c.space == bindparam("space"),
        payload.c.hash.in_([bindparam(each) for each in PORTION]),
    ),
)
READ_PAYLOAD = Query(
    "read payload",
    select(payload.c.hash, payload.c.data).where(
        payload.c.space == bindparam("space"), payload.c.number == bindparam("number")
    ),
)
PAYLOADS_AFTER = Query(
    "payloads after a number",
    select(payload.c.number, payload.c.hash, payload.c.size, payload.c.data)
    .where(payload.c.space == bindparam("space"), payload.c.number > bindparam("number"))
    .order_by(payload.c.number)
    .limit(bindparam("limit")),
)
COUNT_PAYLOADS = Query(
    "count payloads",
    select(func.count(), func.coalesce(func.sum(payload.c.size), 0)).where(payload.c.space == bindparam("space")),
)


def add_payload(connection: Connection, space: int, hash: bytes, data: bytes) -> int:
    """The number of the payload with this address, stored if it is new. One statement if new, two if not."""
    row = connection.row(ADD_PAYLOAD, space=space, hash=hash, size=len(data), data=data)
    row = row or connection.row(FIND_PAYLOAD, space=space, hash=hash)
    assert row is not None
    return int(row[0])


def add_payloads(connection: Connection, space: int, payloads: Mapping[bytes, bytes]) -> dict[bytes, int]:
    """The numbers of many payloads, by address. Stored in the order of the addresses, so writers cannot deadlock."""
    if len(payloads) == 1:
        [(hash, data)] = payloads.items()
        return {hash: add_payload(connection, space, hash, data)}
    ordered = sorted(payloads)
    connection.run_many(
        ADD_PAYLOADS,
        [{"space": space, "hash": hash, "size": len(payloads[hash]), "data": payloads[hash]} for hash in ordered],
    )
    found: dict[bytes, int] = {}
    for some in in_portions(ordered):
        found.update(connection.rows(FIND_PAYLOADS, space=space, **some))
    return found


def in_portions(keys: Iterable[bytes]) -> Iterator[dict[str, bytes]]:
    """The keys as parameters of statements that look up ``LOOKED_UP`` each; the last key fills up the last one."""
    listed = list(keys)
    for start in range(0, len(listed), LOOKED_UP):
        portion = listed[start : start + LOOKED_UP]
        portion += [portion[-1]] * (LOOKED_UP - len(portion))
        yield dict(zip(PORTION, portion, strict=True))


def payloads_after(connection: Connection, space: int, number: int, limit: int) -> Sequence[Row]:
    """A page of ``(number, hash, size, data)``, in the order of the numbers."""
    return connection.rows(PAYLOADS_AFTER, space=space, number=number, limit=limit)
