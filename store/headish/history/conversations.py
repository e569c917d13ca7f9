"""Conversations: find the one that a headish belongs to, its record, and its line in a list (rule R33,
conversations)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UnsetType

from headish.content import strictjson
from headish.content.excerpts import first_words_or_kinds, one_line, words_of_beginning
from headish.database.query import Connection
from headish.errors import (
    CorruptRecord,
    CorruptTurn,
    InvalidArgument,
    InvalidContent,
    KeyTaken,
    RecordChanged,
    UnknownBookmark,
    UnknownConversation,
    shown,
)
from headish.history.reading.find import find_turn
from headish.history.reading.order import arrange
from headish.history.reading.versions import find_firsts
from headish.history.twins import folded_twins
from headish.rows.bookmarks import find_bookmark
from headish.rows.conversations import (
    First,
    StoredRecord,
    find_record,
    find_records,
    names_in,
    newest_in,
    record_by_key,
    record_of_bookmark,
    records_below_key,
    write_record,
)
from headish.rows.threads.entries import Listed, ListedTurn
from headish.rows.threads.ranges import ids_of_range
from headish.rows.threads.walks import read_links
from headish.rows.turns import parent_at, turn_by_id
from headish.rows.upkeep.erasures import is_living
from headish.values.grammar import Headish
from headish.values.ids import TurnId, as_turn_id
from headish.values.limits import KEY_LIMIT_BYTES, MAPPING_LIMIT_BYTES, TAGS_LIMIT, TITLE_LIMIT
from headish.values.messages import Attributes
from headish.values.names import Absent, stored_name
from headish.values.results.conversations import Conversation, Entry, Record, read_record
from headish.values.turns import DOCUMENT, reply_of, said_at_of

Changes = Mapping[str, Any]
"""What is to be said anew of a conversation: some of the fields of ``Record``."""
_decode_mapping = msgspec.json.Decoder(dict[str, Any]).decode
NAMES_SHOWN = 5


class ListedConversation(msgspec.Struct, frozen=True, gc=False):
    """A conversation: its name or its first turn, and what was said last."""

    name: bytes | None
    first: TurnId | None
    turn: TurnId

    @property
    def subject(self) -> bytes:
        return self.name or str(self.first).encode()


def find_conversation(connection: Connection, space: int, headish: Headish) -> ListedConversation:
    """The conversation of a bookmark, or of a turn: the one name that lies there, or what has none.

    Raises: UnknownTurn, Ambiguous, UnknownConversation; InvalidArgument where several names lie there.
    """
    if headish.bookmark is not None:
        found = _find_named(connection, space, headish.bookmark.encode())
        if found is not None:
            return found
    stored = find_turn(connection, space, headish)
    firsts = find_firsts(connection, space, stored.place)
    if not firsts:
        raise UnknownConversation(headish.text, "only system turns lead to this one")
    lying = (names_in(connection, space, each.place, NAMES_SHOWN) for each in firsts)
    names = sorted({name for found in lying for name in found})[:NAMES_SHOWN]
    if len(names) > 1:
        shown = ", ".join(map(stored_name, names))
        raise InvalidArgument(f"several bookmarks lie in the conversation of {headish.text!r}: say which ({shown} …)")
    found = _find_named(connection, space, names[0]) if names else None
    return found or ListedConversation(None, firsts[0].id, _newest(connection, space, firsts) or stored.id)


def find_by_key(connection: Connection, space: int, key: bytes) -> ListedConversation:
    """The conversation that has a key. Raises: UnknownConversation."""
    stored = record_by_key(connection, space, key)
    found = None if stored is None else _find_subject(connection, space, stored.subject)
    if found is None:
        raise UnknownConversation(stored_name(key), "none has this key")
    return found


def find_parts(connection: Connection, space: int, key: bytes, limit: int) -> list[ListedConversation]:
    """The conversations that are parts of the one with a key: their keys are ``KEY:…``."""
    stored = records_below_key(connection, space, key, limit)
    found = (_find_subject(connection, space, each.subject) for each in stored)
    return [each for each in found if each is not None]


def read_conversation(connection: Connection, space: int, found: ListedConversation) -> Conversation:
    """A conversation with what is said of it. Raises: CorruptRecord."""
    return _conversation(found, find_record(connection, space, found.subject))


def title_of(connection: Connection, space: int, headish: Headish) -> str | None:
    """The title of the conversation that a headish is of; None where it has none.

    Cost: one statement for a bookmark. Raises: as ``find_conversation``; CorruptRecord.
    """
    if headish.bookmark is not None:
        is_there, stored = record_of_bookmark(connection, space, headish.bookmark.encode())
        if is_there:
            return None if stored is None else _read_record(stored).title
    return read_conversation(connection, space, find_conversation(connection, space, headish)).record.title


def change_record(
    connection: Connection, space: int, found: ListedConversation, changes: Changes, expect: int | Absent | None
) -> Conversation:
    """Say something anew of a conversation; what is not among the changes stays.

    Raises: RecordChanged, KeyTaken, InvalidContent.
    """
    stored = find_record(connection, space, found.subject)
    before = None if stored is None else stored.revision
    wanted = None if isinstance(expect, Absent) else expect
    if expect is not None and wanted != before:
        raise RecordChanged(f"what is said of the conversation {stored_name(found.subject)!r}", wanted, before)
    record = msgspec.structs.replace(_conversation(found, stored).record, **changes)
    if record.key is not None:
        _free_key(connection, space, record.key, found.subject)
    said = _write(connection, space, found.subject, (before or 0) + 1, record)
    return _conversation(found, said)


def copy_record(connection: Connection, space: int, subject: bytes, to: Connection, target: int) -> bool:
    """Say of a conversation in another space what is said of it here, unless something is said of it there already.

    Raises: KeyTaken, CorruptRecord.
    """
    stored = find_record(connection, space, subject)
    if stored is None or find_record(to, target, subject) is not None:
        return False
    record = _read_record(stored)
    if record.key is not None:
        _free_key(to, target, record.key, subject)
    _write(to, target, subject, stored.revision, record)
    return True


def write_arrived_record(connection: Connection, space: int, subject: bytes, revision: int, data: bytes) -> bool:
    """Say of a conversation what is said of it elsewhere. Whether it was: what does not decode is left out, and so is a
    key that another conversation has here."""
    try:
        record = read_record(data)
        check_changes({name: getattr(record, name) for name in CHECKS})
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidArgument, InvalidContent):
        return False
    try:
        if record.key is not None:
            _free_key(connection, space, record.key, subject)
    except KeyTaken:
        record = msgspec.structs.replace(record, key=None)
    _write(connection, space, subject, revision, record)
    return True


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What may be said of a conversation, without what is left unset. Raises: InvalidArgument, InvalidContent."""
    return {name: CHECKS[name](given) for name, given in changes.items() if not isinstance(given, UnsetType)}


