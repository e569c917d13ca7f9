"""Processes that write to one file wait in a queue: the system wakes the next, and a queue that fails stops nobody."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from concurrency.test_forks import Child
from headish import Store
from headish.database import sqlite
from headish.database.file import queue
from headish.errors import DatabaseLocked
from support.insides import database_of
from support.places import FilePlace
from support.processes import open_files

fcntl = pytest.importorskip("fcntl", reason="this system has no flock; run this on a POSIX system")
SECONDS = 60
NEVER = 10_000.0


@contextmanager
def first_in(path: str) -> Iterator[None]:
    """Somebody else is the first in the queue of a file."""
    with open(f"{path}-wal", "rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield


def is_free(path: str) -> bool:
    with open(f"{path}-wal", "rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def wait_until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(SECONDS * 100):
        if is_so():
            return
        pause.wait(0.01)
    raise AssertionError("it never came to be so")


def has_turn_thread() -> bool:
    return any(each.name == "headish-turn" for each in threading.enumerate())


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry each time somebody asks for SQLite's lock."""
    asked: list[str] = []
    original = sqlite.SQLiteBackend.write_once
    monkeypatch.setattr(sqlite.SQLiteBackend, "write_once", lambda *given: asked.append("asked") or original(*given))
    return asked


class TestTheNextOne:
    def test_is_woken_and_asks_sqlite_once(
        self, file_place: FilePlace, attempts: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queue, "LOOK_SECONDS", NEVER)
        store = file_place.open()
        store.add_turn("first")
        attempts.clear()
        writer = threading.Thread(target=store.add_turn, args=("second",))
        with first_in(file_place.target):
            writer.start()
            wait_until(has_turn_thread)
            assert attempts == []
        writer.join(SECONDS)
        assert not writer.is_alive()
        assert attempts == ["asked"]
        assert is_free(file_place.target)
        assert len(list(store.turns())) == 2

    def test_is_kept_out_for_as_long_as_a_transaction_goes_on(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("first")
        free = [database_of(store).write(lambda _: is_free(file_place.target)), is_free(file_place.target)]
        assert free == [False, True]
        with pytest.raises(ZeroDivisionError):
            database_of(store).write(lambda _: 1 // 0)
        assert is_free(file_place.target)

    def test_waits_at_the_log_that_is_there_now(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("first")
        backend: Any = database_of(store)
        before = os.stat(f"{file_place.target}-wal").st_ino
        backend._pool.discard_idle()  # the last connection takes the log away
        Path(file_place.path.parent, "in the way").touch()  # so that the new one may get another number
        store.add_turn("second")
        assert not backend.write(lambda _: is_free(file_place.target)), before


class TestAQueueThatFails:
    def test_its_first_may_stand_still_and_others_write(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queue, "LOOK_SECONDS", 0.01)
        store = file_place.open()
        store.add_turn("first", bookmark="main")
        with first_in(file_place.target):
            for number in range(5):
                store.add_turn(str(number), continues="main")
            assert sum(each.name == "headish-turn" for each in threading.enumerate()) <= 1
        wait_until(lambda: not has_turn_thread())
        assert is_free(file_place.target)
        store.add_turn("last", continues="main")
        assert len(store.log("main")) == 7

    def test_a_file_system_without_such_locks_needs_none(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(37, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse)
        store = file_place.open()
        store.add_turn("first", bookmark="main")
        store.add_turn("second", continues="main")
        assert len(store.log("main")) == 2

    def test_who_gave_up_leaves_no_place_behind(self, file_place: FilePlace) -> None:
        with Store.open(file_place.target) as store:
            store.add_turn("first")
            backend: Any = database_of(store)
            backend._wait_seconds = 0.05
            with closing(sqlite3.connect(file_place.path, isolation_level=None)) as other, first_in(file_place.target):
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(DatabaseLocked):
                    store.add_turn("refused")
            wait_until(lambda: not has_turn_thread())
            assert is_free(file_place.target)
            assert [store.text(each.id) for each in store.turns()] == ["first"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not say what is open; run it on Linux")
class TestDescriptors:
    def test_a_forked_child_holds_no_place(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("first")

        def check() -> None:
            assert opened(file_place) == 0
            assert store.add_turn("of the child")

        database_of(store).write(lambda _: Child(check_none_open(file_place)).end())
        Child(check).end()
        assert len(list(store.turns())) == 2

    def test_a_closed_database_has_none(self, file_place: FilePlace) -> None:
        with Store.open(file_place.target) as store:
            store.add_turn("first")
            assert opened(file_place) > 0
        gc.collect()
        assert opened(file_place) == 0

    def test_an_interrupt_while_a_log_is_replaced_comes_out_and_leaves_none_open(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = file_place.open()
        store.add_turn("first")
        backend: Any = database_of(store)
        backend._pool.discard_idle()  # the last connection takes the log away
        close = queue._Descriptor.close

        def interrupt(descriptor: queue._Descriptor) -> None:
            if descriptor.number >= 0:  # the log that is there no more could not be opened
                monkeypatch.setattr(queue._Descriptor, "close", close)
                raise KeyboardInterrupt

        monkeypatch.setattr(queue._Descriptor, "close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.add_turn("interrupted")
        gc.collect()
        store.add_turn("second")
        assert opened(file_place, " (deleted)") == 0
        assert len(list(store.turns())) == 2

    def test_an_interrupt_while_a_database_is_closed_comes_out_and_leaves_none_open(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = Store.open(file_place.target)
        store.add_turn("first")
        close, ignored = queue._Descriptor.close, list[object]()
        monkeypatch.setattr(sys, "unraisablehook", ignored.append)

        def interrupt(descriptor: queue._Descriptor) -> None:
            monkeypatch.setattr(queue._Descriptor, "close", close)
            close(descriptor)
            raise KeyboardInterrupt

        monkeypatch.setattr(queue._Descriptor, "close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.close()
        gc.collect()
        assert (ignored, opened(file_place)) == ([], 0)

    def test_a_file_system_without_locks_leaves_none_open(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(37, "No locks available")

        ignored: list[object] = []
        monkeypatch.setattr(sys, "unraisablehook", ignored.append)
        store = file_place.open()
        store.add_turn("first")
        before = opened(file_place)
        monkeypatch.setattr(fcntl, "flock", refuse)
        for _ in range(5):
            store.add_turn("more")
        gc.collect()
        assert (ignored, opened(file_place) < before) == ([], True)


def check_none_open(place: FilePlace) -> Callable[[], None]:
    """What a child asserts that was forked in the middle of a transaction, whose connection is its parent's."""

    def check() -> None:
        assert list(queue._open) == []
        assert not is_free(place.target)  # its parent's

    return check


def opened(place: FilePlace, what: str = "") -> int:
    """How many descriptors of the log this process has; of one that was removed, where ``what`` says so."""
    return open_files(place.path.parent).count(f"{place.target}-wal{what}")
