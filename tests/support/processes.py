"""Processes of this machine, as ``/proc`` tells of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def children_of(number: int) -> Iterator[Path]:
    """The processes that another one has started: the folder of each below ``/proc``."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(_fields(path)[1]) == number:
                yield path.parent
        except OSError:
            continue


def is_alive(number: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return _fields(Path(f"/proc/{number}/stat"))[0] != "Z"
    except OSError:
        return False


def open_files(below: Path) -> list[str]:
    """What this process has open below a folder: a name for each descriptor, with " (deleted)" if its file is removed.

    Unlike the number of all descriptors, it does not change with what earlier tests have left to the garbage collector.
    """
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of this very listing
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(name for name in found if name.startswith(f"{os.path.realpath(below)}/"))


def _fields(path: Path) -> list[str]:
    """What stands behind the name of a process, which may hold anything: its state, its parent, …"""
    return path.read_text().rpartition(")")[2].split()
