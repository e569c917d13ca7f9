"""Change the record of a conversation: at a caller's wish, by a copy from another space, or by a record that
arrived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidContent, KeyTaken, RecordChanged
from headish.history.conversations.records import ListedConversation, as_conversation, record_of
from headish.history.conversations.saying import CHECKS, check_changes
from headish.history.conversations.subjects import find_subject, first_digest
from headish.history.conversations.times import TimedRecord, bring_near, change_timed, encode_timed, read_timed
from headish.history.reading.versions import find_firsts
from headish.rows.conversations import (
    StoredRecord,
    find_dated_record,
    find_record,
    find_records,
    record_by_key,
    rename_record,
    write_record,
)
from headish.rows.keys import has_superseded, superseding_some
from headish.values.ids import TurnId
from headish.values.names import Absent, stored_name
from headish.values.results.conversations import Conversation, Record

Changes = Mapping[str, Any]
"""Some of the fields of ``Record``, with new values."""


def change_record(
    connection: Connection, space: int, found: ListedConversation, changes: Changes, expect: int | Absent | None
) -> Conversation:
    """Change fields of a conversation's record; the others stay. ``expect`` is the revision that must be there.

    Raises: RecordChanged, KeyTaken, InvalidContent.
    """
    dated = find_dated_record(connection, space, found.subject)
    before = None if dated is None else dated[0]
    expected = None if isinstance(expect, Absent) else expect
    if expect is not None and expected != before:
        raise RecordChanged(f"what is said of the conversation {stored_name(found.subject)!r}", expected, before)
    stored = None if dated is None else StoredRecord(found.subject, dated[0], dated[2])
    record = msgspec.structs.replace(as_conversation(found, stored).record, **changes)
    if record.key is not None:
        _free_key(connection, space, record.key, found.subject)
    return as_conversation(found, _change(connection, space, found.subject, dated, record))


def copy_record(
    connection: Connection, space: int, subject: bytes, to: Connection, target: int, there: bytes | None = None
) -> bool:
    """Copy a conversation's record into another space, unless it has one there. Returns whether it was copied.
    ``there`` is its subject in the other space, if that is another one.

    If another conversation has the key there and both have the same first turn, both spaces imported it: the key stays
    there, and the copy has none (rule R45, shadowed keys).
    Raises: KeyTaken for the key of any other conversation; CorruptRecord.
    """
    stored = find_record(connection, space, subject)
    there = subject if there is None else there
    if stored is None or find_record(to, target, there) is not None:
        return False
    record = record_of(stored)
    timed = read_timed(stored.data, 0)
    if record.key is not None:
        holder = record_by_key(to, target, record.key.encode())
        begins = None if holder is None else first_digest(to, target, holder.subject)
        if begins is None or begins != first_digest(connection, space, subject):
            _free_key(to, target, record.key, there)
        else:
            timed = _without_key(timed)
    _write(to, target, there, stored.revision, timed, None)
    return True


def write_arrived_record(
    connection: Connection, space: int, subject: bytes, revision: int, milliseconds: int, data: bytes
) -> bool:
    """Store a record that arrived from elsewhere, where it was written at ``milliseconds``. Returns False, and stores
    nothing, if it does not decode or is not allowed. Drops its key if another conversation has it here.

    It keeps its time: a change that was made here before it arrived may be the later one.
    """
    try:
        timed, milliseconds = bring_near(read_timed(data, milliseconds), milliseconds)
        check_changes({name: getattr(timed.record, name) for name in CHECKS})
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidArgument, InvalidContent):
        return False
    try:
        if timed.record.key is not None:
            _free_key(connection, space, timed.record.key, subject)
    except KeyTaken:
        timed = _without_key(timed)
    _write(connection, space, subject, revision, timed, milliseconds)
    return True


def gather_records(connection: Connection, space: int, turns: Sequence[TurnId]) -> None:
    """Call it when turns have arrived: if one is the original of a first turn that has been edited, put the record of
    that conversation under the original, where it is looked up from now on.

    Cost: one look-up, which nearly always finds that no turn from the first to the last id was edited. Otherwise one
    statement, one for each 64 turns here that supersede one of ``turns``, and a few for each record.
    """
    if not has_superseded(connection, space, min(turns), max(turns)):
        return
    newer = {each.id.encode(): each for each in superseding_some(connection, space, turns)}
    for subject in find_records(connection, space, newer):
        original = next((each.id.encode() for each in find_firsts(connection, space, newer[subject].place)), subject)
        if original != subject and find_record(connection, space, original) is None:
            rename_record(connection, space, subject, original)


def _free_key(connection: Connection, space: int, key: str, subject: bytes) -> None:
    """Refuse a key that another conversation has. If the other's name was removed, take the key from it instead."""
    holder = record_by_key(connection, space, key.encode())
    if holder is None or holder.subject == subject:
        return
    if find_subject(connection, space, holder.subject) is not None:
        raise KeyTaken(key, stored_name(holder.subject), "the conversation")
    freed = msgspec.structs.replace(record_of(holder), key=None)
    _change(connection, space, holder.subject, find_dated_record(connection, space, holder.subject), freed)


def _without_key(timed: TimedRecord) -> TimedRecord:
    """Return a record without its key. It is not cleared, only missing here: the store that sent it keeps it."""
    fields = {name: at for name, at in timed.times.fields.items() if name != "key"}
    record, times = msgspec.structs.replace(timed.record, key=None), msgspec.structs.replace(timed.times, fields=fields)
    return timed._replace(record=record, times=times)


def _change(
    connection: Connection, space: int, subject: bytes, dated: tuple[int, int, bytes] | None, record: Record
) -> StoredRecord:
    """Store a record that was changed here, in place of the one that ``find_dated_record`` gave."""
    revision, milliseconds, data = dated or (0, -1, b"")
    before = None if dated is None else read_timed(data, milliseconds)
    timed, at = change_timed(before, milliseconds, record)
    return _write(connection, space, subject, revision + 1, timed, at)


def _write(
    connection: Connection, space: int, subject: bytes, revision: int, timed: TimedRecord, milliseconds: int | None
) -> StoredRecord:
    stored, record = StoredRecord(subject, revision, encode_timed(timed)), timed.record
    write_record(
        connection,
        space,
        stored,
        archived=record.archived,
        pinned=record.pinned,
        key=None if record.key is None else record.key.encode(),
        milliseconds=milliseconds,
    )
    return stored
