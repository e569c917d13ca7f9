"""Turns by their keys, and by what they supersede (rule R35, keys)."""

from __future__ import annotations

from collections.abc import Iterable

from headish.content.hashes import hash_key
from headish.database.query import Connection, Query, Row
from headish.rows.payloads import PORTION, WANTED, in_portions
from headish.rows.turns import COLUMNS, StoredTurn, read_turns
from headish.values.ids import TurnId

# A turn that lost its meta has the hash of its key.
_HASHED = ", ".join(f":{each}_hash" for each in PORTION)
BY_KEYS = Query(
    "turns by their keys",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND key IN ({WANTED}, {_HASHED})",
)
BY_KEY = Query("turn by its key", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND key IN (:key, :key_hash)")
# Without an order: to save the sort, SQLite would read the whole space by its commit numbers.
SUPERSEDING = Query(
    "turns that supersede a turn",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND supersedes = :id",
)
SUPERSEDING_SOME = Query(
    "turns that supersede some turns",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND supersedes IN ({WANTED})",
)
BY_IDS = Query("turns by their ids", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND id IN ({WANTED})")
IDS = Query("ids that are known", f"SELECT id FROM turn WHERE space = :space AND id IN ({WANTED})")


def turn_by_key(connection: Connection, space: int, key: bytes) -> StoredTurn | None:
    """The turn with a key; one that lost its meta has the key's hash."""
    return next(iter(read_turns(connection.rows(BY_KEY, space=space, key=key, key_hash=hash_key(key)))), None)


def turns_by_keys(connection: Connection, space: int, keys: Iterable[bytes]) -> dict[bytes, StoredTurn]:
    """The turns with one of the keys, by key. Cost: one statement for each ``LOOKED_UP`` keys."""
    listed = list(keys)
    known = {each: key for key in listed for each in (key, hash_key(key))}
    rows: list[Row] = []
    for portion in in_portions(listed):
        hashed = {f"{name}_hash": hash_key(key) for name, key in portion.items()}
        rows += connection.rows(BY_KEYS, space=space, **portion, **hashed)
    return {known[bytes(stored.key)]: stored for stored in read_turns(rows) if stored.key is not None}


def superseding(connection: Connection, space: int, turn_id: TurnId) -> list[StoredTurn]:
    """The turns that take the place of a turn, in commit order."""
    return sorted(read_turns(connection.rows(SUPERSEDING, space=space, id=turn_id)), key=lambda stored: stored.seq)


def superseding_some(connection: Connection, space: int, ids: Iterable[TurnId]) -> list[StoredTurn]:
    """The turns that take the place of one of some turns, in no order. Cost: one statement for each ``LOOKED_UP``."""
    portions = in_portions(dict.fromkeys(ids))
    return read_turns(row for portion in portions for row in connection.rows(SUPERSEDING_SOME, space=space, **portion))


def known_ids(connection: Connection, space: int, ids: Iterable[TurnId]) -> set[TurnId]:
    """Which of the ids are those of turns. Cost: one statement for each ``LOOKED_UP`` ids."""
    return {row[0] for portion in in_portions(ids) for row in connection.rows(IDS, space=space, **portion)}


def turns_by_ids(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, StoredTurn]:
    """The turns that have one of the ids, by id. Cost: one statement for each ``LOOKED_UP`` ids."""
    rows = [row for portion in in_portions(ids) for row in connection.rows(BY_IDS, space=space, **portion)]
    return {stored.id: stored for stored in read_turns(rows)}
