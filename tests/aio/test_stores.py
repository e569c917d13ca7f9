"""Stores for asyncio: verbs, parts, iteration, and how they are opened and closed."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import random
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from aio.conftest import Run
from headish import Store
from headish.aio import AsyncDatabase, AsyncStore, outcome_of
from headish.aio.threads import THREADS
from headish.errors import Closed, InvalidArgument, UnknownBookmark, UnknownTurn
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.limits import BATCH_TURNS
from support.places import FilePlace
from support.providers.answers import anthropic_text

HELLO = anthropic_text("Hel", "lo.")


class TestVerbs:
    async def test_do_what_the_sync_ones_do(self, everywhere: AsyncStore) -> None:
        first = await everywhere.add_turn("Hello", bookmark="main")
        second = await everywhere.add_turn("Hi", role="assistant", continues="main")
        assert [turn.id for turn in await everywhere.log("main")] == [second.id, first.id]
        assert await everywhere.text("main") == "Hi"
        assert [each.content for each in (await everywhere.resolve("main")).messages]
        with pytest.raises(UnknownTurn):
            await everywhere.get("nobody")
        with pytest.raises(InvalidArgument):
            await everywhere.log("main", limit=-1)

    async def test_of_a_hundred_tasks_are_all_done(self, everywhere: AsyncStore) -> None:
        await asyncio.gather(*(everywhere.add_turn(f"{n}") for n in range(100)))
        assert (await everywhere.stats()).turns == 100
        assert {turn.text async for turn in everywhere.turns()} == {str(n) for n in range(100)}

    def test_in_loops_of_two_threads_share_a_store(self, small: AsyncStore) -> None:
        async def main(who: str) -> None:
            for n in range(20):
                await small.add_turn(f"{who}{n}", continues=who if n else None, bookmark=who)

        threads = [threading.Thread(target=asyncio.run, args=(main(who),)) for who in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert [len(small.sync.log(who)) for who in "ab"] == [20, 20]

    def test_take_async_iterables(self, small: AsyncStore, run: Run) -> None:
        async def said() -> AsyncIterator[str]:
            for n in range(5):
                await asyncio.sleep(0)
                yield f"turn {n}"

        async def main() -> None:
            stored = await small.add_turns(said())
            assert len(stored) == 5
            assert (await stored[4]).text == "turn 4"
            assert [turn.text async for turn in stored] == [f"turn {n}" for n in range(5)]

        run(main())

    async def test_take_coroutines_as_callbacks(self, small: AsyncStore) -> None:
        async def work(calls: Sequence[ToolUse]) -> list[ToolResult]:
            await asyncio.sleep(0.001)
            return [ToolResult(content=(Text("4"),)) for _ in calls]

        await small.add_turn("2+2?", bookmark="main")
        call = ToolUse(id="c1", name="add", input={})
        await small.add_turn([call], role="assistant", continues="main")
        turn = await small.run_tools("main", work)
        assert turn is not None
        assert turn.meta.role == "tool"

    async def test_that_would_wait_for_their_own_loop_are_refused(self, small: AsyncStore) -> None:
        """A sync verb in the loop's thread that is handed a coroutine function of the async store."""
        from headish.aio.bridging import Bridge

        async def answer() -> int:
            return 1

        ask = Bridge().adapt({"run": answer})["run"]
        with pytest.raises(RuntimeError, match="forever"):
            ask()
        assert await asyncio.to_thread(ask) == 1

    def test_are_no_sync_context_manager_and_no_sync_iterator(self, small: AsyncStore) -> None:
        assert not hasattr(small, "__enter__")
        assert not hasattr(small.turns(), "__next__")


