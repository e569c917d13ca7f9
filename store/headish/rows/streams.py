"""Rows of ``stream`` and ``stream_chunk``: answers that are arriving, and the journal of their events.

An open stream belongs to its writer until its lease expires. The process that ends a stream locks its row first.
"""

from __future__ import annotations

from typing import NamedTuple

from headish.database.query import Connection, Query
from headish.values.ids import TurnId

FINISHED, RECOVERED = "finished", "recovered"
"""How a stream ended: its writer stored the turn, or a recovery stored it from the journal."""


class StoredStream(NamedTuple):
    """A row of ``stream``. ``about`` is JSON, ``expires`` Unix milliseconds."""

    id: TurnId
    about: bytes
    expires: int
    outcome: str | None
    turn: TurnId | None


OPEN = Query("open a stream", "INSERT INTO stream (space, id, about, expires) VALUES (:space, :id, :about, :expires)")
FORGET = Query(
    "forget streams that ended long ago",
    "DELETE FROM stream WHERE space = :space AND outcome IS NOT NULL AND expires < :past",
)


def open_stream(connection: Connection, space: int, id: TurnId, about: bytes, expires: int, forget_before: int) -> None:
    """Begin a stream, and forget the streams that ended before ``forget_before``."""
    # Each answer opens a stream, so this keeps the table small without a job that somebody would have to run.
    connection.run(FORGET, space=space, past=forget_before)
    connection.run(OPEN, space=space, id=id, about=about, expires=expires)


ADD_CHUNK = Query(
    "journal a chunk", "INSERT INTO stream_chunk (space, stream, number, data) VALUES (:space, :stream, :number, :data)"
)


def add_chunk(connection: Connection, space: int, id: TurnId, number: int, data: bytes, expires: int) -> bool:
    """Journal events and renew the lease. False, and nothing is stored, if another process has ended the stream."""
    # The writer may have slept past its lease while a recovery stored the turn. Later events would belong to nothing.
    if not renew_stream(connection, space, id, expires):
        return False
    connection.run(ADD_CHUNK, space=space, stream=id, number=number, data=data)
    return True


RENEW = Query(
    "renew the lease of a stream",
    "UPDATE stream SET expires = :until WHERE space = :space AND id = :id AND outcome IS NULL",
)


def renew_stream(connection: Connection, space: int, id: TurnId, expires: int) -> bool:
    """Renew the lease of a stream. False if the stream has ended."""
    return connection.run(RENEW, space=space, id=id, until=expires) == 1


LOCK = Query(
    "lock a stream", "SELECT id, about, expires, outcome, turn FROM stream WHERE space = :space AND id = :id FOR UPDATE"
)


def lock_stream(connection: Connection, space: int, id: TurnId) -> StoredStream | None:
    """Read a stream and lock it, so that no other transaction ends it before this one does. None if there is none."""
    row = connection.row(LOCK, space=space, id=id)
    return None if row is None else StoredStream._make(row)


OPEN_STREAMS = Query(
    "open streams",
    "SELECT id, about, expires, outcome, turn FROM stream WHERE space = :space AND outcome IS NULL ORDER BY id",
)


def open_streams(connection: Connection, space: int) -> list[StoredStream]:
    """The streams that have not ended, oldest first."""
    return [StoredStream._make(row) for row in connection.rows(OPEN_STREAMS, space=space)]


CHUNKS = Query(
    "journal of a stream", "SELECT data FROM stream_chunk WHERE space = :space AND stream = :id ORDER BY number"
)


def journal_of(connection: Connection, space: int, id: TurnId) -> list[bytes]:
    """The chunks of a stream's journal, in order."""
    return [row[0] for row in connection.rows(CHUNKS, space=space, id=id)]


REMOVE_CHUNKS = Query(
    "remove the journal of a stream", "DELETE FROM stream_chunk WHERE space = :space AND stream = :id"
)
DROP = Query("drop a stream", "DELETE FROM stream WHERE space = :space AND id = :id AND outcome IS NULL")


def drop_stream(connection: Connection, space: int, id: TurnId) -> bool:
    """Forget an open stream and its journal. False if no open stream has this id."""
    # Locked first: a chunk that its writer stores between the two DELETEs would refer to a stream that is gone.
    if lock_stream(connection, space, id) is None:
        return False
    connection.run(REMOVE_CHUNKS, space=space, id=id)
    return connection.run(DROP, space=space, id=id) == 1


def remove_journal(connection: Connection, space: int, id: TurnId) -> None:
    """Remove the journal of a stream that is locked, in the transaction that stores its turn."""
    connection.run(REMOVE_CHUNKS, space=space, id=id)


# ``about`` is emptied when the stream ends: it has the name to move, which may be erased before the row is forgotten.
CLOSE = Query(
    "close a stream",
    "UPDATE stream SET outcome = :became, turn = :stored, about = :nothing WHERE space = :space AND id = :id",
)


def close_stream(connection: Connection, space: int, id: TurnId, outcome: str, turn: TurnId | None) -> None:
    """End a stream with its outcome and turn. The caller has removed its journal."""
    connection.run(CLOSE, space=space, id=id, became=outcome, stored=turn, nothing=b"{}")


COUNT_ENDED = Query(
    "count streams that ended long ago",
    "SELECT count(*) FROM stream WHERE space = :space AND outcome IS NOT NULL AND expires < :past",
)


def count_ended(connection: Connection, space: int, before: int) -> int:
    """The number of remembered streams that ended before a time in Unix milliseconds."""
    row = connection.row(COUNT_ENDED, space=space, past=before)
    return 0 if row is None else int(row[0])


def forget_ended(connection: Connection, space: int, before: int) -> None:
    """Forget the streams that ended before a time."""
    connection.run(FORGET, space=space, past=before)
