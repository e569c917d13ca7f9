"""What a store's verbs need beside the pools: answers and captures that open, a feed that waits in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from headish.aio.answers import AsyncAnswer, AsyncCapture, give_up
from headish.aio.fronts import Front, Opening
from headish.aio.threads import outcome_of

if TYPE_CHECKING:
    from headish.store.store import Store


class StoreFront(Front["Store"]):
    """A front of a store."""

    def _beside(self, sync: Store) -> Self:
        """The front of another view of the same store."""
        return type(self)(sync)

    def _open_answer(self, verb: Callable[..., Any], /, **given: Any) -> Opening[AsyncAnswer]:
        async def opened() -> AsyncAnswer:
            try:
                return AsyncAnswer(await self._ask(verb, **given))
            except asyncio.CancelledError as cancelled:
                await _give_up(cancelled)
                raise

        return Opening(opened())

    def _open_capture(self, verb: Callable[..., Any], /, **given: Any) -> Opening[AsyncCapture]:
        async def opened() -> AsyncCapture:
            try:
                return AsyncCapture(await self._finish(verb, **given))
            except asyncio.CancelledError as cancelled:
                await _give_up(cancelled)
                raise

        return Opening(opened())

    def _follow_steps(self, **given: Any) -> Iterator[Any]:
        from headish.store.reading.follow import follow_steps

        return follow_steps(self.sync, **given)


async def _give_up(cancelled: asyncio.CancelledError) -> None:
    """Store what there is of an answer that was opened while its task was cancelled."""
    outcome = outcome_of(cancelled)
    if outcome is not None and not outcome.cancelled() and outcome.exception() is None:
        await give_up(outcome.result())
