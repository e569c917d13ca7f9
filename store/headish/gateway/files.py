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
"""The errors of decoding text that is not JSON, says something else, or is nested too deep."""
T = TypeVar("T")


def write_whole(path: Path, value: Any) -> None:
    """Write a value as JSON in one step: no reader meets half of it. One process at a time. Raises: OSError."""
    part = path.with_name(f"{path.name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(part, flags, 0o600), "wb") as file:
        file.write(msgspec.json.encode(value))
    os.replace(part, path)


def read_whole(path: Path, type: type[T]) -> T | None:
    """What a file says; None where there is none, or it says something else. Raises: other OSError."""
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
