"""A process remembers the messages of turns that it has written or read, as JSON that is ready to be decoded.

A turn never changes, so what it says under its id is right until it is erased, and whoever reads asks for that. A load
then takes ids from the database, and one decoding for all messages together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, KeysView, Sequence
from typing import Any

import msgspec

from headish.adapters.messages import TurnId

LIMIT_BYTES = 32 * 1024 * 1024
"""So much is remembered for a database; what was remembered first is forgotten first."""
LARGEST_BYTES = 1024 * 1024
_OVERHEAD_BYTES = 150
encode = msgspec.json.Encoder().encode
"""The JSON of a message."""
_decode = msgspec.json.Decoder(list[Any]).decode
_REFUSED = (TypeError, ValueError, OverflowError, RecursionError)


class TurnMemory:
    """Messages by the id of their turn. Safe to share between threads."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: dict[TurnId, bytes] = {}
        self._lock = threading.Lock()

    @property
    def ids(self) -> KeysView[TurnId]:
        """The turns that are known, at this moment and later."""
        return self._known.keys()

    def keep_all(self, texts: Iterable[tuple[TurnId, bytes]]) -> None:
        """Remember turns by the JSON of their messages, with commas between, unless it is large.

        For messages that JSON gives back as they were: of nothing but texts, and lists and dicts of them.
        """
        with self._lock:
            known = self._known
            new = {turn: data for turn, data in texts if turn not in known and len(data) <= LARGEST_BYTES}
            known.update(new)
            self._bytes += sum(map(len, new.values())) + _OVERHEAD_BYTES * len(new)
            while self._bytes > self._limit_bytes:
                oldest = next(iter(known))
                self._bytes -= len(known.pop(oldest)) + _OVERHEAD_BYTES

    def add_all(self, made: Sequence[tuple[TurnId, list[Any]]]) -> None:
        """Remember the messages of turns, unless they are large, or JSON does not give them back as they were.

        What JSON gives back is compared once, and one by one only where it differs.
        """
        if not made:
            return
        data = [_encoded(messages) for _, messages in made]
        right = _comes_back(data, made)
        self.keep_all(
            (turn, each)
            for (turn, messages), each in zip(made, data, strict=True)
            if each and (right or _comes_back([each], [(turn, messages)]))
        )

    def decode(self, turns: Iterable[object]) -> list[Any] | None:
        """The messages of turns, in order, made anew; None where one of them is no id, or was forgotten meanwhile."""
        known: dict[Any, bytes] = self._known  # what is no id is not in it
        try:
            return _decode(b"[" + b",".join([known[turn] for turn in turns]) + b"]")
        except KeyError:
            return None


def _encoded(messages: list[Any]) -> bytes:
    """Messages as JSON, with commas between; nothing where JSON cannot say them."""
    try:
        return b",".join(map(encode, messages))
    except _REFUSED:
        return b""


def _comes_back(data: Sequence[bytes], made: Sequence[tuple[TurnId, list[Any]]]) -> bool:
    """Whether JSON gives messages back as they were. What could not be encoded is passed over."""
    given = [each for text, (_, messages) in zip(data, made, strict=True) if text for each in messages]
    try:
        return bool(_decode(b"[" + b",".join(filter(None, data)) + b"]") == given)
    except _REFUSED:
        return False
