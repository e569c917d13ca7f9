"""A database: many spaces over one set of connections, opened, closed and dropped."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headish import Database, Store
from headish.errors import (
    Closed,
    InvalidName,
    RemovedSpace,
    SpaceNotEmpty,
    SpaceTaken,
    UnknownDatabase,
    UnknownSpace,
    UnknownTurn,
)
from headish.rows.spaces import add_space
from support.places import FilePlace, Place, in_memory_too
from support.processes import open_files


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database of the test's own."""
    target = tmp_path / "own.db" if request.param == "sqlite" else request.getfixturevalue("new_postgresql")
    with Database.open(target) as database:
        yield database


class TestStores:
    def test_spaces_are_apart(self, database: Database) -> None:
        one, other = database.store("one"), database.store("other")
        turn = one.add_turn("mine", bookmark="main")
        assert list(other.turns()) == []
        with pytest.raises(UnknownTurn):
            other.get(turn.id)

    def test_one_asked_for_anew_is_the_same_space(self, database: Database) -> None:
        turn = database.store("a").add_turn("hello")
        assert database.store("a").get("@") == turn

    def test_a_space_that_is_not_there_is_made_only_if_asked(self, database: Database) -> None:
        with pytest.raises(UnknownSpace, match="it has no space 'a'"):
            database.store("a", create=False)
        assert "a" not in database.spaces
        database.store("a")
        assert database.store("a", create=False).space == "a"

    def test_a_thousand_of_them_open_no_more_connections_than_one(self, tmp_path: Path) -> None:
        if sys.platform != "linux":
            pytest.skip("descriptors are counted in /proc, which only Linux has")
        with Database.open(tmp_path / "many.db") as database:
            database.store("first").add_turn("a")
            before = open_files(tmp_path)
            stores = [database.store(f"space-{number}") for number in range(1000)]
            assert open_files(tmp_path) == before
            assert stores[-1].add_turn("b").meta.role == "user"

    def test_threads_share_them(self, database: Database) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: database.store(f"s{number % 4}").add_turn(f"{number}"), range(40)))
        assert [database.store(f"s{number}").stats().turns for number in range(4)] == [10, 10, 10, 10]

    def test_ids_of_one_process_never_go_back(self, database: Database) -> None:
        ids = [database.store(f"s{number % 3}").add_turn("a").id for number in range(9)]
        assert ids == sorted(ids)


class TestClosing:
    def test_a_store_closes_itself_alone(self, database: Database) -> None:
        one, other = database.store("one"), database.store("other")
        one.close()
        with pytest.raises(Closed, match="the store of the space 'one' is closed"):
            one.add_turn("a")
        assert other.add_turn("a").meta.role == "user"

    def test_a_database_closes_its_stores(self, durable_place: Place) -> None:
        with Database.open(durable_place.target) as database:
            store = database.store("one")
        for call in (
            store.heads,
            store.bookmarks.list,
            store.stats,
            lambda: database.store("one"),
            database.spaces.list,
        ):
            with pytest.raises(Closed):
                call()

    @in_memory_too
    def test_the_short_way_closes_its_database(self, place: Place) -> None:
        store = place.fresh()
        store.add_turn("a")
        store.close()
        for call in (lambda: store.add_turn("b"), lambda: store.get("@"), store.verify):
            with pytest.raises(Closed):
                call()

    def test_closing_twice_is_nothing(self, database: Database) -> None:
        store = database.store()
        store.close()
        store.close()
        database.close()
        database.close()
        with pytest.raises(Closed):
            database.store()

    @pytest.mark.slow
    def test_one_that_is_dropped_gives_its_connections_back(self, file_place: FilePlace) -> None:
        if sys.platform != "linux":
            pytest.skip("descriptors are counted in /proc, which only Linux has")
        Store.open(file_place.target).add_turn("a")
        gc.collect()
        for _ in range(20):
            Store.open(file_place.target).add_turn("a")
        gc.collect()
        assert open_files(file_place.path.parent) == []

    def test_a_dropped_store_is_gone_at_once(self, database: Database) -> None:
        store = database.store()
        store.bookmarks, store.pointers, store.tools, store.streams  # noqa: B018
        gone = weakref.ref(store)
        del store
        assert gone() is None, "a circle keeps the store until the collector comes"

    def test_a_turn_keeps_its_store_for_its_options(self, file_place: FilePlace) -> None:
        turn = Store.open(file_place.target).add_turn("a", inherited={"params": {"top_k": 1}})
        gc.collect()
        assert turn.options == {"params": {"top_k": 1}}


class TestManySpaces:
    def test_ten_thousand_stores_share_one_pool(self, file_place: FilePlace) -> None:
        with Database.open(file_place.target) as database:
            names = [f"space-{index:05}" for index in range(10_000)]
            # In one transaction: each on its own would wait for the disk.
            database.backend.write(lambda connection: [add_space(connection, name.encode()) for name in names])
            stores = [database.store(name, create=False) for name in names]
            for store in stores[::500]:
                store.add_turn(store.space, bookmark="main")
            assert [store.text("main") for store in stores[::500]] == names[::500]
            assert {id(store._backend) for store in stores} == {id(database.backend)}
            assert len(open_files(file_place.path.parent)) <= 16
            assert len(database.spaces) == len(stores)


class TestSpaces:
    def test_they_are_listed_by_name(self, database: Database) -> None:
        for name in ("b", "é", "a"):
            database.spaces.add(name)
        assert [name for name in database.spaces if name in ("a", "b", "é")] == ["a", "b", "é"]
        assert len(database.spaces) == len(database.spaces.list())

    def test_a_name_is_taken_once(self, database: Database) -> None:
        database.spaces.add("a")
        with pytest.raises(SpaceTaken, match="a space 'a' exists already"):
            database.spaces.add("a")
        database.spaces.add("b")
        with pytest.raises(SpaceTaken):
            database.spaces.rename("a", "b")
        database.spaces.rename("a", "a")
        with pytest.raises(InvalidName):
            database.spaces.add("a b")

    def test_what_a_renamed_one_holds_stays(self, database: Database) -> None:
        store = database.store("old")
        turn = store.add_turn("a", bookmark="main")
        database.spaces.rename("old", "new")
        assert database.store("new").get("main") == turn
        assert store.add_turn("b", continues="main").meta.bookmark == "main"
        assert "old" not in database.spaces
        with pytest.raises(UnknownSpace):
            database.spaces.rename("old", "newer")

    @pytest.mark.parametrize("fill", ["turn", "pointer", "tools"])
    def test_one_that_holds_something_stays(self, database: Database, fill: str) -> None:
        store = database.store("full")
        if fill == "turn":
            store.add_turn("a")
        elif fill == "pointer":
            store.pointers.set("milli", "openai/m")
        else:
            store.tools.set("files", [])
        with pytest.raises(SpaceNotEmpty, match="'full' is not empty"):
            database.spaces.remove("full")
        assert "full" in database.spaces

    def test_an_empty_one_goes_and_its_number_is_not_given_again(self, database: Database) -> None:
        stale = database.store("gone")
        database.spaces.remove("gone")
        assert "gone" not in database.spaces
        with pytest.raises(UnknownSpace):
            database.spaces.remove("gone")
        again = database.store("gone")
        for write in (lambda: stale.add_turn("lost?"), lambda: stale.pointers.set("m", "openai/m")):
            with pytest.raises(RemovedSpace):
                write()
        assert list(again.turns()) == []
        assert stale._number != again._number


def test_one_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UnknownDatabase, match="there is no database"):
        Database.open(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()
