"""The state of the syncs that 'headish serve' runs: a file in the server's folder that other processes read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from headish.gateway.files import UNREADABLE, write_whole
from headish.store.keeping.spooled import find_serve_folder
from headish.values.results.sharing import SyncRun

SCHEDULE_FILE = "sync.json"
_LIMIT_BYTES = 1024 * 1024


class Schedule(Struct, frozen=True):
    """The content of the file: the process that wrote it, when that process began, and the state of each remote."""

    process: int
    runs: tuple[SyncRun, ...]
    began: str = ""


def write_runs(folder: Path, runs: Iterable[SyncRun]) -> None:
    """Write the file, whole or not at all."""
    write_whole(folder / SCHEDULE_FILE, Schedule(os.getpid(), tuple(runs), _began(os.getpid())))


def find_run(target: str | os.PathLike[str], space: str, remote: str) -> SyncRun | None:
    """The state of a remote that a server of this database syncs with; None if there is no such server now."""
    folder = find_serve_folder(target)
    if folder is None:
        return None
    try:
        with open(folder / SCHEDULE_FILE, "rb") as file:
            schedule = msgspec.json.decode(file.read(_LIMIT_BYTES), type=Schedule)
        os.kill(schedule.process, 0)  # raises if it is gone: a server that was killed leaves its file
        if schedule.began != _began(schedule.process):
            return None  # another process has its number by now
    except (OSError, OverflowError, *UNREADABLE):
        return None
    return next((each for each in schedule.runs if (each.space, each.remote) == (space, remote)), None)


def _began(process: int) -> str:
    """When a process began, as Linux counts it: clock ticks since the machine started. Empty on other systems."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The name of the program, in parentheses, may hold anything.
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
