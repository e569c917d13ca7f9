"""The hub: tells the open pages of a space at once about writes of this process, and passes on answers that arrive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from starlette.requests import Request

from headish.aio import AsyncStore
from headish.aio.answers import AsyncAnswer
from headish.errors import CallCancelled, CallError, HeadishError, UnknownCall, Unrepresentable
from headish.gateway.spool.arriving import GrownAnswer
from headish.serve.access.problems import LOG, SERVER_FAILED
from headish.serve.access.state import state_of
from headish.serve.pages.arriving import PAUSE_SECONDS, Arriving, Told, tail_answers
from headish.serve.recorder.parts import pieces_of
from headish.values.access.wording import words_for_people
from headish.values.ids import TurnId

WAITING_LIMIT = 1000
"""The most events that wait for a listener; one that falls further behind must fetch the page anew."""
LOST = {"event": "lost"}
KEPT_SECONDS = 60.0
"""How long a failed answer stays known."""
OPENING_SECONDS = 0.2
"""How long a form waits for a model to begin. Loading a model can take minutes, and people who see nothing happen send
the form again: a second question, asked a second time."""


class Hub:
    """The arriving answers of a web process, and the queues of each space's listeners. ``folder`` is the server's, if
    it has a gateway: answers that pass the gateway are shown while anybody listens."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._is_tailing = folder, False
        self._answers: dict[str, Arriving] = {}
        self._listeners: dict[str, set[asyncio.Queue[Told]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def answers_to(self, space: str, turns: Collection[TurnId]) -> list[Arriving]:
        """The answers to some turns: those that arrive, and those that failed a moment ago."""
        self._forget()
        return [each for each in self._answers.values() if each.space == space and each.asked in turns]

    def find(self, space: str, id: str) -> Arriving | None:
        """Find an answer of a space; None if there is none with that id."""
        answer = self._answers.get(id)
        return answer if answer is not None and answer.space == space else None

    def begun_in(self, space: str) -> list[Arriving]:
        """The answers that begin conversations of a space, the newest first."""
        begun = [each for each in self.arriving_in(space) if each.asked is None]
        return sorted(begun, key=lambda each: each.id, reverse=True)  # the ids of calls begin with their time

    @property
    def spaces(self) -> set[str]:
        """The spaces that somebody listens to."""
        return {space for space, queues in self._listeners.items() if queues}

    def arriving_in(self, space: str) -> list[Arriving]:
        """The answers that arrive in a space."""
        return [each for each in self._answers.values() if each.space == space and each.ended is None]

    def changed(self, space: str) -> None:
        """Report that something was written to a space."""
        self._tell(space, {"event": "change"})

    @contextmanager
    def listening(self, space: str) -> Iterator[asyncio.Queue[Told]]:
        """Listen to the events of a space while the block runs."""
        queue: asyncio.Queue[Told] = asyncio.Queue(WAITING_LIMIT)
        self._listeners.setdefault(space, set()).add(queue)
        if self._folder is not None and not self._is_tailing:
            self._is_tailing = True
            self._keep(self._tail(self._folder))
        try:
            yield queue
        finally:
            self._listeners[space].discard(queue)

    async def begin(self, store: AsyncStore, asked: TurnId, opening: Any) -> Arriving:
        """Open an answer and receive it in the background. A model that cannot be asked is an answer that failed: the
        page of the question, which is stored, says why. Raises: as ``open_answer``, but no such error, and none that
        comes later than ``OPENING_SECONDS``."""
        arriving = Arriving(store.space, asked)
        arriving.opening = begun = asyncio.ensure_future(opening)
        await asyncio.wait({begun}, timeout=OPENING_SECONDS)
        if begun.done() and not isinstance(error := begun.exception(), CallError | Unrepresentable | None):
            raise error
        self._answers[arriving.id] = arriving
        self._keep(self._receive(arriving, begun))
        return arriving

    def show_passing(self, grown: GrownAnswer) -> None:
        """Show what was added to an answer that passes the gateway."""
        call = grown.call
        arriving = self._answers.get(call.call)
        if arriving is None:
            arriving = self._answers[call.call] = Arriving(call.space, call.continues, call)
            self._tell_change(arriving, "answering")
        if grown.is_anew:
            arriving.begin_anew()
        for piece in grown.pieces:
            arriving.add(piece)
        self._tell_news(arriving)

    def end_passing(self, call: str) -> None:
        """End an answer that passed the gateway: it is stored, or is no longer shown."""
        arriving = self._answers.pop(call, None)
        if arriving is not None:
            self._tell_end(arriving)
            self._tell_change(arriving, "answered")

    async def _tail(self, folder: Path) -> None:
        try:
            await tail_answers(folder, self)
        finally:
            self._is_tailing = False
            for id in [each.id for each in self._answers.values() if each.passing is not None]:
                self.end_passing(id)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background."""
        task = asyncio.create_task(work)
        self._tasks.add(task)  # asyncio itself keeps only a weak reference, and the task could vanish in mid run
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, arriving: Arriving, begun: asyncio.Future[AsyncAnswer]) -> None:
        at, is_stored = 0.0, False
        try:
            async with await begun as answer:
                arriving.asking = answer
                async for delta in answer:
                    for piece in pieces_of([delta]):
                        arriving.add(piece)
                    if time.monotonic() - at >= PAUSE_SECONDS:
                        self._tell_news(arriving)
                        at = time.monotonic()
            is_stored = True
            if answer.failure is not None and not isinstance(answer.failure, CallCancelled):  # who stops it knows
                arriving.failure = words_for_people(answer.failure)
        except HeadishError as error:
            arriving.failure = words_for_people(error)
        except Exception:
            LOG.exception("an answer failed")
            arriving.failure = SERVER_FAILED
        finally:
            self._end(arriving, is_stored)

    def _end(self, arriving: Arriving, is_stored: bool) -> None:
        """End an answer. A failed one stays for a while, so that a page opened later can say why there is no answer."""
        arriving.ended = time.monotonic()
        if not arriving.failure:
            del self._answers[arriving.id]
        self._tell_news(arriving)
        self._tell_end(arriving)
        if is_stored:
            arriving.begin_anew()  # its turn shows what arrived
        self.changed(arriving.space)

    def _tell_change(self, arriving: Arriving, kind: str) -> None:
        continues = [] if arriving.asked is None else [arriving.asked]
        event = {"event": "change", "kind": kind, "answer": arriving.id, "continues": continues}
        self._tell(arriving.space, event)

    def _tell_news(self, arriving: Arriving) -> None:
        for event in arriving.tell():
            self._tell(arriving.space, event)

    def _tell_end(self, arriving: Arriving) -> None:
        ending = {"words": arriving.words, "failed": bool(arriving.failure)}
        self._tell(arriving.space, {"event": "answered", "answer": arriving.id, **ending})

    def _tell(self, space: str, what: Told) -> None:
        for queue in list(self._listeners.get(space, ())):
            if queue.full():  # a page that does not read must neither fill the memory nor hold up the others
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


async def not_stored(store: AsyncStore, answers: Iterable[Arriving]) -> list[Arriving]:
    """The answers without those that passed the gateway and are stored by now: the hub learns of it a moment later.

    Cost: a statement for each answer that passed.
    """
    return [each for each in answers if each.passing is None or not await _is_stored(store, each.id)]


async def _is_stored(store: AsyncStore, call: str) -> bool:
    try:
        return bool(await store.calls.get(call))
    except UnknownCall:
        return False


def hub_of(request: Request) -> Hub:
    """The hub of the application; the first call makes it."""
    state = request.app.state
    if not hasattr(state, "hub"):
        settings = state_of(request).settings
        state.hub = Hub(None if settings.gateway is None else Path(settings.folder))
    return cast(Hub, state.hub)
