"""Rows of ``conversation``, and what tells conversations apart (rule R33, conversations).

A conversation without a name begins with a *first* turn: on the way to it along first parents, the first that is
neither system nor developer. What people say of it stands under that turn's id, and goes to the first name given to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.database.query import Connection, Query, Row
from headish.rows.counters import take_change
from headish.rows.payloads import in_portions
from headish.values.ids import TurnId
from headish.values.places import Place


class First(NamedTuple):
    """The first turn of a conversation."""

    place: Place
    id: TurnId


class Stored(NamedTuple):
    """What a row says of a conversation."""

    subject: bytes
    revision: int
    data: bytes


FIND = Query("what is said of a conversation")
FIND_SOME = Query("what is said of conversations")
BY_KEY = Query("conversation by key")
WRITE = Query("say something of a conversation")
LOG = Query("log that something was said of a conversation")
RENAME = Query("rename a conversation")
TAKE_OVER = Query("what is said of a nameless conversation goes to its name")
FIRST = Query("first turn of a conversation")
NAMES_IN = Query("names in what grew from a turn")
NEWEST_IN = Query("end of the newest branch that grew from a turn")
PAGE = Query("what is said of conversations, a page")


def find_record(connection: Connection, space: int, subject: bytes) -> Stored | None:
    """What is said of a conversation."""
    return _read(connection.row(FIND, space=space, subject=subject))


def find_records(connection: Connection, space: int, subjects: Iterable[bytes]) -> dict[bytes, Stored]:
    """What is said of conversations, of those of which something is. Cost: one statement for each 64 of them."""
    rows = [row for portion in in_portions(subjects) for row in connection.rows(FIND_SOME, space=space, **portion)]
    return {stored.subject: stored for stored in map(_read, rows) if stored is not None}


def record_by_key(connection: Connection, space: int, key: bytes) -> Stored | None:
    """What is said of the conversation that has this key."""
    return _read(connection.row(BY_KEY, space=space, key=key))


def write_record(
    connection: Connection,
    space: int,
    stored: Stored,
    *,
    archived: bool,
    pinned: bool,
    key: bytes | None,
) -> None:
    """Let this be said of a conversation from now on. The rest are copies of what ``data`` says.

    Cost: three statements.
    """
    now = time.time_ns() // 1_000_000
    connection.run(
        WRITE,
        space=space,
        **stored._asdict(),
        archived=int(archived),
        pinned=int(pinned),
        key=key,
        milliseconds=now,
    )
    _log(connection, space, stored.subject, now)


def rename_record(connection: Connection, space: int, old: bytes, new: bytes) -> None:
    """What was said of a name is said of another one."""
    if connection.run(RENAME, space=space, subject=old, to_subject=new):
        _log(connection, space, new)


def take_record_over(connection: Connection, space: int, name: bytes, place: Place) -> None:
    """A name was made: what is said of the nameless conversation that it lies in is said of the name from now on."""
    if connection.rows(TAKE_OVER, space=space, name=name, chain=place.chain, pos=place.pos):
        _log(connection, space, name)


def find_first(connection: Connection, space: int, place: Place) -> First | None:
    """The first turn of the conversation that a place belongs to; None where only system turns lead to it."""
    row = connection.row(FIRST, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else First(Place(row[0], row[1]), row[2])


def names_in(connection: Connection, space: int, place: Place, limit: int) -> list[bytes]:
    """The names in what grew from a place. Cost: a step for each branch, and one look at every name."""
    rows = connection.rows(NAMES_IN, space=space, chain=place.chain, pos=place.pos, limit=limit)
    return [name for (name,) in rows]


def newest_in(connection: Connection, space: int, place: Place) -> TurnId | None:
    """The end of the newest branch of what grew from a place."""
    row = connection.row(NEWEST_IN, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else row[0]


def records_page(connection: Connection, space: int, after: bytes, limit: int) -> Sequence[Row]:
    """A page of rows behind a subject: what is said, its copies, the time, and whether the subject is a name and
    whether it ever was."""
    return connection.rows(PAGE, space=space, subject=after, limit=limit)


def _log(connection: Connection, space: int, subject: bytes, now: int | None = None) -> None:
    """Number what was said among the changes of the space, so that whoever follows it hears of it."""
    seq, change = take_change(connection, space)
    milliseconds = time.time_ns() // 1_000_000 if now is None else now
    connection.run(LOG, space=space, change=change, seq=seq, subject=subject, milliseconds=milliseconds)


def _read(row: Row | None) -> Stored | None:
    return None if row is None else Stored(row[0], int(row[1]), row[2])
