"""What a process remembers of turns that it has written or read: their messages as JSON, ready to be decoded.

A turn never changes, so what it says under its id is right until it is erased, and whoever reads asks for that. A load
then takes ids from the database, and one decoding for all messages together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, KeysView
from typing import Any

import msgspec

from headish.values.ids import TurnId

LIMIT_BYTES = 32 * 1024 * 1024
"""So much is remembered for a database; what was remembered first is forgotten first."""
LARGEST_BYTES = 1024 * 1024
_OVERHEAD_BYTES = 150
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Any]).decode


class Memory:
    """Messages by the id of their turn. Safe to share between threads."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: dict[TurnId, bytes] = {}
        self._lock = threading.Lock()

    @property
    def ids(self) -> KeysView[TurnId]:
        """The turns that are known, at this moment and later."""
        return self._known.keys()

    def add(self, turn: TurnId, messages: list[Any], *, is_plain: bool = False) -> None:
        """Remember the messages of a turn, unless they are large, or JSON does not give them back as they were.

        ``is_plain``: they hold texts alone, and nothing has to be compared.
        """
        try:
            data = b",".join(map(_encode, messages))
            if not data or len(data) > LARGEST_BYTES or not (is_plain or _decode(b"[" + data + b"]") == messages):
                return
        except (TypeError, ValueError, OverflowError, RecursionError):
            return
        with self._lock:
            self._forget(turn)
            self._known[turn] = data
            self._bytes += len(data) + _OVERHEAD_BYTES
            while self._bytes > self._limit_bytes:
                self._forget(next(iter(self._known)))

    def decode(self, turns: Iterable[TurnId]) -> list[Any] | None:
        """The messages of turns, in order, made anew; None where one of them was forgotten meanwhile."""
        known = self._known
        try:
            return _decode(b"[" + b",".join([known[turn] for turn in turns]) + b"]")
        except KeyError:
            return None

    def _forget(self, turn: TurnId) -> None:
        data = self._known.pop(turn, None)
        self._bytes -= 0 if data is None else len(data) + _OVERHEAD_BYTES
