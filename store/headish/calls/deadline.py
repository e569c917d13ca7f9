"""Time allowed to a call: how long for a connection, for the next byte, and for all of it.

httpx2 bounds each read, and a server that drips one byte at a time passes every such bound, in the headers as well
as in the body. So a timer cuts the connection when the whole time is over; whoever waits on it then wakes up. While a
connection is being made there is nothing to cut, and only the bound of its own holds.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from headish.errors import InvalidArgument, shown


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds allowed: to connect, between two bytes, and for the whole call with its retries (None: no bound).

    The whole is an hour if nothing else is said: no answer takes longer, and a server that drips a byte now and then
    would hold the caller for ever. The caller's own time between two events counts as part of it.
    """

    connect_seconds: float = 10
    read_seconds: float = 600
    total_seconds: float | None = 3600

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
                raise InvalidArgument(f"{name} is a number of seconds above 0, not {shown(seconds)}")


class Deadline:
    """The end of a call's time. ``trace`` is what httpcore2 tells of its connections to."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._cut)
            # A call that nobody closed must not keep the program from ending.
            self._timer.daemon = True
            self._timer.start()

    @property
    def remaining_seconds(self) -> float | None:
        """What is left, None without a bound."""
        return None if self._end is None else self._end - time.monotonic()

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self._end is not None and time.monotonic() >= self._end

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the connection that the call now waits on: after connecting, and again when TLS has wrapped it.

        Source: httpcore2 2.16, the request extension "trace".
        """
        get_extra_info = getattr(info.get("return_value"), "get_extra_info", None)
        if get_extra_info is not None:
            self._socket = get_extra_info("socket")
            if self.passed:
                self._cut()

    def cancel(self) -> None:
        """The call is over; the timer ends."""
        self._socket = None
        if self._timer is not None:
            self._timer.cancel()

    def _cut(self) -> None:
        connection = self._socket
        if connection is not None:
            # Not the method of a TLS socket, which forgets its state while another thread reads from it.
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
