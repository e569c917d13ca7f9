"""Verify objects, the records of conversations, and the log of those records.

Programs and people change these, so no running hash covers them: each row carries a seal of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headish.content.hashes import seal_entry, seal_object, seal_record
from headish.content.records import read_record
from headish.database.query import Connection, Row
from headish.rows.conversations import entries_page, every_record, find_first, find_record
from headish.rows.objects import REMOVED, find_object, objects_page
from headish.rows.turns import turn_by_id
from headish.values.ids import as_turn_id
from headish.values.names import stored_name
from headish.values.results.objects import is_kind
from headish.values.results.reports import Problem

PAGE_OBJECTS = 100
PAGE_ENTRIES = 2000


def check_objects(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of objects: those that were altered, or that nobody could read or find.

    Cost: one statement for 100 objects.
    """
    # Pages begin after a kind and key, the first after the empty ones: no page would have such an object.
    if find_object(connection, space, "", b"") is not None:
        yield Problem("object  ''", "its kind cannot be asked for")
    page = objects_page(connection, space, "", b"", PAGE_OBJECTS)
    while page:
        for row in page:
            kind, key = row[:2]
            shown = stored_name(key) if isinstance(key, bytes) else key
            yield from (Problem(f"object {kind} {shown!r}", what) for what in _object_problems(row))
        page = objects_page(connection, space, page[-1][0], page[-1][1], PAGE_OBJECTS)


def check_conversations(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of the records of conversations: damaged ones, and those whose subject is not a conversation.

    Cost: one statement for 100 of them, and two for each without a name.
    """
    if find_record(connection, space, b"") is not None:  # no page would have it either
        yield Problem("conversation ", "there never was such a bookmark")
    for row in every_record(connection, space):
        subject = row[0] if isinstance(row[0], bytes) else str(row[0]).encode()
        problems = [*_subject_problems(connection, space, subject, row), *_record_problems(row)]
        yield from (Problem(f"conversation {stored_name(subject)}", what) for what in problems)


def check_record_log(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the altered rows of the log of conversation records. Cost: one statement for 2,000 rows."""
    page = entries_page(connection, space, 0, PAGE_ENTRIES)
    while page:
        for change, seq, subject, milliseconds, seal in page:
            if not isinstance(subject, bytes):
                continue  # reported by check_types
            if seal_entry(change, seq, subject, milliseconds) != seal:
                yield Problem(f"conversation {stored_name(subject)}", f"change {change} of its log was altered")
        page = entries_page(connection, space, page[-1][0], PAGE_ENTRIES)


def _subject_problems(connection: Connection, space: int, subject: bytes, row: Row) -> Iterator[str]:
    is_name, was_name = row[-2:]
    id = as_turn_id(stored_name(subject))
    if id is None:
        if not is_name and not was_name:
            yield "there never was such a bookmark"
        return
    turn = turn_by_id(connection, space, id)
    first = None if turn is None else find_first(connection, space, turn.place)
    if first is None or first.id != id:
        yield "there is no such first turn"


def _record_problems(row: Row) -> Iterator[str]:
    subject, revision, data, archived, pinned, key, milliseconds, seal, *_ = row
    if not isinstance(revision, int) or revision < 1:
        yield f"its revision is {revision!r}"
    if not isinstance(milliseconds, int) or milliseconds < 0:
        yield f"its time is {milliseconds!r}"
    try:
        record = read_record(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError):
        yield "what is said of it does not decode"
        return
    if isinstance(subject, bytes) and seal_record(subject, revision, milliseconds, data) != seal:
        yield "what is said of it was altered: its seal disagrees"
    # The seal covers ``data``, but not these columns, which repeat some of it to find records by.
    columns = (int(record.archived), int(record.pinned), None if record.key is None else record.key.encode())
    if columns != (archived, pinned, key):
        yield "what it is found by disagrees with what is said of it"


def _object_problems(row: Row) -> Iterator[str]:
    kind, key, revision, data, milliseconds, seal = row
    if not is_kind(kind):
        yield "its kind cannot be asked for"
    if not isinstance(key, bytes) or not _is_text(key):
        yield "its key is not text"
    if not isinstance(revision, int) or revision < 1:
        yield f"its revision is {revision!r}"
    if not isinstance(data, bytes) or (key == REMOVED and data != b""):
        yield "its data are a value of another type"
    if not isinstance(milliseconds, int) or milliseconds < 0:
        yield f"its time is {milliseconds!r}"
    if _is_typed(row) and seal_object(kind, key, revision, milliseconds, data) != seal:
        yield "it was altered: its seal disagrees"


def _is_typed(row: Row) -> bool:
    """Whether the values of an object are of their types; ``check_types`` reports those that are not."""
    return all(isinstance(value, kind) for value, kind in zip(row, (str, bytes, int, bytes, int), strict=False))


def _is_text(key: bytes) -> bool:
    try:
        return key.decode() is not None
    except UnicodeDecodeError:
        return False
