"""The statements of ``verify/providers``."""

from __future__ import annotations

from sqlalchemy import BindParameter, and_, bindparam, func, select

from headish.database.schema import definition, payload, stream, stream_chunk, turn
from headish.statements.compiling import define
from headish.verify.providers import CHUNKS, DEFINITIONS, STREAMS

_space: BindParameter[int] = bindparam("space")

define(
    DEFINITIONS,
    select(
        definition.c.kind,
        definition.c.name,
        definition.c.number,
        definition.c.hash,
        func.coalesce(definition.c.data, payload.c.data),
        definition.c.milliseconds,
        definition.c.running,
        definition.c.seq,
    )
    .select_from(
        definition.outerjoin(
            payload,
            and_(payload.c.space == _space, payload.c.hash == definition.c.hash, definition.c.data.is_(None)),
        )
    )
    .where(definition.c.space == bindparam("space"))
    .order_by(definition.c.kind, definition.c.name, definition.c.number),
)

define(
    STREAMS,
    select(stream.c.id, stream.c.about, stream.c.outcome, stream.c.turn, turn.c.seq)
    .select_from(stream.outerjoin(turn, and_(turn.c.space == _space, turn.c.id == stream.c.turn)))
    .where(stream.c.space == bindparam("space"))
    .order_by(stream.c.id),
)
# Reads the stream with its chunks, so that no writer ends it in between.
define(
    CHUNKS,
    select(stream_chunk.c.stream, stream_chunk.c.number, stream_chunk.c.data, stream.c.id, stream.c.outcome)
    .select_from(stream_chunk.outerjoin(stream, and_(stream.c.space == _space, stream.c.id == stream_chunk.c.stream)))
    .where(stream_chunk.c.space == bindparam("space"))
    .order_by(stream_chunk.c.stream, stream_chunk.c.number),
)
