"""The hub: tells the readers of a space at once what was written here, and passes answers on while they arrive."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, cast

from starlette.requests import Request

from headish.aio import AsyncStore
from headish.aio.answers import AsyncAnswer
from headish.errors import HeadishError
from headish.values.access.wording import words_for_callers
from headish.values.ids import TurnId

PAUSE_SECONDS = 0.05
"""The shortest time between two reports of what arrived of an answer."""
WAITING_LIMIT = 1000
"""How many events wait for a reader; one that falls further behind must fetch the page anew."""
LOST = {"event": "lost"}
KEPT_SECONDS = 60.0
"""How long a failed answer stays known."""
Told = dict[str, Any]


class Arriving:
    """An answer: ``text`` as far as it came, and ``failure`` once it failed."""

    def __init__(self, space: str, asked: TurnId) -> None:
        self.id, self.space, self.asked = secrets.token_hex(8), space, asked
        self.text, self.failure = "", ""
        self.ended: float | None = None
        self._answer: AsyncAnswer | None = None

    @property
    def words(self) -> int:
        return len(self.text.split())

    def stop(self) -> None:
        """End the provider's request; what arrived is stored."""
        if self._answer is not None:
            self._answer.cancel()


class Hub:
    """The arriving answers of a web process, and the queues of the listeners of a space."""

    def __init__(self) -> None:
        self._answers: dict[str, Arriving] = {}
        self._listeners: dict[str, set[asyncio.Queue[Told]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def answers_to(self, space: str, turns: Collection[TurnId]) -> list[Arriving]:
        """The answers to some turns that arrive, or failed a moment ago."""
        self._forget()
        return [each for each in self._answers.values() if each.space == space and each.asked in turns]

    def find(self, space: str, id: str) -> Arriving | None:
        """An answer of a space."""
        found = self._answers.get(id)
        return found if found is not None and found.space == space else None

    def changed(self, space: str) -> None:
        """Report that something was written to a space."""
        self._tell(space, {"event": "change"})

    @contextmanager
    def listening(self, space: str) -> Iterator[asyncio.Queue[Told]]:
        """The events of a space while the block runs."""
        queue: asyncio.Queue[Told] = asyncio.Queue(WAITING_LIMIT)
        self._listeners.setdefault(space, set()).add(queue)
        try:
            yield queue
        finally:
            self._listeners[space].discard(queue)

    async def begin(self, store: AsyncStore, asked: TurnId, opening: Any) -> Arriving:
        """Receive an answer beside the request that asked for it. Raises: as ``open_answer``."""
        arriving = Arriving(store.space, asked)
        answer = await opening
        arriving._answer = answer
        self._answers[arriving.id] = arriving
        task = asyncio.create_task(self._receive(arriving, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return arriving

    async def _receive(self, arriving: Arriving, answer: AsyncAnswer) -> None:
        told, at = 0, 0.0
        try:
            async with answer:
                async for delta in answer:
                    if delta.type == "text":
                        arriving.text += delta.content
                    if time.monotonic() - at >= PAUSE_SECONDS and len(arriving.text) > told:
                        self._tell_text(arriving, told)
                        told, at = len(arriving.text), time.monotonic()
            if answer.failure is not None:
                arriving.failure = words_for_callers(answer.failure)
        except HeadishError as error:
            arriving.failure = words_for_callers(error)
        finally:
            arriving.ended = time.monotonic()
            # A failed answer stays, so that a page which is opened later can say why there is none.
            if not arriving.failure:
                del self._answers[arriving.id]
            self._tell_text(arriving, told)
            self._tell(arriving.space, {"event": "answered", "answer": arriving.id, "words": arriving.words})
            self.changed(arriving.space)

    def _tell_text(self, arriving: Arriving, told: int) -> None:
        piece = arriving.text[told:]
        if piece:
            self._tell(arriving.space, {"event": "delta", "answer": arriving.id, "at": told, "text": piece})

    def _tell(self, space: str, what: Told) -> None:
        for queue in list(self._listeners.get(space, ())):
            if queue.full():
                self._listeners[space].discard(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(LOST)
            else:
                queue.put_nowait(what)

    def _forget(self) -> None:
        now = time.monotonic()
        for each in list(self._answers.values()):
            if each.ended is not None and now - each.ended > KEPT_SECONDS:
                del self._answers[each.id]


def hub_of(request: Request) -> Hub:
    """The hub of the application; it is made when it is first asked for."""
    state = request.app.state
    if not hasattr(state, "hub"):
        state.hub = Hub()
    return cast(Hub, state.hub)
