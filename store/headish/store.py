"""The door: a space of a database, its transactions, and nothing else.

``Store`` opens every transaction, calls one verb inside it and turns rows into values. What a method takes is checked
and encoded before the transaction opens; no transaction is held while a caller's code runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from headish import bookmarks as bookmark_rows
from headish import payloads, spaces, turns
from headish.append import Appended, Earlier, append
from headish.batches import StoredTurns, as_new_turn, in_batches
from headish.blocks import ContentBlock
from headish.content import Content
from headish.dialects import Connection, connect
from headish.drafts import Continues, Draft, NewTurn, make_draft, make_document_draft
from headish.errors import InvalidArgument, TooLarge, UnknownDatabase, UnknownTurn
from headish.grammar import Headish, parse_headish
from headish.heads import find_head
from headish.ids import IdMint, TurnId
from headish.limits import PAYLOAD_LIMIT_BYTES
from headish.mediatypes import guess_media_type
from headish.model import (
    Attributes,
    Bookmark,
    ContextWindow,
    Message,
    Move,
    Recorded,
    Report,
    Stats,
    ThreadRecord,
    Turn,
)
from headish.names import check_name
from headish.order import Place
from headish.reading import continues_of, make_turn, read_blocks, read_payload
from headish.record import match_stored, thread_roots
from headish.resolve import fold_options, resolve_window, thread_records
from headish.trees import TreeTurn, build_tree
from headish.turns import StoredTurn
from headish.upgrade import ensure_schema
from headish.verify import Progress, verify
from headish.walk import walk, walk_backwards, walk_inherited, walk_tree

T = TypeVar("T")
Heads = str | Sequence[str]
PAGE_TURNS = 500


class Store:
    """One space of one database. Safe to share between threads; a context manager.

    A *headish* names a turn: an id or its unique prefix, a bookmark, ``@`` for the newest turn, each with suffixes
    (grammar.py). Every method that takes one raises UnknownTurn, Ambiguous or InvalidHeadish; every method raises
    DatabaseError where the database is in the way.
    """

    def __init__(self, database: Any, space: str, number: int, payload_limit_bytes: int) -> None:
        self._database, self._number = database, number
        self._payload_limit_bytes = payload_limit_bytes
        self._mint = IdMint()
        self.space = space

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        space: str = "default",
        durability: Literal["full", "normal"] = "full",
        create: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
    ) -> Self:
        """Open a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

        ``create`` makes what is missing: file, tables, space. A SQLite database of an older headish is upgraded, after
        a backup beside it; an older PostgreSQL one is refused until ``headish db upgrade``.
        ``durability="normal"`` trades the survival of a power cut for faster appends.
        Raises: InvalidName, InvalidArgument, UnknownDatabase, NotADatabase, DatabaseTooNew, DatabaseTooOld.
        """
        name = check_name(space, "space")
        database = connect(target, durability=durability, create=create)
        try:
            ensure_schema(database, create=create)
            number = database.read(lambda connection: spaces.find_space(connection, name))
            if number is None and create:
                number = database.write(lambda connection: spaces.add_space(connection, name))
            if number is None:
                raise UnknownDatabase(database.target, f"it has no space {space!r}")
        except BaseException:
            database.close()
            raise
        return cls(database, space, number, payload_limit_bytes)

    def close(self) -> None:
        """Give the connections back. A closed store opens them again when it is used."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._database.target} space={self.space!r}>"

    # Writing

    def add_turn(
        self,
        content: Content,
        *,
        role: str = "user",
        continues: Continues = None,
        respond: bool = False,
        bookmark: str | None = None,
        expect: str | None = None,
        provider_ptr: str | None = None,
        servers: Sequence[str] | None = None,
        search: bool | None = None,
        tool_mode: str | None = None,
        inherited: Mapping[str, Any] | None = None,
        json: bool = False,
        cache: bool = False,
        attributes: Attributes | Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Turn:
        """Store one turn; it is durable when this returns.

        ``content`` is a string (one text block), a list of strings and blocks, or with ``json`` the JSON text of
        blocks. ``continues`` is a headish or several, in order; ``respond`` continues the newest turn of the space.
        A turn that continues a bookmark moves it along; ``bookmark`` sets or moves a name explicitly; ``expect`` is
        the id that the name must have pointed at. ``inherited`` are options for this turn and all that follow it,
        deep-merged with the shortcuts (``provider_ptr``, ``servers``, ``search``, ``tool_mode``); ``None`` inside
        switches a value off. ``attributes`` are the transcript's, ``meta`` the application's own.
        Cost: seven statements, however long the thread and however large the store.
        Raises: InputError in its kinds, BookmarkMoved; nothing is stored then.
        """
        new = NewTurn(
            content, role, continues, respond, bookmark, expect, provider_ptr, servers, search, tool_mode, inherited,
            json, cache, attributes, meta,
        )  # fmt: skip
        return self._add(make_draft(new, self._payload_limit_bytes))

    def add_document(
        self,
        document: bytes | str | os.PathLike[str],
        *,
        name: str | None = None,
        content_type: str | None = None,
        continues: Continues = None,
        bookmark: str | None = None,
        cache: bool = False,
    ) -> Turn:
        """Store a document as a turn of its own: the raw bytes, from a path (text is a path) or as they are given.

        The media type is told by the name's extension, else by the content. In a window it is one document block.
        Raises: TooLarge past ``payload_limit_bytes``; InvalidArgument where the path cannot be read.
        """
        data, system = self._read_document(document, name)
        content_type = content_type or guess_media_type(data, system.get("document_name"))
        return self._add(
            make_document_draft(
                data, content_type=content_type, system=system, continues=continues, bookmark=bookmark, cache=cache
            )
        )

    def add_turns(self, items: Iterable[NewTurn | Mapping[str, Any] | Content]) -> StoredTurns:
        """Store a stream of turns of any length, in bounded memory.

        An item is a mapping of ``add_turn``'s arguments (or a NewTurn, or content alone); its ``continues`` may also
        be the index of an earlier item. The stream is drained in batches of at most 1,000 turns; a batch is one
        transaction, all or nothing. What an earlier batch stored stays when a later item is refused.
        """
        return self.add_drafts(make_draft(as_new_turn(item), self._payload_limit_bytes) for item in items)

    def add_drafts(self, drafts: Iterable[Draft], *, carries_names: bool = True) -> StoredTurns:
        """``add_turns`` for what is already checked and encoded: the importers' way in."""
        batches: list[Earlier] = []
        count = 0
        for batch in in_batches(drafts):
            first = self._append(batch, count, batches, carries_names)[0].turn.seq
            batches.append(Earlier(count, first))
            count += len(batch)
        return StoredTurns(self._read_after, batches, count)

    def record(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        continues: str | None = None,
        bookmark: str | None = None,
    ) -> Recorded:
        """Store a whole message list that a client sends again and again: only its new tail becomes turns.

        The longest part that is stored already is recognised by its digests: below ``continues``, or in the tree of
        ``bookmark``; without either, among threads that set no options, the oldest of equals. ``bookmark`` alone is
        moved, to the returned tip.
        Raises: InvalidArgument for an empty list.
        """
        drafts = [make_draft(_as_item(message), self._payload_limit_bytes) for message in messages]
        if not drafts:
            raise InvalidArgument("record needs at least one message")
        base = None if continues is None else parse_headish(continues)
        name = None if bookmark is None else check_name(bookmark)
        appended, added = self._database.write(lambda connection: self._record(connection, drafts, base, name))
        return Recorded(self._turn(appended), added)

    # Reading

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

    def children(self, headish: str) -> list[Turn]:
        """The turns that continue this one, in commit order."""
        return self._read(
            headish,
            lambda connection, stored: self._complete_all(
                connection, turns.children(connection, self._number, stored.place)
            ),
        )

    def heads(self) -> list[Turn]:
        """The turns that nothing continues, newest first."""
        return self._database.read(
            lambda connection: self._complete_all(connection, turns.heads(connection, self._number))
        )

    def log(self, headish: str = "@", *, limit: int | None = None) -> list[Turn]:
        """The turns of a thread, newest first: its walk read backwards. Only ``limit`` turns are read."""

        def work(connection: Connection, stored: StoredTurn) -> list[Turn]:
            walked = walk_backwards(connection, self._number, stored.place)
            taken = [each for _, each in zip(range(limit), walked, strict=False)] if limit is not None else list(walked)
            return self._complete_all(connection, taken)

        return self._read(headish, work)

    def turns(self, after: str | None = None) -> Iterator[Turn]:
        """All turns of the space in commit order, behind ``after``; read in pages, each when it is reached."""
        seq = 0 if after is None else self._read(after, lambda _, stored: stored.seq)
        while page := self._database.read(lambda connection, seq=seq: self._page(connection, seq, PAGE_TURNS)):
            yield from (turn for _, turn in page)
            seq = page[-1][0]

    def thread(self, headish: Heads = "@") -> list[ThreadRecord]:
        """The schema reference's thread records of a walk."""
        return self._walk(headish, lambda connection, places: thread_records(walk(connection, self._number, places)))

    def tree(self, headish: str = "@") -> list[TreeTurn]:
        """All turns of the tree that a turn belongs to, with all branches, in commit order."""

        def work(connection: Connection, stored: StoredTurn) -> list[TreeTurn]:
            names: dict[Place, list[str]] = {}
            for name, _, chain, pos in bookmark_rows.list_bookmarks(connection, self._number):
                names.setdefault(Place(chain, pos), []).append(bytes(name).decode())
            return build_tree(*walk_tree(connection, self._number, stored.place), names)

        return self._read(headish, work)

    def resolve(self, headish: Heads = "@") -> ContextWindow:
        """The context window of a headish: the messages that lead to it, and the options they hand down, merged.

        Several at once resolve as if one turn continued them all.
        Cost: two statements for the walk, however long the thread; one step of the database's for each fork.
        Raises: CorruptTurn where stored bytes do not decode.
        """
        return self._walk(headish, lambda connection, places: resolve_window(walk(connection, self._number, places)))

    def options(self, headish: Heads = "@") -> dict[str, Any]:
        """The options of a headish alone, over the sparse index of the turns that set any (R12)."""
        return self._walk(
            headish, lambda connection, places: fold_options(walk_inherited(connection, self._number, places))
        )

    # Bookmarks

    def bookmark(self, name: str, headish: str) -> Bookmark:
        """Set a name, or move it. Raises: InvalidName."""
        encoded, parsed = check_name(name), parse_headish(headish)

        def work(connection: Connection) -> Bookmark:
            stored = find_head(connection, self._number, parsed)
            bookmark_rows.move_bookmark(connection, self._number, encoded, [stored.place])
            return Bookmark(name, stored.id)

        return self._database.write(work)

    def bookmarks(self) -> list[Bookmark]:
        """All names and the turns that they name, by name."""
        rows = self._database.read(lambda connection: bookmark_rows.list_bookmarks(connection, self._number))
        return [Bookmark(bytes(name).decode(), turn_id) for name, turn_id, _, _ in rows]

    def unbookmark(self, name: str) -> None:
        """Remove a name; its turns and its history stay. Raises: UnknownTurn where there is no such bookmark."""
        encoded = check_name(name)
        if not self._database.write(
            lambda connection: bookmark_rows.remove_bookmark(connection, self._number, encoded)
        ):
            raise UnknownTurn(name, "there is no such bookmark")

    def bookmark_history(self, name: str) -> list[Move]:
        """Every move of a name, the last first, also of a removed one. Raises: UnknownTurn where it never was."""
        encoded = check_name(name)
        rows = self._database.read(
            lambda connection: bookmark_rows.bookmark_history(connection, self._number, encoded)
        )
        if not rows:
            raise UnknownTurn(name, "there never was such a bookmark")
        return [Move(move, turn_id, datetime.fromtimestamp(when / 1000, UTC)) for move, turn_id, when in rows]

    # The whole space

    def verify(self, progress: Progress | None = None) -> Report:
        """Derive every hash, digest and seal again, check links, chains and bookmarks, and say what disagrees."""
        return verify(self._database, self._number, progress)

    def stats(self) -> Stats:
        """Counts and sizes of the space."""

        def work(connection: Connection) -> tuple[int, ...]:
            space = self._number
            counts = [connection.row(query, space=space) for query in (turns.COUNT_TURNS, turns.COUNT_ROOTS)]
            sizes = connection.row(payloads.COUNT_PAYLOADS, space=space) or (0, 0)
            heads = len(turns.heads(connection, space))
            names = len(bookmark_rows.list_bookmarks(connection, space))
            return (*(row[0] if row else 0 for row in counts), heads, names, *(int(each) for each in sizes))

        return Stats(*self._database.read(work), self._database.size_bytes())

    # Inside

    def find_digests(self, digests: Iterable[bytes]) -> list[StoredTurn]:
        """The stored turns with one of these digests, in commit order: what an importer need not store again."""
        return self._database.read(lambda connection: turns.turns_by_digest(connection, self._number, digests))

    def _add(self, draft: Draft) -> Turn:
        return self._turn(self._append([draft])[0])

    def _append(
        self, drafts: list[Draft], first_index: int = 0, earlier: Sequence[Earlier] = (), carries_names: bool = True
    ) -> list[Appended]:
        more: dict[str, Any] = {"first_index": first_index, "earlier": earlier, "carries_names": carries_names}
        return self._database.write(
            lambda connection: append(connection, self._number, drafts, self._mint.mint, **more)
        )

    def _record(
        self, connection: Connection, drafts: list[Draft], base: Headish | None, name: bytes | None
    ) -> tuple[Appended, int]:
        space = self._number
        stored_base = None if base is None else find_head(connection, space, base)
        roots = None if name is None or base is not None else thread_roots(connection, space, name)
        matched, tip = match_stored(connection, space, drafts, stored_base, roots)
        tail = [_follow(draft, index, tip) for index, draft in enumerate(drafts[matched:])]
        # By place, not by name: only the bookmark that was given may move (R4).
        built = append(connection, space, tail, self._mint.mint, carries_names=False) if tail else []
        if built:
            last = built[-1]
        else:
            assert tip is not None
            last = Appended(tip, continues_of(connection, space, tip))
        if name is not None and bookmark_rows.find_bookmark(connection, space, name) != last.turn.place:
            bookmark_rows.move_bookmark(connection, space, name, [last.turn.place])
        return last, len(built)

    def _read(self, headish: str, work: Callable[[Connection, StoredTurn], T]) -> T:
        parsed = parse_headish(headish)
        return self._database.read(
            lambda connection: work(connection, find_head(connection, self._number, parsed))
        )

    def _walk(self, headish: Heads, work: Callable[[Connection, list[Place]], T]) -> T:
        parsed = [parse_headish(each) for each in ([headish] if isinstance(headish, str) else headish)]
        return self._database.read(
            lambda connection: work(
                connection, [find_head(connection, self._number, each).place for each in parsed]
            )
        )

    def _read_after(self, seq: int, count: int) -> list[Turn]:
        """``count`` turns from a commit number on."""
        found: list[Turn] = []
        while len(found) < count:
            start, limit = seq - 1 + len(found), min(PAGE_TURNS, count - len(found))
            found += [turn for _, turn in self._database.read(lambda c, s=start, n=limit: self._page(c, s, n))]
        return found

    def _page(self, connection: Connection, seq: int, limit: int) -> list[tuple[int, Turn]]:
        page = turns.turns_after(connection, self._number, seq, limit)
        return list(zip([stored.seq for stored in page], self._complete_all(connection, page), strict=True))

    def _complete_all(self, connection: Connection, stored: Iterable[StoredTurn]) -> list[Turn]:
        known: dict[Place, TurnId] = {}
        listed = list(stored)
        known.update((each.place, each.id) for each in listed)
        return [self._complete(connection, each, known) for each in listed]

    def _complete(
        self, connection: Connection, stored: StoredTurn, known: Mapping[Place, TurnId] | None = None
    ) -> Turn:
        before = (known or {}).get(Place(stored.chain, stored.pos - 1)) if stored.pos else None
        continues = (before,) if before else continues_of(connection, self._number, stored)
        return self._turn(Appended(stored, continues))

    def _turn(self, appended: Appended) -> Turn:
        return make_turn(appended.turn, appended.continues, self.options)

    def _read_document(
        self, document: bytes | str | os.PathLike[str], name: str | None
    ) -> tuple[bytes, dict[str, Any]]:
        limit = self._payload_limit_bytes
        system: dict[str, Any] = {}
        if isinstance(document, bytes | bytearray | memoryview):
            data = bytes(document)
        else:
            path = Path(document)
            system = {"document_name": path.name, "original_path": str(path.absolute())}
            try:
                with path.open("rb") as file:
                    data = file.read(limit + 1)
            except OSError as error:
                raise InvalidArgument(f"the document {str(path)!r} cannot be read: {error.strerror}") from None
            if len(data) > limit:
                raise TooLarge("document", path.stat().st_size, limit)
        if len(data) > limit:
            raise TooLarge("document", len(data), limit)
        return data, {**system, **({} if name is None else {"document_name": name}), "file_size": len(data)}


def _as_item(message: Message | Mapping[str, Any]) -> NewTurn:
    """A message of ``record``: role, content, and where given cache and attributes."""
    if isinstance(message, Message):
        return NewTurn(message.content, message.role, cache=message.cache, attributes=message.attributes)
    allowed = ("role", "content", "cache", "attributes")
    unknown = sorted(set(message) - set(allowed)) if isinstance(message, Mapping) else []
    if not isinstance(message, Mapping) or unknown or "content" not in message:
        raise InvalidArgument("a message is a mapping of role and content, with cache or attributes where needed")
    return as_new_turn(dict(message))


def _follow(draft: Draft, index: int, tip: StoredTurn | None) -> Draft:
    """The draft behind the one before it; the first behind the matched tip."""
    from msgspec.structs import replace

    before: tuple[int | Place, ...] = (index - 1,) if index else () if tip is None else (tip.place,)
    return replace(draft, continues=before)
