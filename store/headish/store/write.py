"""Verbs that store turns. What a verb takes is checked and encoded before its transaction opens."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from headish.content.drafts import DocumentOptions, Draft, TurnOptions, make_document_draft, make_draft
from headish.content.encoding import Content
from headish.content.media import guess_media_type
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidRole, TooLarge
from headish.history.append import Appended, append
from headish.history.batches import StoredTurns, in_batches, read_item
from headish.history.planning import Earlier
from headish.history.record import record_list
from headish.rows.objects import Put, put_object
from headish.store.objects import read_puts
from headish.store.read import read_range
from headish.store.space import Space
from headish.values.grammar import parse_headish
from headish.values.ids import Mint
from headish.values.messages import Message
from headish.values.names import check_name
from headish.values.turns import Recorded, Turn


def add_turn(space: Space, content: Content, **turn: Unpack[TurnOptions]) -> Turn:
    """Store one turn; it is durable when this returns.

    ``content`` is a string (one text block), a list of strings and blocks, or with ``json`` the JSON text of blocks.

    - ``role``: system, developer, user (the default), assistant or tool.
    - ``continues``: a headish or several, in order. ``respond``: continue the newest turn of the space.
    - ``bookmark``: set this name, or move it forward. Without it, a turn that continues a bookmark moves it along.
      A name that is elsewhere is refused; ``force`` takes it.
    - ``expect``: the id that the moving name must have pointed at, or ``ABSENT`` if there must be no such name yet.
    - ``inherited``: options for this turn and all that follow it, deep-merged with the shortcuts ``provider_ptr``,
      ``servers``, ``search`` and ``tool_mode``; ``None`` inside switches a value off.
    - ``cache``: ask providers to cache up to here. ``attributes``: the transcript's. ``meta``: the application's own.

    Cost: eight statements, however long the thread and however large the store.
    Raises: InputError in its kinds, BookmarkTaken, BookmarkMoved; nothing is stored then.
    """
    return _add(space, make_draft(content, turn, space._payload_limit_bytes))


def add_document(
    space: Space,
    document: bytes | str | os.PathLike[str],
    *,
    name: str | None = None,
    content_type: str | None = None,
    **turn: Unpack[DocumentOptions],
) -> Turn:
    """Store a document as a turn of its own: the raw bytes, from a path (text is a path) or as they are given.

    The name's extension tells the media type, else the content does. In a window it is one document block. The other
    arguments are those of ``add_turn``.
    Raises: TooLarge past ``payload_limit_bytes``; InvalidArgument where the path cannot be read; as ``add_turn``.
    """
    data, system = _read_document(document, name, space._payload_limit_bytes)
    content_type = content_type or guess_media_type(data, system.get("document_name"))
    return _add(space, make_document_draft(data, turn, content_type=content_type, system=system))


def add_turns(
    space: Space, items: Iterable[Mapping[str, Any] | Content], *, objects: Iterable[Mapping[str, Any]] = ()
) -> StoredTurns:
    """Store a stream of turns of any length, in bounded memory.

    An item is a mapping of ``content`` and ``add_turn``'s arguments, or content alone; its ``continues`` may also be
    the index of an earlier item. The stream is drained in batches of at most 1,000 turns; a batch is one transaction,
    all or nothing. What an earlier batch stored stays when a later item is refused.

    ``objects`` are mappings of the arguments of ``store.objects.put``. With them the whole stream is drained first, and
    all turns and objects are one transaction: both are stored, or nothing. The result's ``revisions`` are theirs.
    Raises: as ``add_turn`` and ``objects.put``.
    """
    drafts = (make_draft(*read_item(item), space._payload_limit_bytes) for item in items)
    puts = read_puts(objects, space._payload_limit_bytes)
    return _add_together(space, list(in_batches(drafts)), puts) if puts else add_drafts(space, drafts)


def add_drafts(space: Space, drafts: Iterable[Draft], *, carries_names: bool = True) -> StoredTurns:
    """``add_turns`` for what is already checked and encoded."""
    batches: list[Earlier] = []
    count = 0
    for batch in in_batches(drafts):
        stored = _append(space, batch, first_index=count, earlier=batches, carries_names=carries_names)
        batches.append(Earlier(count, stored[0].turn.seq))
        count += len(batch)
    return StoredTurns(partial(read_range, space), batches, count)


def _add_together(space: Space, portions: Sequence[list[Draft]], puts: Sequence[Put]) -> StoredTurns:
    """Turns and objects in one transaction, however many there are."""

    def work(connection: Connection, mint: Mint) -> tuple[list[Earlier], int, list[int]]:
        batches: list[Earlier] = []
        count = 0
        for portion in portions:
            stored = append(connection, space._number, portion, mint, first_index=count, earlier=batches)
            batches.append(Earlier(count, stored[0].turn.seq))
            count += len(portion)
        return batches, count, [put_object(connection, space._number, put) for put in puts]

    batches, count, revisions = space._store(work)
    return StoredTurns(partial(read_range, space), batches, count, revisions)


def record(
    space: Space,
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    continues: str | None = None,
    bookmark: str | None = None,
) -> Recorded:
    """Store a whole message list that a client sends again and again: only its new tail becomes turns.

    The longest part that is stored already is recognised by its digests: below ``continues``, or in the tree of
    ``bookmark``; without either, among threads that set no options, the oldest of equals. ``bookmark`` alone is moved,
    to the returned tip.
    Raises: InvalidArgument for an empty list.
    """
    drafts = [_message_draft(message, space._payload_limit_bytes) for message in messages]
    if not drafts:
        raise InvalidArgument("record needs at least one message")
    base = None if continues is None else parse_headish(continues)
    name = None if bookmark is None else check_name(bookmark, is_new=True)
    appended, added = space._store(
        lambda connection, mint: record_list(connection, space._number, drafts, base, name, mint)
    )
    return Recorded(space._as_turn(appended), added)


def _add(space: Space, draft: Draft) -> Turn:
    return space._as_turn(_append(space, [draft])[0])


def _append(
    space: Space,
    drafts: list[Draft],
    *,
    first_index: int = 0,
    earlier: Sequence[Earlier] = (),
    carries_names: bool = True,
) -> list[Appended]:
    return space._store(
        lambda connection, mint: append(
            connection,
            space._number,
            drafts,
            mint,
            first_index=first_index,
            earlier=earlier,
            carries_names=carries_names,
        )
    )


def _read_document(
    document: bytes | str | os.PathLike[str], name: str | None, limit_bytes: int
) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a document, and what is kept beside them."""
    if name is not None and not isinstance(name, str):
        raise InvalidArgument(f"the name of a document is text, not {name!r}")
    system: dict[str, Any] = {}
    if isinstance(document, bytes | bytearray | memoryview):
        data = bytes(document)
    elif not isinstance(document, str | os.PathLike) or "\0" in str(document):
        raise InvalidArgument(f"a document is bytes or a path, not {document!r}")
    else:
        path = Path(document)
        system = {"document_name": path.name, "original_path": str(path.absolute())}
        data = _read_file(path, limit_bytes)
    if len(data) > limit_bytes:
        raise TooLarge("document", len(data), limit_bytes)
    return data, {**system, **({} if name is None else {"document_name": name}), "file_size": len(data)}


def _read_file(path: Path, limit_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise InvalidArgument(f"the document {str(path)!r} cannot be read: {error.strerror}") from None
    if len(data) > limit_bytes:
        raise TooLarge("document", path.stat().st_size, limit_bytes)
    return data


def _message_draft(message: Message | Mapping[str, Any], limit_bytes: int) -> Draft:
    """A message of ``record``: role, content, and where given cache and attributes."""
    if isinstance(message, Message):
        if message.role is None:
            raise InvalidRole(None)
        options = {"role": message.role, "cache": message.cache, "attributes": message.attributes}
        return make_draft(message.content, options, limit_bytes)
    if not isinstance(message, Mapping) or message.keys() - _MESSAGE_KEYS or "content" not in message:
        raise InvalidArgument("a message is a mapping of role and content, with cache or attributes where needed")
    options = {key: value for key, value in message.items() if key != "content"}
    return make_draft(message["content"], options, limit_bytes)


_MESSAGE_KEYS = {"role", "content", "cache", "attributes"}
