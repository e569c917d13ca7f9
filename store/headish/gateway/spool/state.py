"""How far the recorder of a spool is: a file beside the spool, which it writes and others read, and a lock that it
holds as long as it lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from headish.gateway.files import locked, read_whole, write_whole
from headish.values.forking import fcntl

SPOOL_FOLDER = "spool"
"""Where the spool is in the folder of a server."""
STATE_FILE = "recorder.json"
BEHIND_MILLISECONDS = 30_000
"""A recorder is behind when a call has waited this long."""
SILENT_MILLISECONDS = 60_000
"""A living recorder reports each second how far it is; one that reports nothing for this long hangs."""
_LOCK = "recorder.lock"


class RecorderState(Struct, frozen=True):
    """How far the recorder is: it has ``stored`` calls since it began and could not store ``failed``; ``waiting`` ended
    calls wait, the first of them for ``lag_milliseconds``. ``aside`` are the spaces that take no calls now, each with
    the reason, and ``held`` the bytes of their calls that wait; ``refused`` counts the waiting calls that the database
    refuses while it takes others. ``problem`` is the last reason, None while nothing waits for one. ``space`` is that
    of calls without a token. ``at`` is the time of this report, in milliseconds since 1970. It holds no path, address
    or statement.
    """

    at: int
    stored: int
    failed: int
    waiting: int
    lag_milliseconds: int
    problem: str | None = None
    aside: Mapping[str, str] = {}
    refused: int = 0
    held: Mapping[str, int] = {}
    space: str = "default"

    def is_crowded(self, space: str | None, limit_bytes: int) -> bool:
        """Whether the calls of a space that takes none now hold as much of a spool as they may: a quarter of it, and
        half together with those of others. ``space`` is None for calls without a token."""
        held = self.held.get(self.space if space is None else space)
        return held is not None and (4 * held >= limit_bytes or 2 * sum(self.held.values()) >= limit_bytes)

    def problems(self, now: int, *, are_strangers: bool = False) -> list[str]:
        """What is wrong with a living recorder, in sentences that name no space."""
        told = [f"the space {space!r} takes no calls: {reason}" for space, reason in self.aside.items()]
        if told and are_strangers:
            told = [f"spaces that take no calls: {len(told):,} ({'; '.join(sorted({*self.aside.values()}))})"]
        if self.refused:
            told.append(f"calls that the database refuses: {self.refused:,} ({self.problem})")
        if self.failed:
            told.append(f"calls that could not be stored: {self.failed:,} (the log says why)")
        if self.lag_milliseconds > BEHIND_MILLISECONDS:
            told.append(f"calls that wait: {self.waiting:,}, the first for {self.lag_milliseconds // 1000:,} s")
        if now - self.at > SILENT_MILLISECONDS:
            told.append(f"the recorder has said nothing for {(now - self.at) // 1000:,} s")
        return told


def read_state(folder: Path) -> RecorderState | None:
    """How far the recorder of a folder is; None where there was none."""
    try:
        return read_whole(folder / STATE_FILE, RecorderState)
    except OSError:
        return None


def write_state(folder: Path, state: RecorderState) -> None:
    """Say how far the recorder is. Raises: OSError."""
    write_whole(folder / STATE_FILE, state)


@contextmanager
def living(folder: Path) -> Iterator[None]:
    """Hold the lock that says that a recorder runs. The system frees it however the process ends."""
    with locked(folder / _LOCK, fcntl.LOCK_EX):
        yield


def find_problems(folder: Path, now: int, *, are_strangers: bool = False) -> list[str]:
    """What keeps the calls of a folder from being stored, in sentences that name no space; none if all goes well.
    ``now`` is in milliseconds since 1970."""
    state = read_state(folder)
    try:
        lives = state is not None and _lives(folder)
    except OSError as error:
        return [f"it cannot be told whether the recorder runs ({error.strerror})"]
    if state is None or not lives:
        return ["the recorder does not run"]
    return state.problems(now, are_strangers=are_strangers)


def _lives(folder: Path) -> bool:
    try:
        with locked(folder / _LOCK, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True
