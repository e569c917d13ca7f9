"""Remember which turns this process has verified: payload against hash, and content against digest.

A conversation reads the same thread again with every turn. Each row read is compared byte by byte with the row that was
verified, so damage is still found; only hashes of the very same bytes are not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from headish.rows.threads.walks import Walked

HALF_BYTES = 16 * 1024 * 1024
"""The size of each half: at most twice as much is remembered."""
OVERHEAD_BYTES = 1000
"""The memory that an entry takes beside its payload."""
K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A bounded cache in two halves: a full newer half replaces the older one.

    It takes no lock: a fork while another thread holds one would leave it locked. At worst, two threads at once make it
    forget values early.
    """

    def __init__(self, half_bytes: int = HALF_BYTES) -> None:
        self._half_bytes, self._bytes = half_bytes, 0
        self._newer: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def get_all(self, keys: Sequence[K]) -> list[V | None]:
        """The value of each key, None if it is not remembered."""
        values = list(map(self._newer.get, keys))
        if all(values):  # the usual case
            return values
        older = self._older.get
        return [older(key) if value is None else value for key, value in zip(keys, values, strict=True)]

    def put_all(self, found: Mapping[K, V], size_bytes: int) -> None:
        """Remember values of ``size_bytes`` in all, not counting ``OVERHEAD_BYTES`` for each. More than a half holds is
        not remembered."""
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
"""Verified turns by digest: the row with its payload, and the digests of its parents."""