class TestParts:
    async def test_mappings_are_awaited(self, everywhere: AsyncStore) -> None:
        turn = await everywhere.add_turn("Hello", bookmark="main")
        marks = everywhere.bookmarks
        assert await marks["main"] == turn.id
        assert await marks.get("other") is None
        assert await marks.contains("main")
        assert not await marks.contains("other")
        assert await marks.count() == 1
        assert [name async for name in marks] == ["main"]
        assert [pair async for pair in marks.items()] == [("main", turn.id)]
        with pytest.raises(UnknownBookmark):
            await marks["other"]
        await marks.set("other", "main")
        assert [mark.name for mark in await marks.list()] == ["main", "other"]

    async def test_the_other_parts_too(self, everywhere: AsyncStore) -> None:
        await everywhere.pointers.set("milli", "anthropic/small")
        await everywhere.pointers.set_default("milli")
        assert await everywhere.pointers.default() == "milli"
        assert (await everywhere.pointers["milli"]).model == "small"
        await everywhere.tools.set("files", [{"name": "read", "input_schema": {"type": "object"}}])
        assert [server async for server in everywhere.tools] == ["files"]
        await everywhere.add_turn("Hello", bookmark="main")
        await everywhere.conversations.set("main", title="Greeting")
        page = await everywhere.conversations.list()
        assert [entry.title for entry in page.entries] == ["Greeting"]
        revision = await everywhere.objects.put("note", "one", b"1")
        assert (await everywhere.objects.get("note", "one")).revision == revision
        assert await everywhere.streams.count() == 0
        assert [stream async for stream in everywhere.streams] == []
        await everywhere.erase("main", reason="asked")
        assert [receipt.reason async for receipt in everywhere.erasures][0] == "asked"  # noqa: RUF015
        assert (await everywhere.erasures[1]).reason == "asked"


class TestIterating:
    async def test_a_stream_gives_everything_in_order(self, small: AsyncStore) -> None:
        await small.add_turns(f"{n}" for n in range(1203))
        assert [turn.text async for turn in small.turns()] == [str(n) for n in range(1203)]

    async def test_an_error_comes_when_it_is_reached(self, small: AsyncStore) -> None:
        stream = small.turns(after="nobody")
        with pytest.raises(UnknownTurn):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    async def test_a_break_leaves_no_thread_and_no_iterator(self, small: AsyncStore) -> None:
        await small.add_turns(f"{n}" for n in range(300))
        stream = small.turns()
        async for _ in stream:
            break
        source = stream._source
        del stream
        gc.collect()
        await wait_until(lambda: source.is_over)
        assert source._iterator.gi_frame is None  # type: ignore[union-attr]

    async def test_a_cancelled_read_loses_nothing(self, small: AsyncStore) -> None:
        await small.add_turns(f"{n}" for n in range(500))
        stream, chance, found = small.turns(), random.Random(3), list[str]()
        while len(found) < 500:
            task = asyncio.ensure_future(anext(stream))
            if chance.random() < 0.3:
                await asyncio.sleep(0)
                task.cancel()
            try:
                found.append((await task).text)
            except asyncio.CancelledError:
                continue
        assert found == [str(n) for n in range(500)]

    async def test_two_tasks_do_not_read_one_stream(self, small: AsyncStore) -> None:
        stream = small.follow()
        results = await asyncio.gather(anext(stream), anext(stream), return_exceptions=True)
        assert [type(each) for each in results if isinstance(each, Exception)] == [RuntimeError]

    async def test_follow_sees_what_comes_and_ends_when_it_is_left(self, everywhere: AsyncStore) -> None:
        seen: list[str] = []
        live = asyncio.Event()

        async def read() -> None:
            async for change in everywhere.follow(kinds=["turn"]):
                if change.kind == "live":
                    live.set()
                elif change.kind == "turn":
                    seen.append(change.turn.text)
                if len(seen) == 20:
                    return

        reader = asyncio.create_task(read())
        await live.wait()
        for n in range(20):
            await everywhere.add_turn(f"{n}")
        await asyncio.wait_for(reader, 20)
        assert seen == [str(n) for n in range(20)]

    def test_a_hundred_followers_hold_no_thread_while_nothing_comes(self, small: AsyncStore, run: Run) -> None:
        async def follow() -> None:
            async for _ in small.follow():
                pass

        async def main() -> None:
            readers = [asyncio.create_task(follow()) for _ in range(100)]
            await asyncio.sleep(0.3)
            await asyncio.wait_for(small.add_turn("in between"), 20)
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers, timeout=20)
            assert all(reader.cancelled() for reader in readers)

        run(main())

    async def test_follow_pulses(self, small: AsyncStore) -> None:
        kinds = []
        async with small.follow(pulse=0.02) as changes:
            async for change in changes:
                kinds.append(change.kind)
                if len(kinds) == 3:
                    break
        assert kinds == ["live", "pulse", "pulse"]


class TestCancelling:
    def test_at_random_moments_stores_all_that_was_told_and_nothing_else(
        self, everywhere: AsyncStore, run: Run
    ) -> None:
        chance, told = random.Random(11), set[str]()

        async def append(number: int) -> None:
            try:
                told.add((await everywhere.add_turn(f"{number}")).id)
            except asyncio.CancelledError as cancelled:
                outcome = outcome_of(cancelled)
                if outcome is not None and not outcome.cancelled():
                    told.add(outcome.result().id)
                raise

        async def main() -> None:
            loop = asyncio.get_running_loop()
            tasks = [loop.create_task(append(number)) for number in range(150)]
            for task in tasks:
                if chance.random() < 0.7:
                    loop.call_later(chance.random() / 10, task.cancel)
            await asyncio.wait(tasks)
            assert told == {turn.id async for turn in everywhere.turns()}

        run(main())
        assert everywhere.sync.verify().problems == ()


