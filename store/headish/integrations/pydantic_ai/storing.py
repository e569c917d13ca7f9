"""Conversations of Pydantic AI, inside a transaction. An entry is a turn with the entry's id as its key, and a record
is an object.

A writer locks the space, so a record is compared and replaced in one transaction, also between processes. On a conflict
neither the record nor an entry is stored.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct
from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord

from headish import ReadTransaction, WriteTransaction
from headish.adapters.healing import escape, unescape
from headish.adapters.messages import (
    Draft,
    SpokenTurn,
    TranscriptMessage,
    TurnId,
    decode_json,
    is_plain,
    make_draft,
    message_of,
    place,
    with_reply,
)
from headish.adapters.sessions import DELETED, free_name
from headish.errors import Ambiguous, CorruptRecord, CorruptTurn, InvalidContent, InvalidHeadish, UnknownTurn
from headish.integrations.pydantic_ai import messages

KIND = "pydantic-ai/record"
PREFIX = "pydantic-ai:"
"""The prefix of an entry's id in the key of its turn."""
PART_LIMIT = 500
"""The longest id that a key has whole. A longer one is cut and followed by its hash."""
ID_CHARACTERS = 25
"""The length of a turn's id."""

_TEXTS = ("conversation_id", "head_id", "scope", "forked_from", "forked_at", "branches")
_ODD = re.compile(rb"[^A-Za-z0-9_.:=+-]")
_records = TypeAdapter(ConversationRecord)


class ConversationObject(Struct, frozen=True, omit_defaults=True):
    """The stored form of a conversation: its record as JSON, and the bookmark of its messages."""

    record: Any
    name: str | None = None


class StoredConversation(NamedTuple):
    """A stored conversation: its record, and the bookmark of its messages."""

    record: ConversationRecord
    name: str | None


_decode = msgspec.json.Decoder(ConversationObject).decode
_encode = msgspec.json.Encoder().encode


def find_record(read: ReadTransaction, id: str) -> StoredConversation | None:
    """The conversation with an id. If its bookmark was moved by something else (an edit, a branch), the record's head
    follows it, and the old head becomes one of its branches."""
    row = read.object(KIND, _part(id))
    if row is None:
        return None
    stored = _read(row.data, id)
    old_head, head = stored.record.head_id, None if stored.name is None else read.bookmark(stored.name)
    if head is None or (old_head is not None and head == _find_entry(read, old_head)):
        return stored
    branches = [*stored.record.branches, *([] if old_head is None else [old_head])]
    record = dataclasses.replace(stored.record, head_id=_entry_at(read, head), branches=branches)
    return stored._replace(record=record)


def _entry_at(read: ReadTransaction, turn: TurnId) -> str:
    """The id of the entry of a turn."""
    [turn_read] = read.thread(turn, 1)
    return turn if turn_read.payload is None else _id_of(turn_read)


def all_records(read: ReadTransaction) -> list[StoredConversation]:
    """All conversations of the space."""
    return [_read(each.data, each.key) for each in read.objects(KIND)]


def write_record(
    write: WriteTransaction,
    record: ConversationRecord,
    drafts: Sequence[tuple[ConversationEntry, Draft]],
    expected: str | None,
) -> None:
    """Store a record and its new entries. Raises: ConversationConflict; then nothing is stored."""
    stored = find_record(write, record.conversation_id)
    if (None if stored is None else stored.record.revision) != expected:
        raise ConversationConflict(record.conversation_id)
    new = {entry.id: index for index, (entry, _) in enumerate(drafts)}
    head = None
    # A head among earlier entries: a branch, or a conversation that was taken back.
    if record.head_id is not None and record.head_id not in new:
        head = _find_entry(write, record.head_id)
        if head is None:
            raise ConversationConflict(record.conversation_id)
    name = stored.name if stored is not None and stored.name is not None else None
    if name is None and record.head_id is not None:
        name = free_name(write, record.conversation_id)
    write.add_turns([_placed(write, entry, draft, new, record, name) for entry, draft in drafts])
    if name is not None and record.head_id is None:
        write.remove_bookmark(name)
    elif name is not None and head is not None:
        write.set_bookmark(name, head)
    write.put(KIND, _part(record.conversation_id), _write(record, name))


