"""Conversations of Pydantic AI: a Connection in. An entry is a turn with the entry's id as its key, a record an object.

The space is locked while somebody writes, so a record is compared and replaced in one transaction, also between
processes; on a conflict neither the record nor an entry stays.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord

from headish.content.drafts import Draft, make_draft
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.erasing.choosing import Wish
from headish.erasing.erase import Said as Reason
from headish.erasing.erase import erase as erase_turns
from headish.errors import CorruptRecord, CorruptTurn, InvalidContent
from headish.history.reading.decode import decode_mapping, read_blocks
from headish.history.reading.order import arrange
from headish.history.writing.append import append
from headish.integrations.pydantic_ai import messages
from headish.integrations.shared.freeing import free_turns
from headish.integrations.shared.healing import heal_text
from headish.integrations.shared.names import safe_name
from headish.rows.bookmarks import ALL, find_bookmark, remove_bookmark, set_bookmark
from headish.rows.keys import turn_by_key
from headish.rows.objects import Put, find_object, list_objects, put_object, remove_object
from headish.rows.threads.ranges import read_range
from headish.rows.threads.walks import read_links
from headish.rows.turns import StoredTurn
from headish.values.ids import Mint
from headish.values.places import Place, Segment

KIND = "pydantic-ai/record"
PREFIX = "pydantic-ai:"
"""Before an entry's id, in the key of its turn."""
PART_LIMIT = 500

_ESCAPE = "\ufffe"
_TEXTS = ("conversation_id", "head_id", "scope", "forked_from", "forked_at", "branches")
_ODD = re.compile(rb"[^A-Za-z0-9_.:=+-]")
_records = TypeAdapter(ConversationRecord)


class Kept(Struct, frozen=True, omit_defaults=True):
    """What is stored of a conversation: its record, as JSON, and the bookmark of its messages."""

    record: Any
    name: str | None = None


class Found(NamedTuple):
    """A stored conversation."""

    record: ConversationRecord
    name: str | None


_decode = msgspec.json.Decoder(Kept).decode
_encode = msgspec.json.Encoder().encode


def find_record(connection: Connection, space: int, id: str) -> Found | None:
    """The conversation with an id."""
    row = find_object(connection, space, KIND, _part(id))
    return None if row is None else _read(row[3], id)


def all_records(connection: Connection, space: int) -> Iterator[Found]:
    """All conversations of the space."""
    for row in list_objects(connection, space, KIND, prefix=b"", after=b"", limit=ALL):
        yield _read(row[3], str(row[1]))


def write_record(
    connection: Connection,
    space: int,
    record: ConversationRecord,
    drafts: Sequence[tuple[ConversationEntry, Draft]],
    expected: str | None,
    mint: Mint,
) -> None:
    """Store a record and its new entries. Raises: ConversationConflict, and nothing is stored."""
    found = find_record(connection, space, record.conversation_id)
    if (None if found is None else found.record.revision) != expected:
        raise ConversationConflict(record.conversation_id)
    new = {entry.id: index for index, (entry, _) in enumerate(drafts)}
    head = None
    if record.head_id is not None and record.head_id not in new:
        head = _find_entry(connection, space, record.head_id)
        if head is None:
            raise ConversationConflict(record.conversation_id)
    name = found.name if found is not None and found.name is not None else None
    if name is None and record.head_id is not None:
        name = _free_name(connection, space, record.conversation_id)
    ready = [_ready(connection, space, entry, draft, new, record, name) for entry, draft in drafts]
    if ready:
        append(connection, space, ready, mint, carries_names=False)
    _set_name(connection, space, name, head, is_gone=record.head_id is None)
    put_object(connection, space, Put(KIND, _part(record.conversation_id), _write(record, name)))


