"""Append frames to the segments of a spool.

Nothing is flushed to the platter: what was written survives ``kill -9``, but a power cut may take the last seconds.
From its first frame without room on, a call is dropped; its end says so, and a counter counts it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from headish.gateway.spool.frames import MAGIC, NO_CALL, SpoolFrame, SpoolKind, write_frame
from headish.gateway.spool.records import CallEnd, end, read_begin
from headish.gateway.spool.state import RecorderState, read_state
from headish.values.forking import fcntl

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment with this many bytes gets no further frame."""
SPOOL_LIMIT_BYTES = 1024 * 1024 * 1024
"""The most bytes of all segments together; beyond, calls are not recorded."""
SUFFIX = ".spool"
_LOCK = "writer.lock"
WRITTEN_BYTES = 4 * 1024 * 1024
"""The approximate number of bytes of frames that are written at once. A body that unpacks to more is never whole in
memory."""
_COUNTED_SECONDS = 1.0
"""How long a count of the folder's bytes is trusted: meanwhile the reader may remove segments."""


class SpoolWriter:
    """The writing end of a spool. Only one process at a time has one; use it from one thread at a time.

    ``unrecorded`` counts the calls that are incomplete: there was no room, a write failed, or their space had used up
    its share. ``failure`` is the reason, and None again once the beginning of a call was written; ``last_failure``
    stays.
    """

    def __init__(
        self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, limit_bytes: int = SPOOL_LIMIT_BYTES
    ) -> None:
        """Make the folder, for its owner alone. Raises: OSError if that fails, or if the spool has another writer."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The system frees it however the process ends, so readers can tell whether more may come (`is_written`).
        self._lock = open(folder / _LOCK, "ab", opener=partial(os.open, mode=0o600))  # noqa: SIM115
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.folder = folder
        self.unrecorded = 0
        self.failure: str | None = None
        self.last_failure: str | None = None
        self._segment_bytes, self._limit_bytes = segment_bytes, limit_bytes
        self._run = _latest_run(folder) + 1
        self._segments = 0
        self._file: int | None = None
        self._written = 0
        self._open_calls: set[str] = set()
        self._dropped: set[str] = set()
        self._owed: list[str] = []
        self._counted_at, self._counted, self._since = float("-inf"), 0, 0
        self._looked_at = float("-inf")
        self._state: RecorderState | None = None

    @property
    def has_room(self) -> bool:
        """Whether a call that begins now can be recorded, as far as is known: the folder takes a file, and the limit
        leaves room."""
        if self._count_bytes() >= self._limit_bytes:
            return False
        try:
            self._open()
        except OSError as error:
            self._fail(_told(error))
            return False
        return True

    def write(self, frames: Iterable[SpoolFrame]) -> None:
        """Append frames. If that fails, it does not raise: it drops and counts the affected calls, and ends them as
        ``unrecorded`` as soon as something can be written again.

        Cost: one system call ``write`` for each 4 MB. It takes no more than that from ``frames`` at a time.
        """
        owed, self._owed = [_unrecorded(call) for call in self._owed], []
        for portion in _portions(chain(owed, filter(None, map(self._admit, frames)))):
            self._write(portion)

    def _write(self, listed: list[SpoolFrame]) -> None:
        while listed:
            taken = self._take(listed)
            if not self._append(taken):
                self._drop(listed)
                return
            listed = listed[len(taken) :]

    def seal(self) -> None:
        """End the segment, if one is open, so that the reader can remove it once its calls are stored. A later
        ``write`` opens another one."""
        if self._file is not None:
            self._append([SpoolFrame(SpoolKind.SEALED, NO_CALL, b"")])
            self._close()

    def seal_if_idle(self) -> None:
        """Seal the segment, unless a call is open. A WebSocket without an open request does not count: it may stay open
        for hours."""
        if not self._open_calls:
            self.seal()

    def close(self) -> None:
        """End the segment, and free the lock for another writer."""
        self.seal()
        self._lock.close()

    def _admit(self, frame: SpoolFrame) -> SpoolFrame | None:
        """The frame to write; None for a frame of a call that is no longer recorded."""
        if frame.kind is SpoolKind.BEGIN:
            self._open_calls.add(frame.call)
            if self._is_crowded(frame):
                self._fail("a space that takes no calls has its share of the spool")
                self._drop([frame])
                return None
        if frame.call not in self._open_calls:
            return None
        if frame.kind in _LARGE and self._count_bytes() >= self._limit_bytes:
            self._fail(f"the spool has {self._limit_bytes:,} bytes, its limit")
            self._drop([frame])
            return None
        if frame.call not in self._dropped:
            return frame
        return _unrecorded(frame.call) if frame.kind is SpoolKind.END else None

    def _is_crowded(self, frame: SpoolFrame) -> bool:
        """Whether the space of a new call has used up its share: the calls that wait there must leave others room."""
        now = time.monotonic()
        if now - self._looked_at > _COUNTED_SECONDS:
            self._looked_at, self._state = now, read_state(self.folder.parent)
        if self._state is None or not self._state.held:
            return False
        return self._state.is_crowded(read_begin(frame).space, self._limit_bytes)

    def _drop(self, frames: list[SpoolFrame]) -> None:
        """Note which calls are not recorded whole, because these frames could not be written."""
        for frame in frames:
            if frame.call not in self._open_calls:
                continue
            if frame.call not in self._dropped:
                self.unrecorded += 1
                self._dropped.add(frame.call)
            if frame.kind is SpoolKind.BEGIN:  # nothing of it is there, so nothing needs an end
                self._forget(frame.call)
            elif frame.kind is SpoolKind.END:  # without its end, the call would wait until the next gateway begins
                self._owed.append(frame.call)

    def _fail(self, words: str) -> None:
        self.failure = self.last_failure = words

    def _forget(self, call: str) -> None:
        self._open_calls.discard(call)
        self._dropped.discard(call)

    def _take(self, frames: list[SpoolFrame]) -> list[SpoolFrame]:
        """Take as many frames as the segment has room for: at least one."""
        room = self._segment_bytes - self._written
        for index, frame in enumerate(frames):
            room -= len(frame.body)
            if room <= 0:
                return frames[: index + 1]
        return frames

    def _append(self, frames: list[SpoolFrame]) -> bool:
        data = memoryview(b"".join(map(write_frame, frames)))
        size = len(data)
        try:
            file = self._open()
            # A write may take less than it is given, for example on a disk that is nearly full.
            while data:
                data = data[os.write(file, data) :]
        except OSError as error:
            self._fail(_told(error))
            self._close()  # the reader stops at the torn frame, and goes on with the next segment
            return False
        self._written += size
        self._since += size
        for frame in frames:
            if frame.kind is SpoolKind.BEGIN:
                self.failure = None
            elif frame.kind is SpoolKind.END:
                self._forget(frame.call)
        # Sealing comes through here, too, and must not seal again.
        if self._written >= self._segment_bytes and frames[-1].kind is not SpoolKind.SEALED:
            self.seal()
        return True

    def _open(self) -> int:
        if self._file is None:
            self._segments += 1
            path = self.folder / f"{self._run:08}-{self._segments:06}{SUFFIX}"
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                self._written = os.write(file, MAGIC)
            except OSError:
                os.close(file)
                path.unlink(missing_ok=True)  # else a full disk would get an empty file for each attempt
                raise
            self._file = file
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file, self._written = None, 0

    def _count_bytes(self) -> int:
        now = time.monotonic()
        if now - self._counted_at > _COUNTED_SECONDS:
            self._counted_at, self._counted, self._since = now, sum_of(self.folder), 0
        return self._counted + self._since


def _portions(frames: Iterable[SpoolFrame]) -> Iterator[list[SpoolFrame]]:
    """Split frames into lists of about ``WRITTEN_BYTES`` bytes."""
    portion, size = [], 0
    for frame in frames:
        portion.append(frame)
        size += len(frame.body)
        if size >= WRITTEN_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


_LARGE = frozenset({SpoolKind.BEGIN, SpoolKind.REQUEST, SpoolKind.RESPONSE})
"""The kinds that the limit applies to. The others are small and are always written: they complete what was recorded."""


def is_written(folder: Path) -> bool:
    """Whether a process holds the writing end of a spool."""
    try:
        with open(folder / _LOCK, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def sum_of(folder: Path) -> int:
    """The bytes of all segments of a spool; 0 if there are none."""
    return sum(_size_of(path) for path in folder.glob(f"*{SUFFIX}"))


def _latest_run(folder: Path) -> int:
    """The number of the gateway that wrote last. Runs are numbered, not dated: a clock may be set back."""
    runs = [path.name.partition("-")[0] for path in folder.glob(f"*{SUFFIX}")]
    return max((int(run) for run in runs if run.isdecimal()), default=0)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # the reader has removed it meanwhile
        return 0


def _unrecorded(call: str) -> SpoolFrame:
    return end(
        call, CallEnd(outcome="unrecorded", at=time.time_ns() // 1_000_000, error="the spool had no room for it")
    )


def _told(error: OSError) -> str:
    return f"the spool cannot be written: {error.strerror or type(error).__name__}"
