"""Look up turns by key, by the turn that they supersede, and by handle (rules R25, handles; R35, keys).

A handle is the beginning of a digest. Its length depends on the neighbouring digests, and on turns whose digests begin
alike.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headish.content.hashes import hash_key
from headish.database.query import Connection, Query, Row
from headish.rows.payloads import PORTION, WANTED, in_portions, look_up
from headish.rows.threads.places import as_list
from headish.rows.turns import COLUMNS, T_COLUMNS, StoredTurn, read_turns
from headish.values.ids import TurnId

BY_KEY = Query("turn by its key", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND key IN (:key, :key_hash)")


def turn_by_key(connection: Connection, space: int, key: bytes) -> StoredTurn | None:
    """The turn with a key; None if there is none. A turn whose meta was erased is found by the hash of its key."""
    return next(iter(read_turns(connection.rows(BY_KEY, space=space, key=key, key_hash=hash_key(key)))), None)


# A turn whose meta was erased has the hash of its key in place of the key.
_HASHED = ", ".join(f":{each}_hash" for each in PORTION)
BY_KEYS = Query(
    "turns by their keys", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND key IN ({WANTED}, {_HASHED})"
)


def turns_by_keys(connection: Connection, space: int, keys: Iterable[bytes]) -> dict[bytes, StoredTurn]:
    """The turns with one of the keys, by key. Cost: one statement for each ``LOOKED_UP`` keys."""
    # An erasure that takes the meta leaves only this hash. Without it an import would store the erased turn again.
    hashes = {key: hash_key(key) for key in keys}
    rows: list[Row] = []
    for portion in in_portions(hashes):
        hashed = {f"{name}_hash": hashes[key] for name, key in portion.items()}
        rows += connection.rows(BY_KEYS, space=space, **portion, **hashed)
    found = {bytes(turn.key): turn for turn in read_turns(rows) if turn.key is not None}
    # Of two that were looked up, one may be the hash of the other.
    return {key: found[each] for key, hash in hashes.items() for each in (hash, key) if each in found} if found else {}


# No ORDER BY: to save the sort, SQLite would read the whole space in the order of its commit numbers.
SUPERSEDING = Query(
    "turns that supersede a turn", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND supersedes = :id"
)


def superseding(connection: Connection, space: int, turn_id: TurnId) -> list[StoredTurn]:
    """The turns that supersede a turn, in commit order."""
    return sorted(read_turns(connection.rows(SUPERSEDING, space=space, id=turn_id)), key=lambda turn: turn.seq)


_LISTED_IDS = {
    "sqlite": "SELECT value FROM json_each(:ids)",
    "postgresql": "SELECT value FROM json_array_elements_text(CAST(:ids AS json))",
}
# The outer join fixes the order: left to itself, SQLite begins with every turn of the space. The ids are materialized
# before they are compared: under a policy, PostgreSQL uses no index for a condition that computes.
_JOINED_TO_IDS = f"""
    WITH wanted(id) AS MATERIALIZED (%s)
    SELECT {T_COLUMNS} FROM wanted LEFT JOIN turn AS t ON t.space = :space AND t.%s = wanted.id
"""
SUPERSEDING_SOME = Query(
    "turns that supersede some turns",
    **{database: _JOINED_TO_IDS % (each, "supersedes") for database, each in _LISTED_IDS.items()},
)


def superseding_some(connection: Connection, space: int, ids: Iterable[TurnId]) -> list[StoredTurn]:
    """The turns that supersede any of these turns, in no order. Cost: one statement; none without ids."""
    return _joined_to(connection, SUPERSEDING_SOME, space, ids)


SUPERSEDED_BETWEEN = Query(
    "whether a turn of a range of ids is superseded",
    "SELECT 1 FROM turn WHERE space = :space AND supersedes >= :low AND supersedes <= :high LIMIT 1",
)


def has_superseded(connection: Connection, space: int, low: TurnId, high: TurnId) -> bool:
    """Whether a turn here supersedes one with an id from ``low`` to ``high``. Cost: one look-up."""
    return connection.row(SUPERSEDED_BETWEEN, space=space, low=low, high=high) is not None


IDS = Query("ids that are known", f"SELECT id FROM turn WHERE space = :space AND id IN ({WANTED})")


def known_ids(connection: Connection, space: int, ids: Iterable[TurnId]) -> set[TurnId]:
    """The ids that turns have, among these. Cost: one statement for each ``LOOKED_UP`` ids."""
    return {row[0] for row in look_up(connection, IDS, space, ids)}


BY_IDS = Query(
    "turns by their ids", **{database: _JOINED_TO_IDS % (each, "id") for database, each in _LISTED_IDS.items()}
)


def turns_by_ids(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, StoredTurn]:
    """The turns with one of the ids, by id. Cost: one statement; none without ids."""
    return {turn.id: turn for turn in _joined_to(connection, BY_IDS, space, ids)}


def _joined_to(connection: Connection, query: Query, space: int, ids: Iterable[TurnId]) -> list[StoredTurn]:
    listed = list(dict.fromkeys(ids))
    rows = connection.rows(query, space=space, ids=as_list(listed)) if listed else ()
    # The outer join gives a row of nulls for each id that found nothing.
    return read_turns(row for row in rows if row[0] is not None)


SHORT_BYTES = 8
"""How much of a digest the index ``turn_digest`` has."""


class NearDigests(msgspec.Struct, frozen=True, gc=False):
    """A turn's digest, the beginnings of the digests next to it, and the id of a turn whose digest begins alike."""

    digest: bytes
    before: bytes | None
    after: bytes | None
    twin: TurnId | None