def delete_record(
    connection: Connection, space: int, id: str, expected: str, reason: Reason | None, mint: Mint
) -> None:
    """Remove a record; with a ``reason`` erase the entries that no other one's history or branches have.

    Cost: reads every record of the space; two statements for each turn. Raises: ConversationConflict.
    """
    found = find_record(connection, space, id)
    if found is None or found.record.revision != expected:
        raise ConversationConflict(id)
    remove_object(connection, space, KIND, _part(id), None)
    own = None if found.name is None else found.name.encode()
    if reason is not None:
        keepers = [place for each in all_records(connection, space) for place in _ends(connection, space, each)]
        places = free_turns(connection, space, _ends(connection, space, found), keepers, own)
        if places:
            erase_turns(connection, space, places, Wish("turn", meta=True), reason, mint)
    if own is not None:
        remove_bookmark(connection, space, own)


def read_history(connection: Connection, space: int, head: str, limit: int | None) -> list[ConversationEntry]:
    """The entries that lead to one, the last ``limit`` of them. Raises: KeyError where one is missing or erased.

    Cost: two statements, and one for each chain that the turns lie in.
    """
    stored = _find_entry(connection, space, head)
    if stored is None:
        raise KeyError(head)
    segments = arrange([stored.place], read_links(connection, space, stored.place))
    turns = _last(connection, space, segments, None if limit is None else limit + 1)
    ids = [_id_of(turn) for turn, _ in turns]
    entries = [
        ConversationEntry(id=id, parent_id=parent, message=_message(turn, payload))
        for id, parent, (turn, payload) in zip(ids, [None, *ids], turns, strict=False)
    ]
    return entries if limit is None else entries[-limit:]


def make_entry_draft(entry: ConversationEntry, limit_bytes: int) -> Draft:
    """The draft of an entry. Raises: TooLarge."""
    written = messages.write(entry.message)
    app = written.app
    key = entry_key(entry.id)
    if key != PREFIX + entry.id:
        app = {messages.APP: {**app[messages.APP], "id": _hexed(entry.id)}}
    options = {"role": written.role, "key": key, "moves": False}
    try:
        return make_draft(written.blocks, {**options, "meta": app}, limit_bytes)
    except InvalidContent:  # what a turn does not keep
        given = messages.write_opaque(*messages.dumped(entry.message))
        return make_draft(given.blocks, {**options, "meta": given.app}, limit_bytes)


def entry_key(id: str) -> str:
    """The key of an entry's turn."""
    return PREFIX + _part(id).decode()


def _write(record: ConversationRecord, name: str | None) -> bytes:
    return _encode(Kept(_mapped(_records.dump_python(record, mode="json"), _escaped), name))


def _read(data: bytes, id: str) -> Found:
    try:
        kept = _decode(data)
        record = _records.validate_python(kept.record)
        for field in _TEXTS:
            setattr(record, field, _mapped(getattr(record, field), _unescaped))
        return Found(record, kept.name)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"the object {id!r}", f"it is no record of a conversation ({error})") from None


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(each, change) for key, each in value.items()}
    return [_mapped(each, change) for each in value] if isinstance(value, list) else value


def _escaped(text: str) -> str:
    """Ids are any text, and JSON has no half characters: such a text stands as its bytes."""
    return text if text.isascii() or not (heal_text(text)[1] or text.startswith(_ESCAPE)) else _ESCAPE + _hexed(text)


def _unescaped(text: str) -> str:
    return _unhexed(text[1:]) if text.startswith(_ESCAPE) else text


def _hexed(text: str) -> str:
    return text.encode(errors="surrogatepass").hex()


def _unhexed(text: str) -> str:
    return bytes.fromhex(text).decode(errors="surrogatepass")


