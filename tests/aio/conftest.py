"""Stores for asyncio, and a runner: each test runs a coroutine in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from headish import Store
from headish.aio import AsyncStore
from support.loopback import Loopback
from support.places import FilePlace, Place

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def run() -> Run:
    """Runs a coroutine to its end, in a loop that complains of what was forgotten."""

    def runner(main: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(main, debug=True)

    return runner


@pytest.fixture
def everywhere(store: Store) -> AsyncStore:
    """An empty store, on every backend."""
    return AsyncStore(store)


@pytest.fixture
def small(file_place: FilePlace) -> AsyncStore:
    """An empty store in a file."""
    return AsyncStore(file_place.open())


@pytest.fixture
def asking(
    new_place: Callable[[str], Place], server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AsyncStore]:
    """A store whose pointer ``milli`` is the server."""
    monkeypatch.setenv("TEST_KEY", "sk-test")
    place = new_place("sqlite")
    store = place.open()
    store.pointers.set("milli", "anthropic/small", base_url=server.url, key_env="TEST_KEY", params={"max_tokens": 9})
    yield AsyncStore(store)
    place.close()
