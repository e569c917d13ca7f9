"""Run sync calls for asyncio, in bounded pools of threads of the process.

The invariant is about cancellation: when the caller learns of it, the outcome is fixed. ``asyncio.to_thread`` releases
a cancelled caller while the call goes on in its thread, and so does ``asyncio.shield`` around it: a cancelled call may
still store its turn a second later.

This module knows asyncio and threads, and no store.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError as CancelledCall
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from headish.errors import CallCancelled
from headish.values.forking import PerProcess

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 32
"""How many calls of a process run at once. Further ones wait their turn, first come, first served."""
WAITING_THREADS = 256
"""The same for calls that mostly wait for others than the database: models, tools. They have a pool of their own, or a
few slow answers would hold up everybody's reads."""

_inside: ContextVar[bool] = ContextVar("headish_inside_a_call", default=False)
"""Whether the code runs in a call of ``finish``, or in a task that such a call started in any loop."""


async def finish(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync call in a thread, and return its result; the loop goes on meanwhile.

    If the task is cancelled while the call waits for a thread, the call is taken back and never runs. If it is
    cancelled while the call runs, however often, ``CancelledError`` is raised once the call is over; ``outcome_of``
    returns the outcome. The error of a call that failed is then the ``__cause__``, and the loop's exception handler
    gets it, too.

    The call sees the context variables of the task. It may come from any loop of any thread, and from a forked child. A
    call that is made inside another one has a thread of its own. At its exit, the interpreter waits for calls that have
    begun; a new one runs in the thread of its loop.
    Cost: 30 to 60 µs on top of the call.
    Raises: what the call raises; RuntimeError without a running loop.
    """
    return await finish_or_stop(_nothing, THREADS, partial(function, *args, **kwargs))


async def finish_surely(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that cleans up, as ``finish`` does, but never take it back.

    A cancelled task cleans up in its ``finally``, and anyio cancels every ``await`` there again.
    """
    return await finish_or_stop(_nothing, THREADS, partial(function, *args, **kwargs), may_be_taken_back=False)


async def finish_or_stop(
    stop: Callable[[], object], threads: int, run: Callable[[], T], *, may_be_taken_back: bool = True
) -> T:
    """Run a call as ``finish`` does. If the task is cancelled while the call runs, ``stop`` is called once, to end it.

    ``stop`` runs in the loop and must not wait. ``threads``: THREADS or WAITING_THREADS, which names the pool.
    """
    loop = asyncio.get_running_loop()
    call: Future[T] = start(threads, copy_context().run, _run_inside, run)
    waiting = _Waiting(loop, call)
    try:
        await waiting.next_end()
    except asyncio.CancelledError as cancelled:
        if not (may_be_taken_back and call.cancel()):
            stop()
            await waiting.for_the_end()
        _tell(loop, call, cancelled)
        raise
    except BaseException:  # the loop is given up: nobody can get the outcome any more
        if may_be_taken_back:
            call.cancel()
        raise
    try:
        return call.result()
    finally:
        del call, waiting, run  # an error's traceback holds this frame, which would hold the error


def outcome_of(cancelled: asyncio.CancelledError) -> Future[Any] | None:
    """The outcome of the call whose ``finish`` was cancelled: a future that is done.

    ``.cancelled()``: it never ran. Otherwise it ran to its end, and ``.exception()`` or ``.result()`` is its outcome.
    None if the error does not come from ``finish``: a call that ran, if any, was over before the cancellation.
    """
    return getattr(cancelled, "headish_call", None)


def result_of(cancelled: asyncio.CancelledError) -> Any:
    """The result of the call whose ``finish`` was cancelled; None if it has none."""
    outcome = outcome_of(cancelled)
    return None if outcome is None or outcome.cancelled() or outcome.exception() else outcome.result()


class _Waiting:
    """One task that waits for one call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Future[Any]) -> None:
        self._loop, self._call = loop, call
        self._end: asyncio.Future[None] = loop.create_future()
        call.add_done_callback(self._hand_over)

    def _hand_over(self, _: object) -> None:
        """Wake the task. Runs in the thread of the call."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:  # the loop was closed before its task ended: nobody waits
            pass

    def _wake(self) -> None:
        if not self._end.done():
            self._end.set_result(None)

    def next_end(self) -> asyncio.Future[None]:
        """A future of the end of the call, for a single ``await``: a cancellation uses it up."""
        return self._end

    async def for_the_end(self) -> None:
        """Wait for the end of the call, however often the task is cancelled."""
        with _shield():
            while not self._call.done():
                self._end = self._loop.create_future()
                try:
                    await self._end
                except asyncio.CancelledError:  # the first one is raised, once the call is over
                    continue


def _shield() -> AbstractContextManager[object]:
    """A scope that keeps anyio from cancelling again in each iteration of the loop, which would be busy waiting."""
    anyio = sys.modules.get("anyio")  # a program that has not imported it has no scope of it
    return nullcontext() if anyio is None else anyio.CancelScope(shield=True)


def _tell(loop: asyncio.AbstractEventLoop, call: Future[Any], cancelled: asyncio.CancelledError) -> None:
    """Attach the outcome of a call to the error of its cancellation."""
    cancelled.headish_call = call  # type: ignore[attr-defined]
    error = None if call.cancelled() else call.exception()
    # A call that ends because the task was cancelled has not failed.
    if error is not None and not isinstance(error, CancelledCall | CallCancelled):
        cancelled.__cause__ = error
        context = {"message": "a call failed while its task was being cancelled", "exception": error}
        loop.call_exception_handler(context)


def _run_inside(run: Callable[[], T]) -> T:
    _inside.set(True)
    return run()


def _nothing() -> None:
    """The ``stop`` of a call that cannot be ended early."""


def start(threads: int, run: Callable[..., T], *args: Any) -> Future[T]:
    """Run a function in a thread of a pool. Nobody needs to wait for the future."""
    call: Future[T] = Future()
    try:
        if not _inside.get():
            return _pool(threads).submit(run, *args)
        # All threads of the pool may be taken by calls that wait for this one.
        threading.Thread(target=_run_alone, args=(call, run, args), name="headish-inner").start()
    except RuntimeError as error:
        if "shutdown" not in str(error):  # the error has no class of its own
            raise
        # At the interpreter's exit no thread can start, but a loop may still run. What it stores must not be lost.
        _run_alone(call, run, args)
    return call


def _run_alone(call: Future[T], run: Callable[..., T], args: tuple[Any, ...]) -> None:
    if not call.set_running_or_notify_cancel():
        return
    try:
        result = run(*args)
    except BaseException as error:  # the caller gets it from the future
        call.set_exception(error)
    else:
        call.set_result(result)


class _ThreadPools:
    """The pools of this process by their sizes, made when they are first needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pools: dict[int, ThreadPoolExecutor] = {}


_process = PerProcess(_ThreadPools)


def _pool(threads: int) -> ThreadPoolExecutor:
    process = _process.now
    with process.lock:
        if threads not in process.pools:
            # The interpreter waits at its exit for the threads of an executor, so no write is cut off there.
            process.pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="headish")
        return process.pools[threads]
