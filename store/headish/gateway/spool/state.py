"""The progress of a spool's recorder: a file beside the spool that the recorder writes and others read, and a lock that
it holds as long as it lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from headish.gateway.files import locked, read_whole, write_whole
from headish.values.forking import fcntl

SPOOL_FOLDER = "spool"
"""The spool's folder in the folder of a server."""
STATE_FILE = "recorder.json"
BEHIND_MILLISECONDS = 30_000
"""A recorder is behind when a call has waited this long."""
SILENT_MILLISECONDS = 60_000
"""A living recorder reports its progress each second; one that reports nothing for this long hangs."""
_LOCK = "recorder.lock"


class RecorderState(Struct, frozen=True):
    """A recorder's progress. Since it began, it has stored ``stored`` calls and could not store ``failed``.

    ``waiting`` ended calls wait, the first of them for ``lag_milliseconds``. ``aside`` has the spaces that take no
    calls now, each with the reason; ``held`` the bytes of the calls that wait for them. ``refused`` counts the waiting
    calls that the database refuses while it takes others. ``problem`` is the last reason for a wait, None while nothing
    waits for one. ``space`` is the space of calls without a token. ``at`` is the time of this report, in milliseconds
    since 1970. No field holds a path, an address or a statement.
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
        """Whether a space that takes no calls now has used up its share of a spool: a quarter of it, or half of it
        together with other such spaces. ``space`` is None for calls without a token."""
        space_bytes = self.held.get(self.space if space is None else space)
        return space_bytes is not None and (
            4 * space_bytes >= limit_bytes or 2 * sum(self.held.values()) >= limit_bytes
        )

    def problems(self, now: int, *, are_strangers: bool = False) -> list[str]:
        """The problems of a living recorder, in sentences; with ``are_strangers``, they name no space."""
        problems = [f"the space {space!r} takes no calls: {reason}" for space, reason in self.aside.items()]
        if problems and are_strangers:
            problems = [f"spaces that take no calls: {len(problems):,} ({'; '.join(sorted({*self.aside.values()}))})"]
        if self.refused:
            problems.append(f"calls that the database refuses: {self.refused:,} ({self.problem})")
        if self.failed:
            problems.append(f"calls that could not be stored: {self.failed:,} (the log says why)")
        if self.lag_milliseconds > BEHIND_MILLISECONDS:
            problems.append(f"calls that wait: {self.waiting:,}, the first for {self.lag_milliseconds // 1000:,} s")
        if now - self.at > SILENT_MILLISECONDS:
            problems.append(f"the recorder has said nothing for {(now - self.at) // 1000:,} s")
        return problems


def read_state(folder: Path) -> RecorderState | None:
    """Read the progress of a folder's recorder; None if there was never one, or its file cannot be read."""
    try:
        return read_whole(folder / STATE_FILE, RecorderState)
    except OSError:
        return None


def write_state(folder: Path, state: RecorderState) -> None:
    """Write the recorder's progress. Raises: OSError."""
    write_whole(folder / STATE_FILE, state)


@contextmanager
def living(folder: Path) -> Iterator[None]:
    """Hold the lock that shows that a recorder runs. The system frees it however the process ends."""
    with locked(folder / _LOCK, fcntl.LOCK_EX):
        yield


def find_problems(folder: Path, now: int, *, are_strangers: bool = False) -> list[str]:
    """The problems that keep the calls of a folder from being stored, in sentences; with ``are_strangers``, they name
    no space. ``now`` is in milliseconds since 1970."""
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
        # Shared: two processes that ask at the same moment would take each other for the recorder.
        with locked(folder / _LOCK, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True
