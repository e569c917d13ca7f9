"""Rows of ``counter``: one for each space. Who writes holds its lock, and takes the numbers that order its commits."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from sqlalchemy import BindParameter, bindparam, exists, literal_column, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from headish.database.query import Connection, Query, Statement
from headish.database.schema import bookmark, counter
from headish.errors import RemovedSpace

REMOVED = "removed"
"""The state of a space that was removed: its number is never given out again."""
ERASED = "erased"
"""The state of a space whose rows were erased: its receipts stay, and its number is never given out again."""

_space: BindParameter[int] = bindparam("space")
_row = counter.c.space == _space
LOCK_SPACE = Query(
    "lock the space", select(counter.c.seq, counter.c.change).where(_row, counter.c.state.is_(None)).with_for_update()
)
LOCK_COUNTER = Query("lock the counter of a space", select(counter.c.seq).where(_row).with_for_update())
TAKE_SEQ = Query(
    "take commit numbers",
    update(counter)
    .where(_row)
    .values(
        seq=counter.c.seq + bindparam("count"),
        latest=counter.c.seq + bindparam("count"),
        roots=counter.c.roots + bindparam("more_roots"),
        heads=counter.c.heads + bindparam("more_heads"),
        given_bytes=counter.c.given_bytes + bindparam("more_bytes"),
    )
    .returning(counter.c.seq, counter.c.change, counter.c.bars),
)
TAKE_NEXT = Query(
    "take the next commit number, if nothing was written since and the name is where it was left",
    update(counter)
    .where(
        _row,
        counter.c.seq == bindparam("known"),
        counter.c.change == bindparam("changes"),
        counter.c.state.is_(None),
        counter.c.bars == literal_column("0"),  # what is said is looked for only by the careful way
        # Whoever copies another file over an open one, or repairs rows by hand, may leave the numbers as they were; the
        # running hash of the name is of one history alone.
        exists().where(
            bookmark.c.space == _space,
            bookmark.c.name == bindparam("name"),
            bookmark.c.chain == bindparam("chain"),
            bookmark.c.pos == bindparam("pos"),
            bookmark.c.move == bindparam("move"),
            bookmark.c.running == bindparam("running"),
        ),
    )
    .values(
        seq=bindparam("following"),
        latest=bindparam("following"),
        given_bytes=counter.c.given_bytes + bindparam("more_bytes"),
    ),
)
TAKE_CHANGE = Query(
    "take a number of a change",
    update(counter).where(_row).values(change=counter.c.change + 1).returning(counter.c.seq, counter.c.change),
)
READ_COUNTER = Query(
    "read the counter of a space",
    select(
        counter.c.seq, counter.c.change, counter.c.latest, counter.c.roots, counter.c.heads, counter.c.given_bytes
    ).where(_row),
)
ADD_COUNTER = Query(
    "add counter",
    upsert(counter)
    .values(space=_space, seq=0, change=0, latest=0, epoch=bindparam("random"), roots=0, heads=0, given_bytes=0, bars=0)
    .on_conflict_do_nothing(),
)
RETIRE_COUNTER = Query(
    "retire the counter of a space that holds nothing",
    update(counter).where(_row, counter.c.seq == 0, counter.c.change == 0).values(state=bindparam("became")),
)


class Numbers(NamedTuple):
    """How far a space is: the number of its last turn, and that of the last change beside the turns."""

    seq: int
    change: int


class Taken(NamedTuple):
    """How far a space is once it has taken commit numbers, and how many hashes it bars."""

    seq: int
    change: int
    bars: int


class Counter(NamedTuple):
    """The numbers of a space: ``seq`` of its turns, ``change`` of what else changed; and what every append counts."""

    seq: int
    change: int
    latest: int
    roots: int
    heads: int
    given_bytes: int


def lock_space(connection: Connection, space: int) -> None:
    """Let one writer at a time into the space, until it commits: every write begins so (rule R1, commit order).

    Raises: RemovedSpace.
    """
    if connection.row(LOCK_SPACE, space=space) is None:
        raise RemovedSpace()


def lock_counter(connection: Connection, space: int) -> None:
    """As ``lock_space``, also of a space that takes nothing any more: its receipts go on."""
    connection.row(LOCK_COUNTER, space=space)


def take_seq(
    connection: Connection, space: int, count: int, *, roots: int = 0, heads: int = 0, given_bytes: int = 0
) -> Taken:
    """How far the space is once it has taken ``count`` commit numbers. It is locked, so commits come in their order
    (rule R1, commit order). The rest is what these turns add to the counts of the space."""
    row = connection.row(TAKE_SEQ, space=space, count=count, more_roots=roots, more_heads=heads, more_bytes=given_bytes)
    assert row is not None
    return Taken(*row)


def take_next(space: int, known: Numbers, given_bytes: int, named: tuple[bytes, int, int, int, bytes]) -> Statement:
    """Take one commit number for a turn that continues a head, and lock the space, if it is as far as is known.

    ``named`` is a name, its chain and position, the number of its last move and the running hash of its log. It changes
    no row if anything was written since, or if the name is not there.
    """
    following = known.seq + 1
    return Statement(TAKE_NEXT, (following, following, given_bytes, space, known.seq, known.change, space, *named))


def take_change(connection: Connection, space: int) -> tuple[int, int]:
    """The space's last commit number, and a new number for something that changed beside the turns."""
    row = connection.row(TAKE_CHANGE, space=space)
    assert row is not None
    return int(row[0]), int(row[1])


def read_counter(connection: Connection, space: int) -> Counter:
    """The counter of a space; zeros where its row is missing."""
    row = connection.row(READ_COUNTER, space=space)
    return Counter(*([0] * 6 if row is None else row))


def add_counter(connection: Connection, space: int) -> None:
    """Make the counter of a new space; two processes may do so at once."""
    connection.run(ADD_COUNTER, space=space, random=secrets.token_bytes(16))


def retire_counter(connection: Connection, space: int) -> bool:
    """Whether nothing was ever counted: then nobody writes into the space any more."""
    return connection.run(RETIRE_COUNTER, space=space, became=REMOVED) == 1
