"""Rows of every table whose rows are numbered, in the order of their commits: what whoever follows a space reads.

Turns have commit numbers, all else that changes has numbers of changes. Both are given out behind the lock of the
space, so neither has gaps, and nothing appears later below a number that was seen (rule R1, commit order).
"""

from __future__ import annotations

from typing import NamedTuple

from headish.database.query import Connection, Query, Row
from headish.rows.turns import StoredTurn, read_turns
from headish.values.ids import TurnId
from headish.values.places import Place


class Reached(NamedTuple):
    """How far a space is, and which history that is: its epoch."""

    seq: int
    change: int
    epoch: bytes
    state: str | None


class MovedName(NamedTuple):
    """A move that no turn made. ``was`` is the name before, where it was renamed; ``turn`` is None where it was
    removed."""

    name: bytes
    was: bytes | None
    old: TurnId | None
    turn: TurnId | None
    place: Place | None


class Defined(NamedTuple):
    """A pointer or tools were set, or removed."""

    kind: str
    name: bytes
    number: int
    removed: bool


class SaidOf(NamedTuple):
    """Something was said of a conversation; what is said of it now, None where nothing is under this subject."""

    subject: bytes
    revision: int | None
    data: bytes | None


class Erased(NamedTuple):
    """A receipt of an erasure."""

    number: int
    id: str
    receipt: bytes


class Numbered(NamedTuple):
    """A row that a change was numbered by. ``mark`` tells it from any other row that might have the same number."""

    change: int
    seq: int
    milliseconds: int
    mark: bytes
    what: MovedName | Defined | SaidOf | Erased


NUMBERS = Query("how far a space is")
TURNS = Query("turns of a range of commit numbers")
MOVES = Query("moves of a range of changes")
DEFINITIONS = Query("definitions of a range of changes")
RECORDS = Query("what was said of conversations in a range of changes")
ERASURES = Query("erasures of a range of changes")
SEAL = Query("seal of the turn with a commit number")
MARK = Query("mark of a change")
RECORD_MARK = Query("when something was said of a conversation")
# A name's moves are in the order of their numbers, so it is read from its end: as far as there are moves behind.
PLACE_UP_TO = Query("where a name was at a position")
RENAMED = Query("what a name was renamed to since a change")


def read_reached(connection: Connection, space: int) -> Reached | None:
    """How far a space is; None where its counter is missing."""
    row = connection.row(NUMBERS, space=space)
    return None if row is None else Reached(int(row[0]), int(row[1]), bytes(row[2]), row[3])


def turns_between(connection: Connection, space: int, low: int, high: int) -> list[StoredTurn]:
    """The turns behind one commit number, up to another, in order."""
    return read_turns(connection.rows(TURNS, space=space, low=low, high=high))


def changes_between(connection: Connection, space: int, low: int, high: int) -> list[Numbered]:
    """The other changes behind one number, up to another, in order. Cost: four statements."""
    between = {"space": space, "low": low, "high": high}
    found = [_numbered(row, row[3], _move(row)) for row in connection.rows(MOVES, **between)]
    found += [_numbered(row, row[3], Defined._make(row[4:])) for row in connection.rows(DEFINITIONS, **between)]
    found += [
        _numbered(row, _record_mark(row[2]), SaidOf._make(row[3:])) for row in connection.rows(RECORDS, **between)
    ]
    found += [_numbered(row, row[3], Erased._make(row[4:])) for row in connection.rows(ERASURES, **between)]
    return sorted(found, key=lambda each: each.change)


def seal_at(connection: Connection, space: int, seq: int) -> bytes:
    """The seal of the turn with a commit number; empty where there is none."""
    row = connection.row(SEAL, space=space, seq=seq) if seq else None
    return b"" if row is None else bytes(row[0])


def mark_at(connection: Connection, space: int, change: int) -> bytes:
    """``Numbered.mark`` of a change; empty where there is none. Cost: one statement, or two."""
    row = connection.row(MARK, space=space, change=change) if change else None
    if row is None and change:
        said = connection.row(RECORD_MARK, space=space, change=change)
        return b"" if said is None else _record_mark(said[0])
    return b"" if row is None else bytes(row[0])


def place_up_to(connection: Connection, space: int, name: bytes, seq: int, change: int) -> Place | None:
    """Where a name was when the space was so far; that of the log which it had then, if it was renamed since.

    Cost: two statements at the most, which look at what happened since.
    """
    row = connection.row(PLACE_UP_TO, space=space, name=name, seq=seq, change=change)
    if row is None:
        renamed = connection.row(RENAMED, space=space, name=name, change=change)
        row = renamed and connection.row(PLACE_UP_TO, space=space, name=renamed[0], seq=seq, change=change)
    return None if row is None or row[0] is None else Place(row[0], row[1])


def _numbered(row: Row, mark: bytes, what: MovedName | Defined | SaidOf | Erased) -> Numbered:
    change, seq, milliseconds = row[:3]
    return Numbered(change, seq, milliseconds, mark, what)


def _move(row: Row) -> MovedName:
    name, was, old, new, chain, pos = row[4:]
    return MovedName(bytes(name), was, old, new, None if chain is None else Place(chain, pos))


def _record_mark(milliseconds: int) -> bytes:
    return b"%d" % milliseconds
