"""Small files in the folder of a server: one process writes them whole, for their owner alone, and others read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headish.values.forking import fcntl

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors of decoding bytes that are not JSON, do not fit the type, or are nested too deep."""
T = TypeVar("T")


def write_whole(path: Path, value: Any) -> None:
    """Write a value as JSON in one step: a reader sees the old file or the new one. Only one process at a time may
    write. Raises: OSError."""
    part = path.with_name(f"{path.name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(part, flags, 0o600), "wb") as file:  # one of these files holds the digests of tokens
        file.write(msgspec.json.encode(value))
    os.replace(part, path)


def read_whole(path: Path, type: type[T]) -> T | None:
    """The value that a file holds; None if the file is missing or does not decode. Raises: other OSError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type)
    except (FileNotFoundError, *UNREADABLE):
        return None


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold a file's lock; ``how`` as for ``fcntl.flock``. The system frees it however the process ends.

    Raises: BlockingIOError for a lock that is held, with ``LOCK_NB``; other OSError.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        fcntl.flock(lock, how)
        yield
    finally:
        os.close(lock)
