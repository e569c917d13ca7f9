"""Follow the segments of a spool, put the frames of each call together, and remove what is stored.

A reader keeps no file of its own: after a restart it reads what is there again, so whoever stores calls must know which
it has. A segment that grows is read from where the last look ended. A call that began before the gateway was killed is
ended by the first segment of the gateway that follows.

A call of which a frame cannot be read, such as one that a newer headish wrote, is not given, and its segments stay.
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
"""A smaller segment is not written anew."""
PART = ".part"
"""What the name of a segment that is being written anew ends with."""
ROOM_BYTES = 64 * 1024 * 1024
"""What must stay free on the disk where a segment is written anew: else it takes the room that calls need."""
READ_BYTES = 4 * 1024 * 1024
"""How many bytes of a segment are read at once; a larger frame is read whole."""


class SpooledCall:
    """A call as far as it is spooled. It grows while the spool is read.

    ``request`` and ``response`` are the bodies so far, decompressed and without the call's key; ``is_sent`` says that
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
        """The bytes of ``response``, without a copy: what grew since the last look is ``response_from(size)``."""
        return len(self._response)

    @property
    def size(self) -> int:
        """The bytes of both bodies."""
        return len(self._request) + len(self._response)

    def response_from(self, position: int) -> bytes:
        """The answer's bytes from a position on."""
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
    """The reading end of a spool. One process at a time has one. The folder need not be there yet.

    Memory: the bodies of the calls that are not forgotten.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._calls: dict[str, SpooledCall] = {}
        self._segments: dict[str, _Segment] = {}
        self._killed: set[str] = set()  # the runs that left calls without an end
        self.unreadable: set[str] = set()
        """The calls that were met and cannot be read."""
        with suppress(OSError):  # of a reader that was killed while it wrote; they hold what people said
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
        """Each call of which the spool holds something new, once, in the order in which they began.

        A call is given again whenever it grew. Call it again and again: it does not wait. Each look ends by removing
        the segments of which every call is forgotten and nothing can follow. With ``is_over``, no gateway writes any
        more: calls without an end are abandoned.
        Raises: OSError where a segment cannot be read.
        """
        names = sorted(path.name for path in self.folder.glob(f"*{SUFFIX}"))
        grown: dict[str, SpooledCall] = {}
        for name in names:
            segment = self._segments.setdefault(name, _Segment(self.folder / name))
            for frame in segment.read():
                self._take(frame, segment, grown)
            # The writer makes a segment only when it has left the one before.
            segment.is_over = segment.is_over or is_over or name != names[-1]
        for call in self._calls.values():
            # A later run of the gateway has begun, so nobody will write the rest of this call.
            if not call.is_complete and (is_over or call.run != _run_of(names[-1])):
                call.is_abandoned = True
                self._killed.add(call.run)
                grown[call.id] = call
        yield from sorted(grown.values(), key=lambda call: call.id)
        self._remove()

    def forget(self, call: str) -> None:
        """Say that a call is stored, or needs no storing: its bytes go from memory, and with those of its neighbours
        from the disk. What may follow of it is ignored."""
        self._calls.pop(call, None)

    def compact(self) -> None:
        """Write segments anew of which most is forgotten: else a call that waits or goes on for long would keep 64 MB
        on the disk, and as much of each later segment that shares a call with the one before.

        On a full disk they stay as they are, and on one that is nearly full.

        Cost: nothing, until half of a segment is forgotten; then what is left of it.
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
        except UNREADABLE:
            self.unreadable.add(id)
        if id in self.unreadable:
            self._calls.pop(id, None)
            grown.pop(id, None)
        if id in self.unreadable or id in self._calls:  # else a mark of the segment, or of a call that is forgotten
            segment.add(frame)

    def _remove(self) -> None:
        for name, segment, kept in self._with_kept():
            if segment.is_over and not segment.sizes.keys() & kept and not self._ends_runs(name):
                segment.remove()
                del self._segments[name]

    def _with_kept(self) -> Iterator[tuple[str, _Segment, set[str]]]:
        """The segments in order, each with the calls whose frames must stay in it.

        Those are the calls that are not forgotten, and those of which an earlier segment still has frames: without its
        end, a call that is stored would come back after a restart as one that goes on.
        """
        kept = self._calls.keys() | self.unreadable
        for name, segment in sorted(self._segments.items()):
            yield name, segment, kept
            if name in self._segments:
                kept |= segment.sizes.keys()

    def _ends_runs(self, name: str) -> bool:
        """Whether a segment alone says that nothing follows of the calls of an earlier run, which was killed."""
        earlier = {_run_of(each) for each in self._segments} - {_run_of(name)}
        return name == max(self._segments) and not earlier.isdisjoint(self._killed)


def calls_in(folder: Path) -> dict[str, CallBegin]:
    """The calls that a spool holds now, by their ids, stored or not, as far as it can be read. Whoever empties it is
    not disturbed. A beginning that cannot be read is that of a call without a token."""
    found: dict[str, CallBegin] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            with path.open("rb") as file:
                found |= {each.call: _begin_or_nothing(each) for each in find_calls(file)}
        except OSError:  # which was stored meanwhile, or is another user's
            continue
    return found


def _begin_or_nothing(frame: SpoolFrame) -> CallBegin:
    try:
        return read_begin(frame)
    except UNREADABLE:
        return CallBegin(at=0, api="", method="", path="")


class _Segment:
    """A file that is followed. ``is_over`` once nothing more can be read from it. ``sizes`` has the bytes of each call
    that was not forgotten when they were read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.is_over = False
        self.sizes: dict[str, int] = {}

    def read(self) -> Iterator[SpoolFrame]:
        """The frames that were not read yet."""
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
        """Count a frame of a call, as large as it is in the file: else a segment of small ones would seem forgotten."""
        self.sizes[frame.call] = self.sizes.get(frame.call, 0) + FRONT_BYTES + len(frame.body)

    def compact(self, kept: Container[str]) -> None:
        """Write the file anew with the frames of some calls, if they are less than half of it. Raises: OSError."""
        sizes = {call: size for call, size in self.sizes.items() if call in kept}
        if self.position < COMPACT_BYTES or 2 * sum(sizes.values()) > self.position:
            return
        if self.path.stat().st_size != self.position:  # its end could not be read, and stays as it is
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
        """Write the frames of some calls to another file; its bytes."""
        opener = partial(os.open, mode=0o600)
        with self.path.open("rb") as file, open(part, "wb", opener=opener) as copy:
            copy.write(MAGIC)
            file.seek(len(MAGIC))
            for frame, _ in _frames_in(file):
                if frame.call in calls:
                    copy.write(write_frame(frame))
            copy.write(write_frame(SpoolFrame(SpoolKind.SEALED, NO_CALL, b"")))
            copy.flush()
            os.fsync(copy.fileno())  # what it replaces may have been on the platter
            return copy.tell()

    def remove(self) -> None:
        """Remove the file, unless it is not headish's."""
        if self.position > 0 or self.path.stat().st_size == 0:
            self.path.unlink(missing_ok=True)


def _frames_in(file: BinaryIO) -> Iterator[tuple[SpoolFrame, int]]:
    """The frames from a file's position on, each with its bytes there, up to the first that is not whole."""
    kept = b""
    while data := file.read(max(READ_BYTES, len(kept))):
        kept += data
        behind = 0
        for frame, end in read_frames(kept):
            yield frame, end - behind
            behind = end
        kept = kept[behind:]


def _run_of(name: str) -> str:
    return name.partition("-")[0]
