"""What turns' handles are made of and found by: the digests next to a digest, and turns whose digests begin alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import BindParameter, bindparam, select, text

from headish.database.query import Connection, Query
from headish.database.schema import SHORT_DIGEST, bookmark_log, turn
from headish.rows.payloads import PORTION, in_portions
from headish.rows.turns import StoredTurn, read_turns, select_turns
from headish.values.ids import TurnId

SHORT_BYTES = 8
"""So much of a digest is indexed."""
_space: BindParameter[int] = bindparam("space")
_IDS = ", ".join(f":{each}" for each in PORTION)
_SHORT, _OTHERS = "substr(t.digest, 1, 8)", "substr(o.digest, 1, 8)"
AROUND = Query(
    "digests next to those of turns, and whether one is shared",
    text(
        "SELECT t.id, t.digest, "
        f"(SELECT {_OTHERS} FROM turn AS o WHERE o.space = :space AND {_OTHERS} < {_SHORT} "
        f"ORDER BY {_OTHERS} DESC LIMIT 1), "
        f"(SELECT {_OTHERS} FROM turn AS o WHERE o.space = :space AND {_OTHERS} > {_SHORT} "
        f"ORDER BY {_OTHERS} LIMIT 1), "
        f"(SELECT o.id FROM turn AS o WHERE o.space = :space AND {_OTHERS} = {_SHORT} AND o.id <> t.id LIMIT 1) "
        f"FROM turn AS t WHERE t.space = :space AND t.id IN ({_IDS})"
    ),
)
TWINS = Query(
    "turns of a digest's first bytes",
    select(turn.c.id)
    .where(turn.c.space == _space, bindparam("short") == SHORT_DIGEST)
    .limit(bindparam("limit"))
    .with_hint(turn, "INDEXED BY turn_digest", "sqlite"),
)
BY_HANDLE = Query(
    "turns by handle",
    select_turns()
    .where(
        bindparam("low_short") <= SHORT_DIGEST,
        bindparam("high_short") >= SHORT_DIGEST,
        turn.c.digest >= bindparam("low"),
        turn.c.digest <= bindparam("high"),
        turn.c.id.like(bindparam("ending")),
    )
    .limit(bindparam("limit"))
    .with_hint(turn, "INDEXED BY turn_digest", "sqlite"),
)
_names: list[BindParameter[bytes]] = [bindparam(each) for each in PORTION]
LOGGED = Query(
    "which names have a log",
    select(bookmark_log.c.name).where(bookmark_log.c.space == _space, bookmark_log.c.name.in_(_names)).distinct(),
)


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
