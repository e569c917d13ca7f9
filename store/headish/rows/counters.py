"""Rows of ``counter``, one for each space. A writer locks its row and takes the numbers that order commits from it.

The UPDATE that takes them holds the quota of the space, too: it changes no row where they would exceed it (ADR 0025).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import msgspec

from headish.database.query import Connection, Query, Statement
from headish.errors import QuotaExceeded, RemovedSpace

if TYPE_CHECKING:
    from headish.values.results.reports import Quota

REMOVED = "removed"
"""The state of a removed space. Its number is never given to another space."""

ERASED = "erased"
"""The state of a space whose rows were erased. Its receipts stay, and its number is never given to another space."""


class SpaceNumbers(msgspec.Struct, frozen=True, gc=False):
    """The last numbers of a space: ``seq`` of its turns, and ``change`` of everything else that changed."""

    seq: int
    change: int


class Taken(msgspec.Struct, frozen=True, gc=False):
    """The last numbers of a space after it has taken commit numbers, and how many hashes it bars."""

    seq: int
    change: int
    bars: int


class Counter(msgspec.Struct, frozen=True, gc=False):
    """The last numbers of a space (``SpaceNumbers``), and the totals that appends keep. ``latest`` is the number of the
    newest turn that was written here; ``seq`` counts turns from other stores, too."""

    seq: int
    change: int
    latest: int
    roots: int
    heads: int
    given_bytes: int


LOCK_SPACE = Query(
    "lock the space", "SELECT seq, change FROM counter WHERE space = :space AND state IS NULL FOR UPDATE"
)


def lock_space(connection: Connection, space: int) -> None:
    """Lock a space until the commit, so that it has one writer at a time (rule R1, commit order).

    A write begins with this, or with ``take_next``, which locks too: what it read earlier might have changed by then.
    Raises: RemovedSpace.
    """
    if connection.row(LOCK_SPACE, space=space) is None:
        raise RemovedSpace()


LOCK_COUNTER = Query("lock the counter of a space", "SELECT seq FROM counter WHERE space = :space FOR UPDATE")


def lock_counter(connection: Connection, space: int) -> None:
    """Lock a space as ``lock_space`` does, even if it takes no turns any more: its receipts still grow."""
    connection.row(LOCK_COUNTER, space=space)


TAKE_SEQ = Query(
    "take commit numbers",
    """
    UPDATE counter
    SET seq = seq + :count, latest = seq + :count, roots = roots + :more_roots, heads = heads + :more_heads,
      given_bytes = given_bytes + :more_bytes
    WHERE space = :space AND (limit_turns IS NULL OR seq + :count <= limit_turns)
      AND (limit_bytes IS NULL OR given_bytes + :more_bytes <= limit_bytes)
    RETURNING seq, change, bars
    """,
)


def take_seq(
    connection: Connection, space: int, count: int, *, roots: int = 0, heads: int = 0, given_bytes: int = 0
) -> Taken:
    """Take ``count`` commit numbers; returns the last one, among others.

    The caller has locked the space, so commits come in the order of their numbers (rule R1, commit order). ``roots``,
    ``heads`` and ``given_bytes`` are what the new turns add to the totals of the space.
    Raises: QuotaExceeded if the quota of the space has no room for them.
    """
    row = connection.row(TAKE_SEQ, space=space, count=count, more_roots=roots, more_heads=heads, more_bytes=given_bytes)
    if row is None:
        # The UPDATE itself checks the quota, so no writer can pass it. Only a refusal reads it again, for its message.
        _refuse(read_quota(connection, space), count, given_bytes)
    return Taken(*row)


# Without ``latest``: turns that arrive from another store were not written here, so ``@`` stays where it is.
TAKE_ARRIVED = Query(
    "take commit numbers for what arrives",
    """
    UPDATE counter
    SET seq = seq + :count, roots = roots + :more_roots, heads = heads + :more_heads,
      given_bytes = given_bytes + :more_bytes
    WHERE space = :space AND (limit_turns IS NULL OR seq + :count <= limit_turns)
      AND (limit_bytes IS NULL OR given_bytes + :more_bytes <= limit_bytes)
    RETURNING seq
    """,
)


def take_arrived(connection: Connection, space: int, count: int, *, roots: int, heads: int, given_bytes: int) -> int:
    """Take commit numbers as ``take_seq`` does, for turns from another store. Returns the last one.

    Raises: QuotaExceeded.
    """
    row = connection.row(
        TAKE_ARRIVED, space=space, count=count, more_roots=roots, more_heads=heads, more_bytes=given_bytes
    )
    if row is None:
        _refuse(read_quota(connection, space), count, given_bytes)
    return int(row[0])


BEGIN_LATEST = Query(
    "let the newest turn be the last one, where nothing was written",
    "UPDATE counter SET latest = seq WHERE space = :space AND latest = 0",
)


def begin_latest(connection: Connection, space: int) -> None:
    """Make the turn with the last commit number the newest one (``@``) of a space in which nothing was written."""
    connection.run(BEGIN_LATEST, space=space)


# ``bars = 0``: if an erasure has barred payloads from coming back, ``append`` compares the new ones with them.
# The numbers alone prove too little: another file copied over an open one, or rows repaired by hand, may have the same.
# The running hash of the name, or the turn's id and digest, belong to one history alone.
_TAKE = """
    UPDATE counter SET seq = :following, latest = :following, given_bytes = counter.given_bytes + :more_bytes
    WHERE counter.space = :space AND counter.seq = :known AND counter.change = :changes AND counter.state IS NULL
      AND counter.bars = 0
      AND EXISTS (SELECT 1 FROM {end})
      AND (counter.limit_turns IS NULL OR counter.limit_turns >= :following)
      AND (counter.limit_bytes IS NULL OR counter.given_bytes + :more_bytes <= counter.limit_bytes)
    """
TAKE_NEXT = Query(
    "take the next commit number, if nothing was written since and the name is where it was left",
    _TAKE.format(
        end="""bookmark
        WHERE bookmark.space = :space AND bookmark.name = :name AND bookmark.chain = :chain AND bookmark.pos = :pos
          AND bookmark.move = :move AND bookmark.running = :running"""
    ),
)
TAKE_BEHIND = Query(
    "take the next commit number, if nothing was written since and the turn is what it was",
    _TAKE.format(
        end="""turn
        WHERE turn.space = :space AND turn.chain = :chain AND turn.pos = :pos AND turn.id = :id
          AND turn.digest = :digest"""
    ),
)


def take_next(
    space: int, known: SpaceNumbers, given_bytes: int, named: tuple[bytes, int, int, int, bytes], count: int = 1
) -> Statement:
    """The statement that locks the space and takes commit numbers for turns that continue a head, one after the other.

    ``named`` is a name, its chain and position, the number of its last move and the running hash of its log. The
    statement changes no row if anything was written since ``known``, if the name is elsewhere, or if the quota has no
    room.
    """
    return _take(TAKE_NEXT, space, known, given_bytes, named, count)


def take_behind(
    space: int, known: SpaceNumbers, given_bytes: int, end: tuple[int, int, str, bytes], count: int = 1
) -> Statement:
    """``take_next`` for a turn without a name: ``end`` is its chain and position, its id and digest."""
    return _take(TAKE_BEHIND, space, known, given_bytes, end, count)


def _take(
    query: Query, space: int, known: SpaceNumbers, given_bytes: int, end: tuple[int | str | bytes, ...], count: int
) -> Statement:
    following = known.seq + count
    at = (space, known.seq, known.change, space, *end)
    return Statement(query, (following, following, given_bytes, *at, following, given_bytes))


TAKE_CHANGE = Query(
    "take a number of a change", "UPDATE counter SET change = change + 1 WHERE space = :space RETURNING seq, change"
)


def take_change(connection: Connection, space: int) -> tuple[int, int]:
    """Take a number for a change that is not a turn. Returns the last commit number of the space, and the new one."""
    row = connection.row(TAKE_CHANGE, space=space)
    assert row is not None
    return int(row[0]), int(row[1])


READ_COUNTER = Query(
    "read the counter of a space",
    "SELECT seq, change, latest, roots, heads, given_bytes FROM counter WHERE space = :space",
)


def read_counter(connection: Connection, space: int) -> Counter:
    """The counter of a space; zeros if its row is missing."""
    row = connection.row(READ_COUNTER, space=space)
    return Counter(*([0] * 6 if row is None else row))


READ_BARS = Query("how much content is barred", "SELECT bars FROM counter WHERE space = :space")


def has_barred(connection: Connection, space: int) -> bool:
    """Whether an erasure has barred any content of the space."""
    row = connection.row(READ_BARS, space=space)
    return row is not None and row[0] > 0


READ_STATE = Query("state of a space", "SELECT state FROM counter WHERE space = :space")


def state_of(connection: Connection, space: int) -> str | None:
    """The reason why a space takes no turns: ``REMOVED``, ``ERASED`` or a restore's mark. None if it takes turns."""
    row = connection.row(READ_STATE, space=space)
    return None if row is None else row[0]


