"""The time that a call may take: to connect, to the first byte of its answer, between two bytes, and as a whole.

httpx2 limits each read by one number. A server that sends one byte at a time stays within every such limit, and its
headers may come long before its answer does. So a thread watches the call and cuts its connection when a time is over,
or when somebody cancels; the reader that waits on it wakes up. Before there is a connection there is nothing to cut,
and only the limit for connecting applies.
"""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from headish.errors import InvalidArgument, shown

Ended = Literal["cancelled", "total", "first_byte", "silence"]
"""What ended a call before its answer did."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds allowed: to connect, to the first byte of the answer's body, between two bytes of it, and for the whole
    call with its retries (None: no bound).

    A model that reads a long prompt is silent for long before its first word, and hardly ever afterwards. The whole
    call has an hour by default: no answer takes longer, and a server that sends a byte now and then would hold the
    caller forever. The time that the caller spends between two events counts there, and nowhere else.
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
        a number, which says how long the server may be silent, before its first byte and after it.

        What they leave out is taken from ``below``. Raises: InvalidArgument for another name.
        """
        if isinstance(given, Timeouts):
            return given
        if isinstance(given, int | float):
            given = {"first_byte": given, "silence": given}
        named = {f"{name}_seconds": seconds for name, seconds in {**below, **(given or {})}.items()}
        unknown = sorted(str(name) for name in named.keys() - set(cls.__struct_fields__))
        if unknown:
            names = ", ".join(name.removesuffix("_seconds") for name in cls.__struct_fields__)
            raise InvalidArgument(f"a time limit is one of {names}, not {shown(unknown[0].removesuffix('_seconds'))}")
        return cls(**named)


class Stop:
    """Ends a call from another thread, at once and for good: give it to the call, then call ``now``.

    What arrived of the answer by then is kept. It also ends the waits between two attempts, and a call that is given
    one that was used already is not made.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._cuts: set[Callable[[], object]] = set()

    @property
    def asked(self) -> bool:
        """Whether somebody has called ``now``."""
        return self._asked.is_set()

    def now(self) -> None:
        """End the call. It may be called anew, from any thread, and from a signal's handler."""
        self._asked.set()
        for cut in tuple(self._cuts):
            cut()

    def wait(self, seconds: float) -> None:
        """Wait for a time, or until it is stopped."""
        self._asked.wait(seconds)

    def add(self, cut: Callable[[], object]) -> None:
        """Have ``cut`` called by ``now``, or at once if that was called before."""
        self._cuts.add(cut)
        if self.asked:
            cut()

    def remove(self, cut: Callable[[], object]) -> None:
        """Call it no more."""
        self._cuts.discard(cut)


class _Due(NamedTuple):
    """When a wait is over, and which limit that is."""

    moment: float
    limit: Ended


class Deadline:
    """The ends of a call's time. httpcore2 reports its connections to ``trace``."""

    def __init__(self, timeouts: Timeouts, stop: Stop | None = None) -> None:
        self._timeouts, self._stop = timeouts, stop or Stop()
        total = timeouts.total_seconds
        self._end = None if total is None else _Due(time.monotonic() + total, "total")
        self._due: _Due | None = None
        self._first_left = timeouts.first_byte_seconds
        self._cut_by: Ended | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_over = False
        self.socket: socket.socket | None = None
        """The connection that the call waits on."""
        self._stop.add(self._cut)
        tick = min(timeouts.first_byte_seconds, timeouts.silence_seconds) / 4
        # A call that was not closed must not keep the program from ending.
        watch = threading.Thread(target=_watch, args=(weakref.ref(self), self._wake, tick), daemon=True)
        watch.start()
        weakref.finalize(self, self._wake.set).atexit = False

    @property
    def remaining_seconds(self) -> float | None:
        """What is left of the whole time, None without a bound."""
        return None if self._end is None else self._end.moment - time.monotonic()

    @property
    def ended_by(self) -> Ended | None:
        """What ended the call, None if nothing did yet."""
        if self._stop.asked:
            return "cancelled"
        if self._end is not None and time.monotonic() >= self._end.moment:
            return "total"
        return self._cut_by

    def begin(self) -> None:
        """An attempt begins: the limit for the first byte runs, from its beginning."""
        self._first_left = self._timeouts.first_byte_seconds
        self.await_first_byte()

    def await_first_byte(self) -> None:
        """Start the limit for the first byte, with as much of it as is left."""
        self._await(self._first_left, "first_byte")

    def await_byte(self) -> None:
        """Start the limit for silence."""
        self._await(self._timeouts.silence_seconds, "silence")

    def await_end(self, seconds: float) -> None:
        """Expect nothing but the end of the answer, and soon."""
        self._await(seconds, "silence")
        self._wake.set()

    def heard(self) -> None:
        """Nothing is waited for."""
        due, self._due = self._due, None
        if due is not None and due.limit == "first_byte":
            self._first_left = max(due.moment - time.monotonic(), 0.001)

    def pause(self, seconds: float) -> None:
        """Wait so long between two attempts, or until the call is cancelled."""
        self._stop.wait(seconds)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the connection that the call now waits on: after connecting, and again when TLS has wrapped it.

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
        """The call is over: whoever uses its connection next is not cut."""
        self._stop.remove(self._cut)
        with self._lock:
            self._is_over, self.socket = True, None
        self._wake.set()

    def _await(self, seconds: float, limit: Ended) -> None:
        self._due = _Due(time.monotonic() + seconds, limit)

    def _look(self) -> float | None:
        """Cut the connection if a time is over. How long there is nothing to do; None if there never is again."""
        if self._is_over:
            return None
        ends = [each for each in (self._end, self._due) if each is not None]
        next_end = min(ends, default=None)
        if next_end is None:
            return threading.TIMEOUT_MAX
        left = next_end.moment - time.monotonic()
        if left > 0:
            return left
        self._cut_by = next_end.limit
        self._cut()
        return None

    def _cut(self) -> None:
        with self._lock:
            connection = self.socket
            if connection is not None:
                # The method of a TLS socket would forget its state while another thread reads from it.
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _watch(deadline: weakref.ref[Deadline], wake: threading.Event, tick: float) -> None:
    """Watch a call until it is over, or dropped.

    It looks at least four times in the shortest limit that can begin, so that it sees each before it is over.
    """
    while (watched := deadline()) is not None:
        left = watched._look()
        if left is None:
            return
        del watched
        wake.wait(min(left, tick))
        wake.clear()
