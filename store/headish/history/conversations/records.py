"""Which conversation a headish belongs to, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headish.content import strictjson
from headish.database.query import Connection
from headish.errors import (
    CorruptRecord,
    InvalidArgument,
    InvalidContent,
    KeyTaken,
    RecordChanged,
    UnknownBookmark,
    UnknownConversation,
)
from headish.history.conversations.saying import CHECKS, check_changes
from headish.history.reading.find import find_turn
from headish.history.reading.versions import find_firsts
from headish.rows.bookmarks import find_bookmark
from headish.rows.conversations import (
    First,
    StoredRecord,
    find_record,
    names_in,
    newest_in,
    record_by_key,
    record_of_bookmark,
    records_below_key,
    write_record,
)
from headish.rows.turns import parent_at, turn_by_id
from headish.values.grammar import Headish
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import Absent, stored_name
from headish.values.results.conversations import Conversation, Record, read_record

Changes = Mapping[str, Any]
"""What is to be said anew of a conversation: some of the fields of ``Record``."""
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
    return as_conversation(found, find_record(connection, space, found.subject))


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
    record = msgspec.structs.replace(as_conversation(found, stored).record, **changes)
    if record.key is not None:
        _free_key(connection, space, record.key, found.subject)
    said = _write(connection, space, found.subject, (before or 0) + 1, record)
    return as_conversation(found, said)


def copy_record(connection: Connection, space: int, subject: bytes, to: Connection, target: int) -> bool:
    """Say of a conversation in another space what is said of it here, unless something is said of it there already.

    A key stays with the conversation that has it there, if both begin alike: both spaces imported it (rule R45,
    shadowed keys). Raises: KeyTaken for the key of any other conversation; CorruptRecord.
    """
    stored = find_record(connection, space, subject)
    if stored is None or find_record(to, target, subject) is not None:
        return False
    record = _read_record(stored)
    if record.key is not None:
        holder = record_by_key(to, target, record.key.encode())
        begins = None if holder is None else _first_digest(to, target, holder.subject)
        if begins is None or begins != _first_digest(connection, space, subject):
            _free_key(to, target, record.key, subject)
        else:
            record = msgspec.structs.replace(record, key=None)
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


def as_conversation(found: ListedConversation, stored: StoredRecord | None) -> Conversation:
    """A conversation with the row that is about it. Raises: CorruptRecord."""
    return Conversation(
        name=None if found.name is None else stored_name(found.name),
        first=found.first,
        turn=found.turn,
        record=Record() if stored is None else _read_record(stored),
        revision=None if stored is None else stored.revision,
    )


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


def _first_digest(connection: Connection, space: int, subject: bytes) -> bytes | None:
    """The digest of the first turn of a conversation; None where its name was removed, or it has no first turn."""
    found = _find_subject(connection, space, subject)
    stored = None if found is None else turn_by_id(connection, space, found.turn)
    firsts = [] if stored is None else find_firsts(connection, space, stored.place)
    first = turn_by_id(connection, space, firsts[0].id) if firsts else None
    return None if first is None else first.digest


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


def _read_record(stored: StoredRecord) -> Record:
    try:
        return read_record(stored.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"what is said of the conversation {stored_name(stored.subject)!r}"
        raise CorruptRecord(what, f"it does not decode ({error})") from None