def check_key(given: object) -> str | None:
    """The key of a conversation, None to take it away. Raises: InvalidArgument."""
    if given is None:
        return None
    text = _check_text("key", given, KEY_LIMIT_BYTES)
    if not text or len(text.encode()) > KEY_LIMIT_BYTES:
        raise InvalidArgument(f"the key of a conversation is text of 1 to {KEY_LIMIT_BYTES:,} bytes")
    return text


def leave_out_gone(connection: Connection, space: int, listed: list[Listed]) -> list[Listed]:
    """Those of which something is left. Cost: a few statements for each whose first and last turns were erased."""
    return [each for each in listed if each.last.erased is None or not _is_gone(connection, space, each)]


def leave_out_twins(connection: Connection, space: int, listed: list[Listed]) -> list[Listed]:
    """Those whose last turn is not the twin of one that is shown. Cost: that of ``folded_twins``."""
    folded = folded_twins(connection, space, [TurnId(each.last.id) for each in listed if each.last.id is not None])
    return [each for each in listed if each.last.id not in folded]


def _is_gone(connection: Connection, space: int, listed: Listed) -> bool:
    if listed.first.id is not None and listed.first.erased is None:
        return False
    if listed.name is None:
        begins = turn_by_id(connection, space, TurnId(str(listed.start)))
        return begins is not None and not is_living(connection, space, begins.place)
    end = find_bookmark(connection, space, listed.name)
    segments = [] if end is None else arrange([end], read_links(connection, space, end))
    return not any(erased is None for each in segments for _, erased in ids_of_range(connection, space, each))


def make_entries(connection: Connection, space: int, listed: list[Listed]) -> list[Entry]:
    """Conversations as a list shows them. Cost: one statement for each 64. Raises: CorruptTurn, CorruptRecord."""
    found = [_found(each) for each in listed]
    records = find_records(connection, space, [each.subject for each in found])
    return [_entry(each, here, records.get(here.subject)) for each, here in zip(listed, found, strict=True)]


def _newest(connection: Connection, space: int, firsts: Sequence[First]) -> TurnId | None:
    """The end of the newest branch of what grew from any version of a first turn."""
    ends = [turn_id for each in firsts if (turn_id := newest_in(connection, space, each.place)) is not None]
    if len(ends) < 2:
        return next(iter(ends), None)
    stored = [each for turn_id in ends if (each := turn_by_id(connection, space, turn_id)) is not None]
    # A chain has the commit number of its first turn, so the highest belongs to the branch that was begun last.
    return max(stored, key=lambda each: each.chain).id


def _find_named(connection: Connection, space: int, name: bytes) -> ListedConversation | None:
    place = find_bookmark(connection, space, name)
    if place is None:
        return None
    turn = parent_at(connection, space, place)
    if turn is None:
        raise UnknownBookmark(stored_name(name))
    return ListedConversation(name, None, turn.id)


def _find_subject(connection: Connection, space: int, subject: bytes) -> ListedConversation | None:
    """The conversation that a row is about; None where its name was removed."""
    first = as_turn_id(stored_name(subject))
    if first is None:
        return _find_named(connection, space, subject)
    stored = turn_by_id(connection, space, first)
    if stored is None:
        raise CorruptRecord(f"what is said of the conversation {first}", "its first turn is missing")
    return ListedConversation(
        None, first, _newest(connection, space, find_firsts(connection, space, stored.place)) or first
    )


