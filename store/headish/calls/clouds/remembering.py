"""Keep credentials in memory between calls, as long as the environment that they came from stays the same.

A role or a service account asks a server for a token that holds for an hour; asking it anew with each call would take
longer than a small model takes to answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any


class PerEnvironment:
    """One object for each name. ``variables`` are the beginnings of the variables' names that decide about it."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self.lock = threading.RLock()
        """Held while an object is made or renewed: those of google-auth are not safe to renew by two threads."""
        self._known: dict[tuple[str | None, int], Any] = {}

    def find(self, name: str | None, make: Callable[[], Any]) -> Any:
        """The object of a name, made now if it is not known for this environment."""
        said = frozenset(each for each in os.environ.items() if each[0].startswith(self._variables))
        key = (name, hash(said))  # not the values themselves: some are keys
        with self.lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    def forget(self) -> None:
        """Look again the next time."""
        with self.lock:
            self._known.clear()
