"""Keep the bodies that could not be read for a week, within a limit for each space.

A client may send unreadable bodies as fast as it likes, and must not fill the disk with them.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import NamedTuple

from headish.errors import HeadishError, RemovedSpace, UnknownObject
from headish.store.store import Store
from headish.values.results.calls import UNREAD

UNREAD_BYTES = 1024 * 1024
"""The largest body that is kept."""
UNREAD_TOTAL_BYTES = 64 * UNREAD_BYTES
"""The most bytes of unread bodies that a space keeps; the oldest go first."""
UNREAD_SECONDS = 7 * 24 * 60 * 60
COUNTED_BYTES = 1024
"""A smaller body counts as this many bytes, because its row takes room, too."""
_READ_AT_ONCE = 16


class _UnreadBody(NamedTuple):
    key: str
    size: int
    at: float


class _Bodies:
    """The unread bodies of one store, oldest first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: deque[_UnreadBody] = deque()
        self._size = 0
        after: str | None = None
        while objects := store.objects.list(UNREAD, after=after, limit=_READ_AT_ONCE):  # keys are in the order of time
            for each in objects:
                self._add(each.key, len(each.data), each.time.timestamp())
            after = objects[-1].key

    def bound(self, key: str, size: int, at: float) -> None:
        """Add a body that was stored just now; remove the oldest until all fit the limit."""
        if not (self._kept and self._kept[-1].key == key):  # else it was among those that `__init__` read
            self._add(key, size, at)
        while self._size > UNREAD_TOTAL_BYTES:
            self._drop()

    def forget(self, before: float) -> int:
        """Remove the bodies older than ``before``; return how many were removed."""
        removed = 0
        while self._kept and self._kept[0].at < before:
            self._drop()
            removed += 1
        return removed

    def _add(self, key: str, size: int, at: float) -> None:
        body = _UnreadBody(key, max(size, COUNTED_BYTES), at)
        self._kept.append(body)
        self._size += body.size

    def _drop(self) -> None:
        with suppress(UnknownObject):  # somebody else removed it
            self._store.objects.remove(UNREAD, self._kept[0].key)
        self._size -= self._kept.popleft().size


class UnreadBodies:
    """The unread bodies of stores. The bodies of a store are read when they are first needed. For one thread."""

    def __init__(self) -> None:
        self._stores: dict[int, Store] = {}
        self._bodies: dict[int, _Bodies] = {}

    def know(self, store: Store) -> None:
        """Note a store that may keep unread bodies."""
        self._stores[store._number] = store

    def bound(self, store: Store, key: str, size: int, at: float) -> None:
        """Add a body that was stored at ``at``, in Unix seconds; remove the oldest until all fit the limit.

        Cost: mostly none; the first time for a store, a read of all its unread bodies.
        """
        self._of(store).bound(key, size, at)

    def forget(self, before: float) -> int:
        """Remove the bodies older than ``before``, in Unix seconds; return how many were removed. If a store fails, its
        bodies stay until the next time."""
        return sum(self._forget(number, before) for number in list(self._stores))

    def _forget(self, number: int, before: float) -> int:
        try:
            return self._of(self._stores[number]).forget(before)
        except RemovedSpace:
            del self._stores[number]
            self._bodies.pop(number, None)
            return 0
        except HeadishError:
            return 0

    def _of(self, store: Store) -> _Bodies:
        if store._number not in self._bodies:
            self._bodies[store._number] = _Bodies(store)
        return self._bodies[store._number]
