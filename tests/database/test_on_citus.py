"""The store's own tests on a real Citus: on a coordinator that HEADISH_TEST_CITUS names, in a database that is spread.

EXPLAIN says that a statement is one task and, further down, that the worker could not plan it. So statements are run,
by the tests that run them elsewhere.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy

from headish import Database, Store
from support.places import ServerPlace
from support.reloading import load
from support.servers import NO_CITUS

NAMED = os.environ.get("HEADISH_TEST_CITUS")
pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
FOLDERS = ("store", "history", "searching", "erasing", "feeds", "rows", "verify")
TAKE_A_STORE = {"store", "place", "durable_place"}
"""A test that needs other fixtures makes databases of its own."""


@pytest.fixture(scope="module")
def spread() -> Iterator[str]:
    """A database that is spread, in a schema of its own."""
    if NAMED is None:
        pytest.skip(NO_CITUS)
    url, schema = sqlalchemy.make_url(NAMED).set(drivername="postgresql+psycopg"), f"headish_test_{uuid4().hex}"
    whole = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with whole.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        target = url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)
        with Database.open(target) as database:
            database.distribute()
        yield target
        connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def place(spread: str) -> Iterator[ServerPlace]:
    made = ServerPlace(spread, f"test-{uuid4().hex}")
    yield made
    made.close()


@pytest.fixture
def durable_place(place: ServerPlace) -> ServerPlace:
    return place


@pytest.fixture
def store(place: ServerPlace) -> Store:
    return place.open()


def _again(path: Path) -> Iterator[tuple[str, Any]]:
    name = "_".join(path.relative_to(TESTS).with_suffix("").parts).replace("test_", "")
    for key, member in vars(load(str(path.relative_to(TESTS)))).items():
        if key.startswith("test_") and _fits(member):
            yield f"{key}_{name}", member
        if key.startswith("Test") and inspect.isclass(member):
            kept = {each: value for each, value in vars(member).items() if not each.startswith("test_") or _fits(value)}
            yield f"{key}_{name}", type(key, (), {each: kept[each] for each in kept if not each.startswith("__")})


def _fits(member: Any) -> bool:
    if not inspect.isfunction(member) or hasattr(member, "hypothesis"):
        return False
    given = [each for mark in getattr(member, "pytestmark", ()) if mark.name == "parametrize" for each in mark.args[:1]]
    named = {word.strip() for each in given for word in (each.split(",") if isinstance(each, str) else each)}
    return set(inspect.signature(member).parameters) - named - {"self"} <= TAKE_A_STORE


if NAMED is not None:
    for _folder in FOLDERS:
        for _path in sorted((TESTS / _folder).glob("test_*.py")):
            if "@pytest.fixture" not in _path.read_text("utf-8"):
                globals().update(_again(_path))


def test_the_database_is_spread(place: ServerPlace) -> None:
    store = place.open()
    store.add_turn("heron", bookmark="main")
    assert [each.name for each in store.conversations.list().entries] == ["main"]
    assert store.verify().problems == ()
