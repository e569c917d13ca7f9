"""Rows of ``counter``: one for each space. A writer locks it, and takes from it the numbers that order the commits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import msgspec

from headish.database.query import Connection, Query, Statement
from headish.errors import QuotaExceeded, RemovedSpace

if TYPE_CHECKING:
    from headish.values.results.reports import Quota

REMOVED = "removed"
"""The state of a space that was removed: its number is never given out again."""

ERASED = "erased"
"""The state of a space whose rows were erased: its receipts stay, and its number is never given out again."""


class SpaceNumbers(msgspec.Struct, frozen=True, gc=False):
    """How far a space is: the number of its last turn, and that of the last change beside the turns."""

    seq: int
    change: int


class Taken(msgspec.Struct, frozen=True, gc=False):
    """How far a space is once it has taken commit numbers, and how many hashes it bars."""

    seq: int
    change: int
    bars: int


class Counter(msgspec.Struct, frozen=True, gc=False):
    """The numbers of a space: ``seq`` of its turns, ``change`` of what else changed; and what every append counts."""

    seq: int
    change: int
    latest: int
    roots: int
    heads: int
    given_bytes: int


LOCK_SPACE = Query(
    "lock the space",
    "SELECT seq, change FROM counter WHERE space = :space AND state IS NULL FOR UPDATE",
)


def lock_space(connection: Connection, space: int) -> None:
    """Let one writer at a time into the space, until it commits: every write begins so (rule R1, commit order).

    Raises: RemovedSpace.
    """
    if connection.row(LOCK_SPACE, space=space) is None:
        raise RemovedSpace()


LOCK_COUNTER = Query("lock the counter of a space", "SELECT seq FROM counter WHERE space = :space FOR UPDATE")


def lock_counter(connection: Connection, space: int) -> None:
    """As ``lock_space``, also of a space that takes nothing any more: its receipts go on."""
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
    """How far the space is once it has taken ``count`` commit numbers. It is locked, so commits come in their order
    (rule R1, commit order). The rest is what these turns add to the counts of the space.

    Raises: QuotaExceeded where the space may not hold them.
    """
    row = connection.row(TAKE_SEQ, space=space, count=count, more_roots=roots, more_heads=heads, more_bytes=given_bytes)
    if row is None:
        # The limit is a condition of the UPDATE, so no writer can pass it; only a refusal pays for the words.
        _refuse(read_quota(connection, space), count, given_bytes)
    return Taken(*row)


# What arrives is not what was said here last, so ``@`` stays where it is.
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
    """How far the space is once it has taken commit numbers for turns from elsewhere, as ``take_seq``.

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
    """In a space in which nothing was said yet, make the turn that came last the newest one."""
    connection.run(BEGIN_LATEST, space=space)


# Where hashes are barred, the careful way looks for what is said. Whoever copies another file over an open one, or
# repairs rows by hand, may leave the numbers as they were; the running hash of the name is of one history alone.
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
    """Take commit numbers for turns that continue a head, one behind the other, and lock the space, if it is as far as
    is known.

    ``named`` is a name, its chain and position, the number of its last move and the running hash of its log. It changes
    no row if anything was written since, if the name is not there, or if the space may not hold one more.
    """
    return _take(TAKE_NEXT, space, known, given_bytes, named, count)


def take_behind(
    space: int, known: SpaceNumbers, given_bytes: int, end: tuple[int, int, str, bytes], count: int = 1
) -> Statement:
    """``take_next`` behind a turn without a name: its chain and position, its id and digest."""
    return _take(TAKE_BEHIND, space, known, given_bytes, end, count)


def _take(
    query: Query, space: int, known: SpaceNumbers, given_bytes: int, end: tuple[int | str | bytes, ...], count: int
) -> Statement:
    following = known.seq + count
    at = (space, known.seq, known.change, space, *end)
    return Statement(query, (following, following, given_bytes, *at, following, given_bytes))


TAKE_CHANGE = Query(
    "take a number of a change",
    "UPDATE counter SET change = change + 1 WHERE space = :space RETURNING seq, change",
)


def take_change(connection: Connection, space: int) -> tuple[int, int]:
    """The space's last commit number, and a new number for something that changed beside the turns."""
    row = connection.row(TAKE_CHANGE, space=space)
    assert row is not None
    return int(row[0]), int(row[1])


READ_COUNTER = Query(
    "read the counter of a space",
    "SELECT seq, change, latest, roots, heads, given_bytes FROM counter WHERE space = :space",
)


def read_counter(connection: Connection, space: int) -> Counter:
    """The counter of a space; zeros where its row is missing."""
    row = connection.row(READ_COUNTER, space=space)
    return Counter(*([0] * 6 if row is None else row))


READ_BARS = Query("how much content is barred", "SELECT bars FROM counter WHERE space = :space")


def has_barred(connection: Connection, space: int) -> bool:
    """Whether an erasure has barred any content of the space."""
    row = connection.row(READ_BARS, space=space)
    return row is not None and row[0] > 0


READ_STATE = Query("state of a space", "SELECT state FROM counter WHERE space = :space")


def state_of(connection: Connection, space: int) -> str | None:
    """Why the space takes no turns; None where it does."""
    row = connection.row(READ_STATE, space=space)
    return None if row is None else row[0]


READ_QUOTA = Query(
    "read what a space may hold",
    "SELECT limit_turns, limit_bytes, seq, given_bytes FROM counter WHERE space = :space",
)


def read_quota(connection: Connection, space: int) -> Quota:
    """What a space may hold, and what it holds."""
    from headish.values.results.reports import Quota  # late: few ask, and its module has seven other reports

    row = connection.row(READ_QUOTA, space=space)
    return Quota(None, None, 0, 0) if row is None else Quota(*row)


SET_QUOTA = Query(
    "set what a space may hold",
    "UPDATE counter SET limit_turns = :turns, limit_bytes = :bytes WHERE space = :space",
)


def set_quota(connection: Connection, space: int, turns: int | None, given_bytes: int | None) -> None:
    """Set what a space may hold; None is any number."""
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
    # Random, so that the cursor of a reader does not fit another history that has the same numbers.
    connection.run(ADD_COUNTER, space=space, random=os.urandom(16))


RETIRE_COUNTER = Query(
    "retire the counter of a space that holds nothing",
    "UPDATE counter SET state = :became WHERE space = :space AND seq = 0 AND change = 0",
)


def retire_counter(connection: Connection, space: int) -> bool:
    """Whether nothing was ever counted: then nobody writes into the space any more."""
    return connection.run(RETIRE_COUNTER, space=space, became=REMOVED) == 1


def _refuse(quota: Quota, turns: int, given_bytes: int) -> NoReturn:
    if quota.limit_turns is not None and quota.turns + turns > quota.limit_turns:
        raise QuotaExceeded("turns", quota.limit_turns, quota.turns, turns)
    assert quota.limit_bytes is not None  # the row is there and locked, so one of the two refused
    raise QuotaExceeded("bytes", quota.limit_bytes, quota.bytes, given_bytes)
