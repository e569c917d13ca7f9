"""Keys are taken out of what is written down: the call's own from every byte, what looks like one from errors.

A key may be cut anywhere by the chunks that it came in, so the end of a chunk that may begin one waits for the next.
What looks like a key is replaced in the answers that refuse, in headers and addresses, and not in what people and
models say: they talk about keys, and a sentence must be the same bytes when it is sent again.
"""

from __future__ import annotations

from collections.abc import Iterable

from headish.calls.redaction import HIDDEN, SHORTEST_SECRET, spellings_of
from headish.content.secrecy import hide_secrets

_MARK = HIDDEN.encode()
_START_BYTES = 4


class KeyFilter:
    """Replaces the keys of a call by ``***`` in a stream of bytes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        long = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        spelled = {spelling.encode() for secret in long for spelling in spellings_of(secret)}
        spelled |= {each.replace(b"\\", b"\\\\").replace(b'"', b'\\"') for each in spelled}  # as JSON has it
        self._spellings = sorted(spelled, key=len, reverse=True)
        self._longest = max(map(len, self._spellings), default=0)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be written of the chunks so far."""
        data = self._replace(self._held + data)
        held = self._count_held(data)
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def finish(self) -> bytes:
        """The rest."""
        rest, self._held = self._held, b""
        return rest

    def clean(self, text: str) -> str:
        """A text without the call's keys, and without what looks like one."""
        return str(hide_secrets(self._replace(text.encode(errors="replace")).decode(errors="replace")))

    def _replace(self, data: bytes) -> bytes:
        for spelling in self._spellings:
            if spelling in data:
                data = data.replace(spelling, _MARK)
        return data

    def _count_held(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a key."""
        tail = data[-(self._longest - 1) :] if self._longest > 1 else b""
        return max((_overlap(tail, spelling) for spelling in self._spellings), default=0)


def _overlap(tail: bytes, spelling: bytes) -> int:
    """The longest end of ``tail`` that ``spelling`` begins with. Cost: a search or two, most times."""
    start = spelling[:_START_BYTES]
    at = tail.find(start, max(0, len(tail) - len(spelling) + 1))
    while at >= 0:
        if spelling.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(start, at + 1)
    return next((size for size in range(_START_BYTES - 1, 0, -1) if tail.endswith(spelling[:size])), 0)
