"""Files that are read to their end: regular ones only, and within a limit.

A pipe without a writer, a terminal or a device would be waited for without end, or never ends. So what is read by its
path is looked at first. Standard input is read only where the user named it.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Unfit(OSError):
    """A path that is no regular file; ``strerror`` says what it is."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, open for reading bytes; anything else is not waited for.

    Raises: Unfit; OSError where the file cannot be opened.
    """
    _refuse_unfit(os.stat(path).st_mode)  # first: to open a device may do something to it
    # Without O_NONBLOCK the opening itself would wait for a pipe's writer. A regular file does not mind it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _refuse_unfit(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refuse_unfit(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise Unfit(0, f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file")
