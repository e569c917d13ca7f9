"""The journal: what arrived of an answer outlives the process that was writing it, and is a turn only once."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from headish import Store, Turn
from headish.database.query import Connection
from headish.errors import CorruptRecord, DatabaseError, DatabaseLocked, DatabaseReadOnly, UnknownStream
from headish.rows import streams
from headish.store.answers.capture import Capture
from headish.store.asking.reply import _finish
from headish.values.blocks import Text
from support.capturers import BEGUN, EVENTS, PIECES, begin, capturing, expiry, journalled, wait_until
from support.growing import texts
from support.insides import database_of, dump, run_sql, unchanged
from support.places import FilePlace, Place

T = TypeVar("T")
SAID = "".join(PIECES)
posix = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system"
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The journals of this process are written without waiting for half a second."""
    monkeypatch.setattr("headish.store.answers.journal.FLUSH_SECONDS", 0.01)


@pytest.fixture
def asked(durable_place: Place) -> Store:
    """A question that waits for its answer."""
    store = durable_place.open()
    store.add_turn("How was it?", bookmark="main")
    return store


def check_recovered(store: Store, turn: Turn) -> None:
    """The turn has what was journalled, its bookmark, and nothing is left of the stream."""
    assert store.get("main") == turn
    assert texts(store, "main") == ["How was it?", SAID]
    assert (turn.meta.reply["stop_reason"], turn.meta.reply["incomplete"]) == ("incomplete", True)
    assert (turn.meta.reply["model"], turn.meta.bookmark) == ("small-1", "main")
    assert store.streams.list() == []
    assert dump(store)["stream_chunk"] == []
    assert store.verify().problems == ()


def write_more(store: Store, capture: Capture) -> None:
    """One piece more is journalled, and so the lease renewed."""
    capture.feed({**BEGUN[-1], "delta": {"type": "text_delta", "text": ", the worst of times"}})
    wait_until(lambda: b"worst" in journalled(store), "the piece is journalled")


def interrupt_reading(monkeypatch: pytest.MonkeyPatch, interruption: Callable[[], None]) -> None:
    """Between reading a journal for the first time and storing what it holds, something happens."""
    read, waiting = streams.journal_of, [interruption]

    def read_slowly(*given: Any) -> list[bytes]:
        chunks = read(*given)
        if waiting:
            waiting.pop()()
        return chunks

    monkeypatch.setattr(streams, "journal_of", read_slowly)


def test_two_halves_of_a_character_are_one_in_a_recovered_answer(asked: Store) -> None:
    """Some gateways cut text between UTF-16 units."""
    capture = begin(asked)
    for half in ("\ud83d", "\ude00"):
        capture.feed({**BEGUN[-1], "delta": {"type": "text_delta", "text": half}})
    capture._journal.keep()
    [turn] = asked.streams.recover(force=True)
    assert asked.text(turn.id) == f"{SAID}\U0001f600"
    assert "notes" not in turn.meta.reply


