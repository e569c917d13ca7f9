"""An index that disagrees with its table: the rows are whole, and who looks them up finds others, or none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from shutil import copyfile

import pytest
import sqlalchemy

from headish import Database
from headish.database.file.upkeep import find_problems
from headish.database.schema import metadata
from support.damage.databases import problems_of
from support.damage.reading import read_all
from support.damage.spaces import fill

pytestmark = pytest.mark.xdist_group("damaged indexes")
"""One process fills a database for all of them."""
INDEX_LEAF = 10
"""The first byte of a page that holds a whole small index."""


def indexes() -> list[str]:
    """The names of all indexes, those of keys and constraints too."""
    engine = sqlalchemy.create_engine("sqlite://")
    metadata.create_all(engine)
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name")
        return list(found.scalars())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("filled") / "headish.db"
    with Database.open(made) as database:
        fill(database)
    return made


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> Path:
    """A copy of the test's own; the file was closed, so all of it is in there."""
    return Path(copyfile(filled, tmp_path / "headish.db"))


def page_of(path: Path, index: str) -> tuple[int, int]:
    """Where in the file an index lies, and how many bytes it has: it is so small that it is one page."""
    with closing(sqlite3.connect(path)) as driver:
        [(root,)] = driver.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,))
        [(size,)] = driver.execute("PRAGMA page_size")
    return (root - 1) * size, size


def delete_rows(path: Path, index: str) -> None:
    """Delete the rows of the first space from the table of an index; the file holds all of it afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as driver:
        [(table,)] = driver.execute("SELECT tbl_name FROM sqlite_master WHERE name = ?", (index,))
        driver.execute(f"DELETE FROM {table} WHERE {'id' if table == 'space' else 'space'} = 1")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("index", indexes())
@pytest.mark.parametrize("lost", [True, False], ids=["it lacks rows", "it holds rows that are gone"])
def test_an_index_that_disagrees_with_its_table_is_named(path: Path, index: str, lost: bool) -> None:
    start, size = page_of(path, index)
    whole = path.read_bytes()
    delete_rows(path, index)
    fewer = path.read_bytes()
    assert whole[start] == fewer[start] == INDEX_LEAF
    rows, entries = (whole, fewer) if lost else (fewer, whole)
    path.write_bytes(rows[:start] + entries[start : start + size] + rows[start + size :])
    with Database.open(path) as database:
        read_all(database)
        assert index in " ".join(problem.what for problem in problems_of(database))


def test_what_a_writer_adds_meanwhile_is_not_a_miscount(path: Path) -> None:
    with Database.open(path) as database, closing(sqlite3.connect(path)) as driver:
        store, numbers = database.store(), count()
        driver.set_trace_callback(lambda _: store.add_turn("more", bookmark=f"added-{next(numbers)}") and None)
        assert find_problems(driver) == []
        assert next(numbers) > 10
