"""A call that is handed over is over when its caller goes on, whatever cancels, and however many callers there are."""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from headish.aio import threads
from headish.aio.streams import AsyncStream
from headish.aio.threads import finish, finish_surely, outcome_of, result_of
from support.places import FilePlace

Told = list[dict[str, Any]]


class Gate:
    """A call that waits until it is let go, and says what became of it."""

    def __init__(self) -> None:
        self.began, self.free, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, result: object = "stored") -> object:
        self.began.set()
        assert self.free.wait(10)
        self.ended.set()
        if isinstance(result, Exception):
            raise result
        return result


async def until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


async def cancel_while_it_runs(gate: Gate, task: asyncio.Task[Any], times: int = 1) -> asyncio.CancelledError:
    """Cancel a task whose call runs; the gate opens only once the task had its chance to go on too early."""
    await until(gate.began)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.005)
        assert not task.done()
    gate.free.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert gate.ended.is_set()
    return caught.value


class TestACall:
    def test_returns_what_it_returns_from_another_thread(self) -> None:
        def where(*args: int, **kwargs: int) -> object:
            return threading.current_thread(), args, kwargs

        thread, args, kwargs = asyncio.run(finish(where, 1, two=2))  # type: ignore[misc]
        assert thread is not threading.current_thread()
        assert (args, kwargs) == ((1,), {"two": 2})

    def test_raises_what_it_raises(self) -> None:
        with pytest.raises(ZeroDivisionError):
            asyncio.run(finish(divmod, 1, 0))

    def test_may_take_an_argument_called_function(self) -> None:
        assert asyncio.run(finish(dict, function=1)) == {"function": 1}

    async def test_sees_the_context_variables_of_its_task(self) -> None:
        user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
        user.set("ann")
        assert (await finish(user.get)) == "ann"

    async def test_leaves_the_loop_free(self) -> None:
        gate = Gate()
        task = asyncio.create_task(finish(gate))
        await until(gate.began)
        gate.free.set()
        assert (await task) == "stored"

    def test_needs_a_loop(self) -> None:
        coroutine = finish(int)
        with pytest.raises(RuntimeError, match="no running event loop"):
            coroutine.send(None)


class TestACancelledCall:
    async def test_is_over_before_the_caller_learns_of_it(self) -> None:
        gate = Gate()
        cancelled = await cancel_while_it_runs(gate, asyncio.create_task(finish(gate)))
        outcome = outcome_of(cancelled)
        assert outcome is not None
        assert outcome.result() == "stored"

    async def test_is_over_however_often_it_is_cancelled(self) -> None:
        gate = Gate()
        cancelled = await cancel_while_it_runs(gate, asyncio.create_task(finish(gate)), times=5)
        assert outcome_of(cancelled) is not None
        assert result_of(cancelled) == "stored"

    async def test_tells_its_error(self) -> None:
        told: Told = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        gate, error = Gate(), ValueError("full")
        cancelled = await cancel_while_it_runs(gate, asyncio.create_task(finish(gate, error)))
        assert cancelled.__cause__ is error
        outcome = outcome_of(cancelled)
        assert outcome is not None
        assert outcome.exception() is error
        assert result_of(cancelled) is None
        assert [context["exception"] for context in told] == [error]

    async def test_that_has_not_begun_never_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[int] = []
        gates = [Gate() for _ in range(threads.THREADS)]
        running = [asyncio.create_task(finish(gate)) for gate in gates]
        for gate in gates:
            await until(gate.began)
        waiting = [asyncio.create_task(finish(ran.append, number)) for number in range(3)]
        await asyncio.sleep(0.005)
        waiting[1].cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await waiting[1]  # at once: no thread is free
        outcome = outcome_of(caught.value)
        assert outcome is not None
        assert outcome.cancelled()
        for gate in gates:
            gate.free.set()
        await asyncio.gather(*running, waiting[0], waiting[2])
        assert sorted(ran) == [0, 2]

    async def test_that_was_cancelled_before_its_first_step_never_runs(self) -> None:
        ran: list[int] = []
        task = asyncio.create_task(finish(ran.append, 1))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await finish(int)
        assert ran == []

    async def test_by_a_time_limit_is_a_time_limit(self) -> None:
        gate, limit, loop = Gate(), asyncio.timeout(None), asyncio.get_running_loop()

        async def end() -> None:
            await until(gate.began)
            limit.reschedule(loop.time())
            loop.call_later(0.03, gate.free.set)

        ending = asyncio.create_task(end())
        with pytest.raises(TimeoutError):
            async with limit:
                await finish(gate)
        await ending
        assert gate.ended.is_set()

    def test_in_a_group_of_tasks_ends_with_the_group(self) -> None:
        gate = Gate()

        async def fail() -> None:
            await until(gate.began)
            asyncio.get_running_loop().call_later(0.01, gate.free.set)
            raise ValueError("the other one failed")

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(finish(gate))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup) as caught:
            asyncio.run(main())
        assert [type(error) for error in caught.value.exceptions] == [ValueError]
        assert gate.ended.is_set()

    def test_by_an_error_of_its_own_kind_says_nothing_of_a_call(self) -> None:
        assert outcome_of(asyncio.CancelledError()) is None

    async def test_at_random_moments_is_always_told_truly(self) -> None:
        """What was stored is what the callers were told is stored. No more calls end than the loop lets go on, so that
        a loop that waits for the processor does not find all of them at their end."""
        chance, stored, told, goes_on = random.Random(7), set[int](), set[int](), threading.Semaphore(0)

        def store(number: int, seconds: float) -> int:
            assert goes_on.acquire(timeout=10)
            time.sleep(seconds)
            stored.add(number)
            return number

        async def call(number: int) -> None:
            try:
                told.add(await finish(store, number, chance.random() / 500))
            except asyncio.CancelledError as cancelled:
                outcome = outcome_of(cancelled)
                if outcome is not None and not outcome.cancelled():
                    told.add(outcome.result())
                raise

        tasks = [asyncio.create_task(call(number)) for number in range(400)]
        for _ in tasks:
            for task in chance.choices(tasks, k=chance.randrange(3)):
                task.cancel()
            goes_on.release()
            await asyncio.sleep(chance.random() / 5_000)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert stored == told
        assert 0 < len(told) < 400


