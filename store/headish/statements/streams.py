"""The statements of ``rows/streams``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select, update

from headish.database.schema import stream, stream_chunk
from headish.rows.streams import (
    ADD_CHUNK,
    CHUNKS,
    CLOSE,
    COUNT_ENDED,
    DROP,
    FORGET,
    HAS_OPEN,
    LOCK,
    OPEN,
    OPEN_STREAMS,
    REMOVE_CHUNKS,
    RENEW,
)
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_id: BindParameter[str] = bindparam("id")

_here = (stream.c.space == _space, stream.c.id == _id)

_chunks = (stream_chunk.c.space == _space, stream_chunk.c.stream == _id)

_columns = (stream.c.id, stream.c.about, stream.c.expires, stream.c.outcome, stream.c.turn)

define(
    OPEN,
    insert(stream).values(space=_space, id=_id, about=bindparam("about"), expires=bindparam("expires")),
)

define(ADD_CHUNK, insert(stream_chunk).values({each.name: bindparam(each.name) for each in stream_chunk.c}))

define(
    RENEW,
    update(stream).where(*_here, stream.c.outcome.is_(None)).values(expires=bindparam("until")),
)

define(LOCK, select(*_columns).where(*_here).with_for_update())

define(HAS_OPEN, select(stream.c.id).where(stream.c.space == _space, stream.c.outcome.is_(None)).limit(1))

define(
    OPEN_STREAMS, select(*_columns).where(stream.c.space == _space, stream.c.outcome.is_(None)).order_by(stream.c.id)
)

define(CHUNKS, select(stream_chunk.c.data).where(*_chunks).order_by(stream_chunk.c.number))

define(
    CLOSE,
    update(stream).where(*_here).values(outcome=bindparam("became"), turn=bindparam("stored")),
)

define(REMOVE_CHUNKS, delete(stream_chunk).where(*_chunks))

define(DROP, delete(stream).where(*_here, stream.c.outcome.is_(None)))

define(
    FORGET,
    delete(stream).where(stream.c.space == _space, stream.c.outcome.is_not(None), stream.c.expires < bindparam("past")),
)


define(
    COUNT_ENDED,
    select(func.count()).where(
        stream.c.space == _space, stream.c.outcome.is_not(None), stream.c.expires < bindparam("past")
    ),
)
