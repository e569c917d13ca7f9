"""Answers for asyncio: piece by piece, cancelled, left in the middle, and received by a program of one's own."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from aio.conftest import Run
from headish import Store
from headish.aio import AsyncStore, handing, outcome_of
from headish.aio.handing import Handed
from headish.errors import CallCancelled, CallRefused, InvalidReply, UnknownPointer
from headish.providers import Delta
from headish.store.answers.capture import Capture
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text

pytestmark = pytest.mark.slow

HELLO = anthropic_text("Hel", "lo.")
FIRST = 3
"""So many events bring the first piece."""


class Unending:
    """The beginning of an answer, and then nothing; ``gone`` once the caller is."""

    def __init__(self, server: Loopback, events: int = FIRST) -> None:
        self._server, self._events, self.gone = server, events, threading.Event()
        server.answer(chunks=self)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from event_stream(HELLO[: self._events])
            while not self._server.closing.wait(0.01):
                yield b": still there\n\n"
        finally:
            self.gone.set()


async def begun(server: Loopback) -> None:
    """Until the server was asked."""
    async with asyncio.timeout(10):
        while not server.requests:
            await asyncio.sleep(0.002)


class TestAsking:
    async def test_gives_the_turn_and_shows_the_pieces(self, asking: AsyncStore, server: Loopback) -> None:
        shown: list[str] = []

        async def show(delta: Delta) -> None:
            await asyncio.sleep(0)
            shown.append(str(delta.content))

        server.answer(chunks=event_stream(HELLO))
        turn = await asking.ask("Hi", bookmark="main", ptr="milli", on_delta=show)
        assert await asking.text("main") == "Hello."
        assert (await asking.get("main")).id == turn.id
        assert shown == ["Hel", "lo."]

    async def test_that_is_refused_raises(self, asking: AsyncStore, server: Loopback) -> None:
        with pytest.raises(UnknownPointer):
            await asking.ask("Hi", ptr="nobody")
        server.answer_json({"error": {"message": "no"}}, 400)
        with pytest.raises(CallRefused):
            await asking.ask("Hi", ptr="milli")

    async def test_that_is_cancelled_before_the_server_answers_has_not_failed(
        self, asking: AsyncStore, server: Loopback
    ) -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        server.answer_raw(iter(lambda: b"" if not server.closing.wait(0.01) else None, None))
        task = asyncio.create_task(asking.ask("Hi", bookmark="main", ptr="milli"))
        await begun(server)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        outcome = outcome_of(caught.value)
        assert outcome is not None
        assert isinstance(outcome.exception(), CallCancelled)
        assert complaints == []
        assert await asking.text("main") == "Hi"

    @pytest.mark.parametrize("events", [0, FIRST], ids=["before the first byte", "in the middle"])
    async def test_that_is_cancelled_ends_the_request_and_tells_the_turn(
        self, asking: AsyncStore, server: Loopback, events: int
    ) -> None:
        upstream = Unending(server, events)
        shown = asyncio.Event()

        async def show(_: Delta) -> None:
            shown.set()
            await asyncio.sleep(60)  # a reader that hangs is cancelled too

        task = asyncio.create_task(asking.ask("Hi", bookmark="main", ptr="milli", on_delta=show))
        await (shown.wait() if events else begun(server))
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        outcome = outcome_of(caught.value)
        assert outcome is not None
        turn = await asking.get("main")
        if events:
            assert outcome.result().id == turn.id
            assert await asking.text("main") == "Hel"
            assert turn.meta.reply["incomplete"]
        else:
            assert await asking.text("main") in ("Hi", "")
        assert await asyncio.to_thread(upstream.gone.wait, 10)
        assert await asking.streams.list() == []


class TestListening:
    async def test_for_each_piece_then_the_turn(self, asking: AsyncStore, server: Loopback) -> None:
        server.answer(chunks=event_stream(HELLO))
        await asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        async with asking.open_answer("main") as answer:
            assert [delta.content async for delta in answer] == ["Hel", "lo."]
        turn = await answer.finish()
        assert answer.failure is None
        assert await asking.text("main") == "Hello."
        assert "incomplete" not in turn.meta.reply

    @pytest.mark.parametrize("how", ["break", "cancel", "exception"])
    async def test_that_ends_early_stores_what_arrived(self, asking: AsyncStore, server: Loopback, how: str) -> None:
        upstream = Unending(server)
        await asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        with pytest.raises(ZeroDivisionError) if how == "exception" else nullcontext():
            async with asking.open_answer("main") as answer:
                async for _ in answer:
                    if how == "break":
                        break
                    if how == "cancel":
                        answer.cancel()
                    if how == "exception":
                        raise ZeroDivisionError
        assert await asking.text("main") == "Hel"
        assert (await asking.get("main")).meta.reply["incomplete"]
        assert how != "cancel" or isinstance(answer.failure, CallCancelled)
        assert await asyncio.to_thread(upstream.gone.wait, 10)

    async def test_in_a_task_that_is_cancelled_stores_what_arrived(self, asking: AsyncStore, server: Loopback) -> None:
        async def listen(heard: asyncio.Event) -> None:
            async with asking.open_answer("main") as answer:
                async for _ in answer:
                    heard.set()

        upstream, heard = Unending(server), asyncio.Event()
        await asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        task = asyncio.create_task(listen(heard))
        await heard.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert await asking.text("main") == "Hel"
        assert await asyncio.to_thread(upstream.gone.wait, 10)

    async def test_in_two_tasks_is_refused(self, asking: AsyncStore, server: Loopback) -> None:
        upstream = Unending(server)
        await asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        async with asking.open_answer("main") as answer:
            assert (await anext(answer)).content == "Hel"
            first = asyncio.create_task(anext(answer))
            await asyncio.sleep(0)
            async with asyncio.timeout(10):
                with pytest.raises(RuntimeError, match="another task"):
                    await anext(answer)
            first.cancel()
            await asyncio.wait([first])
            answer.cancel()
            assert [delta async for delta in answer] == []
        assert await asyncio.to_thread(upstream.gone.wait, 10)

    async def test_that_is_dropped_ends_its_thread_and_its_request(self, asking: AsyncStore, server: Loopback) -> None:
        upstream = Unending(server)
        await asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        answer = await asking.open_answer("main")
        assert (await anext(answer)).content == "Hel"
        del answer
        gc.collect()
        assert await asyncio.to_thread(upstream.gone.wait, 10)
        async with asyncio.timeout(10):
            while any(thread.name == "headish-answer" for thread in threading.enumerate()):
                await asyncio.sleep(0.005)

    async def test_to_forty_at_once_holds_up_no_other_verb(self, asking: AsyncStore, server: Loopback) -> None:
        async def listen() -> str:
            await asking.add_turn("Hi", provider_ptr="milli")
            async with asking.open_answer("@") as answer:
                return "".join([str(delta.content) async for delta in answer])

        for _ in range(40):
            server.answer(chunks=event_stream(HELLO), delay_seconds=0.05)
        tasks = [asyncio.create_task(listen()) for _ in range(40)]
        await begun(server)
        await asyncio.wait_for(asking.stats(), 20)
        assert await asyncio.gather(*tasks) == ["Hello."] * 40


class TestReceiving:
    def test_that_is_cancelled_while_it_is_opened_stores_what_arrived(
        self, asking: AsyncStore, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[Capture] = []
        began, free = threading.Event(), threading.Event()
        capture = Store.capture

        def slowly(*given: Any, **named: Any) -> Capture:
            opened.append(capture(*given, **named))
            for event in HELLO[:FIRST]:
                opened[0].feed(event)
            began.set()
            assert free.wait(10)
            return opened[0]

        async def main() -> None:
            await asking.add_turn("Hi", bookmark="main")
            task = asyncio.ensure_future(asking.capture("main", "anthropic").__aenter__())
            await asyncio.to_thread(began.wait, 10)
            task.cancel()
            free.set()
            await asyncio.wait([task])
            assert task.cancelled()
            assert await asking.streams.list() == []
            assert await asking.text("main") == "Hel"

        monkeypatch.setattr(Store, "capture", slowly)
        run(main())

    async def test_events_of_an_async_stream_become_the_turn(self, asking: AsyncStore) -> None:
        async def events() -> AsyncIterator[dict[str, Any]]:
            for event in HELLO:
                await asyncio.sleep(0)
                yield event

        await asking.add_turn("Hi", bookmark="main")
        async with asking.capture("main", "anthropic") as capture:
            assert [delta.content async for delta in capture.read(events())] == ["Hel", "lo."]
        assert capture.ended
        assert await asking.text("main") == "Hello."
        await asking.add_turn("Hi", bookmark="other")
        await asking.reply("other", "anthropic", events())
        assert await asking.text("other") == "Hello."

    async def test_a_stream_without_an_event_is_no_answer(self, asking: AsyncStore) -> None:
        async def nothing() -> AsyncIterator[dict[str, Any]]:
            for event in ():
                yield event

        question = await asking.add_turn("Hi", bookmark="main")
        with pytest.raises(InvalidReply, match="nothing of it is an answer of anthropic"):
            await asking.reply("main", "anthropic", nothing())
        assert (await asking.get("main")).id == question.id


class TestHandingOver:
    async def test_a_slow_task_slows_the_thread_down(self) -> None:
        read: list[int] = []

        def count() -> Iterator[int]:
            for number in range(10_000):
                read.append(number)
                yield number

        handed = Handed(count(), lambda: None)
        assert await handed.get() == 0
        await asyncio.sleep(0.05)
        assert len(read) <= handing.AHEAD_ITEMS + 2
        assert [await handed.get() for _ in range(1000)] == list(range(1, 1001))
        await asyncio.to_thread(handed.stop)

    async def test_an_error_comes_after_the_items_before_it(self) -> None:
        def fail() -> Iterator[int]:
            yield 1
            raise ZeroDivisionError

        handed = Handed(fail(), lambda: None)
        assert await handed.get() == 1
        with pytest.raises(ZeroDivisionError):
            await handed.get()
        with pytest.raises(StopAsyncIteration):
            await handed.get()
