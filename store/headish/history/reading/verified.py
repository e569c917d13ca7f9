"""Remember which turns this process has verified: payload against hash, and content against digest.

Whoever talks reads the same thread again and again. What is read is compared with what was proven, byte by byte, so
damage is found as ever; only a hash that was taken of the very same bytes is not taken again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from headish.rows.threads.walks import Walked

HALF_BYTES = 16 * 1024 * 1024
"""So much is remembered, and up to as much again that is older."""
OVERHEAD_BYTES = 1000
"""What an entry takes beside the bytes of its value."""
K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key in two halves: once the newer one is full it becomes the older, and what was older is forgotten.

    It takes no lock. Two threads at once may forget values early, and nothing else.
    """

    def __init__(self, half_bytes: int = HALF_BYTES) -> None:
        self._half_bytes, self._bytes = half_bytes, 0
        self._newer: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def get_all(self, keys: Sequence[K]) -> list[V | None]:
        """The value of each key."""
        found = list(map(self._newer.get, keys))
        if all(found):  # the usual case
            return found
        older = self._older.get
        return [older(key) if value is None else value for key, value in zip(keys, found, strict=True)]

    def put_all(self, found: Mapping[K, V], size_bytes: int) -> None:
        """Remember values; ``size_bytes`` is what they take, without ``OVERHEAD_BYTES`` for each. What is larger than
        a half is not remembered."""
        size_bytes += OVERHEAD_BYTES * len(found)
        if size_bytes > self._half_bytes:
            return
        if self._bytes + size_bytes > self._half_bytes:
            self._older, self._newer, self._bytes = self._newer, {}, 0
        self._newer.update(found)
        self._bytes += size_bytes

    def clear(self) -> None:
        """Forget all."""
        self._newer, self._older, self._bytes = {}, {}, 0


PROVEN: Recent[bytes, tuple[Walked, tuple[bytes, ...]]] = Recent()
"""Turns by their digest: the row that was proven, its payload too, and the digests of the parents that it had."""


def forget_proven() -> None:
    """Forget all, once an erasure is stored. Other processes keep what they read until newer rows take its place."""
    PROVEN.clear()
