"""One secured database for the tests of this folder; stores are opened in it as ``headish_writer``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from sqlalchemy import make_url

from headish import Store
from support.secured import Logins, WriterPlace, connected, secured_database


@pytest.fixture(scope="session")
def secured(make_postgresql_database: Callable[..., str]) -> Iterator[Logins]:
    """The database that tests share, each in spaces of its own."""
    with secured_database(make_postgresql_database()) as made:
        yield made


@pytest.fixture(scope="session")
def copied(make_postgresql_database: Callable[..., str], postgresql_server: str) -> tuple[str, str]:
    """What a secured database of a test's own is a copy of, and how the names of its logins end: to secure one and to
    open its spaces takes ten times as long as to copy it."""
    with secured_database(make_postgresql_database()) as made:
        name = make_url(made.url).database
    with connected(postgresql_server) as server:  # which copies no database while somebody is in it
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    return made.url, made.suffix


@pytest.fixture
def logins(secured: Logins) -> Logins:
    """That database, with the spaces of ana and ben as if nobody had been there before."""
    secured.renew()
    return secured


@pytest.fixture
def own(make_postgresql_database: Callable[..., str], copied: tuple[str, str]) -> Iterator[Logins]:
    """A secured database of the test's own, and logins that are made for it."""
    url, suffix = copied
    with secured_database(make_postgresql_database(url), suffix=suffix) as made:
        yield made


@pytest.fixture
def place(secured: Logins, request: pytest.FixtureRequest) -> Iterator[WriterPlace]:
    # The tests of other folders are about no connection.
    made = WriterPlace(secured, f"test-{uuid4().hex}", is_warm=request.path.stem == "test_as_writer")
    yield made
    made.close()


@pytest.fixture
def durable_place(place: WriterPlace) -> WriterPlace:
    return place


@pytest.fixture
def store(place: WriterPlace) -> Store:
    return place.open()
