"""A file that is larger than memory is read in pieces: what is held is the largest conversation, not the file."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from typing import Any, cast

import pytest

from headish.imports.registry import find_reader, read_trees
from imports.test_chatgpt import TIDES
from imports.test_claude_ai import BREAD
from support.sources import as_source

FILE_BYTES = 14 * 1024 * 1024
HELD_BYTES = 6 * 1024 * 1024
"""What is read at once, a conversation, and Python's own."""
WORDS = "The moon pulls the near side more than the far side. " * 4000
ROW = {"messages": [{"role": "user", "content": WORDS}]}


class Endless(io.RawIOBase):
    """A file that is made while it is read, of so many bytes at least."""

    def __init__(self, begin: bytes, record: bytes, between: bytes, end: bytes) -> None:
        pairs = [record, between] * (FILE_BYTES // len(record))  # the same bytes each time: they are held once
        self._pieces = iter([begin, *pairs, record, end])
        self._left = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        data, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def talk_of(record: Any) -> bytes:
    return json.dumps({**record, "more": WORDS}).encode()


def as_array(record: Any) -> Endless:
    return Endless(b"[", talk_of(record), b",", b"]")


def as_lines(record: Any) -> Endless:
    return Endless(b"", json.dumps(record).encode(), b"\n", b"\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "make", "record"), [("chatgpt", as_array, TIDES), ("claude", as_array, BREAD), ("hf", as_lines, ROW)]
)
def test_what_is_held_is_a_conversation(format: str, make: Callable[[Any], Endless], record: Any) -> None:
    file = cast(Any, Peekable(make(record)))
    given = as_source(file, name="conversations.json")
    tracemalloc.start()
    try:
        count = sum(len(tree.drafts) > 0 for tree in read_trees(find_reader(format), given))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 60
    assert peak < HELD_BYTES, f"{peak:,} bytes"


class Peekable(io.BufferedReader):
    """A stream whose beginning can be looked at: readers go back to where they began."""

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and 0 < size <= 1024:
            return self.peek(size)[:size]
        return super().read(size)