class TestIterablesOfTheCaller:
    """Async iterables as arguments: their items come from elsewhere, and no thread waits for them."""

    @pytest.mark.parametrize("verb", ["add_turns", "reply"])
    async def test_that_wait_hold_up_nobody(self, small: AsyncStore, verb: str) -> None:
        await small.add_turn("Hi", bookmark="main")
        gate = asyncio.Event()

        async def items() -> AsyncIterator[Any]:
            await gate.wait()
            for event in HELLO if verb == "reply" else ["turn"]:
                yield event

        def call() -> Any:
            if verb == "add_turns":
                return small.add_turns(items())
            return small.reply("main", "anthropic", items())

        calls = [asyncio.create_task(call()) for _ in range(2 * THREADS)]
        before = threading.active_count()
        await asyncio.sleep(0.1)
        async with asyncio.timeout(20):
            assert await small.text("main") == "Hi"
        assert threading.active_count() <= before + THREADS
        gate.set()
        await asyncio.gather(*calls)
        assert (await small.stats()).turns == 1 + 2 * THREADS

    async def test_may_read_the_store_that_stores_them(self, everywhere: AsyncStore) -> None:
        async def echo(name: str) -> AsyncIterator[dict[str, Any]]:
            for _ in range(3):
                yield {"content": f"{await everywhere.text(name)}!", "continues": name}

        names = [f"n{number}" for number in range(40)]
        for name in names:
            await everywhere.add_turn(name, bookmark=name)
        async with asyncio.timeout(60):
            await asyncio.gather(*(everywhere.add_turns(echo(name)) for name in names))
        assert [await everywhere.text(name) for name in names[:2]] == ["n0!", "n1!"]

    async def test_are_stored_with_objects_or_not_at_all(self, everywhere: AsyncStore) -> None:
        note = {"kind": "note", "key": "one", "data": b"1"}

        async def items(*listed: Any) -> AsyncIterator[Any]:
            for each in listed:
                yield each

        with pytest.raises(InvalidArgument):
            await everywhere.add_turns(items("one", {"role": "user"}), objects=[note])
        assert (await everywhere.stats()).turns == 0
        stored = await everywhere.add_turns(items("one", "two"), objects=[note])
        assert len(stored) == 2
        assert stored.revisions == ((await everywhere.objects.get("note", "one")).revision,)

    @pytest.mark.parametrize("verb", ["add_turns", "reply"])
    async def test_are_closed_when_their_call_is_cancelled(self, small: AsyncStore, verb: str) -> None:
        ended, waiting = list[str](), asyncio.Event()

        async def items() -> AsyncIterator[Any]:
            try:
                yield HELLO[0] if verb == "reply" else "one"
                waiting.set()
                await asyncio.Event().wait()
            finally:
                await small.stats()
                ended.append(verb)

        await small.add_turn("Hi", bookmark="main")
        given = (items(),) if verb == "add_turns" else ("main", "anthropic", items())
        call = asyncio.create_task(getattr(small, verb)(*given))
        await asyncio.wait_for(waiting.wait(), 20)
        call.cancel()
        await asyncio.wait([call], timeout=20)
        assert call.cancelled()
        assert ended == [verb]
        assert (await small.stats()).turns == 1

    def test_a_long_sync_one_ends_with_its_call(self, small: AsyncStore, run: Run) -> None:
        complaints = list[dict[str, Any]]()

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            call = asyncio.create_task(small.add_turns(f"{n}" for n in itertools.count()))
            async with asyncio.timeout(20):
                while not (stored := (await small.stats()).turns):
                    await asyncio.sleep(0.01)
            call.cancel()
            async with asyncio.timeout(20):
                with pytest.raises(asyncio.CancelledError):
                    await call
            assert not (await small.stats()).turns % BATCH_TURNS
            assert stored % BATCH_TURNS == 0

        run(main())
        assert not complaints

    async def test_a_callback_that_waits_holds_up_nobody(self, small: AsyncStore) -> None:
        await small.add_turn("Hi", bookmark="main")
        gate = asyncio.Event()

        async def count(_: Any) -> int:
            await gate.wait()
            return 1

        calls = [asyncio.create_task(small.resolve("main", budget=9, count=count)) for _ in range(THREADS)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(20):
            assert await small.text("main") == "Hi"
        gate.set()
        await asyncio.gather(*calls)


class TestOpening:
    async def test_a_file_is_opened_once_in_a_process(self, file_place: FilePlace) -> None:
        async with (
            AsyncStore.open(file_place.target) as one,
            AsyncStore.open(os.path.relpath(file_place.target), space="other") as other,
            AsyncDatabase.open(file_place.target) as database,
        ):
            assert one.sync._database is other.sync._database is database.sync._connections
            await one.add_turn("Hello")
        async with AsyncStore.open(file_place.target) as again:
            assert (await again.stats()).turns == 1

    async def test_closing_one_leaves_the_others(self, file_place: FilePlace) -> None:
        one, other = await AsyncStore.open(file_place.target), await AsyncStore.open(file_place.target)
        await one.close()
        await one.close()
        with pytest.raises(Closed):
            await one.add_turn("Hello")
        await other.add_turn("Hello")
        backend = other.sync._backend
        await other.close()
        with pytest.raises(Closed):
            backend.check_writable()

    async def test_closing_a_database_closes_its_stores(self, file_place: FilePlace) -> None:
        async with (
            AsyncDatabase.open(file_place.target) as other,
            AsyncDatabase.open(file_place.target) as database,
        ):
            async with database.store("ann") as store:
                await store.add_turn("Hello")
            store = await database.store("ann")
            await database.spaces.add("bob")
            assert [space async for space in database.spaces] == ["ann", "bob"]
            await database.close()
            for use in (store.stats(), database.verify()):
                with pytest.raises(Closed):
                    await use
            assert (await (await other.store("ann")).stats()).turns == 1

    async def test_memory_belongs_to_one(self) -> None:
        async with AsyncStore.open(":memory:") as one, AsyncStore.open(":memory:") as other:
            await one.add_turn("Hello")
            assert (await other.stats()).turns == 0

    async def test_a_file_in_another_place_or_with_other_options_is_another_database(
        self, file_place: FilePlace
    ) -> None:
        async with AsyncStore.open(file_place.target) as one:
            async with AsyncStore.open(file_place.target, durability="normal") as other:
                assert one.sync._database is not other.sync._database
            os.rename(file_place.target, f"{file_place.target}-old")
            async with AsyncStore.open(file_place.target) as new:
                assert (await new.stats()).turns == 0
                assert new.sync._database is not one.sync._database

    async def test_a_file_whose_name_begins_as_a_url_does_is_known_by_its_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        monkeypatch.chdir(tmp_path / "one")
        async with AsyncStore.open("postgresql.db") as one:
            await one.add_turn("Hello")
            monkeypatch.chdir(tmp_path / "two")
            async with AsyncStore.open("postgresql.db") as two:
                assert (await two.stats()).turns == 0

    def test_one_that_is_dropped_is_closed(self, file_place: FilePlace, run: Run) -> None:
        async def main() -> Any:
            store = await AsyncStore.open(file_place.target)
            return store.sync._backend

        backend = run(main())

        async def closed() -> None:
            def is_closed() -> bool:
                gc.collect()
                return bool(backend._owner.is_closed)

            await wait_until(is_closed)  # the thread that opened it may still be on its way out

        run(closed())
        with pytest.raises(Closed):
            backend.check_writable()

    async def test_cancelled_gives_what_was_opened_back(self, file_place: FilePlace) -> None:
        chance = random.Random(5)
        async with AsyncStore.open(file_place.target) as kept:
            for _ in range(30):
                task = asyncio.ensure_future(_open(file_place.target))
                await asyncio.sleep(chance.random() / 200)
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled():
                    await task.result().close()
            assert kept._share is not None
            assert kept._share._shared is not None
            assert kept._share._shared.users == 1


async def _open(target: str) -> AsyncStore:
    return await AsyncStore.open(target)


async def wait_until(is_so: Any) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.002)


def test_a_forked_child_opens_stores_of_its_own(file_place: FilePlace) -> None:
    async def add(text: str) -> None:
        async with AsyncStore.open(file_place.target) as store:
            await store.add_turn(text)

    asyncio.run(add("parent"))
    child = os.fork()
    if not child:
        try:
            asyncio.run(add("child"))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Store.open(file_place.target) as store:
        assert [turn.text for turn in store.turns()] == ["parent", "child"]