def _free_key(connection: Connection, space: int, key: str, subject: bytes) -> None:
    """Refuse a key that another conversation has. One whose name was removed gives it up."""
    holder = record_by_key(connection, space, key.encode())
    if holder is None or holder.subject == subject:
        return
    if _find_subject(connection, space, holder.subject) is not None:
        raise KeyTaken(key, stored_name(holder.subject), "the conversation")
    freed = msgspec.structs.replace(_read_record(holder), key=None)
    _write(connection, space, holder.subject, holder.revision + 1, freed)


def _write(connection: Connection, space: int, subject: bytes, revision: int, record: Record) -> StoredRecord:
    stored = StoredRecord(subject, revision, strictjson.encode(record))
    write_record(
        connection,
        space,
        stored,
        archived=record.archived,
        pinned=record.pinned,
        key=None if record.key is None else record.key.encode(),
    )
    return stored


def _conversation(found: ListedConversation, stored: StoredRecord | None) -> Conversation:
    return Conversation(
        name=None if found.name is None else stored_name(found.name),
        first=found.first,
        turn=found.turn,
        record=Record() if stored is None else _read_record(stored),
        revision=None if stored is None else stored.revision,
    )


def _read_record(stored: StoredRecord) -> Record:
    try:
        return read_record(stored.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"what is said of the conversation {stored_name(stored.subject)!r}"
        raise CorruptRecord(what, f"it does not decode ({error})") from None


def _found(listed: Listed) -> ListedConversation:
    if listed.last.id is None:
        raise CorruptTurn(f"of the conversation {stored_name(listed.name or b'')!r}", "it is missing")
    first = None if listed.start is None else TurnId(listed.start)
    return ListedConversation(listed.name, first, TurnId(listed.last.id))


def _entry(listed: Listed, found: ListedConversation, stored: StoredRecord | None) -> Entry:
    conversation = _conversation(found, stored)
    system = _system(listed.last)
    # Of one without a name, when its last turn was said: an import stores today what was said years ago.
    moved = (
        datetime.fromtimestamp(listed.recent / 1000, UTC) if found.name is not None else said_at_of(system, found.turn)
    )
    model = reply_of(system).get("model")
    return Entry(
        conversation=conversation,
        title=conversation.record.title or _words(listed.first),
        last=_words(listed.last),
        role=listed.last.role or None,
        model=model if isinstance(model, str) else None,
        time=moved,
        branches=listed.branches,
        turns=listed.turns,
    )


def _words(words: ListedTurn) -> str:
    """The first words of a turn; a document's name; of what has no words, what it is. Empty where there is no turn."""
    if words.id is None:
        return ""
    if words.overlay is not None:
        return one_line(f"(overlay: {_does(words)}) {_said(words)}")
    return "(erased)" if words.erased is not None else _said(words)


def _does(words: ListedTurn) -> str:
    from headish.history.windows.states import describe  # late: few lists have one

    try:
        overlay = msgspec.json.decode(words.overlay or b"", type=Attributes).overlay
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(str(words.id), f"its attributes do not decode ({error})") from None
    return "" if overlay is None else describe(overlay)


def _said(words: ListedTurn) -> str:
    if words.payload is None:
        return ""
    if words.type == DOCUMENT:
        return one_line(str(_system(words).get("document_name", "")))
    payload = bytes(words.payload)
    if words.cut:
        return words_of_beginning(payload)
    try:
        return first_words_or_kinds(payload)
    except InvalidContent as error:
        raise CorruptTurn(str(words.id), str(error)) from None


def _system(words: ListedTurn) -> dict[str, Any]:
    if words.system is None:
        return {}
    try:
        return _decode_mapping(words.system)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(str(words.id), f"its system does not decode ({error})") from None


def _check_title(given: object) -> str:
    return "" if given is None else _check_text("title", given, TITLE_LIMIT)


def _check_tags(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(f"tags are a list of texts, not {type(given).__name__}")
    tags = tuple(dict.fromkeys(_check_text("tag", each, TITLE_LIMIT) for each in given))
    if len(tags) > TAGS_LIMIT or "" in tags:
        raise InvalidArgument(f"a conversation has at most {TAGS_LIMIT} tags, and none is empty")
    return tags


def _check_flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidArgument(f"archived and pinned are True or False, not {shown(given)}")
    return given


def _check_app(given: object) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgument(f"app is a mapping, not {type(given).__name__}")
    # Encoded and decoded: callers may change the mapping that they gave, and JSON may turn a tuple into a list.
    return _decode_mapping(strictjson.encode_mapping(given or {}, "app", MAPPING_LIMIT_BYTES))


def _check_text(what: str, given: object, limit: int) -> str:
    if not isinstance(given, str) or len(given) > limit:
        raise InvalidArgument(f"the {what} of a conversation is text of at most {limit:,} characters")
    strictjson.check_text(given, what)
    return given


CHECKS = {
    "title": _check_title,
    "tags": _check_tags,
    "archived": _check_flag,
    "pinned": _check_flag,
    "key": check_key,
    "app": _check_app,
}
