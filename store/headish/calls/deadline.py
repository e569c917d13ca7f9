"""The time that a call may take: to connect, to the first byte of its answer, between two bytes, and as a whole.

httpx2 limits each read by one number. A server that sends one byte at a time stays within every such limit, and its
headers may come long before its answer does. So a thread watches the call and cuts its connection when a time is over
or the caller cancels, which wakes up the reader that waits on it. Before there is a connection, there is nothing to
cut, and only the limit for connecting applies.
"""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from headish.errors import InvalidArgument, shown

Ended = Literal["cancelled", "total", "first_byte", "silence"]
"""The reason why a call ended before its answer."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """The seconds allowed: to connect, to the first byte of the answer's body, between two bytes of it, and for the
    whole call with its retries (None: no bound).

    A model that reads a long prompt is silent for long before its first word, and hardly ever afterwards. The whole
    call has an hour by default: no answer takes longer, and a server that sends a byte now and then would keep the
    caller waiting forever. The time that the caller spends between two events counts only there.
    """

    connect_seconds: float = 10
    first_byte_seconds: float = 600
    silence_seconds: float = 600
    total_seconds: float | None = 3600

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is None and name == "total_seconds":
                continue
            if (
                isinstance(seconds, bool)
                or not isinstance(seconds, int | float)
                or not 0 < seconds <= threading.TIMEOUT_MAX
            ):
                raise InvalidArgument(f"{name} is a number of seconds above 0, not {shown(seconds)}")

    @classmethod
    def of(cls, given: Timeouts | Mapping[str, float] | float | None, below: Mapping[str, float] = {}) -> Timeouts:
        """Times as callers spell them: a mapping of ``connect``, ``first_byte``, ``silence``, ``total`` to seconds, or
        a number of seconds for ``first_byte`` and ``silence``.

        Missing times come from ``below``. Raises: InvalidArgument for another name.
        """
        if isinstance(given, Timeouts):
            return given
        if isinstance(given, int | float):
            given = {"first_byte": given, "silence": given}
        fields = {f"{name}_seconds": seconds for name, seconds in {**below, **(given or {})}.items()}
        unknown = sorted(str(name) for name in fields.keys() - set(cls.__struct_fields__))
        if unknown:
            names = ", ".join(name.removesuffix("_seconds") for name in cls.__struct_fields__)
            raise InvalidArgument(f"a time limit is one of {names}, not {shown(unknown[0].removesuffix('_seconds'))}")
        return cls(**fields)


class Stop:
    """Ends a call from another thread, at once and for good: give it to the call, then call ``now``.

    The part of the answer that arrived by then is kept. It also ends the wait between two attempts. A call that gets
    a used one is not made.
    """

    def __init__(self) -> None:
        self._asked = False
        # Not an Event: a signal handler that interrupts one would wait for its lock for ever. ``put`` takes none.
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._cuts: set[Callable[[], object]] = set()

    @property
    def asked(self) -> bool:
        """Whether ``now`` was called."""
        return self._asked

    def now(self) -> None:
        """End the call. It may be called again, from any thread, and from a signal handler."""
        self._asked = True
        self._woken.put(None)
        for cut in tuple(self._cuts):  # a copy: a call that ends removes its own meanwhile
            cut()

    def wait(self, seconds: float) -> None:
        """Wait for a time, or until ``now`` is called."""
        if self._asked:  # not by the queue alone: an interrupt between its two steps would leave it empty
            return
        with suppress(Empty):
            self._woken.get(timeout=max(0.0, seconds))
            self._woken.put(None)  # for a wait in another thread

    def add(self, cut: Callable[[], object]) -> None:
        """Let ``now`` call ``cut``; call it at once if ``now`` was called before."""
        self._cuts.add(cut)
        if self.asked:
            cut()

    def remove(self, cut: Callable[[], object]) -> None:
        """Do not call ``cut`` any more."""
        self._cuts.discard(cut)


class _Due(NamedTuple):
    """The moment at which a wait is over, and the limit that ends it."""

    moment: float
    limit: Ended


class Deadline:
    """Watches the times of one call. httpcore2 reports its connections to ``trace``."""

    def __init__(self, timeouts: Timeouts, stop: Stop | None = None) -> None:
        self._timeouts, self._stop = timeouts, stop or Stop()
        total = timeouts.total_seconds
        self._end = None if total is None else _Due(time.monotonic() + total, "total")
        self._due: _Due | None = None
        self._first_left = timeouts.first_byte_seconds
        self._cut_by: Ended | None = None
        self._lock = threading.RLock()  # a signal handler may call ``Stop.now`` while this very thread holds it
        self._wake = threading.Event()
        self._is_over = False
        self.socket: socket.socket | None = None
        """The connection on which the call waits."""
        self._stop.add(self._cut)
        tick = min(timeouts.first_byte_seconds, timeouts.silence_seconds) / 4
        # A daemon with a weak reference: a call that was never closed must neither stay in memory nor keep the program
        # from ending.
        watch = threading.Thread(target=_watch, args=(weakref.ref(self), self._wake, tick), daemon=True)
        watch.start()
        weakref.finalize(self, self._wake.set).atexit = False

    @property
    def remaining_seconds(self) -> float | None:
        """The rest of the whole time; None without a bound."""
        return None if self._end is None else self._end.moment - time.monotonic()

    @property
    def ended_by(self) -> Ended | None:
        """The reason why the call ended; None if it did not end yet."""
        if self._stop.asked:
            return "cancelled"
        if self._end is not None and time.monotonic() >= self._end.moment:
            return "total"
        return self._cut_by

    def begin(self) -> None:
        """Begin an attempt: start the limit for the first byte anew."""
        self._first_left = self._timeouts.first_byte_seconds
        self.await_first_byte()

    def await_first_byte(self) -> None:
        """Go on with the rest of the limit for the first byte."""
        self._await(self._first_left, "first_byte")

    def await_byte(self) -> None:
        """Start the limit for silence."""
        self._await(self._timeouts.silence_seconds, "silence")

    def await_end(self, seconds: float) -> None:
        """Expect only the end of the answer, within this many seconds."""
        self._await(seconds, "silence")
        self._wake.set()  # this limit is shorter than a tick of the watching thread

    def heard(self) -> None:
        """Stop the running limit: the caller waits for nothing now."""
        due, self._due = self._due, None
        if due is not None and due.limit == "first_byte":
            self._first_left = max(due.moment - time.monotonic(), 0.001)

    def pause(self, seconds: float) -> None:
        """Wait between two attempts, or until the call is cancelled."""
        self._stop.wait(seconds)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the connection on which the call now waits: after connecting, and again when TLS has wrapped it.

        Source: httpcore2 2.16, the request extension "trace".
        """
        get_extra_info = getattr(info.get("return_value"), "get_extra_info", None)
        if get_extra_info is not None:
            self.watch(get_extra_info("socket"))

    def watch(self, connection: socket.socket | None) -> None:
        """Cut this connection from now on."""
        self.socket = connection
        if self._due is not None:
            self.begin()  # connecting had a limit of its own
        if self.ended_by is not None:
            self._cut()

    def cancel(self) -> None:
        """End the watch: the next call that uses the connection is not cut."""
        self._stop.remove(self._cut)
        with self._lock:
            self._is_over, self.socket = True, None
        self._wake.set()

    def _await(self, seconds: float, limit: Ended) -> None:
        self._due = _Due(time.monotonic() + seconds, limit)

    def _look(self) -> float | None:
        """Cut the connection if a time is over. Returns the seconds until the next look; None if none is needed."""
        if self._is_over:
            return None
        ends = [each for each in (self._end, self._due) if each is not None]
        next_end = min(ends, default=None)
        if next_end is None:
            return threading.TIMEOUT_MAX
        seconds = next_end.moment - time.monotonic()
        if seconds > 0:
            return seconds
        self._cut_by = next_end.limit
        self._cut()
        return None

    def _cut(self) -> None:
        with self._lock:
            connection = self.socket
            if connection is not None:
                # Not the method of the TLS socket, which would drop its state while another thread reads from it.
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _watch(deadline: weakref.ref[Deadline], wake: threading.Event, tick: float) -> None:
    """Watch a call until it is over, or garbage-collected.

    It looks at least four times within the shortest limit, so it sees every limit before that is over.
    """
    while (watched := deadline()) is not None:
        seconds = watched._look()
        if seconds is None:
            return
        del watched  # while this thread sleeps, only the call itself may keep the deadline
        wake.wait(min(seconds, tick))
        wake.clear()
