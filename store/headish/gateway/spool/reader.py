"""Follow the segments of a spool, put the frames of each call together, and remove what is stored.

A reader keeps no file of its own: after a restart it reads the whole spool again, so its caller must know which calls
it has stored. It reads a growing segment from where the last look ended. A call of a killed gateway ends when the first
segment of the next gateway appears.

The reader yields no call with a frame that it cannot read, such as one that a newer headish wrote, and keeps its
segments.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import disk_usage
from typing import BinaryIO

import msgspec

from headish.gateway.files import UNREADABLE
from headish.gateway.spool.frames import (
    FRONT_BYTES,
    MAGIC,
    NO_CALL,
    SpoolFrame,
    SpoolKind,
    find_calls,
    read_frames,
    write_frame,
)
from headish.gateway.spool.records import CallBegin, CallEnd, ResponseHead, read_begin
from headish.gateway.spool.writer import SUFFIX

COMPACT_BYTES = 64 * 1024
"""Smaller segments are not rewritten."""
PART = ".part"
"""The suffix of a segment that is being rewritten."""
ROOM_BYTES = 64 * 1024 * 1024
"""How much must stay free on the disk while a segment is rewritten: calls need the room."""
READ_BYTES = 4 * 1024 * 1024
"""How many bytes of a segment are read at once; a larger frame is read whole."""


class SpooledCall:
    """A call as far as it is spooled. It grows while the spool is read.

    ``request`` and ``response`` are the bodies so far, decompressed and without the call's key; ``is_sent`` is set once
    the request is whole. ``head`` is None until an answer begins, ``end`` until the call ends. ``is_abandoned`` marks a
    call whose gateway was killed: no end will come. ``run`` is the same for all calls of one gateway process.
    """

    def __init__(self, id: str, begin: CallBegin, run: str = "") -> None:
        self.id, self.begin, self.run = id, begin, run
        self.is_sent = False
        self.head: ResponseHead | None = None
        self.end: CallEnd | None = None
        self.is_abandoned = False
        self._request, self._response = bytearray(), bytearray()

    @property
    def request(self) -> bytes:
        """The body of the request so far."""
        return bytes(self._request)

    @property
    def response(self) -> bytes:
        """The body of the answer so far."""
        return bytes(self._response)

    @property
    def response_size(self) -> int:
        """The length of ``response``, without a copy. ``response_from(size)`` gives what was added since."""
        return len(self._response)

    @property
    def size(self) -> int:
        """The bytes of both bodies."""
        return len(self._request) + len(self._response)

    def response_from(self, position: int) -> bytes:
        """The bytes of the answer from a position on."""
        return bytes(self._response[position:])

    @property
    def is_complete(self) -> bool:
        """Whether no frame of the call will follow: it ended, or was abandoned."""
        return self.end is not None or self.is_abandoned

    def take(self, frame: SpoolFrame) -> None:
        """Add a frame. Raises: those of ``UNREADABLE``."""
        match frame.kind:
            case SpoolKind.REQUEST:
                self._request += frame.body
            case SpoolKind.SENT:
                self.is_sent = True
            case SpoolKind.HEAD:
                self.head = msgspec.json.decode(frame.body, type=ResponseHead)
            case SpoolKind.RESPONSE:
                self._response += frame.body
            case SpoolKind.END:
                self.end = msgspec.json.decode(frame.body, type=CallEnd)


class SpoolReader:
    """The reading end of a spool. Only one process at a time may have one. The folder need not exist yet.

    Memory: the bodies of the calls that are not forgotten.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._calls: dict[str, SpooledCall] = {}
        self._segments: dict[str, _Segment] = {}
        self._killed: set[str] = set()  # the runs that left calls without an end
        self.unreadable: set[str] = set()
        """The ids of the calls that cannot be read."""
        with suppress(OSError):  # left by a reader that was killed while it rewrote; they hold what people said
            for path in folder.glob(f"*{SUFFIX}{PART}"):
                path.unlink()

    def __contains__(self, call: object) -> bool:
        """Whether a call was read and not forgotten."""
        return call in self._calls

    @property
    def waiting(self) -> int:
        """How many calls were read and not forgotten."""
        return len(self._calls)

    def read(self, *, is_over: bool = False) -> Iterator[SpooledCall]:
        """Yield each call that has grown since the last look, once, in the order in which the calls began.

        It does not wait: call it again and again. At its end, each look removes the segments whose calls are all
        forgotten and to which nothing can be added. ``is_over`` says that no gateway writes any more: calls without an
        end are then abandoned.
        Raises: OSError if a segment cannot be read.
        """
        names = sorted(path.name for path in self.folder.glob(f"*{SUFFIX}"))
        grown: dict[str, SpooledCall] = {}
        for name in names:
            segment = self._segments.setdefault(name, _Segment(self.folder / name))
            for frame in segment.read():
                self._take(frame, segment, grown)
            # The writer makes a segment only when it has left the one before.
            segment.is_over = segment.is_over or is_over or name != names[-1]
        # Without files, a person has removed them: the gateway may still write the rest of a call into its next one.
        last_run = _run_of(names[-1]) if names else None
        for call in self._calls.values():
            # A later run of the gateway has begun, so nobody will write the rest of this call.
            if not call.is_complete and (is_over or last_run not in (None, call.run)):
                call.is_abandoned = True
                self._killed.add(call.run)
                grown[call.id] = call
        yield from sorted(grown.values(), key=lambda call: call.id)
        self._remove()

    def forget(self, call: str) -> None:
        """Forget a call that is stored, or need not be. Its bytes leave memory now, and the disk when its neighbours
        are forgotten too. Later frames of the call are ignored."""
        self._calls.pop(call, None)

    def compact(self) -> None:
        """Rewrite segments of which most is forgotten. Otherwise a call that waits or lasts long would keep 64 MB on
        the disk, and as much for each later segment that shares a call with the one before.

        On a disk that is full, or nearly full, the segments stay as they are.

        Cost: nothing until half of a segment is forgotten; then writing the rest of it.
        """
        self._remove()
        for _, segment, kept in self._with_kept():
            if segment.is_over:
                with suppress(OSError):
                    segment.compact(kept)

    def _take(self, frame: SpoolFrame, segment: _Segment, grown: dict[str, SpooledCall]) -> None:
        id = frame.call
        try:
            if frame.kind is SpoolKind.BEGIN:
                self._calls[id] = SpooledCall(id, read_begin(frame), _run_of(segment.path.name))
            call = self._calls.get(id)
            if call is not None:
                call.take(frame)
                grown[id] = call
        except UNREADABLE:  # its bytes stay in the spool, where a newer headish can read them
            self.unreadable.add(id)
        if id in self.unreadable:
            self._calls.pop(id, None)
            grown.pop(id, None)
        if id in self.unreadable or id in self._calls:  # other frames seal the segment, or belong to forgotten calls
            segment.add(frame)

    def _remove(self) -> None:
        for name, segment, kept in self._with_kept():
            if segment.is_over and not segment.sizes.keys() & kept and not self._ends_runs(name):
                segment.remove()
                del self._segments[name]

    def _with_kept(self) -> Iterator[tuple[str, _Segment, set[str]]]:
        """The segments in order, each with the calls whose frames must stay in it.

        Those are the calls that are not forgotten, and those with frames in an earlier segment: if the end of a stored
        call went before its beginning, the call would come back after a restart as one that goes on.
        """
        kept = self._calls.keys() | self.unreadable
        for name, segment in sorted(self._segments.items()):
            yield name, segment, kept
            if name in self._segments:
                kept |= segment.sizes.keys()

    def _ends_runs(self, name: str) -> bool:
        """Whether this segment is the only sign that the calls of an earlier, killed run are over."""
        earlier = {_run_of(each) for each in self._segments} - {_run_of(name)}
        return name == max(self._segments) and not earlier.isdisjoint(self._killed)


