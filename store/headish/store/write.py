"""The writing half of the door. What a method takes is checked and encoded before its transaction opens."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from headish.content.drafts import Continues, Draft, NewTurn, make_document_draft, make_draft
from headish.content.encoding import Content
from headish.content.media import guess_media_type
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidRole, TooLarge
from headish.history.append import Appended, append
from headish.history.batches import StoredTurns, as_new_turn, in_batches
from headish.history.decode import continues_of
from headish.history.find import find_head
from headish.history.planning import Earlier
from headish.history.record import digests_of_list, fits_recorded, match_stored, thread_roots
from headish.rows.bookmarks import lock_bookmarks, move_bookmark
from headish.rows.turns import StoredTurn
from headish.store.space import OpenSpace
from headish.values.grammar import Headish, parse_headish
from headish.values.messages import Attributes, Message
from headish.values.names import check_name
from headish.values.places import Place
from headish.values.turns import Recorded, Turn


class WritingSpace(OpenSpace):
    """The methods that store turns."""

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
        Cost: eight statements, however long the thread and however large the store.
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
        # Before the commit number is taken, as append does: in the other order two writers would wait for each other.
        before = lock_bookmarks(connection, space, [] if name is None else [name])
        stored_base = None if base is None else find_head(connection, space, base)
        roots = None if name is None or base is not None else thread_roots(connection, space, before.get(name))
        digests, fits = digests_of_list(drafts, stored_base), fits_recorded(stored_base, roots)
        matched, tip = match_stored(connection, space, digests, stored_base, fits)
        tail = [_follow(draft, index, tip) for index, draft in enumerate(drafts[matched:])]
        # By place, not by name: only the bookmark that was given may move (R4).
        built = append(connection, space, tail, self._mint.mint, carries_names=False) if tail else []
        if built:
            last = built[-1]
        else:
            assert tip is not None
            last = Appended(tip, continues_of(connection, space, tip))
        if name is not None and before.get(name) != last.turn.place:
            move_bookmark(connection, space, name, [last.turn.place])
        return last, len(built)

    def _read_document(
        self, document: bytes | str | os.PathLike[str], name: str | None
    ) -> tuple[bytes, dict[str, Any]]:
        limit = self._payload_limit_bytes
        system: dict[str, Any] = {}
        if name is not None and not isinstance(name, str):
            raise InvalidArgument(f"the name of a document is text, not {name!r}")
        if isinstance(document, bytes | bytearray | memoryview):
            data = bytes(document)
        elif not isinstance(document, str | os.PathLike) or "\0" in str(document):
            raise InvalidArgument(f"a document is bytes or a path, not {document!r}")
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
        if message.role is None:
            raise InvalidRole(None)
        return NewTurn(message.content, message.role, cache=message.cache, attributes=message.attributes)
    allowed = ("role", "content", "cache", "attributes")
    unknown = sorted(set(message) - set(allowed)) if isinstance(message, Mapping) else []
    if not isinstance(message, Mapping) or unknown or "content" not in message:
        raise InvalidArgument("a message is a mapping of role and content, with cache or attributes where needed")
    return as_new_turn(dict(message))


def _follow(draft: Draft, index: int, tip: StoredTurn | None) -> Draft:
    """The draft behind the one before it; the first behind the matched tip."""
    before: tuple[int | Place, ...] = (index - 1,) if index else () if tip is None else (tip.place,)
    return replace(draft, continues=before)