# Under a policy, PostgreSQL uses no index for a condition on a part of a digest, so a secured database has an index of
# whole digests. Behind the beginning of a digest, these 24 bytes make the highest digest with that beginning.
_ABOVE = "'\\x" + "ff" * 24 + "'::bytea"
AROUND = Query(
    "digests next to those of turns, and whether one is shared",
    f"""
    SELECT t.id, t.digest, (
      SELECT substr(o.digest, 1, 8) FROM turn AS o
      WHERE o.space = :space AND substr(o.digest, 1, 8) < substr(t.digest, 1, 8)
      ORDER BY substr(o.digest, 1, 8) DESC LIMIT 1
    ), (
      SELECT substr(o.digest, 1, 8) FROM turn AS o
      WHERE o.space = :space AND substr(o.digest, 1, 8) > substr(t.digest, 1, 8)
      ORDER BY substr(o.digest, 1, 8) LIMIT 1
    ), (
      SELECT o.id FROM turn AS o
      WHERE o.space = :space AND substr(o.digest, 1, 8) = substr(t.digest, 1, 8) AND o.id <> t.id LIMIT 1
    )
    FROM turn AS t WHERE t.space = :space AND t.id IN ({WANTED})
    """,
    secured=f"""
    WITH w AS MATERIALIZED (
      SELECT t.id, t.digest, substr(t.digest, 1, 8) AS low, substr(t.digest, 1, 8) || {_ABOVE} AS high
      FROM turn AS t WHERE t.space = :space AND t.id IN ({WANTED})
    )
    SELECT w.id, w.digest, (
      SELECT substr(o.digest, 1, 8) FROM turn AS o
      WHERE o.space = :space AND o.digest < w.low ORDER BY o.digest DESC LIMIT 1
    ), (
      SELECT substr(o.digest, 1, 8) FROM turn AS o
      WHERE o.space = :space AND o.digest > w.high ORDER BY o.digest LIMIT 1
    ), (
      SELECT o.id FROM turn AS o
      WHERE o.space = :space AND o.digest >= w.low AND o.digest <= w.high AND o.id <> w.id LIMIT 1
    )
    FROM w
    """,
)


def digests_around(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, NearDigests]:
    """The surroundings of the digests of turns, by id; an id that is not stored is left out.

    Cost: one statement for each 64 ids.
    """
    return {row[0]: NearDigests(*row[1:]) for row in look_up(connection, AROUND, space, ids)}


TWINS = Query(
    "turns of a digest's first bytes",
    "SELECT id FROM turn INDEXED BY turn_digest WHERE space = :space AND :short = substr(digest, 1, 8) LIMIT :limit",
    secured=f"""
    SELECT id FROM turn
    WHERE space = :space AND digest >= :short::bytea AND digest <= :short::bytea || {_ABOVE} LIMIT :limit
    """,
)


def twins_of(connection: Connection, space: int, digest: bytes, limit: int) -> list[TurnId]:
    """The ids of turns whose digests begin with the same eight bytes as ``digest``, in no order; at most ``limit``."""
    return [row[0] for row in connection.rows(TWINS, space=space, short=digest[:SHORT_BYTES], limit=limit)]


# The comparisons of eight bytes only lead to the index; those of whole digests decide.
BY_HANDLE = Query(
    "turns by handle",
    f"""
    SELECT {COLUMNS} FROM turn INDEXED BY turn_digest
    WHERE space = :space AND :low_short <= substr(digest, 1, 8) AND :high_short >= substr(digest, 1, 8)
      AND digest >= :low AND digest <= :high AND id LIKE :ending
    LIMIT :limit
    """,
    secured=f"""
    SELECT {COLUMNS} FROM turn
    WHERE space = :space AND digest >= :low AND digest <= :high AND id LIKE :ending LIMIT :limit
    """,
)


def turns_by_handle(
    connection: Connection, space: int, bounds: tuple[bytes, bytes], end: str, limit: int
) -> list[StoredTurn]:
    """The turns whose digests are within ``bounds``, both included, and whose ids end with ``end``, in commit order.

    Cost: one statement. It looks at every turn within the bounds if fewer than ``limit`` ids have this end.
    """
    low, high = bounds
    rows = connection.rows(
        BY_HANDLE, space=space, low_short=low[:SHORT_BYTES], high_short=high[:SHORT_BYTES], low=low, high=high,
        ending=f"%{end}", limit=limit,
    )  # fmt: skip
    return sorted(read_turns(rows), key=lambda turn: turn.seq)


LOGGED = Query(
    "which names have a log", f"SELECT DISTINCT name FROM bookmark_log WHERE space = :space AND name IN ({WANTED})"
)


def names_with_log(connection: Connection, space: int, names: Iterable[bytes]) -> set[bytes]:
    """The names among these that a bookmark has or had. Cost: one statement for each 64 names."""
    return {row[0] for row in look_up(connection, LOGGED, space, names)}