def begin_record(write: WriteTransaction, id: str, headish: str, scope: str | None) -> None:
    """Store a conversation that begins with a thread of headish. Raises: ConversationConflict, UnknownTurn."""
    if find_record(write, id) is not None:
        raise ConversationConflict(id)
    name = free_name(write, id)
    head = write.set_bookmark(name, headish)
    record = ConversationRecord(conversation_id=id, head_id=_entry_at(write, head), scope=scope)
    write.put(KIND, _part(id), _write(record, name))


def delete_record(write: WriteTransaction, id: str, expected: str, *, is_final: bool) -> None:
    """Remove a record. With ``is_final``, erase the entries that are in no other record's history or branches.

    Cost: reads every record of the space; two statements for each turn. Raises: ConversationConflict.
    """
    stored = find_record(write, id)
    if stored is None or stored.record.revision != expected:
        raise ConversationConflict(id)
    write.remove(KIND, _part(id))  # before ``all_records``, so that it does not keep its own entries
    if is_final:
        keeping = [end for each in all_records(write) for end in _ends(write, each)]
        write.erase_unshared(_ends(write, stored), DELETED, keeping=keeping, name=stored.name)
    if stored.name is not None and is_final:
        write.erase_bookmark(stored.name, DELETED)
    elif stored.name is not None:
        write.remove_bookmark(stored.name)


def read_history(read: ReadTransaction, head: str, limit: int | None) -> list[ConversationEntry]:
    """The entries that lead to ``head``, or the last ``limit`` of them, oldest first, without hidden ones and overlays.

    Raises: KeyError if one is missing or erased. Cost: two statements, and one for each chain of the turns. If hidden
    turns or overlays are among the last turns, the whole thread is read.
    """
    end = _find_entry(read, head)
    if end is None:
        raise KeyError(head)
    turns, seen = read.thread(end, None if limit is None else limit + 1), None  # one more, for the parent of the first
    if not is_plain(turns):
        turns, seen = read.thread(end), {each.message.turn: each for each in read.window(end)}
    shown = [index for index, turn in enumerate(turns) if seen is None or turn.id in seen]
    return [_entry(turns, index, seen) for index in (shown if limit is None else shown[-limit:])]


def _entry(
    turns: Sequence[SpokenTurn], index: int, seen: dict[TurnId | None, TranscriptMessage] | None
) -> ConversationEntry:
    """The entry of a turn among the turns that lead to it. Raises: KeyError if it is erased."""
    turn, parent = turns[index], None if index == 0 else _id_of(turns[index - 1])
    if turn.payload is None:
        raise KeyError(turn.id)
    message = _message(turn, None if seen is None else seen[turn.id])
    return ConversationEntry(id=_id_of(turn), parent_id=parent, message=message)


def make_entry_draft(entry: ConversationEntry, limit_bytes: int) -> Draft:
    """Make the draft of an entry. Raises: TooLarge."""
    return _with_reply(_make_draft(entry, limit_bytes), entry.message)


def _with_reply(draft: Draft, message: Any) -> Draft:
    reply = messages.reply_of(message)
    return with_reply(draft, reply) if reply else draft


def _make_draft(entry: ConversationEntry, limit_bytes: int) -> Draft:
    written = messages.write(entry.message)
    app = written.app
    key = entry_key(entry.id)
    if key != PREFIX + entry.id:  # the key was escaped or cut, so the id is kept beside
        app = {messages.APP: {**app[messages.APP], "id": entry.id.encode(errors="surrogatepass").hex()}}
    options = {"role": written.role, "key": key, "moves": False}
    try:
        return make_draft(written.blocks, {**options, "meta": app}, limit_bytes)
    except InvalidContent:  # a turn cannot store these blocks, so the message is kept as JSON
        opaque = messages.write_opaque(*messages.dumped(entry.message))
        return make_draft(opaque.blocks, {**options, "meta": opaque.app}, limit_bytes)


