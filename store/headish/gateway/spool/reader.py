"""Follow the segments of a spool, put the frames of each call together, and remove what is stored.

A reader keeps no file of its own: after a restart it reads what is there again, so whoever stores calls must know which
it has. A segment that grows is read from where the last look ended. A call that began before the gateway was killed is
ended by the first segment of the gateway that follows.

A call of which a frame cannot be read, such as one that a newer headish wrote, is not given, and its segments stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from headish.gateway.spool.frames import MAGIC, SpoolFrame, SpoolKind, find_calls, read_frames
from headish.gateway.spool.records import UNREADABLE, CallBegin, CallEnd, ResponseHead, read_begin
from headish.gateway.spool.writer import SUFFIX

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
        self.unreadable: set[str] = set()
        """The calls that were met and cannot be read."""

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
                grown[call.id] = call
        yield from sorted(grown.values(), key=lambda call: call.id)
        self._remove()

    def forget(self, call: str) -> None:
        """Say that a call is stored, or needs no storing: its bytes go from memory, and with those of its neighbours
        from the disk. What may follow of it is ignored."""
        self._calls.pop(call, None)

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
            segment.calls.add(id)

    def _remove(self) -> None:
        for name, segment in list(self._segments.items()):
            if segment.is_over and not segment.calls & (self._calls.keys() | self.unreadable):
                segment.remove()
                del self._segments[name]


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
    """A file that is followed. ``is_over`` once nothing more can be read from it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.is_over = False
        self.calls: set[str] = set()

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
            kept = b""
            while data := file.read(max(READ_BYTES, len(kept))):
                kept += data
                behind = 0
                for frame, behind in read_frames(kept):  # noqa: B007, the last position is needed
                    self.is_over = self.is_over or frame.kind is SpoolKind.SEALED
                    yield frame
                self.position += behind
                kept = kept[behind:]

    def remove(self) -> None:
        """Remove the file, unless it is not headish's."""
        if self.position > 0 or self.path.stat().st_size == 0:
            self.path.unlink(missing_ok=True)


def _run_of(name: str) -> str:
    return name.partition("-")[0]
