"""Cursors: text that names the position up to which a reader has read, and proves what was there.

``EPOCH.SEQ.CHANGE.WITNESS``: the epoch of the space in 32 hex digits, the commit number of the last turn, the number of
the last other change, and 8 hex digits of BLAKE3 over the netstrings of ``headish-cursor-1``, the seal of that turn in
hex, and the mark of that change in hex (empty if the number is 0). Numbers alone would name other rows after a restore,
or after a server lost commits that it had acknowledged.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from headish.content.hashes import witness
from headish.database.query import Connection
from headish.errors import CursorLost, InvalidArgument, RemovedSpace, shown
from headish.rows.counters import REMOVED
from headish.rows.upkeep.changes import SpacePosition, mark_at, read_reached, seal_at

_CURSOR = re.compile(r"([0-9a-f]{32})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.([0-9a-f]{8})", re.ASCII)
LARGEST = 2**63 - 1


class Cursor(NamedTuple):
    """A parsed cursor."""

    epoch: bytes
    seq: int
    change: int
    witness: str

    def __str__(self) -> str:
        return f"{self.epoch.hex()}.{self.seq}.{self.change}.{self.witness}"


class Position(NamedTuple):
    """A place in the feed: the numbers of the last turn and the last other change before it, with the turn's seal and
    the change's mark, which prove that these rows are still the same."""

    epoch: bytes
    seq: int
    change: int
    seal: bytes = b""
    mark: bytes = b""

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.epoch, self.seq, self.change, witness(self.seal, self.mark))


def parse_cursor(text: object) -> Cursor:
    """Parse the text of a cursor. Raises: InvalidArgument."""
    match = _CURSOR.fullmatch(text) if isinstance(text, str) else None
    if match is None or max(int(match[2]), int(match[3])) > LARGEST:
        raise InvalidArgument(f"a cursor is what follow or position gave as one, not {shown(text)}")
    return Cursor(bytes.fromhex(match[1]), int(match[2]), int(match[3]), match[4])


def find_reached(connection: Connection, space: int) -> SpacePosition:
    """The numbers that a space has reached, and its epoch. Raises: RemovedSpace."""
    reached = read_reached(connection, space)
    if reached is None or reached.state == REMOVED:
        raise RemovedSpace()
    return reached


def find_end(connection: Connection, space: int) -> Position:
    """The place where the feed ends now. Cost: at most four statements. Raises: RemovedSpace."""
    reached = find_reached(connection, space)
    return position_at(connection, space, reached.epoch, reached.seq, reached.change)


def find_start(connection: Connection, space: int) -> Position:
    """The place where the feed begins. Raises: RemovedSpace."""
    return Position(find_reached(connection, space).epoch, 0, 0)


def resume(connection: Connection, space: int, cursor: Cursor) -> Position:
    """The place of a cursor, if the space still has the same rows there. Cost: at most four statements.

    Raises: CursorLost, RemovedSpace.
    """
    reached = find_reached(connection, space)
    check_reached(cursor, reached)
    position = position_at(connection, space, cursor.epoch, cursor.seq, cursor.change)
    if position.cursor != cursor:
        raise CursorLost(str(cursor), "other changes have its numbers now", (reached.seq, reached.change))
    return position


def is_held(connection: Connection, space: int, cursor: Cursor) -> bool:
    """Whether the space still has the same rows at a cursor. Cost: that of ``resume``. Raises: RemovedSpace."""
    try:
        resume(connection, space, cursor)
    except CursorLost:
        return False
    return True


def check_reached(at: Cursor | Position, reached: SpacePosition) -> None:
    """Refuse a position of another space, or one that the space has not reached. Raises: CursorLost."""
    now = (reached.seq, reached.change)
    text = str(at) if isinstance(at, Cursor) else str(at.cursor)
    # The epoch first: the numbers of a restored space may be as high as before, but name other rows.
    if at.epoch != reached.epoch:
        raise CursorLost(text, "it is of another space, or the space was restored since", now)
    if at.seq > reached.seq or at.change > reached.change:
        raise CursorLost(text, f"it is at {at.seq}/{at.change}, and the space ends at {now[0]}/{now[1]}", now)


def position_at(connection: Connection, space: int, epoch: bytes, seq: int, change: int) -> Position:
    """The place after a turn and a change, by their numbers. Cost: at most three statements."""
    return Position(epoch, seq, change, seal_at(connection, space, seq), mark_at(connection, space, change))
