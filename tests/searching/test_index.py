"""The index: it catches up in portions, whoever is beside it; it forgets, is switched, checked and built anew."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.database.query import Connection
from headish.errors import DatabaseCorrupt, ReadOnly
from headish.history.searching import entries, index
from headish.history.searching.index import catch_up, forget_entries
from headish.rows.searching import indexing, matches
from headish.rows.turns import turn_by_id
from headish.values.ids import TurnId
from support.growing import grow
from support.insides import counted_rows, counted_statements, database_of, read
from support.places import FilePlace, Place, in_memory_too
from support.workers import find_all, run_together


def found(store: Store, query: str, **options: Any) -> list[str]:
    return [hit.turn.id for hit in store.search(query, limit=1000, **options)]


def position(store: Store) -> int | None:
    known = read(store, lambda connection: indexing.indexed(connection, store._number))
    return None if known is None else known.seq


def write(store: Store, work: Callable[[Connection], Any]) -> Any:
    return database_of(store).write(work)


def forget(store: Store, *ids: str) -> int:
    def work(connection: Connection) -> int:
        turns = [turn_by_id(connection, store._number, TurnId(each)) for each in ids]
        return forget_entries(connection, store._number, [each for each in turns if each is not None])

    return int(write(store, work))


def problems(store: Store) -> list[str]:
    return [f"{each.subject}: {each.what}" for each in store.verify().problems]


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PORTION_TURNS", 3)


class TestCatchingUp:
    def test_an_append_pays_nothing_and_a_search_indexes_what_came_after(self, store: Store) -> None:
        store.add_turn("cat one")
        assert position(store) is None
        found(store, "cat")
        assert position(store) == 1
        with counted_statements() as counted:
            store.add_turn("cat two")
        before = counted.count
        found(store, "cat")
        with counted_statements() as counted:
            store.add_turn("cat three")
        assert counted.count == before
        assert (position(store), len(found(store, "cat")), position(store)) == (2, 3, 3)

    def test_a_portion_is_read_as_it_fills(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(index, "PORTION_TURNS", 5)
        monkeypatch.setattr(index, "READ_TURNS", 2)
        store.add_turns({"content": f"cat {number}"} for number in range(8))
        told: list[int] = []
        assert len(store.search("cat", progress=told.append)) == 8
        assert told == [5, 3]

    def test_it_goes_in_portions_and_says_how_far(self, store: Store, small_portions: None) -> None:
        store.add_turns({"content": f"cat {number}"} for number in range(8))
        told: list[int] = []
        assert len(store.search("cat", progress=told.append)) == 8
        assert told == [3, 3, 2]
        with counted_rows() as rows:
            found(store, "nothing like it")
        assert rows[0] < 5

    def test_a_portion_ends_where_its_words_are_many(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(index, "PORTION_CHARACTERS", 1000)
        store.add_turns({"content": "cat " * 200} for _ in range(3))
        told: list[int] = []
        store.search("cat", progress=told.append)
        assert told == [1, 1, 1]

    def test_large_payloads_come_in_one_statement(self, store: Store) -> None:
        """Small, erased and equal ones are among them; a search reads them against the order of the index."""
        backend, counts = database_of(store), []
        for words in ("", "", "dog " * 600):  # the first makes the index
            turns = store.add_turns({"content": f"cat {number % 50} " + words * (number % 3)} for number in range(60))
            with counted_statements() as counted:
                catch_up(backend, store._number)
            counts.append(counted.count)
        assert counts[2] == counts[1] + 1
        store.erase(turns[1].id, reason="r")
        with counted_statements() as counted:
            assert len(found(store, "dog")) == 39
        assert counted.count < 20
        assert problems(store) == []

    @pytest.mark.parametrize("bytes_at_once", [1, 7000, 8000])
    def test_of_large_payloads_few_are_held_at_once(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, bytes_at_once: int
    ) -> None:
        """The first always, however large, and further ones as far as there is room: none is left out."""
        monkeypatch.setattr(entries, "BYTES_AT_ONCE", bytes_at_once)
        fetched: list[int] = []
        fetch = matches.large_payloads

        def note(*given: Any) -> dict[int, bytes | None]:
            done = fetch(*given)
            fetched.append(sum(len(data or b"") for data in done.values()))
            return done

        monkeypatch.setattr(matches, "large_payloads", note)
        store.add_turns({"content": f"cat {number} " + "dog " * 600 * (number % 3)} for number in range(60))
        assert len(found(store, "dog")) == 40
        assert max(fetched) < bytes_at_once + 5000
        assert problems(store) == []

    def test_the_first_of_large_payloads_is_read_in_any_order(self, store: Store) -> None:
        store.add_turns({"content": f"{number} " + "dog " * 600} for number in range(3))
        asked = [2, 3, 1]
        got = read(store, lambda connection: matches.large_payloads(connection, store._number, asked, 1))
        assert 2 in got
        everything = read(store, lambda connection: matches.large_payloads(connection, store._number, asked, 10**6))
        assert sorted(everything) == [1, 2, 3]

    def test_the_end_of_an_import_indexes_it(self, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "thread.jsonl"
        path.write_text('{"id": "a", "role": "user", "content": "a cat", "inherited": {}, "cache": false}\n')
        store.import_file(path, "records")
        assert position(store) == 1

    def test_who_reads_an_older_position_stores_nothing_twice(self, store: Store) -> None:
        store.add_turns({"content": f"cat {number}"} for number in range(3))
        backend, space = database_of(store), store._number
        catch_up(backend, space)
        write(store, lambda connection: indexing.restart(connection, space, 1))
        first = backend.read(lambda connection: index._next_portion(connection, space))
        assert first is not None
        catch_up(backend, space)
        assert not backend.write(lambda connection: index._store(connection, space, first, True)).is_stored
        assert len(found(store, "cat")) == 3
        assert problems(store) == []

    @in_memory_too
    def test_a_turn_that_was_erased_meanwhile_is_not_brought_back(self, store: Store) -> None:
        turn = store.add_turn("a cat")
        backend, space = database_of(store), store._number
        catch_up(backend, space)
        later = store.add_turn("a later cat")
        portion = backend.read(lambda connection: index._next_portion(connection, space))
        assert portion is not None
        forget(store, turn.id, later.id)
        assert not backend.write(lambda connection: index._store(connection, space, portion, True)).is_stored

    def test_words_of_an_older_version_are_indexed_anew(self, store: Store) -> None:
        turn = store.add_turn("a cat")
        found(store, "cat")
        restart = indexing.RESTART
        write(store, lambda connection: connection.run(restart, space=store._number, version=0))
        assert found(store, "cat") == [turn.id]
        assert (position(store), problems(store)) == (1, [])

    def test_an_index_from_before_colours_were_left_out_hides_nothing(self, store: Store) -> None:
        turn, space = store.add_turn("\x1b[31mred\x1b[0m"), store._number
        found(store, "red")

        def make_old(connection: Connection) -> None:
            indexing.restart(connection, space, 1)
            known = indexing.indexed(connection, space)
            assert known is not None
            assert indexing.take(connection, space, known, 1)
            indexing.add_entries(connection, space, [(1, f"{space},31mred {space},0m {space}.ruser {space}.itext")])

        write(store, make_old)
        assert found(store, "31mred") == []
        write(store, make_old)
        assert found(store, "red") == [turn.id]
        assert (position(store), problems(store)) == (1, [])

    def test_threads_that_search_beside_one_that_appends_find_what_was_stored(
        self, durable_place: Place, small_portions: None
    ) -> None:
        store = durable_place.open()
        store.add_turn("cat", bookmark="main")
        failed: list[BaseException] = []

        def search() -> None:
            try:
                with Store.open(durable_place.target, space=durable_place.space) as own:
                    for _ in range(8):
                        known = own.stats().turns
                        assert len(found(own, "cat")) >= known
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(40):
            store.add_turn(f"cat {number}", continues="main")
        for thread in threads:
            thread.join()
        assert failed == []
        assert (len(found(store, "cat")), problems(store)) == (41, [])


KILLED = """
import sys
from headish import Store
from headish.history.searching import index
index.PORTION_TURNS = 5
with Store.open(sys.argv[1], space=sys.argv[2]) as store:
    def told(turns):
        print(turns, flush=True)
    store.search("cat", progress=told)
