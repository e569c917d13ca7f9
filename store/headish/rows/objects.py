"""Rows of ``object``: values that a program keeps beside its turns (rule R38, objects).

Under the empty key, each kind keeps the highest revision that a removed object had. A new object continues from there,
so no revision of a key ever comes twice. Every writer has locked the space.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from headish.content.hashes import seal_object
from headish.database.query import Connection, Query, Row
from headish.errors import RecordChanged, UnknownObject
from headish.values.names import Absent, stored_name

KNOWN = "headish.known"
"""The kind of the objects that remember imported exports (``imports.keeping.known``)."""
REMOVED = b""
"""The key under which a kind keeps the highest revision of its removed objects."""


class Put(NamedTuple):
    """An object to store. ``expect`` is the revision that it must have now; None accepts any, or no object at all."""

    kind: str
    key: bytes
    data: bytes
    expect: int | Absent | None = None


FIND = Query(
    "find object",
    "SELECT kind, key, revision, data, milliseconds FROM object WHERE space = :space AND kind = :kind AND key = :key",
)


def find_object(connection: Connection, space: int, kind: str, key: bytes) -> Row | None:
    """``(kind, key, revision, data, milliseconds)``."""
    return connection.row(FIND, space=space, kind=kind, key=key)


LIST = Query(
    "list objects",
    """
    SELECT kind, key, revision, data, milliseconds FROM object
    WHERE space = :space AND kind = :kind AND key > :after AND key >= :low AND key < :high ORDER BY key LIMIT :limit
    """,
)


def list_objects(
    connection: Connection, space: int, kind: str, *, prefix: bytes, after: bytes, limit: int
) -> Sequence[Row]:
    """The rows of ``find_object`` whose keys begin with ``prefix`` and sort after ``after``, by the bytes of their
    keys."""
    # No key holds 0xFF, which is not UTF-8: it ends the range of the keys that begin with the prefix.
    high = prefix + b"\xff"
    return connection.rows(LIST, space=space, kind=kind, low=prefix, high=high, after=after, limit=limit)


LIST_BACKWARDS = Query(
    "list objects, the last key first",
    """
    SELECT kind, key, revision, data, milliseconds FROM object
    WHERE space = :space AND kind = :kind AND key >= :low AND key < :high ORDER BY key DESC LIMIT :limit
    """,
)


def list_objects_backwards(
    connection: Connection, space: int, kind: str, *, prefix: bytes, before: bytes | None, limit: int
) -> Sequence[Row]:
    """List as ``list_objects`` does, but from the last key to the first: the keys before ``before``."""
    high = prefix + b"\xff" if before is None else before
    low = prefix or b"\x00"  # leaves out the empty key, which is ``REMOVED``
    return connection.rows(LIST_BACKWARDS, space=space, kind=kind, low=low, high=high, limit=limit)


PAGE = Query(
    "objects of all kinds, a page",
    """
    SELECT kind, key, revision, data, milliseconds, seal FROM object
    WHERE space = :space AND (kind, key) > (:kind, :key)
    ORDER BY kind, key LIMIT :limit
    """,
)


def objects_page(connection: Connection, space: int, kind: str, key: bytes, limit: int) -> Sequence[Row]:
    """The rows of ``find_object`` and their seals, of all kinds, after a kind and a key. Includes the rows under
    ``REMOVED``."""
    return connection.rows(PAGE, space=space, kind=kind, key=key, limit=limit)


def put_object(connection: Connection, space: int, put: Put) -> int:
    """Store an object; returns its new revision. Cost: two statements. Raises: RecordChanged."""
    revision, removed = _revisions(connection, space, put.kind, put.key)
    _check_expected(put.kind, put.key, put.expect, revision)
    number = (removed if revision is None else revision) + 1
    _write(connection, space, put.kind, put.key, number, put.data)
    return number


REMOVE = Query("remove object", "DELETE FROM object WHERE space = :space AND kind = :kind AND key = :key")


def remove_object(connection: Connection, space: int, kind: str, key: bytes, expect: int | Absent | None) -> int:
    """Remove an object; returns the revision that it had.

    Cost: two statements, or three. Raises: UnknownObject, RecordChanged.
    """
    revision, removed = _revisions(connection, space, kind, key)
    _check_expected(kind, key, expect, revision)
    if revision is None:
        raise UnknownObject(kind, stored_name(key))
    connection.run(REMOVE, space=space, kind=kind, key=key)
    # A lower one changes nothing: a new key continues from the highest.
    if revision > removed:
        _write(connection, space, kind, REMOVED, revision, b"")
    return revision


HIGHEST = Query(
    "highest revision of the objects whose keys begin so, and of what was removed of their kind",
    """
    SELECT max(revision) FROM object
    WHERE space = :space AND kind = :kind AND (key >= :low AND key < :high OR key = :removed)
    """,
)
REMOVE_SOME = Query(
    "remove the objects whose keys begin so",
    "DELETE FROM object WHERE space = :space AND kind = :kind AND key >= :low AND key < :high",
)


def remove_objects(connection: Connection, space: int, kind: str, prefix: bytes) -> int:
    """Remove the objects whose keys begin with ``prefix``; returns how many. Cost: two statements, or three."""
    high = prefix + b"\xff"
    # Before the rows go: afterwards nothing would know which revisions new keys must not repeat.
    [(highest,)] = connection.rows(HIGHEST, space=space, kind=kind, low=prefix, high=high, removed=REMOVED)
    count = connection.run(REMOVE_SOME, space=space, kind=kind, low=prefix, high=high)
    if count:
        _write(connection, space, kind, REMOVED, int(highest), b"")
    return count


def object_is(connection: Connection, space: int, put: Put, revision: int) -> bool:
    """Whether the object has these data at this revision. For a commit whose answer was lost."""
    row = find_object(connection, space, put.kind, put.key)
    return row is not None and (row[2], row[3]) == (revision, put.data)


REVISIONS = Query(
    "revision of an object, and that of what was removed of its kind",
    "SELECT key, revision FROM object WHERE space = :space AND kind = :kind AND key IN (:key, :removed)",
)


def _revisions(connection: Connection, space: int, kind: str, key: bytes) -> tuple[int | None, int]:
    """The revision of an object (None if there is none), and the highest revision of the removed ones of its kind."""
    rows = connection.rows(REVISIONS, space=space, kind=kind, key=key, removed=REMOVED)
    revisions = {each: int(revision) for each, revision in rows}
    return revisions.get(key), revisions.get(REMOVED, 0)


def _check_expected(kind: str, key: bytes, expect: int | Absent | None, actual: int | None) -> None:
    expected = None if isinstance(expect, Absent) else expect
    if expect is not None and expected != actual:
        raise RecordChanged(f"the object {stored_name(key)!r} of the kind {kind!r}", expected, actual)


PUT = Query(
    "put object",
    """
    INSERT INTO object (space, kind, key, revision, data, milliseconds, seal)
    VALUES (:space, :kind, :key, :revision, :data, :milliseconds, :seal) ON CONFLICT (space, kind, key) DO UPDATE
    SET revision = excluded.revision, data = excluded.data, milliseconds = excluded.milliseconds, seal = excluded.seal
    """,
)


def _write(connection: Connection, space: int, kind: str, key: bytes, revision: int, data: bytes) -> None:
    now = time.time_ns() // 1_000_000
    seal = seal_object(kind, key, revision, now, data)
    connection.run(PUT, space=space, kind=kind, key=key, revision=revision, data=data, milliseconds=now, seal=seal)
