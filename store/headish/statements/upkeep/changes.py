"""The statements of ``rows/upkeep/changes``."""

from __future__ import annotations

from sqlalchemy import BindParameter, Select, Table, and_, bindparam, or_, select, union_all

from headish.database.schema import bookmark_log, conversation, counter, definition, erasure, record_log, turn
from headish.rows.upkeep.changes import (
    DEFINITIONS,
    ERASURES,
    MARK,
    MOVES,
    NUMBERS,
    PLACE_UP_TO,
    RECORD_MARK,
    RECORDS,
    RENAMED,
    SEAL,
    TURNS,
)
from headish.statements.compiling import define
from headish.statements.turns import select_turns

_space: BindParameter[int] = bindparam("space")
_name: BindParameter[bytes] = bindparam("name")
_before = bookmark_log.alias("before")
_old = turn.alias("old")
_low: BindParameter[int] = bindparam("low")
_high: BindParameter[int] = bindparam("high")
_at: BindParameter[int] = bindparam("change")

define(
    NUMBERS,
    select(counter.c.seq, counter.c.change, counter.c.epoch, counter.c.state).where(counter.c.space == _space),
)
define(
    TURNS,
    select_turns().where(turn.c.seq > _low, turn.c.seq <= _high).order_by(turn.c.seq),
)
define(
    MOVES,
    select(
        bookmark_log.c.change,
        bookmark_log.c.seq,
        bookmark_log.c.milliseconds,
        bookmark_log.c.running,
        bookmark_log.c.name,
        bookmark_log.c.was,
        _old.c.id,
        turn.c.id,
        bookmark_log.c.chain,
        bookmark_log.c.pos,
    )
    .select_from(
        bookmark_log.outerjoin(
            turn,
            and_(turn.c.space == _space, turn.c.chain == bookmark_log.c.chain, turn.c.pos == bookmark_log.c.pos),
        )
        .outerjoin(
            _before,
            and_(
                _before.c.space == _space,
                _before.c.name == bookmark_log.c.name,
                _before.c.move == bookmark_log.c.move - 1,
            ),
        )
        .outerjoin(_old, and_(_old.c.space == _space, _old.c.chain == _before.c.chain, _old.c.pos == _before.c.pos))
    )
    .where(bookmark_log.c.space == _space, bookmark_log.c.change > _low, bookmark_log.c.change <= _high),
)
define(
    DEFINITIONS,
    select(
        definition.c.change,
        definition.c.seq,
        definition.c.milliseconds,
        definition.c.running,
        definition.c.kind,
        definition.c.name,
        definition.c.number,
        definition.c.hash.is_(None),
    ).where(definition.c.space == _space, definition.c.change > _low, definition.c.change <= _high),
)
define(
    RECORDS,
    select(
        record_log.c.change,
        record_log.c.seq,
        record_log.c.milliseconds,
        record_log.c.subject,
        conversation.c.revision,
        conversation.c.data,
    )
    .select_from(
        record_log.outerjoin(
            conversation, and_(conversation.c.space == _space, conversation.c.subject == record_log.c.subject)
        )
    )
    .where(record_log.c.space == _space, record_log.c.change > _low, record_log.c.change <= _high),
)
define(
    ERASURES,
    select(
        erasure.c.change,
        erasure.c.seq,
        erasure.c.milliseconds,
        erasure.c.hash,
        erasure.c.number,
        erasure.c.id,
        erasure.c.receipt,
    ).where(erasure.c.space == _space, erasure.c.change > _low, erasure.c.change <= _high),
)
define(
    SEAL,
    select(turn.c.seal).where(turn.c.space == _space, turn.c.seq == bindparam("seq")),
)


def _marked(table: Table, column: str) -> Select[tuple[bytes]]:
    """By the index: where a space has few rows, SQLite reads all of them instead."""
    found = select(table.c[column]).where(table.c.space == _space, table.c.change == _at)
    return found.with_hint(table, f"INDEXED BY {table.name}_change", "sqlite")


define(MARK, union_all(_marked(bookmark_log, "running"), _marked(definition, "running"), _marked(erasure, "hash")))
define(
    RECORD_MARK,
    select(record_log.c.milliseconds).where(record_log.c.space == _space, record_log.c.change == _at),
)
define(
    PLACE_UP_TO,
    select(bookmark_log.c.chain, bookmark_log.c.pos)
    .where(
        bookmark_log.c.space == _space,
        bookmark_log.c.name == _name,
        or_(
            bookmark_log.c.seq < bindparam("seq"),
            and_(
                bookmark_log.c.seq == bindparam("seq"),
                or_(bookmark_log.c.change.is_(None), bookmark_log.c.change <= _at),
            ),
        ),
    )
    .order_by(bookmark_log.c.move.desc())
    .limit(1),
)
define(
    RENAMED,
    select(bookmark_log.c.name)
    .where(bookmark_log.c.space == _space, bookmark_log.c.change > _at, bookmark_log.c.was == _name)
    .order_by(bookmark_log.c.change)
    .limit(1),
)
