"""The part of verify that checks what stands beside the turns: objects, and what people say of conversations.

No hash covers these: they are the application's and people's to change. What they hold must be of the kind that their
columns say.
"""

from __future__ import annotations

from collections.abc import Iterator

from headish.database.query import Connection, Row
from headish.rows.objects import REMOVED, objects_page
from headish.values.names import stored_name
from headish.values.objects import is_kind
from headish.values.reports import Problem

PAGE_OBJECTS = 100


def check_objects(connection: Connection, space: int) -> Iterator[Problem]:
    """Objects that could not be read or found. Cost: one statement for 100 objects."""
    page = objects_page(connection, space, "", b"", PAGE_OBJECTS)
    while page:
        for row in page:
            kind, key = row[:2]
            shown = stored_name(key) if isinstance(key, bytes) else key
            yield from (Problem(f"object {kind} {shown!r}", what) for what in _object_problems(row))
        page = objects_page(connection, space, page[-1][0], page[-1][1], PAGE_OBJECTS)


def _object_problems(row: Row) -> Iterator[str]:
    kind, key, revision, data, milliseconds = row
    if not is_kind(kind):
        yield "its kind cannot be asked for"
    if not isinstance(key, bytes) or not _is_text(key):
        yield "its key is no text"
    if not isinstance(revision, int) or revision < 1:
        yield f"its revision is {revision!r}"
    if not isinstance(data, bytes) or (key == REMOVED and data != b""):
        yield "its data are a value of another type"
    if not isinstance(milliseconds, int) or milliseconds < 0:
        yield f"its time is {milliseconds!r}"


def _is_text(key: bytes) -> bool:
    try:
        return key.decode() is not None
    except UnicodeDecodeError:
        return False
