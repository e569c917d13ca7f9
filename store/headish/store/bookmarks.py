"""The names half of the door: bookmarks and their history."""

from __future__ import annotations

from datetime import UTC, datetime

from headish.database.query import Connection
from headish.errors import UnknownTurn
from headish.history.find import find_head
from headish.rows.bookmarks import bookmark_history, list_bookmarks, move_bookmark, remove_bookmark
from headish.store.space import OpenSpace
from headish.values.grammar import parse_headish
from headish.values.names import check_name, stored_name
from headish.values.turns import Bookmark, Move


class NamingSpace(OpenSpace):
    """The methods that set, list and remove bookmarks."""

    def bookmark(self, name: str, headish: str) -> Bookmark:
        """Set a name, or move it. Raises: InvalidName."""
        encoded, parsed = check_name(name), parse_headish(headish)

        def work(connection: Connection) -> Bookmark:
            stored = find_head(connection, self._number, parsed)
            move_bookmark(connection, self._number, encoded, [stored.place])
            return Bookmark(name, stored.id)

        return self._database.write(work)

    def bookmarks(self) -> list[Bookmark]:
        """All names and the turns that they name, by name."""
        rows = self._database.read(lambda connection: list_bookmarks(connection, self._number))
        return [Bookmark(stored_name(name), turn_id) for name, turn_id, _, _ in rows]

    def unbookmark(self, name: str) -> None:
        """Remove a name; its turns and its history stay. Raises: UnknownTurn where there is no such bookmark."""
        encoded = check_name(name)
        if not self._database.write(lambda connection: remove_bookmark(connection, self._number, encoded)):
            raise UnknownTurn(name, "there is no such bookmark")

    def bookmark_history(self, name: str) -> list[Move]:
        """Every move of a name, the last first, also of a removed one. Raises: UnknownTurn where it never was."""
        encoded = check_name(name)
        rows = self._database.read(lambda connection: bookmark_history(connection, self._number, encoded))
        if not rows:
            raise UnknownTurn(name, "there never was such a bookmark")
        return [Move(move, turn_id, datetime.fromtimestamp(when / 1000, UTC)) for move, turn_id, when in rows]