def calls_in(folder: Path) -> dict[str, CallBegin]:
    """The calls that a spool holds now, by id, whether stored or not, as far as they can be read. Does not disturb the
    reader that empties the spool. A beginning that does not decode counts as that of a call without a token."""
    begins: dict[str, CallBegin] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            with path.open("rb") as file:
                begins |= {each.call: _begin_or_nothing(each) for each in find_calls(file)}
        except OSError:  # the segment was removed meanwhile, or is another user's
            continue
    return begins


def _begin_or_nothing(frame: SpoolFrame) -> CallBegin:
    try:
        return read_begin(frame)
    except UNREADABLE:
        return CallBegin(at=0, api="", method="", path="")


class _Segment:
    """A segment and how far it was read. ``is_over``: nothing more can be read from it. ``sizes`` has the bytes of each
    call that was not forgotten when they were read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.is_over = False
        self.sizes: dict[str, int] = {}

    def read(self) -> Iterator[SpoolFrame]:
        """Yield the frames that were not read yet."""
        if self.is_over:
            return
        with self.path.open("rb") as file:
            if self.position == 0:
                if file.read(len(MAGIC)) != MAGIC:
                    return
                self.position = len(MAGIC)
            file.seek(self.position)
            for frame, size in _frames_in(file):
                self.is_over = self.is_over or frame.kind is SpoolKind.SEALED
                yield frame
                self.position += size

    def add(self, frame: SpoolFrame) -> None:
        """Count a frame of a call with its front: else a segment of many small frames would seem mostly forgotten."""
        self.sizes[frame.call] = self.sizes.get(frame.call, 0) + FRONT_BYTES + len(frame.body)

    def compact(self, kept: Container[str]) -> None:
        """Rewrite the file with the frames of ``kept`` alone, if they are less than half of it. Raises: OSError."""
        sizes = {call: size for call, size in self.sizes.items() if call in kept}
        if self.position < COMPACT_BYTES or 2 * sum(sizes.values()) > self.position:
            return
        if self.path.stat().st_size != self.position:  # its end could not be read, and a rewrite would lose it
            return
        if disk_usage(self.path.parent).free < sum(sizes.values()) + ROOM_BYTES:
            return
        part = self.path.with_name(f"{self.path.name}{PART}")
        try:
            size = self._copy(part, sizes)
            os.replace(part, self.path)
            self.position, self.sizes = size, sizes
        finally:
            part.unlink(missing_ok=True)

    def _copy(self, part: Path, calls: Container[str]) -> int:
        """Write the frames of some calls to another file; return its size."""
        opener = partial(os.open, mode=0o600)
        with self.path.open("rb") as file, open(part, "wb", opener=opener) as copy:
            copy.write(MAGIC)
            file.seek(len(MAGIC))
            for frame, _ in _frames_in(file):
                if frame.call in calls:
                    copy.write(write_frame(frame))
            copy.write(write_frame(SpoolFrame(SpoolKind.SEALED, NO_CALL, b"")))
            copy.flush()
            os.fsync(copy.fileno())  # the file that it replaces may be on the platter, and this one not yet
            return copy.tell()

    def remove(self) -> None:
        """Remove the file, unless it is not a segment of headish (it has no magic, and is not empty)."""
        if self.position > 0 or self.path.stat().st_size == 0:
            self.path.unlink(missing_ok=True)


def _frames_in(file: BinaryIO) -> Iterator[tuple[SpoolFrame, int]]:
    """Yield the frames from a file's position on, each with its size in the file, up to the first that is not whole."""
    buffer = b""
    # Doubles what it holds for a frame that is larger than a portion: else each portion would copy all of it again.
    while data := file.read(max(READ_BYTES, len(buffer))):
        buffer += data
        behind = 0
        for frame, end in read_frames(buffer):
            yield frame, end - behind
            behind = end
        buffer = buffer[behind:]


def _run_of(name: str) -> str:
    return name.partition("-")[0]
