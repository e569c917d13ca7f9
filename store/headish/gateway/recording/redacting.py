"""Remove keys from records: the call's own keys from everything, and what looks like a key from errors.

A chunk may end within a key, so the end of a chunk that may begin a key waits for the next chunk. headish replaces what
looks like a key in refusals, headers and addresses, but not in what people and models say: they talk about keys, and a
sentence must be the same bytes when it is sent again.
"""

from __future__ import annotations

from collections.abc import Iterable

from headish.calls.redaction import HIDDEN, SHORTEST_SECRET, spellings_of
from headish.content.secrecy.hiding import hide_secrets

_MARK = HIDDEN.encode()
_START_BYTES = 4


class KeyFilter:
    """Replaces the keys of a call by ``***`` in a stream of bytes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        long = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        # If both "Bearer KEY" and KEY are given, only KEY is needed: replacing it covers both.
        shortest = {each for each in long if not any(other in each for other in long - {each})}
        spellings = {spelling.encode() for secret in shortest for spelling in spellings_of(secret)}
        spellings |= {each.replace(b"\\", b"\\\\").replace(b'"', b'\\"') for each in spellings}  # as JSON escapes it
        # The longest first, because a spelling may contain a shorter one.
        self._spellings = sorted(spellings, key=len, reverse=True)
        self._longest = max(map(len, self._spellings), default=0)
        self._starts = tuple({each[:_START_BYTES] for each in spellings})
        self._beginnings = tuple({each[:size] for each in spellings for size in range(1, _START_BYTES)})
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next chunk; return the bytes that can be written now."""
        data = self._replace(self._held + data)
        held = self._count_held(data)
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def finish(self) -> bytes:
        """Return the bytes that were held back: nothing follows that could make a key of them."""
        rest, self._held = self._held, b""
        return rest

    def clean(self, text: str) -> str:
        """Return a text without the call's keys, and without what looks like a key."""
        return str(hide_secrets(self._replace(text.encode(errors="replace")).decode(errors="replace")))

    def _replace(self, data: bytes) -> bytes:
        for spelling in self._spellings:
            if spelling in data:
                data = data.replace(spelling, _MARK)
        return data

    def _count_held(self, data: bytes) -> int:
        """The number of bytes at the end that may be the beginning of a key. Cost: a few searches if there is none."""
        tail = data[-(self._longest - 1) :] if self._longest > 1 else b""
        if not tail.endswith(self._beginnings) and not any(start in tail for start in self._starts):
            return 0
        sizes = (size for size in range(len(tail), 0, -1) if self._begins_one(tail[-size:]))
        return next(sizes, 0)

    def _begins_one(self, end: bytes) -> bool:
        return any(spelling.startswith(end) for spelling in self._spellings)
