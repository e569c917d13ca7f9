"""``store.bookmarks``: the names of a space.

The code that moves names is imported late: each list of turns looks names up, and must not wait for it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from headish.database.query import Connection, Row
from headish.errors import InvalidArgument, UnknownBookmark, shown
from headish.history.reading.decode import complete_turns, read_time
from headish.rows.bookmarks import ALL, count_bookmarks, find_bookmark, list_bookmarks, list_recent_bookmarks
from headish.rows.threads.names import names_of_turns
from headish.rows.turns import parent_at
from headish.store.paging import check_limit, check_order
from headish.store.space import SpacePart
from headish.values.checks.doors import door
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId, known_id
from headish.values.names import Absent, check_name, read_expect, refusal, stored_name
from headish.values.results.bookmarks import Bookmark, Move
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.history.writing.moves import Moved
    from headish.values.results.erasures import Erasure

PAGE = 500
"""How many names an iteration reads at a time."""


class Bookmarks(SpacePart, Mapping[str, TurnId]):
    """The names of a space: a mapping from each to the id of its turn, in the order of the names."""

    def __getitem__(self, name: str) -> TurnId:
        """The id of the turn that a name names. Raises: UnknownBookmark (an InputError and a KeyError)."""
        space = self._space
        if not isinstance(name, str) or refusal(name) is not None:
            raise UnknownBookmark(name if isinstance(name, str) else shown(name))
        encoded = name.encode()

        def work(connection: Connection) -> TurnId:
            place = find_bookmark(connection, space._number, encoded)
            turn = None if place is None else parent_at(connection, space._number, place)
            if turn is None:
                raise UnknownBookmark(name)
            return turn.id

        return space._read(work)

    def __iter__(self) -> Iterator[str]:
        """The names, read in pages, each when it is reached."""
        after = None
        while True:
            page = self._page(after=after, limit=PAGE)
            yield from (stored_name(name) for name, *_ in page)
            if len(page) < PAGE:
                return
            after = bytes(page[-1][0])

    def __len__(self) -> int:
        return self._space._read_by(count_bookmarks)

    @door()
    def list(
        self,
        prefix: str = "",
        limit: int | None = None,
        by: Literal["name", "recency"] = "name",
        *,
        after: str | None = None,
    ) -> builtins.list[Bookmark]:
        """The names that begin with ``prefix``, and their turns; by name.

        ``by="recency"`` lists the last moved first; names that moved in one millisecond come in reverse order.

        Lists at the most ``limit`` names, after the name ``after``, the last of the page before. By name, it need not
        exist any more.
        Cost: one statement for a page, two by recency; a page costs the same however many names there are, but with a
        prefix and by recency every name is looked at.
        Raises: InvalidArgument for a ``limit`` below 1 or another order; UnknownBookmark for an ``after`` by recency
        that was removed.
        """
        check_order(by, ("name", "recency"), "bookmarks")
        behind = None if after is None else after.encode(errors="surrogatepass")
        page = self._page(
            prefix=prefix.encode(errors="surrogatepass"), limit=check_limit(limit), after=behind, recent=by == "recency"
        )
        return [Bookmark(stored_name(name), turn_id) for name, turn_id, _, _ in page]

    @door()
    def at(self, ids: Iterable[TurnId]) -> dict[TurnId, builtins.list[str]]:
        """The names at each of these turns, in their order; a turn without a name is left out.

        Cost: two statements for each 64 ids, however many names there are.
        """
        names_by_turn = self._space._read_by(names_of_turns, [known_id(each, "names") for each in ids])
        return {turn_id: [stored_name(name) for name in names] for turn_id, names in names_by_turn.items()}

    def set(self, name: str, headish: str, *, expect: str | Absent | None = None) -> Bookmark:
        """Set a name, or move it anywhere. ``name@{1}`` as ``headish`` undoes the last move.

        ``expect`` is the id that the name must have pointed at, or ``ABSENT`` if there must be no such name yet.
        Raises: InvalidName, UnknownTurn, BookmarkMoved, InvalidArgument.
        """
        from headish.history.writing.moves import set_name

        encoded, parsed, expected = check_name(name, is_new=True), parse_headish(headish), read_expect(expect)
        moved = self._move(encoded, partial(set_name, headish=parsed, expect=expected))
        assert moved.turn is not None
        return Bookmark(name, moved.turn)

    def remove(self, name: str, *, expect: str | Absent | None = None) -> None:
        """Remove a name; its turns and its history stay. ``expect`` is that of ``set``.

        Its title, tags and marks are not shown until ``set(name, "name@{1}")`` brings it back.

        Raises: UnknownBookmark, BookmarkMoved.
        """
        from headish.history.writing.moves import remove_name

        self._move(check_name(name), partial(remove_name, expect=read_expect(expect)))

    @door()
    def rename(self, old: str, new: str, *, expect: str | Absent | None = None) -> Bookmark:
        """Rename a bookmark: its history and its conversation's record go with it.

        The new name must never have been one. ``expect`` is the id that the old one must have pointed at.
        Raises: UnknownBookmark, InvalidName; BookmarkMoved, also if the new name exists; InvalidArgument if it existed
        once.
        """
        from headish.history.writing.moves import rename_name

        was, encoded = check_name(old), check_name(new, is_new=True)
        moved = self._move(
            encoded, lambda connection, space, name: rename_name(connection, space, was, name, read_expect(expect))
        )
        assert moved.turn is not None
        return Bookmark(new, moved.turn)

    @door()
    def undo(self, name: str, n: int = 1, *, expect: str | Absent | None = None) -> builtins.list[Turn]:
        """Move a name back by ``n`` turns along first parents; return the turns that left it, oldest first. They stay
        stored.

        Past the root the name is removed, as by ``remove``. ``expect`` is that of ``set``. To undo a *move*, set
        ``name@{1}``.
        Raises: UnknownBookmark, BookmarkMoved, InvalidArgument for an ``n`` below 1.
        """
        from headish.history.writing.moves import is_logged, undo_name

        if not isinstance(n, int) or not 0 < n < ALL:
            raise InvalidArgument(f"a name goes back by 1 turn or more, not by {shown(n)}")
        space, encoded, expected = self._space, check_name(name), read_expect(expect)

        def work(connection: Connection) -> tuple[Moved, builtins.list[Turn]]:
            moved, turns = undo_name(connection, space._number, encoded, n, expected)
            return moved, complete_turns(connection, space._number, turns, space._options_at)

        def settle(connection: Connection, done: tuple[Moved, builtins.list[Turn]]) -> bool:
            return is_logged(connection, space._number, encoded, done[0])

        return space._write(work, settle)[1]

    @door()
    def erase(
        self, name: str, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase a name, even a removed one, with the names that the bookmark had before: it becomes ``erased-N``.

        Its moves and its conversation's record stay under that name. Turns that moved it still have it under their
        seal, and are counted: ``Store.erase(…, meta=True)`` removes it from them. ``reason``, ``by``, ``dry_run`` and
        ``scrub`` are those of ``Store.erase``. A restore that is given the receipt erases it again.
        Cost: reads the space once for each name that it had; then SQLite rewrites the file.
        Raises: UnknownBookmark if it never was one, InvalidName, InvalidArgument.
        """
        from headish.store.keeping.erase import erase_bookmark

        return erase_bookmark(self._space, check_name(name), reason=reason, by=by, dry_run=dry_run, scrub=scrub)

    def _move(self, name: bytes, work: Callable[[Connection, int, bytes], Moved]) -> Moved:
        """Move a name once, even if the answer to the commit is lost: the move's number in the log shows if it was
        stored."""
        from headish.history.writing.moves import is_logged

        space = self._space
        return space._write(
            lambda connection: work(connection, space._number, name),
            lambda connection, moved: is_logged(connection, space._number, name, moved),
        )

    def history(self, name: str) -> builtins.list[Move]:
        """Every move of a name, even of a removed one, newest first. Raises: UnknownBookmark if it never was a
        bookmark."""
        from headish.history.reading.find import unknown_bookmark
        from headish.rows.moves import bookmark_history

        space, encoded = self._space, check_name(name)

        def work(connection: Connection) -> Sequence[Row]:
            rows = bookmark_history(connection, space._number, encoded)
            if not rows:
                raise unknown_bookmark(connection, space._number, encoded, "there never was such a bookmark")
            return rows

        rows = space._read(work)
        what = f"the bookmark {name!r}"
        return [Move(move, turn_id, read_time(when, what)) for move, turn_id, when in rows]

    def _page(
        self, *, prefix: bytes = b"", after: bytes | None = None, limit: int, recent: bool = False
    ) -> builtins.list[tuple[bytes, TurnId, int, int]]:
        space = self._space

        def work(connection: Connection) -> Sequence[Row] | None:
            if recent:
                return list_recent_bookmarks(connection, space._number, prefix=prefix, after=after, limit=limit)
            return list_bookmarks(connection, space._number, prefix=prefix, after=after or b"", limit=limit)

        rows = space._read(work)
        if rows is None:
            raise UnknownBookmark(stored_name(after or b""))
        return [(bytes(name), turn_id, chain, pos) for name, turn_id, chain, pos in rows]
