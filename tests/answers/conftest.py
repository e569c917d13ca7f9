from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headish import Store
from support.loopback import Loopback
from support.places import Place

KEY = "sk-very-secret-key-of-the-test"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the test's servers lies in the environment, the provider's usual one beside it; waits are short."""
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-the-usual-one-of-the-provider")


@pytest.fixture
def point(server: Loopback) -> Callable[[Store], Store]:
    """Gives a store the pointer ``milli``, which is the server."""

    def set_pointer(store: Store) -> Store:
        store.pointers.set(
            "milli", "anthropic/small", base_url=server.url, key_env="TEST_KEY", params={"max_tokens": 9}
        )
        return store

    return set_pointer


@pytest.fixture
def everywhere(store: Store, point: Callable[[Store], Store]) -> Store:
    """An empty store that can ask, on every backend."""
    return point(store)


@pytest.fixture
def durable(durable_place: Place, point: Callable[[Store], Store]) -> Store:
    """The same where several stores can be open on the same rows."""
    return point(durable_place.open())


@pytest.fixture
def asking(new_place: Callable[[str], Place], point: Callable[[Store], Store]) -> Iterator[Store]:
    """The same in memory alone, for what the database makes no difference to."""
    place = new_place("memory")
    yield point(place.open())
    place.close()


@pytest.fixture
def small(new_place: Callable[[str], Place], point: Callable[[Store], Store]) -> Iterator[Store]:
    """The same, but no turn holds more than 20,000 bytes."""
    place = new_place("memory")
    yield point(place.open(payload_limit_bytes=20_000))
    place.close()
