"""The time that a call may take: to connect, to the next byte, and as a whole.

httpx2 limits each read. A server that sends one byte at a time stays within every such limit, in the headers and in the
body. So a timer cuts the connection when the whole time is over, and the reader that waits on it wakes up. Before there
is a connection there is nothing to cut, and only the limit for connecting applies.
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

    The whole call has an hour by default: no answer takes longer, and a server that sends a byte now and then would
    hold the caller forever. The time that the caller spends between two events counts too.
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
    """The end of a call's time. httpcore2 reports its connections to ``trace``."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._cut)
            # A call that was not closed must not keep the program from ending.
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
        """End the timer: the call is over."""
        self._socket = None
        if self._timer is not None:
            self._timer.cancel()

    def _cut(self) -> None:
        connection = self._socket
        if connection is not None:
            # The method of a TLS socket would forget its state while another thread reads from it.
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