READ_QUOTA = Query(
    "read what a space may hold", "SELECT limit_turns, limit_bytes, seq, given_bytes FROM counter WHERE space = :space"
)


def read_quota(connection: Connection, space: int) -> Quota:
    """The quota of a space, with what it holds now."""
    from headish.values.results.reports import Quota  # late: rarely needed, and its module has seven other reports

    row = connection.row(READ_QUOTA, space=space)
    return Quota(None, None, 0, 0) if row is None else Quota(*row)


SET_QUOTA = Query(
    "set what a space may hold", "UPDATE counter SET limit_turns = :turns, limit_bytes = :bytes WHERE space = :space"
)


def set_quota(connection: Connection, space: int, turns: int | None, given_bytes: int | None) -> None:
    """Set the quota of a space; None is no limit."""
    connection.run(SET_QUOTA, space=space, turns=turns, bytes=given_bytes)


ADD_COUNTER = Query(
    "add counter",
    """
    INSERT INTO counter (space, seq, change, latest, epoch, roots, heads, given_bytes, bars)
    VALUES (:space, 0, 0, 0, :random, 0, 0, 0, 0) ON CONFLICT DO NOTHING
    """,
)


def add_counter(connection: Connection, space: int) -> None:
    """Make the counter of a new space; two processes may do so at once."""
    # Random: the cursor of a reader must not fit another history that has the same numbers.
    connection.run(ADD_COUNTER, space=space, random=os.urandom(16))


RETIRE_COUNTER = Query(
    "retire the counter of a space that holds nothing",
    "UPDATE counter SET state = :became WHERE space = :space AND seq = 0 AND change = 0",
)


def retire_counter(connection: Connection, space: int) -> bool:
    """Close a space to writers if it never counted anything. False if it did."""
    return connection.run(RETIRE_COUNTER, space=space, became=REMOVED) == 1


def _refuse(quota: Quota, turns: int, given_bytes: int) -> NoReturn:
    if quota.limit_turns is not None and quota.turns + turns > quota.limit_turns:
        raise QuotaExceeded("turns", quota.limit_turns, quota.turns, turns)
    assert quota.limit_bytes is not None  # the row is there and locked, so one of the two refused
    raise QuotaExceeded("bytes", quota.limit_bytes, quota.bytes, given_bytes)
