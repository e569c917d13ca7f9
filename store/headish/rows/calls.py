"""Rows of ``call``: one for each request that passed through the gateway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.content.hashes import seal_call
from headish.database.query import Connection, Query, Row
from headish.rows.payloads import WANTED, in_portions, look_up
from headish.values.ids import TurnId

_COLUMNS = "id, milliseconds, client, session, lane, tip, answer, response, data"


class StoredCall(NamedTuple):
    """A row of ``call`` without its seal. Fields in column order."""

    id: str
    milliseconds: int
    client: bytes
    session: bytes | None
    lane: bytes | None
    tip: TurnId | None
    answer: TurnId | None
    response: bytes | None
    data: bytes

    @property
    def seal(self) -> bytes:
        """The seal that the row must have."""
        tip, answer = (None if each is None else each.encode() for each in (self.tip, self.answer))
        texts = (self.client, self.session, self.lane, tip, answer, self.response)
        return seal_call(self.id, self.milliseconds, texts, self.data)


ADD = Query(
    "add call",
    f"INSERT INTO call (space, {_COLUMNS}, seal) VALUES (:space, :id, :milliseconds, :client, :session, :lane, :tip, "
    ":answer, :response, :data, :seal)",
)


def add_call(connection: Connection, space: int, call: StoredCall) -> None:
    """Store a call."""
    connection.run(ADD, space=space, **call._asdict(), seal=call.seal)


FIND = Query("call by id", f"SELECT {_COLUMNS} FROM call WHERE space = :space AND id = :id")


def find_call(connection: Connection, space: int, id: str) -> StoredCall | None:
    """The call with this id; None if there is none."""
    return _read(connection.row(FIND, space=space, id=id))


KNOWN = Query("calls that are stored", f"SELECT id FROM call WHERE space = :space AND id IN ({WANTED})")


def known_calls(connection: Connection, space: int, ids: Iterable[str]) -> set[str]:
    """The ids among these that calls of the space have. Cost: one statement for each 64 ids."""
    return {row[0] for row in look_up(connection, KNOWN, space, ids)}


BY_RESPONSE = Query(
    "calls by the id of the response",
    f"SELECT {_COLUMNS} FROM call WHERE space = :space AND response = :response ORDER BY id",
)


def call_of_response(connection: Connection, space: int, response: bytes) -> StoredCall | None:
    """The last call whose answer has this id from its provider; None if there is none."""
    rows = connection.rows(BY_RESPONSE, space=space, response=response)
    return _read(rows[-1]) if rows else None


LIST = Query(
    "calls, the newest first",
    f"SELECT {_COLUMNS} FROM call WHERE space = :space AND id < :before ORDER BY id DESC LIMIT :limit",
)


def list_calls(connection: Connection, space: int, before: str, limit: int) -> list[StoredCall]:
    """The calls before an id, the newest first."""
    return [StoredCall(*row) for row in connection.rows(LIST, space=space, before=before, limit=limit)]


LIST_OF_LANE = Query(
    "calls of a lane, the newest first",
    f"SELECT {_COLUMNS} FROM call WHERE space = :space AND lane = :lane AND id < :before ORDER BY id DESC LIMIT :limit",
)


def list_calls_of_lane(connection: Connection, space: int, lane: bytes, before: str, limit: int) -> list[StoredCall]:
    """The calls of one lane before an id, the newest first."""
    rows = connection.rows(LIST_OF_LANE, space=space, lane=lane, before=before, limit=limit)
    return [StoredCall(*row) for row in rows]


# The first page begins with an empty id, if there is one: it is damage, and must be read to be reported.
PAGE = Query(
    "calls, a page",
    f"""
    SELECT {_COLUMNS}, seal FROM call WHERE space = :space AND (id > :after OR (:after = '' AND id = ''))
    ORDER BY id LIMIT :limit
    """,
)


def calls_page(connection: Connection, space: int, after: str, limit: int) -> Sequence[Row]:
    """The rows after an id, each with its seal, by id."""
    return connection.rows(PAGE, space=space, after=after, limit=limit)


SAY = Query(
    "say something else of a call", "UPDATE call SET data = :data, seal = :seal WHERE space = :space AND id = :id"
)


def say_of_call(connection: Connection, space: int, call: StoredCall, data: bytes) -> None:
    """Replace the facts of a call."""
    changed = call._replace(data=data)
    connection.run(SAY, space=space, id=call.id, data=data, seal=changed.seal)


FORGET_TIPS = Query("forget calls by their tips", f"DELETE FROM call WHERE space = :space AND tip IN ({WANTED})")
FORGET_ANSWERS = Query(
    "forget calls by their answers", f"DELETE FROM call WHERE space = :space AND answer IN ({WANTED})"
)


def forget_calls(connection: Connection, space: int, turns: Iterable[TurnId]) -> None:
    """Remove the calls that sent one of these turns last, or got one as their answer.

    Cost: two statements for each 64 turns.
    """
    for portion in in_portions(list(turns)):
        connection.run(FORGET_TIPS, space=space, **portion)
        connection.run(FORGET_ANSWERS, space=space, **portion)


def _read(row: Row | None) -> StoredCall | None:
    return None if row is None else StoredCall(*row)
