"""Read a sync iterator as an async one, without a thread that waits.

The pool reads it in short runs: a few items at a time, and none before the task asks for one. Between two runs it has
no thread and no connection, so a stream that is left in the middle leaks nothing; a thread of its own then closes it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any, Generic, Self, TypeVar

from headish.aio.threads import finish, finish_surely
from headish.store.reading.follow import Pause

T = TypeVar("T")
RUN_ITEMS = 100
"""How many items one run may read."""
RUN_SECONDS = 0.01
"""After how long a run hands over what it has."""


class AsyncStream(AsyncIterator[T], Generic[T]):
    """Async iteration over what a sync verb yields. Use it once, in one task at a time.

    ``async with`` or ``aclose`` ends it; one that is dropped, by a ``break`` for example, ends by itself. A read that
    is cancelled loses no item: the next one goes on where it was. Errors come after the items before them.
    """

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._source = _Source(begin)
        self._is_read = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        source = self._source
        if self._is_read:
            raise RuntimeError("another task reads this stream: give each a stream of its own")
        self._is_read = True
        try:
            while not source.items:
                if source.is_over:
                    source.raise_once()
                    raise StopAsyncIteration
                pause, source.pause = source.pause, 0.0
                if pause:
                    await asyncio.sleep(pause)
                await finish(source.read)
            item: T = source.items.popleft()
            return item
        finally:
            self._is_read = False

    async def aclose(self) -> None:
        """End the stream, and drop the items that were read but not taken."""
        self._source.items.clear()
        await finish_surely(self._source.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # While the interpreter exits no thread starts, and up to Python 3.11 ``start`` would wait for it for ever.
        if self._source.is_open and not sys.is_finalizing():
            # Not in the pool: garbage may be collected in the middle of handing something to the pool, while this
            # thread holds the pool's lock, and would wait for itself.
            with suppress(RuntimeError):  # the interpreter exits
                Thread(target=self._source.close, name="headish-close").start()


class _Source:
    """The sync iterator, and the items read from it. One thread at a time uses it."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._begin = begin
        self._iterator: Iterator[Any] | None = None
        self._error: BaseException | None = None
        self.items: deque[Any] = deque()
        self.pause = 0.0
        self.is_over = False

    @property
    def is_open(self) -> bool:
        return self._iterator is not None and not self.is_over

    def read(self) -> None:
        """Read a run: some items, or up to where the iterator would wait."""
        until = time.monotonic() + RUN_SECONDS
        try:
            if self._iterator is None:
                self._iterator = iter(self._begin())
            for item in self._iterator:
                if isinstance(item, Pause):
                    self.pause = item.seconds
                    return
                self.items.append(item)
                if len(self.items) >= RUN_ITEMS or time.monotonic() > until:
                    return
            self.is_over = True
        except Exception as error:
            self._error, self.is_over = error, True

    def raise_once(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        self.is_over = True
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
