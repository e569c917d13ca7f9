"""``store.bookmarks``: the names of a space."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal

from headish.database.query import Connection
from headish.errors import InvalidArgument, UnknownBookmark
from headish.history.find import find_turn
from headish.rows.bookmarks import (
    ALL,
    bookmark_history,
    count_bookmarks,
    find_bookmark,
    list_bookmarks,
    move_bookmark,
    remove_bookmark,
)
from headish.rows.turns import parent_at
from headish.store.space import Space
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId
from headish.values.names import check_name, refusal, stored_name
from headish.values.turns import Bookmark, Move

PAGE = 500
"""Iteration reads so many names at a time."""


class Bookmarks(Mapping[str, TurnId]):
    """The names of a space: a mapping from each to the id of its turn, in the order of the names."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def __getitem__(self, name: str) -> TurnId:
        """The id of the turn that a name names. Raises: UnknownBookmark (an InputError and a KeyError)."""
        space = self._space
        if not isinstance(name, str) or refusal(name) is not None:
            raise UnknownBookmark(str(name))
        encoded = name.encode()

        def work(connection: Connection) -> TurnId:
            place = find_bookmark(connection, space._number, encoded)
            found = None if place is None else parent_at(connection, space._number, place)
            if found is None:
                raise UnknownBookmark(name)
            return found[0]

        return space._read(work)

    def __iter__(self) -> Iterator[str]:
        """The names, read in pages, each when it is reached."""
        after = b""
        while True:
            page = self._page(after=after, limit=PAGE)
            yield from (stored_name(name) for name, *_ in page)
            if len(page) < PAGE:
                return
            after = bytes(page[-1][0])

    def __len__(self) -> int:
        space = self._space
        return space._read(lambda connection: count_bookmarks(connection, space._number))

    def list(
        self, prefix: str = "", limit: int | None = None, by: Literal["name", "recency"] = "name"
    ) -> builtins.list[Bookmark]:
        """The names that begin with ``prefix``, and their turns; by name, or ``by="recency"``: the last moved first.

        Cost: one statement.
        Raises: InvalidArgument for a ``limit`` below 1 or another order.
        """
        if by not in ("name", "recency"):
            raise InvalidArgument(f"bookmarks are listed by name or by recency, not by {by!r}")
        if limit is not None and (not isinstance(limit, int) or not 0 < limit <= ALL):
            raise InvalidArgument(f"limit is a number from 1 on, not {limit!r}")
        page = self._page(
            prefix=prefix.encode(errors="surrogatepass"), limit=ALL if limit is None else limit, recent=by == "recency"
        )
        return [Bookmark(stored_name(name), turn_id) for name, turn_id, _, _ in page]

    def set(self, name: str, headish: str) -> Bookmark:
        """Set a name, or move it. Raises: InvalidName, UnknownTurn."""
        space, encoded, parsed = self._space, check_name(name), parse_headish(headish)

        def work(connection: Connection) -> Bookmark:
            stored = find_turn(connection, space._number, parsed)
            move_bookmark(connection, space._number, encoded, [stored.place])
            return Bookmark(name, stored.id)

        return space._write(work)

    def remove(self, name: str) -> None:
        """Remove a name; its turns and its history stay. Raises: UnknownBookmark."""
        space, encoded = self._space, check_name(name)
        if not space._write(lambda connection: remove_bookmark(connection, space._number, encoded)):
            raise UnknownBookmark(name)

    def history(self, name: str) -> builtins.list[Move]:
        """Every move of a name, the last first, even of a removed one. Raises: UnknownBookmark if it never was."""
        space, encoded = self._space, check_name(name)
        rows = space._read(lambda connection: bookmark_history(connection, space._number, encoded))
        if not rows:
            raise UnknownBookmark(name, "there never was such a bookmark")
        return [Move(move, turn_id, datetime.fromtimestamp(when / 1000, UTC)) for move, turn_id, when in rows]

    def _page(
        self, *, prefix: bytes = b"", after: bytes = b"", limit: int, recent: bool = False
    ) -> builtins.list[tuple[bytes, TurnId, int, int]]:
        space = self._space
        rows = space._read(
            lambda connection: list_bookmarks(
                connection, space._number, prefix=prefix, after=after, limit=limit, recent=recent
            )
        )
        return [(bytes(name), turn_id, chain, pos) for name, turn_id, chain, pos in rows]

    def __repr__(self) -> str:
        return f"<Bookmarks of the space {self._space.space!r}>"