def _part(text: str) -> bytes:
    """Text as a key: escaped, and a long one as its beginning and its hash."""
    data = text.encode(errors="surrogatepass")
    escaped = _ODD.sub(lambda found: b"%%%02x" % found[0][0], data) or b"%"
    if len(escaped) <= PART_LIMIT:
        return escaped
    return escaped[: PART_LIMIT // 2] + b"~" + blake3(data).hexdigest().encode()


def _find_entry(connection: Connection, space: int, id: str) -> StoredTurn | None:
    """The turn of an entry; None where there is none, or it was erased."""
    stored = turn_by_key(connection, space, entry_key(id).encode())
    return None if stored is None or stored.erased is not None else stored


def _ready(
    connection: Connection,
    space: int,
    entry: ConversationEntry,
    draft: Draft,
    new: dict[str, int],
    record: ConversationRecord,
    name: str | None,
) -> Draft:
    """The draft behind its parent; the conversation's name goes with the head."""
    named: dict[str, Any] = {}
    if entry.id == record.head_id and name is not None:
        named = {"bookmark": name.encode(), "force": True}
    if entry.parent_id is None:
        return replace(draft, **named)
    if entry.parent_id in new:
        return replace(draft, continues=(new[entry.parent_id],), **named)
    parent = _find_entry(connection, space, entry.parent_id)
    if parent is None:
        raise ConversationConflict(record.conversation_id)
    return replace(draft, continues=(parent.place,), **named)


def _free_name(connection: Connection, space: int, id: str) -> str:
    number, name = 1, safe_name(id)
    while find_bookmark(connection, space, name.encode()) is not None:
        number += 1
        name = safe_name(f"{id}-{number}")
    return name


def _set_name(connection: Connection, space: int, name: str | None, head: StoredTurn | None, *, is_gone: bool) -> None:
    """Set the conversation's name where its head is no new entry."""
    if name is None:
        return
    if is_gone:
        remove_bookmark(connection, space, name.encode())
    elif head is not None and find_bookmark(connection, space, name.encode()) != head.place:
        set_bookmark(connection, space, name.encode(), head)


def _ends(connection: Connection, space: int, found: Found) -> list[Place]:
    """Where the history of a conversation ends, and the branches that it left."""
    ids = [each for each in (found.record.head_id, *found.record.branches) if each is not None]
    turns = (_find_entry(connection, space, each) for each in ids)
    return [each.place for each in turns if each is not None]


def _last(
    connection: Connection, space: int, segments: Sequence[Segment], limit: int | None
) -> list[tuple[StoredTurn, bytes]]:
    """The last turns of a walk, with their payloads, oldest first."""
    found: list[list[tuple[StoredTurn, bytes]]] = []
    left = ALL if limit is None else limit
    for chain, low, high in reversed(segments):
        if left <= 0:
            break
        segment = Segment(chain, max(low, high - left + 1), high)
        found.append([_checked(*whole) for whole in read_range(connection, space, segment)])
        left -= segment.high - segment.low + 1
    return [each for portion in reversed(found) for each in portion]


def _checked(turn: StoredTurn, payload: Any) -> tuple[StoredTurn, bytes]:
    if turn.erased is not None:
        raise KeyError(turn.id)
    if payload is None or hash_payload(payload) != turn.hash:
        raise CorruptTurn(turn.id, "its payload disagrees with its hash, or is missing")
    return turn, payload


def _app(turn: StoredTurn) -> dict[str, Any]:
    return {} if turn.app is None else decode_mapping(turn.app, turn.id, "app")


def _id_of(turn: StoredTurn) -> str:
    """The id of a turn's entry; of a turn that is none its own."""
    escaped = _app(turn).get(messages.APP, {}).get("id")
    if escaped is not None:
        return _unhexed(escaped)
    key = (turn.key or b"").decode()
    return key.removeprefix(PREFIX) if key.startswith(PREFIX) else turn.id


def _message(turn: StoredTurn, payload: bytes) -> Any:
    try:
        return messages.read(read_blocks(turn, payload), _app(turn))
    except (LookupError, TypeError, ValueError) as error:
        raise CorruptTurn(turn.id, f"it is no message of Pydantic AI ({error})") from None
