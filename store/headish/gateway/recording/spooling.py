"""Write records outside the event loop: a call hands over its chunks, and a thread writes them.

The event loop never waits for the disk. One thread gathers chunks for a moment and writes them together; it also
decompresses them and takes keys out. If the thread does not keep up, because a disk hangs, headish drops the records of
calls and counts them; the calls still pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec.structs import replace

from headish.gateway.recording.bodies import RecordedBody
from headish.gateway.recording.messages import HeldBytes
from headish.gateway.spool import CallBegin, CallEnd, ResponseHead, SpoolFrame, SpoolKind, SpoolWriter, begin, end, head

GATHERED_SECONDS = 0.01
"""How long chunks are gathered: a killed gateway loses at most this much time of them."""
SEALED_SECONDS = 1.0
"""After this time without a call, the segment is sealed, so that the reader can remove it."""
WAITING_LIMIT_BYTES = 64 * 1024 * 1024
"""The most bytes of bodies that may wait for the thread."""
CONFIRMED_SECONDS = 2.0
"""How long a call that must be recorded waits for its beginning to be written."""
TOO_SLOW = "the disk does not keep up"

_Job = Callable[[], Iterable[SpoolFrame]]


class Spooler:
    """Writes the frames of all calls, in the order in which they are handed over. For one event loop."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headish-spool")
        self._jobs: list[_Job] = []
        self._bytes = 0
        self._is_busy = False
        self._timer: asyncio.TimerHandle | None = None
        self._sealing: asyncio.TimerHandle | None = None
        self._dropped = self._cut = 0
        self._reason: str | None = None
        self.open_calls = 0
        self.held = HeldBytes()
        """The count of unfinished WebSocket messages. For the thread."""

    @property
    def unrecorded(self) -> int:
        """The number of calls that passed but are incomplete in the spool."""
        return self._writer.unrecorded + self._dropped + self._cut

    @property
    def reason(self) -> str | None:
        """The last reason why something was not written to the spool; None if there never was one."""
        return self._writer.last_failure or self._reason

    @property
    def failure(self) -> str | None:
        """Why the last attempt to write failed; None if it succeeded."""
        return self._writer.failure

    def put(self, job: _Job, size: int = 0) -> bool:
        """Hand over a job that makes frames; the thread runs it. False if too much waits already. Never waits."""
        # Only bodies are refused. Beginnings and ends are small, and a call without its end would look as if it had
        # been cut off.
        if size and self._bytes + size > WAITING_LIMIT_BYTES:
            return False
        self._jobs.append(job)
        self._bytes += size
        if self._timer is None and not self._is_busy:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_SECONDS, self._flush)
        return True

    def drop(self) -> None:
        """Count a call that is incomplete in the spool because the thread does not keep up."""
        self._dropped += 1
        self._reason = TOO_SLOW

    def cut(self, reason: str) -> None:
        """Count a call that cannot be recorded whole, for example because a body is too large. For the thread."""
        self._cut += 1
        self._reason = reason

    async def confirm(self, frame: SpoolFrame) -> bool:
        """Write the beginning of a call now. Returns whether it is in the spool."""
        return await self.confirm_all(lambda: [frame])

    async def confirm_all(self, job: _Job) -> bool:
        """Write the frames of a job now, after all that waits. Returns whether all of them are in the spool."""
        jobs, self._jobs, self._bytes = self._jobs, [], 0
        writing = asyncio.get_running_loop().run_in_executor(self._thread, self._confirm, jobs, job)
        try:
            # Shielded, because the thread writes the frames in any case: `end` then says that the call did not pass.
            return await asyncio.wait_for(asyncio.shield(writing), CONFIRMED_SECONDS)
        except TimeoutError:
            return False

    async def close(self, seconds: float) -> None:
        """Write all that waits and seal the segment, within a time limit: a disk may hang."""
        for timer in filter(None, (self._timer, self._sealing)):
            timer.cancel()
        jobs, self._jobs = self._jobs, []
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._finish, jobs)
        await asyncio.wait([work], timeout=seconds)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _confirm(self, jobs: list[_Job], job: _Job) -> bool:
        self._writer.write(_frames(jobs))
        before = self._writer.unrecorded + self._cut
        self._writer.write(job())
        return self._writer.unrecorded + self._cut == before

    def _finish(self, jobs: list[_Job]) -> None:
        self._writer.write(_frames(jobs))
        self._writer.close()

    def _flush(self) -> None:
        self._timer = None
        jobs, self._jobs, self._bytes = self._jobs, [], 0
        self._run(lambda: self._writer.write(_frames(jobs)), self._written)

    def _written(self) -> None:
        if self._sealing is not None:
            self._sealing.cancel()
        self._sealing = asyncio.get_running_loop().call_later(SEALED_SECONDS, self._seal)
        self._go_on()

    def _seal(self) -> None:
        if not (self._jobs or self._is_busy):
            self._run(self._writer.seal_if_idle, self._go_on)

    def _go_on(self) -> None:
        if self._jobs and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHERED_SECONDS, self._flush)

    def _run(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        self._is_busy = True

        def ended(_: object) -> None:
            self._is_busy = False
            then()

        asyncio.get_running_loop().run_in_executor(self._thread, work).add_done_callback(ended)


def _frames(jobs: list[_Job]) -> Iterator[SpoolFrame]:
    for job in jobs:
        yield from job()


class Recording:
    """The record of one call. Each method returns at once."""

    def __init__(self, spooler: Spooler, call: str, secrets: Iterable[str]) -> None:
        self.call = call
        self.secrets = list(secrets)
        self.begun: CallBegin | None = None
        self._spooler = spooler
        self._bodies: dict[SpoolKind, RecordedBody] = {}
        self._is_dropped = self._is_broken = False
        spooler.open_calls += 1

    def begin(self, value: CallBegin) -> SpoolFrame:
        """Make the frame that begins the call: hand it to ``start``, or to the spooler's ``confirm``."""
        self.begun = value
        return begin(self.call, value)

    def start(self, frame: SpoolFrame) -> None:
        """Write the beginning together with the next frames."""
        self._put(lambda: [frame])

    def expect(self, kind: SpoolKind, content_type: str, encoding: str, *, is_refusal: bool = False) -> None:
        """Describe a body before its first chunk."""
        self._bodies[kind] = RecordedBody(self.secrets, content_type, encoding, is_refusal=is_refusal)

    def chunk(self, kind: SpoolKind, data: bytes) -> None:
        """Write a chunk of a body."""
        body = self._bodies[kind]
        self._put(lambda: (SpoolFrame(kind, self.call, piece) for piece in body.feed(data)), len(data))

    def sent(self) -> None:
        """Record that the body of the request is whole."""
        self._put(lambda: [*self._rest(SpoolKind.REQUEST), SpoolFrame(SpoolKind.SENT, self.call, b"")])

    def head(self, value: ResponseHead) -> None:
        """Record the head of the answer."""
        self._put(lambda: [head(self.call, value)])

    def end(self, value: CallEnd) -> None:
        """Record that the call has ended."""
        self._spooler.open_calls -= 1
        # Even if its chunks were dropped: an end says so, and without one the reader would wait for the call.
        self._spooler.put(lambda: self._ending(value))

    def _ending(self, value: CallEnd) -> Iterator[SpoolFrame]:
        for kind in (SpoolKind.REQUEST, SpoolKind.RESPONSE):
            yield from self._guarded(partial(self._rest, kind))
        left_out = next((body.left_out for body in self._bodies.values() if body.left_out), None)
        is_cut = any(body.is_cut for body in self._bodies.values())
        outcome = "unrecorded" if self._is_dropped or self._is_broken or is_cut else value.outcome
        if is_cut and not self._is_dropped:
            self._spooler.cut(f"a body is too large: {left_out}")
        yield end(self.call, replace(value, outcome=outcome, left_out=left_out))

    def _rest(self, kind: SpoolKind) -> list[SpoolFrame]:
        body = self._bodies.get(kind)
        return [] if body is None else [SpoolFrame(kind, self.call, piece) for piece in body.finish()]

    def _put(self, job: _Job, size: int = 0) -> None:
        if not self._is_dropped and not self._spooler.put(partial(self._guarded, job), size):
            self._is_dropped = True
            self._spooler.drop()

    def _guarded(self, job: _Job) -> Iterator[SpoolFrame]:
        """Make the frames of a job. After one that fails, the call has no more, except its end."""
        if self._is_broken:
            return
        try:
            yield from job()
        except Exception as error:  # the frames of other calls follow in the same list
            self._is_broken = True
            self._spooler.cut(unforeseen(error))


def unforeseen(error: Exception) -> str:
    """The reason why a call is not recorded after an error that no code expects. Its words may be the call's own."""
    return f"an unexpected error ({type(error).__name__})"
