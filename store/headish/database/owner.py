"""The process that a backend belongs to, and whether the backend is still open.

A connection does not survive ``fork()``: two processes on one socket mix up their results, and SQLite's locks belong to
the process that took them. So a forked child opens connections of its own. It keeps those of its parent and never
touches them, because closing them would close them for the parent.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from headish.errors import Closed

_LEFT_TO_THE_PARENT: list[object] = []


class Owner:
    """The process that a backend belongs to. ``renew`` makes the connections and locks of a process, and returns those
    that it replaced."""

    def __init__(self, target: str, renew: Callable[[], object]) -> None:
        self._target, self._renew = target, renew
        self._process = os.getpid()
        self.is_closed = False

    @property
    def is_child(self) -> bool:
        """Whether this process was forked from the one that the backend belongs to."""
        return os.getpid() != self._process

    def check(self) -> None:
        """Check that the backend is open; in a forked child, take it over. Raises: Closed."""
        if self.is_closed:
            raise Closed(f"the database {self._target}")
        if os.getpid() != self._process:
            self._process = os.getpid()
            # Kept for good: to collect the parent's connections here would close them for the parent.
            _LEFT_TO_THE_PARENT.append(self._renew())
