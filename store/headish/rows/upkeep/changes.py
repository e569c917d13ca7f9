"""The numbered rows of a space in commit order, as a reader that follows the space needs them.

Turns have commit numbers; everything else that changes has numbers of changes. A writer takes both while it has the
lock of the space, so neither has gaps, and no row appears later below a number that was read (rule R1, commit order).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headish.database.query import Connection, Query, Row
from headish.rows.turns import COLUMNS, StoredTurn, read_turns
from headish.values.ids import TurnId
from headish.values.places import Place


class SpacePosition(NamedTuple):
    """The last numbers of a space, and the epoch that tells its history from any other."""

    seq: int
    change: int
    epoch: bytes
    state: str | None


class MovedName(NamedTuple):
    """A move of a name that no turn made. ``was`` is the former name if this is a rename; ``turn`` is None if this
    removed the name."""

    name: bytes
    was: bytes | None
    old: TurnId | None
    turn: TurnId | None
    place: Place | None


class Defined(NamedTuple):
    """A change of a definition: a pointer, tools or a default was set or removed."""

    kind: str
    name: bytes
    number: int
    removed: bool


class SaidOf(NamedTuple):
    """A change of a conversation's record. ``revision`` and ``data`` are those of now; None if this subject has no
    record any more."""

    subject: bytes
    revision: int | None
    data: bytes | None


class LoggedErasure(NamedTuple):
    """A receipt of an erasure."""

    number: int
    id: str
    receipt: bytes


class Numbered(NamedTuple):
    """A row with the number of a change. ``mark`` tells it from a row of another history with the same number."""

    change: int
    seq: int
    milliseconds: int
    mark: bytes
    what: MovedName | Defined | SaidOf | LoggedErasure


NUMBERS = Query("how far a space is", "SELECT seq, change, epoch, state FROM counter WHERE space = :space")


def read_reached(connection: Connection, space: int) -> SpacePosition | None:
    """The position of a space; None if its counter is missing."""
    row = connection.row(NUMBERS, space=space)
    return None if row is None else SpacePosition(int(row[0]), int(row[1]), bytes(row[2]), row[3])


TURNS = Query(
    "turns of a range of commit numbers",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND seq > :low AND seq <= :high ORDER BY seq",
)


def turns_between(connection: Connection, space: int, low: int, high: int) -> list[StoredTurn]:
    """The turns above ``low`` and up to ``high``, in commit order."""
    return read_turns(connection.rows(TURNS, space=space, low=low, high=high))


SPOKEN = Query(
    "turns of a range of commit numbers, with the payloads in their rows",
    f"SELECT {COLUMNS}, data FROM turn WHERE space = :space AND seq > :low AND seq <= :high ORDER BY seq LIMIT :limit",
)


def spoken_between(connection: Connection, space: int, low: int, high: int, limit: int) -> Sequence[Row]:
    """The turns above ``low`` and up to ``high``, in commit order; at most ``limit``. The last column of a row is
    its payload if that is small."""
    return connection.rows(SPOKEN, space=space, low=low, high=high, limit=limit)


# ``earlier`` is computed before it is compared: under a policy, PostgreSQL uses no index for a condition that computes.
MOVES = Query(
    "moves of a range of changes",
    """
    WITH moved AS MATERIALIZED (
      SELECT m.*, m.move - 1 AS earlier FROM bookmark_log AS m
      WHERE m.space = :space AND m.change > :low AND m.change <= :high
    )
    SELECT m.change, m.seq, m.milliseconds, m.running, m.name, m.was, old.id, t.id, m.chain, m.pos FROM moved AS m
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = m.chain AND t.pos = m.pos
    LEFT JOIN bookmark_log AS before ON before.space = :space AND before.name = m.name AND before.move = m.earlier
    LEFT JOIN turn AS old ON old.space = :space AND old.chain = before.chain AND old.pos = before.pos
    """,
)
DEFINITIONS = Query(
    "definitions of a range of changes",
    """
    SELECT change, seq, milliseconds, running, kind, name, number, hash IS NULL FROM definition
    WHERE space = :space AND change > :low AND change <= :high
    """,
)
# The log has no content, so a reader gets the record as it is now.
RECORDS = Query(
    "what was said of conversations in a range of changes",
    """
    SELECT r.change, r.seq, r.milliseconds, r.subject, c.revision, c.data FROM record_log AS r
    LEFT JOIN conversation AS c ON c.space = :space AND c.subject = r.subject
    WHERE r.space = :space AND r.change > :low AND r.change <= :high
    """,
)
ERASURES = Query(
    "erasures of a range of changes",
    """
    SELECT change, seq, milliseconds, hash, number, id, receipt FROM erasure
    WHERE space = :space AND change > :low AND change <= :high
    """,
)


def changes_between(connection: Connection, space: int, low: int, high: int) -> list[Numbered]:
    """The changes above ``low`` and up to ``high``, in order. Cost: four statements."""
    between = {"space": space, "low": low, "high": high}
    changes = [_numbered(row, row[3], _move(row)) for row in connection.rows(MOVES, **between)]
    changes += [_numbered(row, row[3], Defined._make(row[4:])) for row in connection.rows(DEFINITIONS, **between)]
    changes += [
        _numbered(row, _record_mark(row[2]), SaidOf._make(row[3:])) for row in connection.rows(RECORDS, **between)
    ]
    changes += [_numbered(row, row[3], LoggedErasure._make(row[4:])) for row in connection.rows(ERASURES, **between)]
    return sorted(changes, key=lambda each: each.change)


SEAL = Query("seal of the turn with a commit number", "SELECT seal FROM turn WHERE space = :space AND seq = :seq")


def seal_at(connection: Connection, space: int, seq: int) -> bytes:
    """The seal of the turn with a commit number; empty if there is none."""
    row = connection.row(SEAL, space=space, seq=seq) if seq else None
    return b"" if row is None else bytes(row[0])


# The hints make SQLite use the indexes of changes; for a space with few rows it would read all of them instead.
MARK = Query(
    "mark of a change",
    """
    SELECT running FROM bookmark_log INDEXED BY bookmark_log_change WHERE space = :space AND change = :change
    UNION ALL SELECT running FROM definition INDEXED BY definition_change WHERE space = :space AND change = :change
    UNION ALL SELECT hash FROM erasure INDEXED BY erasure_change WHERE space = :space AND change = :change
    """,
)
RECORD_MARK = Query(
    "when something was said of a conversation",
    "SELECT milliseconds FROM record_log WHERE space = :space AND change = :change",
)


def mark_at(connection: Connection, space: int, change: int) -> bytes:
    """``Numbered.mark`` of a change; empty if there is none. Cost: one statement, or two."""
    row = connection.row(MARK, space=space, change=change) if change else None
    if row is None and change:
        record_row = connection.row(RECORD_MARK, space=space, change=change)
        return b"" if record_row is None else _record_mark(record_row[0])
    return b"" if row is None else bytes(row[0])


# The log is read from its end: the moves of a name are in the order of commits, so only the later ones are passed over.
PLACE_UP_TO = Query(
    "where a name was at a position",
    """
    SELECT chain, pos FROM bookmark_log
    WHERE space = :space AND name = :name AND (seq < :seq OR seq = :seq AND (change IS NULL OR change <= :change))
    ORDER BY move DESC LIMIT 1
    """,
)
RENAMED = Query(
    "what a name was renamed to since a change",
    "SELECT name FROM bookmark_log WHERE space = :space AND change > :change AND was = :name ORDER BY change LIMIT 1",
)


def place_up_to(connection: Connection, space: int, name: bytes, seq: int, change: int) -> Place | None:
    """The place of a name when the space was at ``seq`` and ``change``. If the name was renamed since, its log is under
    the new name.

    Cost: two statements, which look at what happened since.
    """
    # First: another bookmark may have been renamed to the name meanwhile, and its older log is under the name, too.
    renamed = connection.row(RENAMED, space=space, name=name, change=change)
    log = name if renamed is None else renamed[0]
    row = connection.row(PLACE_UP_TO, space=space, name=log, seq=seq, change=change)
    return None if row is None or row[0] is None else Place(row[0], row[1])


def _numbered(row: Row, mark: bytes, what: MovedName | Defined | SaidOf | LoggedErasure) -> Numbered:
    change, seq, milliseconds = row[:3]
    return Numbered(change, seq, milliseconds, mark, what)


def _move(row: Row) -> MovedName:
    name, was, old, new, chain, pos = row[4:]
    return MovedName(bytes(name), was, old, new, None if chain is None else Place(chain, pos))


def _record_mark(milliseconds: int) -> bytes:
    return b"%d" % milliseconds