class TestAnyio:
    """FastAPI and Starlette cancel through its scopes, anew in each turn of the loop."""

    def test_a_scope_waits_for_the_call_and_keeps_the_processor_free(self) -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.sleep(0.002)

        async def cancel(gate: Gate, scope: anyio.CancelScope) -> None:
            await until(gate.began)
            scope.cancel()
            asyncio.get_running_loop().call_later(0.05, gate.free.set)

        async def main() -> Gate:
            gate, scope = Gate(), anyio.CancelScope()
            outer = asyncio.create_task(count())
            ending = asyncio.create_task(cancel(gate, scope))
            with scope:
                await finish(gate)
            assert scope.cancelled_caught
            await ending
            outer.cancel()
            return gate

        selects = 0
        loop = asyncio.new_event_loop()
        once = loop._run_once  # type: ignore[attr-defined]

        def counted() -> None:
            nonlocal selects
            selects += 1
            once()

        loop._run_once = counted  # type: ignore[attr-defined]
        try:
            assert loop.run_until_complete(main()).ended.is_set()
        finally:
            loop.close()
        assert selects < 10 * turns + 100  # a loop that spins makes thousands

    def test_a_group_of_tasks_ends_with_its_calls(self) -> None:
        gate = Gate()

        async def main() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(finish, gate)
                await until(gate.began)
                asyncio.get_running_loop().call_later(0.01, gate.free.set)
                group.cancel_scope.cancel()

        anyio.run(main)
        assert gate.ended.is_set()

    async def test_what_tidies_up_runs_in_a_scope_that_is_being_cancelled(self) -> None:
        """Each ``await`` there is cancelled anew, however short it is."""
        ended: list[int] = []
        gates = [Gate() for _ in range(threads.THREADS)]
        running = [asyncio.create_task(finish(gate)) for gate in gates]  # so that it waits for a thread
        for gate in gates:
            await until(gate.began)
        asyncio.get_running_loop().call_later(0.03, lambda: [gate.free.set() for gate in gates])
        with anyio.move_on_after(0.01):
            try:
                await anyio.sleep(10)
            finally:
                await finish_surely(ended.append, 1)
        assert ended == [1]
        await asyncio.gather(*running)


