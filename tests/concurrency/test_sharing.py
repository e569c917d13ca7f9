"""Threads of one process share commits: each is answered for its own job, whatever happens to the others."""

from __future__ import annotations

import dis
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest

from headish import Database, Store
from headish.database import sqlite
from headish.database.file import sharing
from headish.database.file.sharing import SharedCommits
from headish.database.query import Connection
from headish.errors import BookmarkTaken, Closed, DatabaseError, DatabaseLocked
from support.insides import dump, on_connections
from support.places import FilePlace

THREADS = 32


class Interrupted(BaseException):
    """What a signal's handler raises."""


@pytest.fixture
def store(file_place: FilePlace) -> Store:
    store = file_place.open()
    store.add_turn("root", bookmark="main")
    return store


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The jobs that have joined a group: their callers wait for a leader, or lead."""
    jobs: list[object] = []
    original = SharedCommits._join

    def join(self: SharedCommits, job: Any) -> Any:
        group = original(self, job)
        jobs.append(job)
        return group

    monkeypatch.setattr(SharedCommits, "_join", join)
    return jobs


@contextmanager
def traced(store: Store) -> Iterator[list[str]]:
    """The statements that begin and end transactions and savepoints inside the block."""
    backend: Any = store._backend
    said: list[str] = []

    def say(sql: str) -> None:
        if sql.split()[0] in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"):
            said.append(sql)

    traces = on_connections(backend, lambda driver: driver.set_trace_callback(say))
    with traces:
        yield said
    for driver in backend._pool._open:
        driver.set_trace_callback(None)


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Another process holds the file's lock inside the block."""
    with closing(sqlite3.connect(store._backend.target, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.001)


def gather(
    store: Store, joined: list[Any], calls: Sequence[Callable[[], Any]], meanwhile: Callable[[], object] = lambda: 0
) -> list[Future[Any]]:
    """The calls, each in a thread of its own, that all wait for the file's lock before any of them runs."""
    joined.clear()
    with ThreadPoolExecutor(len(calls)) as pool, locked(store):
        done = [pool.submit(call) for call in calls]
        wait_until(lambda: len(joined) == len(calls))
        meanwhile()
    return done


def appending(store: Store, count: int) -> list[Callable[[], str]]:
    return [lambda number=number: store.add_turn(f"by {number}", continues="main").id for number in range(count)]  # type: ignore[misc]


def said(store: Store) -> list[str]:
    return [store.text(turn.id) for turn in store.turns()]


class TestOneCommit:
    def test_all_who_wait_are_stored_once_in_one_line_by_one_commit(self, store: Store, joined: list[Any]) -> None:
        ids: list[str] = []
        for _ in range(3):
            with traced(store) as statements:
                ids += [each.result() for each in gather(store, joined, appending(store, THREADS))]
            assert statements.count("COMMIT") == 1
        stored = [turn.id for turn in store.turns()]
        assert sorted(ids) == stored[1:]
        assert [turn.id for turn in store.log("main")] == stored[::-1]
        assert store.verify().problems == ()

    def test_threads_that_go_on_writing_share_them_too(self, store: Store) -> None:
        def work(number: int) -> list[str]:
            return [store.add_turn(f"{number} {index}", continues="main").id for index in range(10)]

        with traced(store) as statements, ThreadPoolExecutor(THREADS) as pool:
            ids = [each for part in pool.map(work, range(THREADS)) for each in part]
        assert statements.count("COMMIT") < len(ids)
        assert [turn.id for turn in store.log("main")][::-1][1:] == sorted(ids)

    def test_one_alone_has_no_savepoint(self, store: Store) -> None:
        with traced(store) as statements:
            store.add_turn("alone", continues="main")
        assert statements == ["BEGIN IMMEDIATE", "COMMIT"]

    def test_memory_has_them_as_well(self) -> None:
        with Store.open(":memory:") as store, ThreadPoolExecutor(8) as pool:
            store.add_turn("root", bookmark="main")
            list(pool.map(lambda call: call(), appending(store, 40)))
            assert len(store.log("main")) == 41

    def test_a_group_ends(self, store: Store, joined: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sharing, "GROUP_JOBS", 4)
        with traced(store) as statements:
            gather(store, joined, appending(store, 12))
        assert statements.count("COMMIT") == 3

    def test_a_group_of_many_bytes_ends_early(
        self, store: Store, joined: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sharing, "GROUP_PAGES", 50)
        calls = [lambda: store.add_turn("x" * 100_000 + str(time.monotonic_ns())).id for _ in range(8)]
        with traced(store) as statements:
            gather(store, joined, calls)
        assert 2 <= statements.count("COMMIT") <= 5
        assert store.stats().turns == 9


class TestRefusals:
    def test_one_that_is_refused_undoes_itself_only(self, store: Store, joined: list[Any]) -> None:
        store.add_turn("another line", bookmark="taken")
        calls = appending(store, 9)
        calls.insert(4, lambda: store.add_turn("refused " * 1000, continues="main", bookmark="taken").id)
        done = gather(store, joined, calls)
        refused = [each.exception() for each in done]
        assert [type(each) for each in refused if each] == [BookmarkTaken]
        assert isinstance(refused[4], BookmarkTaken)
        assert sorted(said(store)[2:]) == sorted(f"by {number}" for number in range(9))
        assert not any("refused" in str(row) for row in dump(store)["payload"])
        assert store.verify().problems == ()

    def test_what_was_refused_is_not_kept(self, store: Store) -> None:
        for number in range(5):
            with pytest.raises(BookmarkTaken):
                store.add_turn(f"refused {number}", bookmark="main")
        shared: SharedCommits = store._backend._shared
        assert shared._open.jobs == []

    def test_a_job_with_a_mistake_fails_its_own_caller(self, store: Store, joined: list[Any]) -> None:
        def work(_: Connection) -> str:
            raise ZeroDivisionError

        done = gather(store, joined, [*appending(store, 3), lambda: store._write(work), *appending(store, 3)])
        assert [type(each.exception()) for each in done] == [type(None)] * 3 + [ZeroDivisionError] + [type(None)] * 3
        assert len(store.log("main")) == 7

    def test_a_commit_that_fails_fails_all(self, store: Store, joined: list[Any]) -> None:
        def refer_to_nothing(connection: Connection) -> str:
            connection._cursor.execute("PRAGMA defer_foreign_keys = ON")
            connection._cursor.execute("UPDATE turn SET space = 99")  # found at the COMMIT
            return "stored?"

        before = dump(store)
        done = gather(store, joined, [*appending(store, 3), lambda: store._write(refer_to_nothing)])
        errors = [each.exception() for each in done]
        assert all(isinstance(error, DatabaseError) and "FOREIGN KEY" in str(error) for error in errors)
        assert len({id(error) for error in errors}) == 4
        assert dump(store) == before
        store.add_turn("after", continues="main")

    def test_a_job_that_ends_the_transaction_takes_nobody_with_it(self, store: Store, joined: list[Any]) -> None:
        def end(connection: Connection) -> str:
            connection._cursor.execute("INSERT OR ROLLBACK INTO space SELECT * FROM space")
            return "stored?"

        done = gather(store, joined, [*appending(store, 5), lambda: store._write(end), *appending(store, 5)])
        errors = [each.exception() for each in done]
        assert [isinstance(error, DatabaseError) for error in errors] == [False] * 5 + [True] + [False] * 5
        assert len(store.log("main")) == 11
        assert store.verify().problems == ()

    def test_one_in_the_midst_of_another_is_refused(self, store: Store) -> None:
        with pytest.raises(DatabaseLocked, match="write of this very thread"):
            store._write(lambda _: store.add_turn("inner"))
        store.add_turn("after", continues="main")


class TestEnding:
    def test_who_waits_while_it_is_closed_is_told(self, store: Store, joined: list[Any]) -> None:
        done = gather(store, joined, appending(store, 6), meanwhile=Database(store._database).close)
        assert [type(each.exception()) for each in done] == [Closed] * 6
        with Store.open(store._backend.target) as again:
            assert said(again) == ["root"]

    def test_who_has_looked_and_gets_the_lock_after_it_was_closed_is_told(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend: Any = store._backend
        monkeypatch.setattr(backend, "_check_identity", Database(store._database).close)  # the last look before BEGIN
        with pytest.raises(Closed):
            store.add_turn("late", continues="main")
        with Store.open(backend.target) as again:
            assert said(again) == ["root"]

    @pytest.mark.slow
    def test_whose_time_is_up_asks_for_the_lock_once(self, store: Store, joined: list[Any]) -> None:
        backend: Any = store._backend
        backend._wait_seconds = 1
        asked: list[str] = []
        original = backend._check_identity
        backend._check_identity = lambda: asked.append(threading.current_thread().name) or original()
        with ThreadPoolExecutor(4) as pool, locked(store):
            done = [pool.submit(call) for call in appending(store, 4)]
            wait_until(lambda: len(joined) == 4)
            for job in joined:  # the one that leads looked at its own before it began to ask
                job.since -= 1000
            assert [type(each.exception()) for each in done] == [DatabaseLocked] * 4
        assert sorted(asked.count(name) for name in set(asked))[:3] == [1, 1, 1]
        assert store.add_turn("after", continues="main").id == store.get("main").id


def points(code: CodeType) -> set[int]:
    """Where Python looks for signals in a function: behind a call, at its beginning, and at the end of each round."""
    found, looks = set(), False
    for instruction in dis.get_instructions(code):
        if looks:
            found.add(instruction.offset)
        looks = instruction.opname in ("RESUME", "JUMP_BACKWARD") or instruction.opname.startswith("CALL")
    return found


class Interrupt:
    """Raises once in this thread, at a point where Python looks for signals in the modules that write."""

    FILES = (sharing.__file__, sqlite.__file__)

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.left, self.error = at, error
        self._points: dict[CodeType, set[int]] = {}

    def __enter__(self) -> None:
        # 3.12 gives opcodes only if some frame asked for them before ``settrace``.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, _event: str, _arg: object) -> Any:
        if frame.f_code.co_filename not in self.FILES:
            return None
        frame.f_trace = self._step  # first: 3.13 gives no opcodes of a frame that asks for them untraced
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _arg: object) -> Any:
        code = frame.f_code
        if code not in self._points:
            self._points[code] = points(code)
        if event == "opcode" and frame.f_lasti in self._points[code]:
            self.left -= 1
            if self.left == 0:
                raise self.error
        return self._step


class Alarm(Exception):
    """What many handlers raise: an exception that code may catch."""


FOLLOWERS = 2
ACCEPTED = (Interrupted, Alarm)


def interrupted_leader(store: Store, joined: list[Any], at: int, error: type[BaseException], tried: int) -> bool | None:
    """Interrupt the thread that leads while others wait. Whether it was interrupted at all; None if one that joined
    behind it was faster, and led."""
    joined.clear()

    def lead() -> bool | None:
        here, elsewhere = threading.get_ident(), []

        def work(_: Connection) -> None:
            if threading.get_ident() != here:
                elsewhere.append(True)
            wait_until(lambda: len(joined) == FOLLOWERS + 1)

        interrupt = Interrupt(at, error)
        try:
            with interrupt:
                store._write(work)
        except ACCEPTED:
            pass
        finally:
            if len(joined) == 0:
                joined.append(None)
        return interrupt.left <= 0 or (None if elsewhere else False)

    with ThreadPoolExecutor(FOLLOWERS + 1) as pool:
        leader = pool.submit(lead)
        wait_until(lambda: len(joined) > 0)
        followers = [
            pool.submit(lambda number=number: store.add_turn(f"{tried} {number}", continues="main"))
            for number in range(FOLLOWERS)
        ]
        for each in followers:
            each.result(timeout=60)
        return leader.result(timeout=60)


@pytest.mark.slow
class TestInterrupts:
    @pytest.mark.parametrize("error", ACCEPTED)
    def test_one_of_the_leader_at_any_point_reaches_nobody_else(
        self, file_place: FilePlace, joined: list[Any], error: type[BaseException]
    ) -> None:
        store = file_place.open(durability="normal")
        store.add_turn("root", bookmark="main")
        at = tried = 1
        while (was := interrupted_leader(store, joined, at, error, tried)) is not False:
            at, tried = at + (was is True), tried + 1
        assert at > 50
        expected = sorted(f"{each} {number}" for each in range(1, tried + 1) for number in range(FOLLOWERS))
        assert sorted(said(store)[1:]) == expected
        assert len(store.log("main")) == len(expected) + 1
        assert store.verify().problems == ()

    @pytest.mark.skipif(
        not hasattr(signal, "setitimer"), reason="interrupts are sent by setitimer; run this on Linux or macOS"
    )
    def test_one_of_a_waiter_withdraws_its_job(self, store: Store) -> None:
        leads, left = threading.Event(), threading.Event()

        def lead(_: Connection) -> None:
            leads.set()
            left.wait()

        def interrupt(*_: object) -> None:
            raise Interrupted

        before = signal.signal(signal.SIGALRM, interrupt)
        with ThreadPoolExecutor(1) as pool:
            leader = pool.submit(store._write, lead)
            leads.wait()
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with pytest.raises(Interrupted):
                    store.add_turn("withdrawn", continues="main")
                shared: SharedCommits = store._backend._shared  # type: ignore[attr-defined]
                assert len(shared._open.jobs) == 1, "the content of a call that has ended is kept"
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
                left.set()
            leader.result()
        store.add_turn("after", continues="main")
        assert said(store) == ["root", "after"]

    def test_one_of_a_waiter_whose_group_is_full_withdraws_its_job_too(
        self, store: Store, joined: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The leader comes by that job: it is in its own group, though no more in the one that is open."""
        monkeypatch.setattr(sharing, "GROUP_JOBS", 2)
        left = threading.Event()

        def interrupt(*_: object) -> None:
            raise Interrupted

        def fill() -> None:
            wait_until(lambda: len(joined) == 2)
            store.add_turn("third", continues="main")

        def strike() -> None:
            wait_until(lambda: len(joined) == 3)
            signal.pthread_kill(main, signal.SIGUSR1)

        main = threading.get_ident()
        before = signal.signal(signal.SIGUSR1, interrupt)
        with ThreadPoolExecutor(3) as pool:
            leader = pool.submit(store._write, lambda _: left.wait())
            wait_until(lambda: len(joined) == 1)
            others = [pool.submit(fill), pool.submit(strike)]
            try:
                with pytest.raises(Interrupted):
                    store.add_turn("withdrawn", continues="main")
            finally:
                signal.signal(signal.SIGUSR1, before)
                left.set()
            for each in (leader, *others):
                each.result()
        assert said(store) == ["root", "third"]

    def test_a_mistake_that_a_job_does_not_repeat_was_an_interrupt_of_the_leader(
        self, store: Store, joined: list[Any]
    ) -> None:
        runs: list[int] = []

        def follow(connection: Connection) -> str:
            runs.append(1)
            if len(runs) == 1:
                raise Alarm
            return "done"

        def lead(_: Connection) -> str:
            joined.append("leads")
            wait_until(lambda: len(joined) == 3)
            return "led"

        with ThreadPoolExecutor(2) as pool:
            leader = pool.submit(store._write, lead)
            wait_until(lambda: len(joined) == 2)
            follower = pool.submit(store._write, follow)
            assert isinstance(leader.exception(), Alarm)
            assert follower.result() == "done"