def entry_key(id: str) -> str:
    """The key of an entry's turn."""
    return PREFIX + _part(id)


def _write(record: ConversationRecord, name: str | None) -> bytes:
    return _encode(ConversationObject(escape(_records.dump_python(record, mode="json")), name))


def _read(data: bytes, id: str) -> StoredConversation:
    try:
        decoded = _decode(data)
        record = _records.validate_python(decoded.record)
        for field in _TEXTS:
            setattr(record, field, unescape(getattr(record, field)))
        return StoredConversation(record, decoded.name)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"the object {id!r}", f"it is not a record of a conversation ({error})") from None


def _part(text: str) -> str:
    """Make a key of a text: escaped, and a long one cut and followed by its hash."""
    data = text.encode(errors="surrogatepass")
    escaped = _ODD.sub(lambda found: b"%%%02x" % found[0][0], data).decode() or "%"
    if len(escaped) <= PART_LIMIT:
        return escaped
    return f"{escaped[: PART_LIMIT // 2]}~{blake3(data).hexdigest()}"


def _find_entry(read: ReadTransaction, id: str) -> TurnId | None:
    """The turn of an entry; None if there is none, or if it was erased. A turn of another origin is found by its own
    id."""
    found = read.turn_of_key(entry_key(id))
    if found is not None or len(id) != ID_CHARACTERS:
        return found
    try:
        return read.turn(id)
    except (UnknownTurn, InvalidHeadish, Ambiguous):
        return None


def _placed(
    write: WriteTransaction,
    entry: ConversationEntry,
    draft: Draft,
    new: dict[str, int],
    record: ConversationRecord,
    name: str | None,
) -> Draft:
    """Return the draft with its parent, and with the conversation's name if it is the head."""
    behind: TurnId | int | None = None
    if entry.parent_id is not None:
        behind = new[entry.parent_id] if entry.parent_id in new else _find_entry(write, entry.parent_id)
        if behind is None:
            raise ConversationConflict(record.conversation_id)
    # ``force``: the record decides where the name is; a save may go to another branch.
    is_head = entry.id == record.head_id and name is not None
    return place(draft, continues=behind, bookmark=name if is_head else None, force=is_head)


def _ends(read: ReadTransaction, found: StoredConversation) -> list[TurnId]:
    """The last turns of a conversation: those of its history, and of the branches that it left."""
    ids = [each for each in (found.record.head_id, *found.record.branches) if each is not None]
    return [turn for turn in (_find_entry(read, each) for each in ids) if turn is not None]


def _id_of(turn: SpokenTurn) -> str:
    """The id of a turn's entry; for a turn that is not an entry, or lost its key when it was erased, its own id."""
    escaped = decode_json(turn.app).get(messages.APP, {}).get("id")
    if escaped is not None:
        return bytes.fromhex(escaped).decode(errors="surrogatepass")
    key = str(decode_json(turn.system).get("key") or "")
    return key.removeprefix(PREFIX) if key.startswith(PREFIX) else turn.id


def _message(turn: SpokenTurn, seen: TranscriptMessage | None) -> Any:
    """The message of a turn. If the turn is of another origin, or an overlay changes it, a message that says the
    same."""
    app, kept = decode_json(turn.app), message_of(turn)
    is_changed = seen is not None and seen.message.content != kept.message.content
    try:
        if messages.APP in app and not is_changed:
            return messages.read(kept.message.content, app)
        return messages.of_another_origin((seen or kept).message)
    except (LookupError, TypeError, ValueError) as error:
        raise CorruptTurn(turn.id, f"it is not a message of Pydantic AI ({error})") from None
