"""An answer while it arrives, for asyncio: ``async for`` over its pieces, ``cancel`` from any task or thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from headish.aio.handing import Handed
from headish.aio.threads import finish_surely

if TYPE_CHECKING:
    from headish.errors import HeadishError
    from headish.providers import Delta, Request
    from headish.providers.shared.values import Reply
    from headish.store.answers.answer import Answer
    from headish.store.answers.capture import Capture
    from headish.values.turns import Turn


class AsyncAnswer:
    """An answer that has begun: iterate over its deltas, then ``finish``. ``async with`` finishes by itself.

    A ``break`` and a cancelled task end the provider's request at once; what arrived is stored. A slow task slows the
    provider down: no more than 256 deltas wait for it.
    """

    def __init__(self, answer: Answer) -> None:
        self.sync = answer
        self._deltas = Handed(answer, answer.cancel)

    @property
    def request(self) -> Request:
        """The request."""
        return self.sync.request

    @property
    def failure(self) -> HeadishError | None:
        """The error that cut the answer off, unless the provider itself reported one."""
        return self.sync.failure

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        return await self._deltas.get()

    def cancel(self) -> None:
        """End the provider's request at once, from any thread or task; the iteration ends after what had arrived."""
        self.sync.cancel()

    async def finish(self) -> Turn:
        """Store what arrived as one turn, and return it, without waiting for the unread rest of the answer."""
        return await finish_surely(self._end)

    def _end(self) -> Turn:
        self._deltas.stop()
        return self.sync.finish()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.finish()


class AsyncCapture:
    """An answer that a program of yours receives. ``async with`` stores what arrived, even if an exception ends it.

    ``feed`` reads no database, so it is not a coroutine: events go into the journal, which a thread writes.
    """

    def __init__(self, capture: Capture) -> None:
        self.sync = capture

    @property
    def ended(self) -> bool:
        """Whether the provider has ended the answer."""
        return self.sync.ended

    @property
    def reply(self) -> Reply | None:
        """The reply that the turn was made from, once it is stored."""
        return self.sync.reply

    def feed(self, event: Mapping[str, Any] | Any) -> list[Delta]:
        """Take an event, and return what to show of it. Raises: as ``Capture.feed``."""
        return self.sync.feed(event)

    async def read(self, events: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Delta]:
        """Take the events of a stream, such as that of a provider's SDK; yield what to show of each as it arrives."""
        if not isinstance(events, AsyncIterable):
            for delta in self.sync.read(events):
                yield delta
            return
        async for event in events:
            for delta in self.sync.feed(event):
                yield delta

    def fail(self, message: str) -> None:
        """Report why the answer ended early, if the provider did not say it."""
        self.sync.fail(message)

    async def finish(self) -> Turn:
        """Store the answer as one turn, and return it; a second call returns the same turn."""
        return await finish_surely(self.sync.finish)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.finish()


async def give_up(answer: Answer | Capture) -> None:
    """Store what arrived of an answer whose task was cancelled before the task got the answer."""
    try:
        await finish_surely(_end, answer)
    except asyncio.CancelledError:  # the caller raises the first one
        pass


def _end(answer: Any) -> None:
    cancel = getattr(answer, "cancel", None)  # a capture has no request to end
    if cancel is not None:
        cancel()
    answer.finish()
