"""Remember the messages of turns that this process has written or read, as JSON.

A turn never changes, so its remembered message is valid until the turn is erased, and each read asks the database for
that. A load then reads only ids from the database, and decodes all messages at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, KeysView, Sequence
from typing import Any

import msgspec

from headish.adapters.messages import TurnId

LIMIT_BYTES = 32 * 1024 * 1024
"""The most that is remembered for one kind of adapter in one space. The oldest entries are forgotten first."""
LARGEST_BYTES = 1024 * 1024
"""A larger turn is not remembered."""
_OVERHEAD_BYTES = 150
"""The cost of an entry beside its JSON: the id, the bytes object and its place in the dict."""
encode = msgspec.json.Encoder().encode
"""The JSON of a message."""
_decode = msgspec.json.Decoder(list[Any]).decode
_REFUSED = (TypeError, ValueError, OverflowError, RecursionError)


class TurnMemory:
    """The messages of turns, by the turn's id. Safe to share between threads."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: dict[TurnId, bytes] = {}
        self._lock = threading.Lock()

    @property
    def ids(self) -> KeysView[TurnId]:
        """The turns that are remembered: a live view, which changes as turns come and go."""
        return self._known.keys()

    def keep_all(self, texts: Iterable[tuple[TurnId, bytes]]) -> None:
        """Remember turns by the JSON of their messages, separated by commas. Large ones are skipped.

        The caller knows that JSON keeps these messages as they are: texts, and lists and dicts of texts.
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
        """Remember the messages of turns. Skips those that are large, or that change in a round trip through JSON.

        All round trips are compared at once, and one by one only if the whole differs.
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
        """New copies of the messages of turns, in order; None if one of ``turns`` is not a remembered id."""
        known: dict[Any, bytes] = self._known  # rows among ``turns`` are not in it
        try:
            return _decode(b"[" + b",".join([known[turn] for turn in turns]) + b"]")
        except KeyError:
            return None


def _encoded(messages: list[Any]) -> bytes:
    """Messages as JSON, separated by commas; empty if JSON cannot represent them."""
    try:
        return b",".join(map(encode, messages))
    except _REFUSED:
        return b""


def _comes_back(data: Sequence[bytes], made: Sequence[tuple[TurnId, list[Any]]]) -> bool:
    """Whether messages survive a round trip through JSON. Those that could not be encoded are skipped."""
    given = [each for text, (_, messages) in zip(data, made, strict=True) if text for each in messages]
    try:
        return bool(_decode(b"[" + b",".join(filter(None, data)) + b"]") == given)
    except _REFUSED:
        return False
