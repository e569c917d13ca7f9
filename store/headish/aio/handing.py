"""Hand items, such as the pieces of an answer, from the thread that reads them to the task that uses them.

The thread reads ahead, but not far: if the task is slow, the thread waits, and so does the sender.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")
AHEAD_ITEMS = 256
"""How many items may wait for the task."""


class Handed(Generic[T]):
    """The items of an iterable that a thread of its own reads, from the first ``get`` on.

    ``stop`` ends the thread at its next item, and so does dropping this object. Both call ``interrupt``, to wake up an
    iterable that waits.
    """

    def __init__(self, items: Iterable[T], interrupt: Callable[[], object]) -> None:
        self._hand = _Hand(items, interrupt)

    async def get(self) -> T:
        """Return the next item. Raises: StopAsyncIteration; the error of the iterable, after the items before it;
        RuntimeError while another task waits for an item."""
        with self._hand.one_reader() as hand:
            hand.begin()
            while True:
                with hand.changed:
                    if hand.items:
                        hand.changed.notify_all()  # the thread may wait for room
                        item: T = hand.items.popleft()
                        return item
                    if hand.is_over:
                        error, hand.error = hand.error, None
                        raise error or StopAsyncIteration
                    loop = asyncio.get_running_loop()
                    waiter = loop.create_future()
                    hand.waiter = loop, waiter
                await waiter

    def stop(self) -> None:
        """End the reading, and wait until the thread is done with the iterable. For a thread, not for the loop."""
        self._hand.stop()
        self._hand.join()

    def __del__(self) -> None:
        self._hand.stop()


class _Hand:
    """The state that the thread and the task share. The thread refers to nothing else, so it does not keep ``Handed``
    alive, whose end ends the thread."""

    def __init__(self, source: Iterable[Any], interrupt: Callable[[], object]) -> None:
        self._source, self._interrupt = source, interrupt
        self._thread: threading.Thread | None = None
        self._is_stopped = self._is_read = False
        self.changed = threading.Condition()
        self.items: deque[Any] = deque()
        self.is_over = False
        self.error: BaseException | None = None
        self.waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None

    @contextmanager
    def one_reader(self) -> Iterator[Self]:
        """Refuse a second task: the thread wakes only one."""
        with self.changed:
            if self._is_read:
                raise RuntimeError("another task reads this answer: read it in one, and share what it gives")
            self._is_read = True
        try:
            yield self
        finally:
            self._is_read = False

    def begin(self) -> None:
        with self.changed:
            if self._thread is None and not self._is_stopped:
                # A daemon: an answer that is left open must not keep the program from ending. The journal has it.
                self._thread = threading.Thread(target=self._read, name="headish-answer", daemon=True)
                self._thread.start()
            elif self._is_stopped and self._thread is None:
                self.is_over = True

    def stop(self) -> None:
        with self.changed:
            if self._is_stopped or self.is_over:
                return
            self._is_stopped = True
            self.changed.notify_all()
        self._interrupt()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        iterator = iter(self._source)
        try:
            for item in iterator:
                if not self._hand_over(item):
                    break
        except BaseException as error:  # ``get`` raises it in the task
            self.error = error
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
            with self.changed:
                self.is_over = True
                self._wake()

    def _hand_over(self, item: Any) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: self._is_stopped or len(self.items) < AHEAD_ITEMS)
            if self._is_stopped:
                return False
            self.items.append(item)
            self._wake()
            return True

    def _wake(self) -> None:
        waiting, self.waiter = self.waiter, None
        if waiting is not None:
            loop, waiter = waiting
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(_set, waiter)


def _set(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
