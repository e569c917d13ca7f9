"""Select the turns of a thread that a log shows: by role, by time, or by their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from headish.database.query import Connection
from headish.history.reading.decode import read_blocks, read_mapping, read_payload
from headish.rows.turns import StoredTurn
from headish.values.blocks import join_texts
from headish.values.turns import said_at_of


class Selection(Struct, frozen=True):
    """The conditions that a turn must meet; None accepts any. ``grep`` is a casefolded text that it must contain."""

    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    grep: str | None = None

    @property
    def is_all(self) -> bool:
        """Whether every turn is wanted."""
        return self == Selection()


def select_turns(
    connection: Connection, space: int, turns: Iterable[StoredTurn], wanted: Selection
) -> Iterator[StoredTurn]:
    """The turns that meet the conditions, in their order. A payload is read only if its text matters.

    Raises: CorruptTurn.
    """
    for turn in turns:
        if _is_wanted(turn, wanted) and (wanted.grep is None or wanted.grep in _text(connection, space, turn)):
            yield turn


def _is_wanted(stored: StoredTurn, wanted: Selection) -> bool:
    if wanted.role is not None and stored.role != wanted.role:
        return False
    if wanted.since is None and wanted.until is None:
        return True
    said_at = said_at_of(read_mapping(stored, "system"), stored.id)
    return (wanted.since is None or said_at >= wanted.since) and (wanted.until is None or said_at < wanted.until)


def _text(connection: Connection, space: int, stored: StoredTurn) -> str:
    if stored.erased is not None:  # without a payload; reading it would raise ``TurnErased``
        return ""
    return join_texts(read_blocks(stored, read_payload(connection, space, stored))).casefold()
