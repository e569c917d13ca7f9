"""``store.objects``: values of an application beside its turns (rule R38, objects)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from headish.database.query import Connection, Row
from headish.errors import CorruptRecord, InvalidArgument, TooLarge, UnknownObject, shown
from headish.rows.objects import Put, find_object, list_objects, object_is, put_object, remove_object
from headish.store.paging import check_limit
from headish.store.space import SpacePart
from headish.values.checks.doors import COUNT_LIMIT, door
from headish.values.names import Absent, stored_name
from headish.values.results.objects import Object, check_key, check_kind, encode_key

PAGE = 100
"""How many objects a list gives unless it is asked for more."""


class Objects(SpacePart):
    """The objects of a space: bytes under a kind and a key.

    An adapter keeps here what its framework stores beside messages: checkpoints, state, records. No list or search
    shows them. A *kind* has at most 64 characters of ``a-z 0-9 . _ - /``; a *key* is any text of at most 1,024 bytes.
    ``data`` is any bytes; headish does not check whether they are JSON.
    """

    @door()
    def get(self, kind: str, key: str) -> Object:
        """The object of a kind that has this key. Raises: UnknownObject (an InputError and a KeyError)."""
        row = self._space._read_by(find_object, check_kind(kind), check_key(key))
        if row is None:
            raise UnknownObject(kind, key)
        return read_object(row)

    @door()
    def list(
        self, kind: str, *, prefix: str = "", after: str | None = None, limit: int = PAGE
    ) -> builtins.list[Object]:
        """The objects of a kind whose keys begin with ``prefix``, in the order of their keys' bytes; at the most
        ``limit`` of those after the key ``after``.

        Cost: one statement.
        Raises: InvalidArgument.
        """
        check_limit(limit)
        kind, begins = check_kind(kind), encode_key(prefix)
        behind = b"" if after is None else encode_key(after)
        rows = self._space._read_by(list_objects, kind, prefix=begins, after=behind, limit=limit)
        return [read_object(row) for row in rows]

    @door()
    def put(self, kind: str, key: str, data: bytes, *, expect: int | Absent | None = None) -> int:
        """Store an object, replacing the one with its key if there is one. Returns its new revision. The first revision
        is 1 and each change adds one. A revision never repeats: an object that is removed and made anew has a higher
        one. ``expect`` is the revision that the object must have now, or ``ABSENT``. ``add_turns(…, objects=…)`` stores
        objects with turns.
        Cost: two statements.
        Raises: RecordChanged; TooLarge past ``payload_limit_bytes``; InvalidArgument.
        """
        space, put = self._space, make_put(kind, key, data, expect, self._space._payload_limit_bytes)
        return space._write(
            lambda connection: put_object(connection, space._number, put),
            lambda connection, revision: object_is(connection, space._number, put, revision),
        )

    @door()
    def remove(self, kind: str, key: str, *, expect: int | Absent | None = None) -> None:
        """Remove an object; nothing of it stays. ``expect`` is that of ``put``.

        Raises: UnknownObject, RecordChanged, InvalidArgument.
        """
        space, kind_and_key, expected = self._space, (check_kind(kind), check_key(key)), _read_revision(expect)

        def settle(connection: Connection, revision: int) -> bool:
            row = find_object(connection, space._number, *kind_and_key)
            return row is None or row[2] > revision  # gone, or made anew by another writer

        space._write(lambda connection: remove_object(connection, space._number, *kind_and_key, expected), settle)


def read_puts(given: Iterable[Mapping[str, Any]], limit_bytes: int) -> builtins.list[Put]:
    """Read the objects to store with turns: mappings of ``put``'s arguments. Raises: InvalidArgument, TooLarge."""
    return [_read_put(each, limit_bytes) for each in given]


def make_put(kind: str, key: str, data: bytes, expect: int | Absent | None, limit_bytes: int) -> Put:
    """Check the arguments of an object to store. Raises: InvalidArgument, TooLarge."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidArgument(f"the data of an object are bytes, not {type(data).__name__}: encode them first")
    put = Put(check_kind(kind), check_key(key), bytes(data), _read_revision(expect))
    if len(put.data) > limit_bytes:
        raise TooLarge(f"the object of kind {put.kind}", len(put.data), limit_bytes)
    return put


def _read_put(given: object, limit_bytes: int) -> Put:
    if not isinstance(given, Mapping) or given.keys() - _ARGUMENTS or not given.keys() >= _NEEDED:
        raise InvalidArgument("an object is a mapping of kind, key and data, with expect where needed")
    return make_put(given["kind"], given["key"], given["data"], given.get("expect"), limit_bytes)


def _read_revision(expect: object) -> int | Absent | None:
    if expect is None or isinstance(expect, Absent) or (type(expect) is int and 0 < expect <= COUNT_LIMIT):
        return expect
    raise InvalidArgument(f"expect takes the revision of an object or ABSENT, not {shown(expect)}")


def read_object(row: Row) -> Object:
    """Decode an object from its row. Raises: CorruptRecord."""
    kind, key, revision, data, milliseconds = row
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
        return Object(kind, bytes(key).decode(), int(revision), bytes(memoryview(data)), when)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        what = f"the object {stored_name(key) if isinstance(key, bytes) else key!r} of the kind {kind!r}"
        raise CorruptRecord(what, f"it does not decode ({error})") from None


_NEEDED = {"kind", "key", "data"}
_ARGUMENTS = {*_NEEDED, "expect"}
