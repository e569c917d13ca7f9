"""The statements of ``rows/counters``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, exists, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from headish.database.schema import bookmark, counter
from headish.rows.counters import (
    ADD_COUNTER,
    LOCK_COUNTER,
    LOCK_SPACE,
    READ_COUNTER,
    READ_QUOTA,
    READ_STATE,
    RETIRE_COUNTER,
    SET_QUOTA,
    TAKE_CHANGE,
    TAKE_NEXT,
    TAKE_SEQ,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_row = counter.c.space == _space

define(LOCK_SPACE, select(counter.c.seq, counter.c.change).where(_row, counter.c.state.is_(None)).with_for_update())

define(LOCK_COUNTER, select(counter.c.seq).where(_row).with_for_update())

define(
    TAKE_SEQ,
    update(counter)
    .where(
        _row,
        or_(counter.c.limit_turns.is_(None), counter.c.seq + bindparam("count") <= counter.c.limit_turns),
        or_(counter.c.limit_bytes.is_(None), counter.c.given_bytes + bindparam("more_bytes") <= counter.c.limit_bytes),
    )
    .values(
        seq=counter.c.seq + bindparam("count"),
        latest=counter.c.seq + bindparam("count"),
        roots=counter.c.roots + bindparam("more_roots"),
        heads=counter.c.heads + bindparam("more_heads"),
        given_bytes=counter.c.given_bytes + bindparam("more_bytes"),
    )
    .returning(counter.c.seq, counter.c.change, counter.c.bars),
)

define(
    TAKE_NEXT,
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
        or_(counter.c.limit_turns.is_(None), counter.c.limit_turns >= bindparam("following")),
        or_(counter.c.limit_bytes.is_(None), counter.c.given_bytes + bindparam("more_bytes") <= counter.c.limit_bytes),
    )
    .values(
        seq=bindparam("following"),
        latest=bindparam("following"),
        given_bytes=counter.c.given_bytes + bindparam("more_bytes"),
    ),
)

define(
    TAKE_CHANGE,
    update(counter).where(_row).values(change=counter.c.change + 1).returning(counter.c.seq, counter.c.change),
)

define(
    READ_COUNTER,
    select(
        counter.c.seq, counter.c.change, counter.c.latest, counter.c.roots, counter.c.heads, counter.c.given_bytes
    ).where(_row),
)

define(
    READ_QUOTA,
    select(counter.c.limit_turns, counter.c.limit_bytes, counter.c.seq, counter.c.given_bytes).where(_row),
)

define(
    SET_QUOTA,
    update(counter).where(_row).values(limit_turns=bindparam("turns"), limit_bytes=bindparam("bytes")),
)

define(
    ADD_COUNTER,
    upsert(counter)
    .values(space=_space, seq=0, change=0, latest=0, epoch=bindparam("random"), roots=0, heads=0, given_bytes=0, bars=0)
    .on_conflict_do_nothing(),
)

define(
    RETIRE_COUNTER,
    update(counter).where(_row, counter.c.seq == 0, counter.c.change == 0).values(state=bindparam("became")),
)

define(READ_STATE, select(counter.c.state).where(_row))
