"""Many writers at once, processes and threads: nobody is refused, nothing is lost, names stay linear."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import sqlalchemy

from headish import Store
from support import workers
from support.growing import texts
from support.places import Place, in_memory_too
from support.workers import PROCESSES, TURNS_EACH, run_together

pytestmark = pytest.mark.slow


@pytest.fixture
def rooted(durable_place: Place) -> tuple[Place, Store, str]:
    """A place, a store on it, and the root that ``main`` names."""
    store = durable_place.open()
    return durable_place, store, store.add_turn("root", bookmark="main").id


def texts_of_writers(count: int = TURNS_EACH) -> list[str]:
    return sorted(f"{number}/{index}" for number in range(PROCESSES) for index in range(count))


class TestProcesses:
    def test_eight_that_continue_one_name_give_one_linear_thread(self, rooted: tuple[Place, Store, str]) -> None:
        place, store, root = rooted
        ids = run_together(place, workers.append_to_a_name)
        thread = texts(store, "main")
        assert thread[0] == "root"
        assert sorted(thread[1:]) == texts_of_writers()
        for number in range(PROCESSES):
            own = [text for text in thread if text.startswith(f"{number}/")]
            assert own == [f"{number}/{index}" for index in range(TURNS_EACH)]
        assert [turn.id for turn in store.heads()] == [store.get("main").id]
        assert {turn for each in ids for turn in each} | {root} == {turn.id for turn in store.turns()}
        assert store.verify().problems == ()

    def test_eight_that_continue_one_turn_by_its_id_branch_and_lose_nothing(
        self, rooted: tuple[Place, Store, str]
    ) -> None:
        place, store, root = rooted
        ids = run_together(place, workers.append_to_the_root)
        children = store.children(root)
        assert {turn.id for turn in children} == {turn for each in ids for turn in each}
        assert len(children) == PROCESSES * TURNS_EACH
        # The first to come carried the name along (rule R2, one name moves); the others continue an older turn.
        assert [turn.meta.bookmark for turn in children] == ["main"] + [None] * (len(children) - 1)
        assert store.get("main").id == children[0].id
        assert store.verify().problems == ()

    def test_expect_lets_one_through_and_tells_the_others(self, rooted: tuple[Place, Store, str]) -> None:
        place, store, _ = rooted
        run_together(place, workers.append_if_unmoved)
        thread = store.log("main")
        assert len(thread) == PROCESSES * TURNS_EACH + 1
        # Each was stored behind the very turn that its writer saw.
        assert all(list(turn.meta.continues) == [turn.meta.app["saw"]] for turn in thread[:-1])
        assert store.verify().problems == ()

    def test_batches_do_not_mix(self, rooted: tuple[Place, Store, str]) -> None:
        place, store, _ = rooted
        assert run_together(place, workers.append_batches) == [40] * PROCESSES
        roots = [turn for turn in store.turns() if not turn.meta.continues]
        assert len(roots) == PROCESSES + 1
        writers = [text.split("/")[0] for text in (store.blocks(turn.id)[0].text for turn in store.turns())]  # type: ignore[union-attr]
        assert all(len(set(writers[start : start + 40])) == 1 for start in range(1, len(writers), 40))
        assert store.verify().problems == ()

    def test_a_name_that_many_set_and_remove_keeps_its_whole_history(self, rooted: tuple[Place, Store, str]) -> None:
        place, store, _ = rooted
        run_together(place, workers.move_one_name)
        moves = store.bookmarks.history("contested")
        assert [move.number for move in moves] == list(range(len(moves), 0, -1))
        assert store.verify().problems == ()

    def test_names_that_are_continued_crosswise_do_not_wait_in_a_circle(self, new_postgresql: str) -> None:
        """A deadlock would be run again, but only after a second of waiting for it to be found."""
        place = Place()
        place.target = new_postgresql
        with Store.open(new_postgresql) as store:
            for name in ("a", "b"):
                store.add_turn(f"root {name}", bookmark=name)
            run_together(place, workers.cross_names)
            assert store.stats().turns == PROCESSES * TURNS_EACH + 2
            assert store.verify().problems == ()
        assert deadlocks(new_postgresql) == 0


def deadlocks(url: str) -> int:
    """How many the server has met in a database."""
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")
        connection.commit()
        own = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        return int(connection.exec_driver_sql(own).scalar_one())


class TestThreads:
    @in_memory_too
    def test_sixteen_threads_share_one_store(self, place: Place) -> None:
        store = place.open()
        store.add_turn("root", bookmark="main")

        def work(number: int) -> None:
            for index in range(10):
                store.add_turn(f"{number}/{index}", continues="main")
                store.resolve("main")

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
        assert len(store.log("main")) == 161
        assert store.verify().problems == ()

    def test_a_reader_that_follows_the_commits_misses_nothing(self, durable_place: Place) -> None:
        """Rule R1, commit order: a turn is never committed behind one that a reader has seen already."""
        writer, reader = durable_place.open(), durable_place.open()
        first = writer.add_turn("root", bookmark="main").id
        done = Event()
        seen = [first]

        def follow() -> None:
            while not done.is_set():
                seen.extend(turn.id for turn in reader.turns(after=seen[-1]))
            seen.extend(turn.id for turn in reader.turns(after=seen[-1]))

        def write(number: int) -> None:
            for index in range(20):
                writer.add_turn(f"{number}/{index}", continues=None if index % 3 else "main")

        with ThreadPoolExecutor(9) as pool:
            follower = pool.submit(follow)
            list(pool.map(write, range(8)))
            done.set()
            follower.result()
        assert seen == [turn.id for turn in reader.turns()]
        assert len(seen) == 161

    @pytest.mark.parametrize("call", ["resolve", "get", "log", "heads", "bookmarks"])
    def test_reading_beside_a_writer_never_sees_half_a_turn(self, durable_place: Place, call: str) -> None:
        writer, reader = durable_place.open(), durable_place.open()
        writer.add_turn("root", bookmark="main")
        stop = Event()
        arguments = ["main"] if call in ("resolve", "get", "log") else []

        def read() -> int:
            count = 0
            while not stop.is_set():
                getattr(reader, call)(*arguments) if call != "bookmarks" else reader.bookmarks.list()
                count += 1
            return count

        with ThreadPoolExecutor(2) as pool:
            reading = pool.submit(read)
            writer.add_turns({"content": str(index), "continues": "main"} for index in range(60))
            for index in range(60):
                writer.add_turn(str(index), continues="main")
            stop.set()
            assert reading.result() > 0
        assert len(reader.log("main")) == 121
