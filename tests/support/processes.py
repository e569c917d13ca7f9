"""Processes of this machine, as ``/proc`` tells of them."""

from __future__ import annotations

from collections.abc import Iterator
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


def _fields(path: Path) -> list[str]:
    """What stands behind the name of a process, which may hold anything: its state, its parent, …"""
    return path.read_text().rpartition(")")[2].split()
