"""What the verbs of a store need beside the pools: answers and captures to open, feeds, and async iterables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from headish.aio.answers import AsyncAnswer, AsyncCapture, give_up
from headish.aio.fronts import Front, Opening
from headish.aio.threads import result_of

if TYPE_CHECKING:
    from headish.store.store import Store


T = TypeVar("T")


class Taking(Protocol):
    """A sync verb that takes its items one by one."""

    def add(self, item: Any, /) -> object:
        """Take an item."""

    def finish(self) -> Any:
        """Return the result of the verb."""


class StoreFront(Front["Store"]):
    """A front of a store."""

    async def _take(self, verb: Callable[..., T], /, **given: Any) -> T:
        """Run a verb that takes an iterable or an async one. No thread waits for the items of an async one: its source
        may itself wait for this store."""
        name, begin = _TAKING[verb.__name__]
        if not isinstance(given[name], AsyncIterable):
            return await self._finish(verb, **given)
        items = aiter(given.pop(name))
        try:
            taking: Taking = await self._finish(begin, store=self.sync, **given)
            async for item in items:
                await self._finish(partial(taking.add, item))
            result: T = await self._finish(taking.finish)
            return result
        finally:
            # Otherwise a generator that is left before its end would be closed only some time later, by the loop.
            if (close := getattr(items, "aclose", None)) is not None:
                await close()

    def _beside(self, sync: Store) -> Self:
        """The front of another view of the same store."""
        return type(self)(sync)

    def _open_answer(self, verb: Callable[..., Any], /, **given: Any) -> Opening[AsyncAnswer]:
        return Opening(_opened(AsyncAnswer, self._ask(verb, **given)))

    def _open_capture(self, verb: Callable[..., Any], /, **given: Any) -> Opening[AsyncCapture]:
        return Opening(_opened(AsyncCapture, self._finish(verb, **given)))

    def _follow_steps(self, **given: Any) -> Iterator[Any]:
        from headish.store.reading.follow import follow_steps

        return follow_steps(self.sync, **given)


def _add_turns(store: Store, **given: Any) -> Taking:
    from headish.store.writing.many import TurnAdder

    return TurnAdder(store, **given)


def _reply(store: Store, **given: Any) -> Taking:
    from headish.store.asking.reply import StreamedReply

    return StreamedReply(store, **given)


_TAKING: dict[str, tuple[str, Callable[..., Taking]]] = {
    "add_turns": ("items", _add_turns),
    "reply": ("response", _reply),
}
"""The verbs that take async iterables: the parameter, and the verb that takes its items one by one."""


async def _opened(front: Callable[[Any], T], opening: Awaitable[Any]) -> T:
    """Return the front of an opened answer. If the task is cancelled meanwhile, store what arrived of the answer."""
    try:
        return front(await opening)
    except asyncio.CancelledError as cancelled:
        if (answer := result_of(cancelled)) is not None:
            await give_up(answer)
        raise
