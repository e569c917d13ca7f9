"""Keep credentials in memory between calls, as long as the environment that they came from stays the same.

A role or a service account gets its token, which is valid for an hour, from a server. Asking for one with each call
would take longer than a small model takes to answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from headish.values.forking import PerProcess


class PerEnvironment:
    """One object for each name. It depends on the environment variables whose names begin with ``variables``."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self._lock = PerProcess(threading.RLock)
        self._known: dict[tuple[str | None, int], Any] = {}

    @property
    def lock(self) -> threading.RLock:
        """Taken to make or renew an object: two threads cannot safely renew one of google-auth."""
        return self._lock.now

    def find(self, name: str | None, make: Callable[[], Any]) -> Any:
        """The object of a name, made now if there is none for this environment."""
        variables = frozenset(each for each in os.environ.items() if each[0].startswith(self._variables))
        key = (name, hash(variables))  # not the values themselves: some are keys
        with self.lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    def forget(self) -> None:
        """Drop all objects, so that the next ``find`` makes a new one."""
        with self.lock:
            self._known.clear()
