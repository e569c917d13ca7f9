"""Adapters of one file share one database; it is open as long as one of them is."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.adapters import holding
from headish.adapters.holding import DatabaseHold
from headish.aio import finish
from headish.errors import AdapterClosed, InvalidArgument, NotADatabase


@pytest.fixture(autouse=True)
def nothing_is_open() -> None:
    """An adapter that a test of another chapter dropped in a circle holds its database until the next collection."""
    gc.collect()
    assert holding._open == {}


def held(db: Any, space: str = "default") -> DatabaseHold:
    return DatabaseHold(db, "the session", space)


def database_of(each: DatabaseHold) -> Any:
    with each.use() as store:
        return store._database


class TestOneFile:
    def test_has_one_database_however_it_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "a.db"
        (tmp_path / "link").symlink_to(tmp_path)
        monkeypatch.chdir(tmp_path)
        names = [file, str(file), f"sqlite:///{file}", "a.db", tmp_path / "link" / "a.db"]
        opened = [held(name) for name in names]
        assert len({id(database_of(each)) for each in opened}) == 1
        for each in opened:
            each.close()

    def test_is_closed_with_its_last_holder(self, tmp_path: Path) -> None:
        one, other = held(tmp_path / "a.db"), held(tmp_path / "a.db", "elsewhere")
        with one.use() as store:
            one.close()
            one.close()
            store.add_turn("a call that runs ends first", bookmark="main")
        with other.use() as store:
            assert (store.space, list(store.bookmarks)) == ("elsewhere", [])
        other.close()
        assert holding._open == {}
        with Store.open(tmp_path / "a.db", create=False) as store:
            assert list(store.bookmarks) == ["main"]

    def test_is_closed_when_its_last_holder_is_dropped(self, tmp_path: Path) -> None:
        each = held(tmp_path / "a.db")
        assert len(holding._open) == 1
        del each
        gc.collect()
        assert holding._open == {}

    def test_that_was_removed_and_made_anew_is_another(self, tmp_path: Path) -> None:
        before = held(tmp_path / "a.db")
        for file in tmp_path.iterdir():
            file.unlink()
        after = held(tmp_path / "a.db")
        with after.use() as store:
            store.add_turn("stored", bookmark="main")
        assert database_of(before) is not database_of(after)
        before.close()
        after.close()


class TestInACoroutine:
    """A new file takes a third of a second: no loop waits for it."""

    async def test_nothing_is_opened_before_it_is_used(self, tmp_path: Path) -> None:
        made = held(tmp_path / "a.db")
        there = [(tmp_path / "a.db").exists(), bool(holding._open)]

        def add() -> None:
            with made.use() as store:
                store.add_turn("a")

        await finish(add)
        made.close()
        assert [*there, (tmp_path / "a.db").exists()] == [False, False, True]

    def test_one_that_was_never_used_is_closed(self, tmp_path: Path) -> None:
        async def work() -> None:
            made = held(tmp_path / "a.db")
            made.close()
            with pytest.raises(AdapterClosed), made.use():
                pass
            with pytest.raises(InvalidArgument):
                held(7)

        asyncio.run(work())
        assert not (tmp_path / "a.db").exists()

    def test_a_database_that_cannot_be_opened_fails_when_it_is_used_each_time(self, tmp_path: Path) -> None:
        (tmp_path / "a.db").write_text("no database " * 100)

        async def work() -> None:
            made = held(tmp_path / "a.db")
            for _ in range(2):
                with pytest.raises(NotADatabase), made.use():
                    pass
            made.close()

        asyncio.run(work())
        assert holding._open == {}


class TestMemory:
    def test_belongs_to_one_holder(self) -> None:
        one, other = held(":memory:"), held("sqlite://")
        assert database_of(one) is not database_of(other)
        one.close()
        with pytest.raises(RuntimeError, match="closed"), one.use():
            pass
        assert Database(database_of(other)).store().heads() == []


class TestADatabaseOfTheCaller:
    def test_stays_open(self, tmp_path: Path) -> None:
        with Database.open(tmp_path / "a.db") as database:
            held(database).close()
            assert list(database.spaces) == ["default"]

    def test_gives_one_store_to_all_that_are_here_at_once(self, tmp_path: Path) -> None:
        with Database.open(tmp_path / "a.db") as database:
            one, other = held(database), held(database)
            with one.use() as ours, other.use() as theirs:
                assert ours is theirs
            one.close()
            with other.use() as store:
                store.add_turn("the other goes on", bookmark="main")
            del one, other, ours, theirs, store
            gc.collect()
            assert dict(holding._given) == {}

    def test_that_was_closed_is_an_error_that_says_so(self, tmp_path: Path) -> None:
        database = Database.open(tmp_path / "a.db")
        each = held(database)
        database.close()
        with pytest.raises(AdapterClosed, match="the session is closed"), each.use() as store:
            store.heads()


class TestRefused:
    @pytest.mark.parametrize("db", [None, 7, b"a.db", ["a.db"]])
    def test_what_is_no_database(self, db: Any) -> None:
        with pytest.raises(InvalidArgument, match="db is a path, a URL or an open Database"):
            held(db)

    def test_a_file_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("words, and no database")
        with pytest.raises(NotADatabase):
            held(tmp_path / "a.txt")
        assert holding._open == {}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork; run it on a POSIX system")
def test_a_forked_child_goes_on_and_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    each = held(tmp_path / "a.db")
    context = multiprocessing.get_context("fork")
    with holding._lock.now:  # another thread of the parent may hold it
        child = context.Process(target=_write_and_close, args=(each,))
        child.start()
    child.join()
    with each.use() as store:
        store.add_turn("parent", continues="main")
        assert child.exitcode == 0
        assert [store.text(turn.id) for turn in store.log("main")] == ["parent", "child"]
    each.close()


def _write_and_close(each: DatabaseHold) -> None:
    with each.use() as store:
        store.add_turn("child", bookmark="main")
    each.close()
