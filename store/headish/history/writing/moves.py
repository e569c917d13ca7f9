"""Set, remove, undo and rename names. The space is locked, so a name that was found does not move until the commit."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from headish.database.query import Connection
from headish.errors import InvalidArgument
from headish.history.reading.find import find_turn, unknown_bookmark
from headish.history.reading.walk import walk_first_parents
from headish.history.writing.planning import check_expected
from headish.rows.bookmarks import find_bookmark, find_named, remove_bookmark, set_bookmark
from headish.rows.moves import has_log, logged_place, rename_bookmark
from headish.rows.turns import StoredTurn, parent_at
from headish.values.grammar import Headish
from headish.values.ids import TurnId
from headish.values.names import ABSENT, Absent, stored_name
from headish.values.places import Place


class Moved(NamedTuple):
    """A move of a name: its number in the log, and the place of the name after it (None: removed)."""

    number: int
    place: Place | None
    turn: TurnId | None = None


def set_name(
    connection: Connection, space: int, name: bytes, headish: Headish, expect: TurnId | Absent | None
) -> Moved:
    """Set a name, or move it. Raises: UnknownTurn, BookmarkMoved."""
    check_expected(name, expect, _id_of(connection, space, name) if expect is not None else None)
    turn = find_turn(connection, space, headish)
    return Moved(set_bookmark(connection, space, name, turn), turn.place, turn.id)


def remove_name(connection: Connection, space: int, name: bytes, expect: TurnId | Absent | None) -> Moved:
    """Remove a name; its log stays. Raises: UnknownBookmark, BookmarkMoved."""
    check_expected(name, expect, _id_of(connection, space, name) if expect is not None else None)
    number = remove_bookmark(connection, space, name)
    if number is None:
        raise unknown_bookmark(connection, space, name)
    return Moved(number, None)


def undo_name(
    connection: Connection, space: int, name: bytes, turns: int, expect: TurnId | Absent | None
) -> tuple[Moved, list[StoredTurn]]:
    """Move a name back by ``turns`` turns along first parents. Returns the move, and the turns that the name no longer
    leads to, oldest first.

    Past the root the name is removed. Raises: UnknownBookmark, BookmarkMoved.
    """
    place = find_bookmark(connection, space, name)
    if place is None:
        raise unknown_bookmark(connection, space, name)
    check_expected(name, expect, _id_of(connection, space, name) if expect is not None else None)
    # One more than is undone: the turn that the name moves back to.
    walked = list(islice(walk_first_parents(connection, space, place), turns + 1))
    if len(walked) <= turns:
        return remove_name(connection, space, name, None), walked[::-1]
    back = walked.pop()
    return Moved(set_bookmark(connection, space, name, back), back.place, back.id), walked[::-1]


def rename_name(connection: Connection, space: int, old: bytes, new: bytes, expect: TurnId | Absent | None) -> Moved:
    """Rename a name; its log goes with it.

    Raises: UnknownBookmark; BookmarkMoved, also if the new name exists; InvalidArgument if it existed before.
    """
    before = find_named(connection, space, old)
    turn = None if before is None else parent_at(connection, space, before.place)
    if before is None or turn is None:
        raise unknown_bookmark(connection, space, old)
    check_expected(old, expect, turn.id)
    check_expected(new, ABSENT, _id_of(connection, space, new))
    if has_log(connection, space, new):
        raise InvalidArgument(
            f"there was a bookmark {stored_name(new)!r} before, and its history would mix with that of"
            f" {stored_name(old)!r}: choose another name"
        )
    return Moved(rename_bookmark(connection, space, old, new, before, turn), before.place, turn.id)


def is_logged(connection: Connection, space: int, name: bytes, moved: Moved) -> bool:
    """Whether the log has this move. Tells whether a commit succeeded whose answer was lost."""
    return logged_place(connection, space, name, moved.number) == (True, moved.place)


def _id_of(connection: Connection, space: int, name: bytes) -> TurnId | None:
    place = find_bookmark(connection, space, name)
    found = None if place is None else parent_at(connection, space, place)
    return None if found is None else found.id