class TestManyCallers:
    def test_never_use_more_threads_than_there_are(self) -> None:
        lock, running, most = threading.Lock(), 0, 0

        def call() -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.001)
            with lock:
                running -= 1

        async def main() -> None:
            await asyncio.gather(*(finish(call) for _ in range(threads.THREADS * 4)))

        asyncio.run(main())
        assert most <= threads.THREADS

    def test_in_loops_of_several_threads_share_the_pool(self) -> None:
        results: list[int] = []

        async def main(base: int) -> None:
            results.extend(await asyncio.gather(*(finish(int, base + number) for number in range(50))))

        own = [threading.Thread(target=asyncio.run, args=(main(base),)) for base in (0, 50, 100)]
        for thread in own:
            thread.start()
        for thread in own:
            thread.join(10)
        assert sorted(results) == list(range(150))

    @pytest.mark.parametrize("over", ["a loop of its own", "the loop that waits for it"])
    def test_may_call_from_inside_when_all_threads_are_taken(self, over: str) -> None:
        """A call that waits for another one: a tool that is a coroutine, run by a verb in a thread."""

        async def main() -> list[int]:
            loop = asyncio.get_running_loop()
            everybody = threading.Barrier(threads.THREADS)

            def outer(number: int) -> int:
                everybody.wait(10)
                return inner(finish(int, number))

            def inner(call: Coroutine[Any, Any, int]) -> int:
                if over == "a loop of its own":
                    return asyncio.run(call)
                return asyncio.run_coroutine_threadsafe(call, loop).result(10)

            return await asyncio.gather(*(finish(outer, number) for number in range(threads.THREADS)))

        assert asyncio.run(main()) == list(range(threads.THREADS))

    def test_that_are_inside_get_errors_and_cancellations_too(self) -> None:
        def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
            return asyncio.run(work())

        async def fail() -> None:
            with pytest.raises(ZeroDivisionError):
                await finish(divmod, 1, 0)
            gate = Gate()
            await cancel_while_it_runs(gate, asyncio.create_task(finish(gate)))

        asyncio.run(finish(run, fail))


class TestTheProcess:
    def test_a_loop_that_is_closed_over_its_task_leaves_the_call_to_end(self) -> None:
        gate = Gate()
        loop = asyncio.new_event_loop()
        task = loop.create_task(finish(gate))
        loop.run_until_complete(until(gate.began))
        loop.close()
        gate.free.set()
        assert gate.ended.wait(10)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()  # type: ignore[union-attr]

    def test_a_forked_child_has_a_pool_of_its_own(self) -> None:
        asyncio.run(finish(int))
        child = os.fork()
        if not child:
            try:
                os._exit(asyncio.run(finish(int, 7)))
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert asyncio.run(finish(int, 8)) == 8

    @pytest.mark.slow
    @pytest.mark.parametrize("stop", ["pass", "task.cancel()", "os.kill(os.getpid(), signal.SIGINT)"])
    def test_a_program_that_ends_waits_for_calls_that_began(self, stop: str) -> None:
        program = f"""
import asyncio, os, signal, threading, time
from headish.aio.threads import finish
began = threading.Event()
def call():
    began.set()
    time.sleep(0.2)
    print("stored", flush=True)
async def main():
    task = asyncio.create_task(finish(call))
    while not began.is_set():
        await asyncio.sleep(0.001)
    {stop}
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
print("ended")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.split() == ["stored", "ended"], done.stderr


AT_EXIT = """
import asyncio, atexit, sys
from headish.aio import AsyncStore

async def add():
    async with AsyncStore.open(sys.argv[1]) as store:
        await store.add_turns(item async for item in said(store))

async def said(store):
    yield "one"
    await store.stats()
    yield "two"

atexit.register(lambda: asyncio.run(add()))
asyncio.run(asyncio.sleep(0))
"""


@pytest.mark.slow
def test_what_a_program_stores_while_it_exits_is_stored(file_place: FilePlace) -> None:
    subprocess.run([sys.executable, "-c", AT_EXIT, file_place.target], check=True, timeout=60)
    with file_place.open() as store:
        assert [turn.text for turn in store.turns()] == ["one", "two"]


LEFT_OPEN = """
import asyncio
from headish.aio.streams import AsyncStream

stream = AsyncStream(lambda: (number for number in range(1_000)))

async def read():
    print(await anext(stream))

asyncio.run(read())
"""


@pytest.mark.slow
def test_a_program_ends_with_a_stream_that_it_has_read_half() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_OPEN], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_stream_that_is_collected_while_a_pool_takes_something_stops_nobody() -> None:
    """Garbage is collected anywhere, in the middle of ``submit`` too: there the thread holds the locks of the pool."""

    def drop() -> None:
        async def begin() -> AsyncStream[int]:
            stream = AsyncStream(lambda: iter(range(1_000)))
            assert await anext(stream) == 0
            return stream

        stream = [asyncio.run(begin())]
        with threads._pool(threads.THREADS)._shutdown_lock:
            stream.clear()

    dropping = threading.Thread(target=drop, daemon=True)
    dropping.start()
    dropping.join(60)
    assert not dropping.is_alive()
