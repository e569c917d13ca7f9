"""Run the coroutine callbacks of a call in a thread on the event loop that waits for the call.

The thread waits for the loop, and a task of the loop waits for the thread. This works as long as the loop is free, so a
callback that would wait for the loop in the loop's own thread is refused: it would wait forever.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headish.values.blocks import ToolResult, ToolUse

    AsyncRun = Callable[[Sequence[ToolUse]], Awaitable[Sequence[ToolResult]]]
    AsyncApprove = Callable[[ToolUse], Awaitable[bool | str]]

TELLING = frozenset({"on_delta", "told", "progress", "warn"})
"""The callbacks that only report something. A call that is being cancelled goes on without them, to its outcome."""
ASKING = frozenset({"run", "approve", "count"})
"""The callbacks whose answer is needed."""
STORED = frozenset({"items"})
"""The iterables that are stored batch by batch. A cancelled call stores the batches that were full by then."""
ADAPTED = TELLING | ASKING | STORED


class Bridge:
    """The way from one call's thread back to the loop that waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._asked: set[Future[Any]] = set()
        self._is_cancelled = False
        self.calls_back = False
        """Whether the call runs callbacks, which may wait for anything."""

    def adapt(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a sync verb takes them."""
        if ADAPTED.isdisjoint(given):
            return given
        return {name: self._adapt(name, value) if name in ADAPTED else value for name, value in given.items()}

    def cancel(self) -> None:
        """Cancel the callbacks that run on the loop. Those of ``TELLING`` are called no more; a coroutine of ``ASKING``
        gives no answer."""
        with self._lock:
            self._is_cancelled = True
            futures = tuple(self._asked)
        for future in futures:
            future.cancel()

    def _adapt(self, name: str, value: Any) -> Any:
        if name in STORED:
            is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
            return self._until_cancelled(value) if is_list else value
        if not callable(value):
            return value
        self.calls_back = True
        return self._teller(value) if name in TELLING else self._asker(value)

    def _asker(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*given: Any) -> Any:
            answer = function(*given)
            return self._wait(answer) if isawaitable(answer) else answer

        return ask

    def _teller(self, function: Callable[..., Any]) -> Callable[..., Any]:
        ask = self._asker(function)

        def tell(*given: Any) -> Any:
            if self._is_cancelled:
                return None
            try:
                return ask(*given)
            except CancelledError:
                # The task was cancelled while its thread was asking. The thread goes on to its end, so this is no error
                # to it.
                if not self._is_cancelled:
                    raise
                return None

        return tell

    def _until_cancelled(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items until the call is cancelled: then nobody waits for the rest of a long iterable."""
        for item in items:
            if self._is_cancelled:
                raise CancelledError
            yield item

    def _wait(self, awaitable: Any) -> Any:
        """Run an awaitable on the loop, in a task of its own, and return its result."""

        if threading.get_ident() == self._thread:
            _drop(awaitable)
            raise RuntimeError(
                "a coroutine would be waited for in the thread of the loop that runs it, forever: "
                "use headish.aio there, not the sync store"
            )
        # In one step, so that ``cancel`` either finds this future or keeps it from being made.
        with self._lock:
            if self._is_cancelled:
                _drop(awaitable)
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(_await(awaitable), self._loop)
            self._asked.add(future)
        try:
            return future.result()
        finally:
            self._asked.discard(future)


# ``run_coroutine_threadsafe`` takes coroutines only, and a callback may return any awaitable.
async def _await(awaitable: Any) -> Any:
    return await awaitable


def _drop(awaitable: Any) -> None:
    """Close a coroutine that will not be awaited: Python warns of one that never ran."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()