@pytest.mark.slow
class TestAWriterThatIsKilled:
    @posix
    def test_what_it_had_is_a_turn_when_the_lease_has_run_out_and_the_next_open_says_so(
        self, asked: Store, durable_place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        with capturing(durable_place, lease_seconds=1) as process:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        # Nobody renews the lease any more, so this is when it ends.
        time.sleep(max(0.0, expiry(asked) / 1000 - time.time()) + 0.002)
        with caplog.at_level(logging.WARNING, "headish"):
            [turn] = durable_place.open().recovered
        [record] = caplog.records
        told = f"headish: an answer that was cut off is kept as the incomplete turn {turn.id}"
        assert record.getMessage() == told
        check_recovered(asked, turn)
        assert durable_place.open().recovered == ()

    @posix
    def test_it_is_left_alone_while_it_may_live_and_taken_at_once_by_force(
        self, asked: Store, durable_place: Place
    ) -> None:
        with capturing(durable_place, lease_seconds=600) as process:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        assert asked.streams.recover() == []
        assert len(asked.streams.list()) == 1
        [turn] = asked.streams.recover(force=True)
        check_recovered(asked, turn)

    def test_a_bookmark_that_moved_meanwhile_stays(self, asked: Store) -> None:
        begin(asked, lease_seconds=600)
        moved = asked.add_turn("Never mind.", continues="main")
        [turn] = asked.streams.recover(force=True)
        assert (asked.get("main"), turn.meta.bookmark) == (moved, None)
        assert texts(asked, turn.id) == ["How was it?", SAID]

    def test_one_that_was_asking_again_takes_the_bookmark_over(self, asked: Store) -> None:
        old = asked.add_turn("Bad.", role="assistant", continues="main")
        request = asked.request("main~1", "anthropic")
        # As ``retry`` makes it: by the name that points at the old answer.
        capture = asked.capture(replace(request, bookmark="main"), "anthropic", replaces=old)
        for event in BEGUN:
            capture.feed(event)
        wait_until(lambda: b"of times" in journalled(asked), "the last piece is journalled")
        [turn] = asked.streams.recover(force=True)
        check_recovered(asked, turn)

    def test_an_answer_that_was_whole_is_no_incomplete_turn(self, asked: Store) -> None:
        capture = begin(asked)
        for event in EVENTS[len(BEGUN) :]:
            capture.feed(event)
        wait_until(lambda: b"message_stop" in journalled(asked), "the end is journalled")
        [turn] = asked.streams.recover(force=True)
        assert "incomplete" not in turn.meta.reply
        assert texts(asked, "main") == ["How was it?", SAID]

    def test_of_several_that_recover_at_once_one_does(self, asked: Store, durable_place: Place) -> None:
        begin(asked, lease_seconds=600)
        stores = [durable_place.open() for _ in range(4)]
        with ThreadPoolExecutor(len(stores)) as pool:
            turns = [
                turn for each in pool.map(lambda store: store.streams.recover(force=True), stores) for turn in each
            ]
        [turn] = turns
        check_recovered(asked, turn)

    def test_a_stream_of_another_space_is_nobodys_here(self, asked: Store, durable_place: Place) -> None:
        begin(asked)
        other = durable_place.open("other")
        assert (other.streams.list(), other.streams.recover(force=True)) == ([], [])
        assert len(asked.streams.list()) == 1

    def test_a_store_that_opens_where_streams_cannot_be_read_does_not_say_that_there_are_any(
        self, file_place: FilePlace, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        run_sql(store, "ALTER TABLE stream RENAME COLUMN outcome TO away")
        with caplog.at_level(logging.WARNING, "headish"):
            assert file_place.open().recovered == ()
        [record] = caplog.records
        assert record.getMessage().startswith("headish: could not look for answers that were cut off")

    def test_one_that_cannot_be_recovered_is_named_and_does_not_stop_the_others(
        self, file_place: FilePlace, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        captures = [begin(store, lease_seconds=600)]
        wait_until(lambda: b"of times" in journalled(store), "it is journalled")
        [damaged] = store.streams.list()
        run_sql(store, "UPDATE stream SET about = CAST('{' AS BLOB)")
        with unchanged(store), pytest.raises(CorruptRecord, match=f"^the stream {damaged}: "):
            store.streams.recover(force=True)
        captures.append(begin(store, lease_seconds=600))
        wait_until(lambda: journalled(store).count(b"of times") == 2, "both are journalled")
        with caplog.at_level(logging.WARNING, "headish"):
            [turn] = store.streams.recover(force=True)
        assert (turn.meta.reply["stop_reason"], turn.meta.bookmark) == ("incomplete", "main")
        assert f"the stream {damaged} cannot be recovered" in caplog.text
        run_sql(store, "UPDATE stream SET expires = 1")
        assert file_place.open().recovered == (), "a store opens beside it"
        store.streams.drop(damaged)
        assert store.streams.list() == []
        for unknown in (damaged, "x"):
            with pytest.raises(UnknownStream):
                store.streams.drop(unknown)
        assert store.verify().problems == ()

    def test_of_a_damaged_journal_what_came_before_the_damage_is_kept(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        begin(store, lease_seconds=600)
        wait_until(lambda: b"of times" in journalled(store), "the last piece is journalled")
        run_sql(store, "UPDATE stream_chunk SET data = CAST(data || char(10) || '{\"type' AS BLOB)")
        [turn] = store.streams.recover(force=True)
        assert turn.meta.reply["incomplete"] is True
        assert texts(store, "main") == ["How was it?", SAID]

    def test_the_whole_answer_takes_the_name_over_from_its_own_recovered_half(self, asked: Store) -> None:
        """The lease of a writer that slept ran out: somebody recovered what there was, then the writer finished."""
        capture = begin(asked, lease_seconds=600)
        wait_until(lambda: b"of times" in journalled(asked), "the last piece is journalled")
        [half] = asked.streams.recover(force=True)
        assert asked.bookmarks["main"] == half.id
        for event in EVENTS[len(BEGUN) :]:
            capture.feed(event)
        whole = capture.finish()
        assert (asked.bookmarks["main"], whole.meta.bookmark, whole.meta.continues) == (
            whole.id, "main", half.meta.continues,
        )  # fmt: skip
        assert [count.replies for count in asked.usage(None)] == [1]
        assert asked.verify().problems == ()


class TestAWriterThatLives:
    def test_it_is_left_alone(self, asked: Store, durable_place: Place) -> None:
        capture = begin(asked)
        other = durable_place.open()
        assert (other.recovered, other.streams.recover()) == ((), [])
        assert other.streams.list() == asked.streams.list() == [capture._journal.id]
        assert capture.finish() == other.get("main")
        assert other.streams.recover(force=True) == []

    def test_its_lease_is_renewed_while_the_provider_is_silent(self, asked: Store) -> None:
        capture = begin(asked, lease_seconds=1)
        first = expiry(asked)
        wait_until(lambda: expiry(asked) > first, "the lease is renewed")
        capture.finish()

    def test_recovered_by_force_it_stores_its_own_answer_in_the_place_of_the_half(
        self, asked: Store, durable_place: Place
    ) -> None:
        capture = begin(asked)
        [recovered] = durable_place.open().streams.recover(force=True)
        check_recovered(asked, recovered)
        for event in EVENTS[len(BEGUN) :]:
            assert capture.feed(event) == []
        turn = capture.finish()
        assert turn == capture.finish()
        assert turn.meta.continues == recovered.meta.continues
        assert (turn.meta.bookmark, "incomplete" in turn.meta.reply) == ("main", False)
        assert len(list(asked.turns())) == 3

    def test_what_it_writes_after_it_was_recovered_stays_unwritten(self, asked: Store) -> None:
        capture = begin(asked)
        asked.streams.recover(force=True)
        capture.feed(EVENTS[-2])
        wait_until(lambda: not capture._journal._open, "the journal has noticed")
        assert dump(asked)["stream_chunk"] == []
        capture.finish()
        assert (asked.streams.list(), dump(asked)["stream_chunk"]) == ([], [])

    def test_force_takes_one_that_is_written_to_meanwhile_with_all_it_wrote(
        self, asked: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        capture = begin(asked)
        interrupt_reading(monkeypatch, lambda: write_more(asked, capture))
        [turn] = asked.streams.recover(force=True)
        assert asked.blocks(turn.id) == (Text(f"{SAID}, the worst of times"),)

    def test_one_that_was_only_slow_keeps_its_stream(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        capture = begin(store, lease_seconds=600)
        run_sql(store, "UPDATE stream SET expires = 1")
        interrupt_reading(monkeypatch, lambda: write_more(store, capture))
        assert store.streams.recover() == []
        assert capture.finish() == store.get("main")


class TestTheEnd:
    def test_the_journal_is_gone_and_what_became_of_the_stream_is_remembered(self, asked: Store) -> None:
        capture = begin(asked)
        turn = capture.finish()
        rows = dump(asked)
        assert rows["stream_chunk"] == []
        [stream] = rows["stream"]
        assert (stream[1], "finished" in stream, turn.id in stream) == (capture._journal.id, True, True)

    def test_streams_that_ended_long_ago_are_forgotten(self, asked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        begin(asked).finish()
        monkeypatch.setattr("headish.store.answers.journal.KEPT_SECONDS", -3600)
        open_now = begin(asked)
        assert [row[1] for row in dump(asked)["stream"]] == [open_now._journal.id]

    def test_a_commit_whose_acknowledgement_was_lost_is_not_made_twice(
        self, asked: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        capture = begin(asked)
        write = database_of(asked).write

        def lose(work: Callable[[Connection], T], settle: Any = None) -> T:
            write(work, settle)
            raise DatabaseError("here", "the connection was lost")

        with monkeypatch.context() as patched:
            patched.setattr(database_of(asked), "write", lose)
            with pytest.raises(DatabaseError, match="the connection was lost"):
                capture.finish()
        stored = asked.get("main")
        assert capture.finish() == stored
        assert [turn.id for turn in asked.turns()] == [stored.meta.continues[0], stored.id]

    def test_the_same_stream_stored_by_two_is_one_turn(self, asked: Store) -> None:
        capture = begin(asked)
        about, reply, stream = capture._about, capture._stream.finish(), capture._journal.id
        with ThreadPoolExecutor(4) as pool:
            turns = set(pool.map(lambda _: _finish(asked, about, reply, stream).id, range(4)))
        assert turns == {asked.get("main").id}
        capture.finish()

    def test_a_capture_that_nobody_has_any_more_loses_its_lease(self, asked: Store) -> None:
        capture = begin(asked, lease_seconds=0.5)
        del capture
        gc.collect()
        wait_until(asked.streams.recover, "the lease has run out")
        check_recovered(asked, asked.get("main"))


class TestADatabaseInTheWay:
    def test_one_whose_database_was_closed_ends_quietly(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        capture = begin(store)
        store.close()
        capture.feed(EVENTS[len(BEGUN)])
        assert capture._journal.keep() is False

    def test_a_write_that_fails_once_is_made_up_for(self, asked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        capture = begin(asked)
        database, write = database_of(asked), database_of(asked).write
        failed = threading.Event()

        def fail_once(work: Callable[[Connection], T]) -> T:
            if not failed.is_set():
                failed.set()
                raise DatabaseLocked("here", "somebody holds it")
            return write(work)

        with monkeypatch.context() as patched:
            patched.setattr(database, "write", fail_once)
            capture.feed({"type": "ping", "number": 1})
            assert failed.wait(20)
            capture.feed({"type": "ping", "number": 2})
            wait_until(lambda: b'"number":2' in journalled(asked), "the second event is journalled")
        assert journalled(asked).index(b'"number":1') < journalled(asked).index(b'"number":2')
        assert asked.blocks(capture.finish().id) == (Text(SAID),)

    def test_a_journal_that_can_never_be_written_does_not_cost_the_answer(
        self, asked: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        capture = asked.capture("main", "anthropic", lease_seconds=0.1)
        refused = threading.Event()

        def refuse(work: Callable[[Connection], Any]) -> Any:
            refused.set()
            raise DatabaseReadOnly("here", "it cannot be written")

        with monkeypatch.context() as patched:
            patched.setattr(database_of(asked), "write", refuse)
            shown = [delta.content for event in EVENTS for delta in capture.feed(event)]
            assert refused.wait(20)
        assert tuple(shown) == PIECES
        assert asked.blocks(capture.finish().id) == (Text(SAID),)

    def test_an_answer_is_shown_while_another_process_holds_the_database(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("How was it?", bookmark="main")
        capture = store.capture("main", "anthropic")
        shown: list[str] = []

        def feed() -> None:
            for event in [{"type": "ping", "padding": "x" * 100_000}, *EVENTS]:
                shown.extend(delta.content for delta in capture.feed(event))

        with closing(sqlite3.connect(file_place.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            reading = threading.Thread(target=feed)
            reading.start()
            reading.join(20)
            other.execute("ROLLBACK")
        assert tuple(shown) == PIECES
        reading.join()
        assert store.blocks(capture.finish().id) == (Text(SAID),)
