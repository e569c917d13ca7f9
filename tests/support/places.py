"""Where stores are opened: a file, memory, or a space of a server's database.

Used by tests/conftest.py, whose fixtures hand them out.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from support.warm import empty_file, warm_pools

in_memory_too = pytest.mark.parametrize("place", ["sqlite", "memory", "postgresql"], indirect=True)
"""For a test of pools and locks: in memory, all that a process does shares one connection."""


class Place:
    """Opens stores on one set of rows, and closes them all at the end."""

    target: str
    space = "default"

    def __init__(self) -> None:
        self._opened: list[Store] = []
        self._spaces = count(1)

    def open(self, space: str | None = None, **options: Any) -> Store:
        """A store in the place's space, or in another one of the same database."""
        store = Store.open(self.target, space=self.space if space is None else self._name(space), **options)
        self._opened.append(store)
        return store

    def reuse(self) -> Store:
        """The store that was opened first, opened now if none was: for tests that run many times on one."""
        return self._opened[0] if self._opened else self.open()

    def fresh(self) -> Store:
        """A store in an empty space of the same database."""
        return self.open(f"fresh-{next(self._spaces)}")

    def close(self) -> None:
        for store in self._opened:
            store.close()

    def _name(self, space: str) -> str:
        return space


class FilePlace(Place):
    """A SQLite file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.target = path, str(path)
        self._making = threading.Lock()

    def open(self, space: str | None = None, **options: Any) -> Store:
        with self._making:  # else a second thread would write the file while the first one has it open
            if not options and not self.path.exists():
                self.path.write_bytes(empty_file())
        return super().open(space, **options)


class MemoryPlace(Place):
    """SQLite in memory: every store is a database of its own."""

    target = ":memory:"


class ServerPlace(Place):
    """A space of a PostgreSQL database that other tests use too.

    ``is_warm``: its stores have connections of earlier stores.
    """

    def __init__(self, url: str, space: str, *, is_warm: bool = False) -> None:
        super().__init__()
        self.target, self.space, self._is_warm = url, space, is_warm

    def open(self, space: str | None = None, **options: Any) -> Store:
        with warm_pools() if self._is_warm else nullcontext():
            return super().open(space, **options)

    def _name(self, space: str) -> str:
        return f"{self.space}-{space}"
