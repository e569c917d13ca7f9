"""The reading half of the door: turns, threads, trees and context windows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import islice

from headish.database.query import Connection
from headish.history.decode import read_blocks, read_payload
from headish.history.resolve import kept_thread, resolve_window, thread_records
from headish.history.trees import TreeTurn, build_tree
from headish.history.walk import walk, walk_backwards, walk_tree
from headish.rows import listings, turns
from headish.rows.bookmarks import list_bookmarks
from headish.rows.turns import StoredTurn
from headish.store.space import PAGE_TURNS, Heads, OpenSpace
from headish.values.blocks import ContentBlock
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Kept, ThreadRecord
from headish.values.names import stored_name
from headish.values.places import Place
from headish.values.turns import Turn


class ReadingSpace(OpenSpace):
    """The methods that read turns."""

    def get(self, headish: str) -> Turn:
        """The turn that a headish names."""
        return self._read(headish, lambda connection, stored: self._complete(connection, stored))

    def payload(self, headish: str) -> bytes:
        """The stored bytes of a turn, checked against its hash. Raises: CorruptTurn."""
        return self._read(headish, lambda connection, stored: read_payload(connection, self._number, stored))

    def blocks(self, headish: str) -> tuple[ContentBlock, ...]:
        """The content blocks of a turn. Raises: CorruptTurn."""
        return self._read(
            headish,
            lambda connection, stored: read_blocks(stored, read_payload(connection, self._number, stored)),
        )

    def abbreviate(self, ids: Iterable[TurnId]) -> dict[TurnId, str]:
        """The shortest digits that name each turn alone, at this moment; for lists that a person reads."""
        listed = list(ids)
        return self._database.read(
            lambda connection: {each: turns.shortest_prefix(connection, self._number, each) for each in listed}
        )

    def children(self, headish: str) -> list[Turn]:
        """The turns that continue this one, in commit order."""
        return self._read(
            headish,
            lambda connection, stored: self._complete_all(
                connection, listings.children(connection, self._number, stored.place)
            ),
        )

    def heads(self) -> list[Turn]:
        """The turns that nothing continues, newest first."""
        return self._database.read(
            lambda connection: self._complete_all(connection, listings.heads(connection, self._number))
        )

    def log(self, headish: str = "@", *, limit: int | None = None) -> list[Turn]:
        """The turns of a thread, newest first: its walk read backwards. Only ``limit`` turns are read."""

        def work(connection: Connection, stored: StoredTurn) -> list[Turn]:
            walked = walk_backwards(connection, self._number, stored.place)
            return self._complete_all(connection, islice(walked, limit))

        return self._read(headish, work)

    def turns(self, after: str | None = None) -> Iterator[Turn]:
        """All turns of the space in commit order, behind ``after``; read in pages, each when it is reached."""
        seq = 0 if after is None else self._read(after, lambda _, stored: stored.seq)
        while page := self._database.read(partial(self._page, seq=seq, limit=PAGE_TURNS)):
            yield from (turn for _, turn in page)
            seq = page[-1][0]

    def thread(self, headish: Heads = "@") -> list[ThreadRecord]:
        """The schema reference's thread records of a walk."""
        return self._walk(headish, lambda connection, places: thread_records(walk(connection, self._number, places)))

    def tree(self, headish: str = "@") -> list[TreeTurn]:
        """All turns of the tree that a turn belongs to, with all branches, in commit order."""

        def work(connection: Connection, stored: StoredTurn) -> list[TreeTurn]:
            names: dict[Place, list[str]] = {}
            for name, _, chain, pos in list_bookmarks(connection, self._number):
                names.setdefault(Place(chain, pos), []).append(stored_name(name))
            return build_tree(*walk_tree(connection, self._number, stored.place), names)

        return self._read(headish, work)

    def resolve(self, headish: Heads = "@") -> ContextWindow:
        """The context window of a headish: the messages that lead to it, and the options they hand down, merged.

        Several at once resolve as if one turn continued them all.
        Cost: two statements for the walk, however long the thread; one step of the database's for each fork.
        Raises: CorruptTurn where stored bytes do not decode.
        """
        return self._walk(headish, lambda connection, places: resolve_window(walk(connection, self._number, places)))

    def render(self, headish: str = "@", format: str = "html", *, debug: bool = False, title: str | None = None) -> str:
        """A thread for people, as ``html`` (one page that stands alone), ``markdown`` or ``text``.

        Only what an end user may see is in it; ``debug`` shows system and tool messages, calls and reasoning too. The
        page links to the other branches of the tree. ``title`` is the first words of the user where none is given.
        Raises: UnknownFormat; CorruptTurn.
        """
        from headish.renderings import Seen, make_page, render  # late, as below

        thread = [record.id for record in self.thread(headish)]
        tree = [
            Seen(turn.id, turn.role, turn.content, turn.continues, turn.children, turn.bookmarks, turn.attributes)
            for turn in self.tree(headish)
        ]
        return render(make_page(thread, tree, title=title, debug=debug), format)

    def export(
        self,
        headish: Heads = "@",
        format: str = "2.2",
        *,
        drop: Collection[str] = (),
        as_user: bool = False,
        for_completion: bool = False,
    ) -> str:
        """The thread that leads to a headish as a transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``).

        A thread that was imported from the same format comes back byte for byte, if its text was canonical; another
        one is converted, a thread of other turns flattened. ``drop`` names what may be lost, else it is refused.
        ``as_user`` leaves only what an end user may see. ``for_completion`` drops the reasoning of finished turns and
        ends with the open header of the next answer.
        Raises: Unrepresentable and its kinds, with the word for ``drop``; UnknownFormat, InvalidArgument; CorruptTurn.
        """
        # Late: it brings every format, and most processes write none.
        from headish.transcripts.threads import for_people, write_thread

        thread = self._walk(headish, lambda connection, places: kept_thread(walk(connection, self._number, places)))
        if as_user:
            thread = [Kept(message, {}) for message in for_people(thread)]
        return write_thread(thread, format, drop=drop, completes=for_completion)
