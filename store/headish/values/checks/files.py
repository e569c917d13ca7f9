"""Open files that a person names, to read or to write: regular files only, opened without waiting.

Opening a pipe without a writer, a terminal or a device may wait for ever, and reading it may never end. What the kernel
shows under ``/proc`` and ``/sys`` is not a file that somebody keeps, and writing there changes the machine. So the path
is checked before it is opened, and the open file again, since the path may lead to another file by then. Standard input
and output have no path; they are used only if the user named them.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO, TextIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_KERNEL = ("/proc", "/sys")
# Not every system has each of these flags.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Without O_NONBLOCK, opening a pipe would wait for its other end. A regular file ignores the flag."""


class Unfit(OSError):
    """The path is not that of a regular file; ``strerror`` says what it is."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading bytes, without waiting for anything else.

    Raises: Unfit; OSError if the file cannot be opened.
    """
    _check_kind(path, os.stat(path).st_mode)  # first: opening a device may do something to it
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def read_regular(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """Read a regular file. From one that is larger than the limit, read one byte more than the limit.

    Raises: as ``open_regular``.
    """
    with open_regular(path) as file:
        return file.read(limit_bytes + 1)  # however the file grows meanwhile


def open_target(path: str | os.PathLike[str]) -> TextIO:
    """Create or empty a regular file, and open it for writing UTF-8 line by line.

    Raises: Unfit; OSError if it cannot be written.
    """
    check_target(path)
    opened = _opened(path, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(opened, 0)  # not with O_TRUNC, which would empty a file before this knows that it is a regular one
    return os.fdopen(opened, "w", encoding="utf-8", buffering=1)


def flush(path: str) -> None:
    """Wait until the file or folder at a path is on the disk."""
    try:
        opened = os.open(path, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is neither free nor that of a regular file. A link to nothing counts as free.

    Raises: Unfit; OSError for a path that cannot be examined.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = stat.S_IFREG
    _check_kind(path, mode)


def is_kernels(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads into the kernel's own file systems, links followed."""
    real = os.path.realpath(path)
    return any(real == each or real.startswith(f"{each}/") for each in _KERNEL)


def _opened(path: str | os.PathLike[str], flags: int) -> int:
    descriptor = os.open(path, flags | _AT_ONCE, 0o666)
    try:
        _check_kind(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise Unfit(0, f"it is {kind}, not a regular file", os.fspath(path))
    if is_kernels(path):
        raise Unfit(0, "it is a file of the kernel's, not one that is kept", os.fspath(path))