"""


@pytest.mark.slow
class TestProcesses:
    def test_several_that_catch_up_at_once_index_each_turn_once(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.add_turns({"content": f"cat {number}"} for number in range(900))
        assert run_together(durable_place, find_all, 4) == [900] * 4
        assert (position(store), problems(store)) == (900, [])

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system")
    def test_one_that_is_killed_while_it_catches_up_leaves_whole_portions(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.add_turns({"content": f"cat {number}"} for number in range(600))
        for rounds in (1, 3):
            command = [sys.executable, "-c", KILLED, durable_place.target, durable_place.space]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                for _ in range(rounds):
                    process.stdout.readline()
                os.kill(process.pid, signal.SIGKILL)
            assert problems(store) == []
        assert len(found(store, "cat")) == 600
        assert (position(store), problems(store)) == (600, [])


class TestForgetting:
    def test_what_is_forgotten_is_in_the_index_no_more(self, store: Store) -> None:
        turns = [store.add_turn(f"cat word{number}") for number in range(4)]
        found(store, "cat")
        assert forget(store, turns[1].id, turns[2].id) == 2
        low, high = 0, indexing.LAST
        question = f'"{store._number},cat"'
        left = read(store, lambda connection: matches.matching(connection, store._number, question, low, high, 9))
        assert left == [4, 1]
        words = read(store, lambda connection: matches.words_page(connection, store._number, f"{store._number}+",
                                                                  f"{store._number}/", 99))  # fmt: skip
        assert {each.word for each in words} >= {f"{store._number},word0", f"{store._number},word3"}
        assert not {each.word for each in words} & {f"{store._number},word1", f"{store._number},word2"}

    def test_nothing_of_it_is_left_in_the_file(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            # Many portions: FTS5 keeps what each brought until it merges them.
            turns = []
            for number in range(30):
                turns.append(store.add_turn(f"cat number {number}" + (" xylophone42" if number == 7 else "")))
                found(store, "cat")
            data = "UPDATE turn SET data = zeroblob(length(data)) WHERE seq = 8"
            forget(store, turns[7].id)
        with closing(sqlite3.connect(file_place.target)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(data)
        with closing(sqlite3.connect(file_place.target)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert b"xylophone42" not in file_place.path.read_bytes()
        assert b"number" in file_place.path.read_bytes()

    def test_a_turn_that_is_not_indexed_yet_is_nothing_to_forget(self, store: Store) -> None:
        assert forget(store, store.add_turn("a cat").id) == 0


class TestSwitching:
    def test_off_nothing_is_indexed_and_all_is_found(self, file_place: FilePlace) -> None:
        with Database.open(file_place.target) as database:
            store, other = database.store(), database.store("other")
            turns = [each.add_turn("a cat") for each in (store, other)]
            found(store, "cat"), found(other, "cat")
            assert database.search_index()
            assert database.search_index(False) is database.search_index() is False
            assert [found(each, "cat") for each in (store, other)] == [[turn.id] for turn in turns]
            assert [position(each) for each in (store, other)] == [None, None]
            assert all(report.problems == () for report in database.verify().values())
            assert database.search_index(True)
            assert found(store, "cat") == [turns[0].id]
            assert (position(store), position(other)) == (1, None)
            assert all(report.problems == () for report in database.verify().values())

    def test_a_database_that_is_read_only_is_not_switched(self, durable_place: Place) -> None:
        durable_place.open().add_turn("a cat")
        with Database.open(durable_place.target, read_only=True) as database:
            assert database.search_index()
            with pytest.raises(ReadOnly):
                database.search_index(False)

    def test_a_file_without_the_table_is_searched_and_gets_it_when_it_is_switched_on(
        self, file_place: FilePlace
    ) -> None:
        """As a SQLite without FTS5 leaves it."""
        turn = file_place.open().add_turn("a cat")
        file_place.close()
        with closing(sqlite3.connect(file_place.target)) as connection:
            for table in ("search_entry", "search_word", "search_text"):
                connection.execute(f"DROP TABLE {table}")
        with Database.open(file_place.target) as database:
            store = database.store()
            assert found(store, "cat") == [turn.id]
            assert (position(store), database.search_index()) == (None, False)
            store.reindex()
            assert all(report.problems == () for report in database.verify().values())
            assert database.search_index(True)
            assert found(store, "cat") == [turn.id]
            assert position(store) == 1


class TestBuildingAnew:
    def test_it_begins_from_the_first_turn_and_mends_what_was_damaged(self, store: Store, small_portions: None) -> None:
        turns = [store.add_turn(f"cat {number}") for number in range(7)]
        found(store, "cat")
        write(store, lambda connection: indexing.empty(connection, store._number))
        assert found(store, "cat") == []
        told: list[int] = []
        store.reindex(told.append)
        assert told == [3, 3, 1]
        assert set(found(store, "cat")) == {turn.id for turn in turns}
        assert problems(store) == []

    def test_one_that_is_cut_short_is_gone_on_with(self, store: Store, small_portions: None) -> None:
        store.add_turns({"content": f"cat {number}"} for number in range(9))

        class Enough(Exception):
            pass

        def stop(_: int) -> None:
            raise Enough

        with pytest.raises(Enough):
            store.reindex(stop)
        assert position(store) == 3
        assert (len(found(store, "cat")), position(store), problems(store)) == (9, 9, [])

    def test_a_damaged_table_is_named_with_what_mends_it(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            turn = store.add_turn("a cat")
            found(store, "cat")
        with closing(sqlite3.connect(file_place.target)) as connection, connection:
            connection.execute("UPDATE search_text_data SET block = x'00ff00ff00ff00ff' WHERE id > 10")
        store = file_place.open()
        with pytest.raises(DatabaseCorrupt, match="--reindex"):
            found(store, "cat")
        store.reindex()
        assert found(store, "cat") == [turn.id]


class TestVerify:
    @pytest.fixture
    def indexed(self, store: Store) -> Store:
        grow(store, "cat? <- dog <- bird?")
        found(store, "cat")
        assert problems(store) == []
        return store

    def add(self, store: Store, seq: int, *words: str) -> None:
        entry = " ".join(f"{store._number}{word}" for word in words)
        write(store, lambda connection: indexing.add_entries(connection, store._number, [(seq, entry)]))

    def remove(self, store: Store, seq: int, *words: str) -> None:
        entry = " ".join(f"{store._number}{word}" for word in words)
        write(store, lambda connection: indexing.remove_entries(connection, store._number, [(seq, entry)]))

    def test_a_missing_entry_is_named(self, indexed: Store) -> None:
        self.remove(indexed, 2, ".rassistant", ".itext", ",dog")
        [turn] = [each for each in indexed.turns() if each.meta.role == "assistant"]
        assert problems(indexed) == [f"turn {turn.id}: the search index lacks it"]

    def test_an_entry_with_other_words_is_named(self, indexed: Store) -> None:
        self.remove(indexed, 2, ".rassistant", ".itext", ",dog")
        self.add(indexed, 2, ".rassistant", ".itext", ",cat")
        [turn] = [each for each in indexed.turns() if each.meta.role == "assistant"]
        assert problems(indexed) == [f"turn {turn.id}: the search index holds other words of it"]

    def test_an_entry_too_many_is_named(self, indexed: Store) -> None:
        self.add(indexed, 7, ".ruser", ",cat")
        expected = "search index: it holds a turn with commit number 7, which it is not said to hold"
        assert problems(indexed) == [expected]

    def test_a_word_that_no_turn_says_is_told(self, indexed: Store) -> None:
        self.remove(indexed, 2, ".rassistant", ".itext", ",dog")
        self.add(indexed, 2, ".rassistant", ".itext", ",dog", ",unheard")
        assert problems(indexed) == ["search index: it holds words that no turn says"]

    def test_words_of_a_space_that_there_is_not_are_told(self, file_place: FilePlace) -> None:
        with Database.open(file_place.target) as database:
            store = database.store()
            write(store, lambda connection: indexing.add_entries(connection, 77, [(1, "77.ruser 77,cat")]))
            [problem] = database.verify()[""].problems
            assert "the search index holds words of the space 77" in problem.what
