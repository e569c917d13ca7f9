"""What turns' handles are made of and found by: the digests next to a digest, and turns whose digests begin alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headish.database.query import Connection, Query
from headish.rows.payloads import in_portions
from headish.rows.turns import StoredTurn, read_turns
from headish.values.ids import TurnId

SHORT_BYTES = 8

"""So much of a digest is indexed."""

AROUND = Query("digests next to those of turns, and whether one is shared")
TWINS = Query("turns of a digest's first bytes")
BY_HANDLE = Query("turns by handle")
LOGGED = Query("which names have a log")


class Around(NamedTuple):
    """A turn's digest, the beginnings of those next to it, and the id of another turn that has the same beginning."""

    digest: bytes
    before: bytes | None
    after: bytes | None
    twin: TurnId | None


def digests_around(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, Around]:
    """What is around the digests of turns; nothing for an id that is not stored. One statement for each 64 ids."""
    rows = [row for portion in in_portions(ids) for row in connection.rows(AROUND, space=space, **portion)]
    return {row[0]: Around(*row[1:]) for row in rows}


def twins_of(connection: Connection, space: int, digest: bytes, limit: int) -> list[TurnId]:
    """The ids of turns whose digests begin with the same eight bytes, in no order; ``limit`` at the most."""
    return [row[0] for row in connection.rows(TWINS, space=space, short=digest[:SHORT_BYTES], limit=limit)]


def turns_by_handle(
    connection: Connection, space: int, bounds: tuple[bytes, bytes], end: str, limit: int
) -> list[StoredTurn]:
    """Turns whose digests lie between two, both included, and whose ids end so; by commit order of those found.

    Cost: one statement, which looks at every turn between the bounds if there are fewer than ``limit`` with this end.
    """
    low, high = bounds
    rows = connection.rows(
        BY_HANDLE, space=space, low_short=low[:SHORT_BYTES], high_short=high[:SHORT_BYTES], low=low, high=high,
        ending=f"%{end}", limit=limit,
    )  # fmt: skip
    return sorted(read_turns(rows), key=lambda stored: stored.seq)


def names_with_log(connection: Connection, space: int, names: Iterable[bytes]) -> set[bytes]:
    """Which of these names are or were those of bookmarks. One statement for each 64 names."""
    return {row[0] for portion in in_portions(names) for row in connection.rows(LOGGED, space=space, **portion)}
