"""Remember the messages of turns that this process has written or read, as JSON that is ready to be decoded.

A turn never changes, so its message stays right until it is erased, and each reader asks the database for that. So a
load takes only ids from the database, and decodes all messages together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, KeysView, Sequence
from typing import Any

import msgspec

from headish.adapters.messages import TurnId
from headish.values.forking import PerProcess

LIMIT_BYTES = 32 * 1024 * 1024
"""The limit of one memory. Beyond it, the messages that were remembered first are forgotten first."""
LARGEST_BYTES = 1024 * 1024
"""Larger messages are not remembered: a few would push out everything else."""
_OVERHEAD_BYTES = 150
"""The estimated cost of an entry beside its JSON, so that many small messages count, too."""
encode = msgspec.json.Encoder().encode
"""Encodes a message as JSON."""
_decode = msgspec.json.Decoder(list[Any]).decode
_REFUSED = (TypeError, ValueError, OverflowError, RecursionError)


class TurnMemory:
    """Messages by the id of their turn. Safe to share between threads."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: dict[TurnId, bytes] = {}
        self._lock = PerProcess(threading.Lock)

    @property
    def ids(self) -> KeysView[TurnId]:
        """The ids of the remembered turns: a live view."""
        return self._known.keys()

    def keep_all(self, texts: Iterable[tuple[TurnId, bytes]]) -> None:
        """Remember turns with the JSON of their messages, joined by commas, unless it is large.

        Use it only for messages that JSON gives back equal: those of texts, and lists and dicts of texts.
        """
        with self._lock.now:
            known = self._known
            new = {turn: data for turn, data in texts if turn not in known and len(data) <= LARGEST_BYTES}
            known.update(new)
            self._bytes += sum(map(len, new.values())) + _OVERHEAD_BYTES * len(new)
            while self._bytes > self._limit_bytes:
                oldest = next(iter(known))
                self._bytes -= len(known.pop(oldest)) + _OVERHEAD_BYTES

    def add_all(self, made: Sequence[tuple[TurnId, list[Any]]]) -> None:
        """Remember the messages of turns, unless they are large or JSON does not give them back equal.

        All are decoded and compared at once, and one by one only if something differs.
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
        """Decode the messages of turns, in order. None if one of them is not an id, or was forgotten meanwhile."""
        known: dict[Any, bytes] = self._known  # without the lock: a turn that goes meanwhile is a KeyError
        try:
            return _decode(b"[" + b",".join([known[turn] for turn in turns]) + b"]")
        except KeyError:
            return None


def _encoded(messages: list[Any]) -> bytes:
    """Encode messages as JSON, joined by commas; empty if JSON cannot express them."""
    try:
        return b",".join(map(encode, messages))
    except _REFUSED:
        return b""


def _comes_back(data: Sequence[bytes], made: Sequence[tuple[TurnId, list[Any]]]) -> bool:
    """Whether JSON gives messages back equal. Those that could not be encoded (empty data) are skipped."""
    expected = [each for text, (_, messages) in zip(data, made, strict=True) if text for each in messages]
    try:
        return bool(_decode(b"[" + b",".join(filter(None, data)) + b"]") == expected)
    except _REFUSED:
        return False
