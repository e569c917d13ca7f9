"""An exception at any moment of a call leaves a store that works, and a database that nobody is locked out of."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from headish import Store
from headish.database.query import Connection, Query
from headish.errors import DatabaseError, HeadishError
from support.interrupts import LOCKS_LEAK, WHY_LOCKS_LEAK, Interrupted, interrupted_calls, interrupting, is_free
from support.places import FilePlace, Place

pytestmark = pytest.mark.slow

if not hasattr(signal, "setitimer"):
    pytest.skip("interrupts are sent by setitimer; run these on Linux or macOS", allow_module_level=True)

QUICK = Query("answer at once", "SELECT %s::text")
INTERRUPTS = int(os.environ.get("HEADISH_INTERRUPTS", "100"))
"""How many a test sends; ``make soak`` sends 10,000."""


@pytest.fixture
def uncollected() -> Iterator[None]:
    """What is raised while garbage is collected goes nowhere."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.skipif(LOCKS_LEAK, reason=WHY_LOCKS_LEAK)
class TestInterrupts:
    def test_a_store_works_after_them_and_has_what_was_acknowledged(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.add_turn("root", bookmark="main")
        with interrupting():
            acknowledged = interrupted_calls(store, INTERRUPTS, seed=1)
        turn = store.add_turn("after", continues="main")
        stored = {each.id for each in store.turns()}
        assert acknowledged.keys() | {turn.id} <= stored
        assert [each.id for each in store.heads()] == [turn.id]
        assert durable_place.open().add_turn("another writer", continues="main").meta.continues == (turn.id,)
        assert store.verify().problems == ()

    def test_threads_beside_it_store_all_of_theirs_once(self, durable_place: Place) -> None:
        """Whose commits the interrupted one shares: it may lead, or wait, or be on its way out."""
        store = durable_place.open()
        store.add_turn("root", bookmark="main")
        done = threading.Event()

        def write(number: int) -> list[str]:
            ids = list[str]()
            while not done.is_set():
                ids.append(store.add_turn(f"thread {number}/{len(ids)}", continues="main").id)
            return ids

        with interrupting(), ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write, number) for number in range(4)]
            try:
                acknowledged = interrupted_calls(store, INTERRUPTS // 2, seed=2, is_alone=False)
            finally:
                done.set()
            ids = {each for part in writing for each in part.result()}
        turn = store.add_turn("after", continues="main")
        thread = store.log("main")
        assert acknowledged.keys() | ids | {turn.id} <= {each.id for each in thread}
        texts = [store.text(each.id) for each in thread]
        assert len(texts) == len(set(texts)) == store.stats().turns
        assert sum(text.startswith("thread ") for text in texts) == len(ids)
        assert store.verify().problems == ()

    def test_one_at_begin_leaves_no_transaction_open(self, file_place: FilePlace) -> None:
        """Ctrl-C at a prompt keeps the traceback, and with it every local of the call."""
        store = file_place.open()
        store.add_turn("root", bookmark="main")
        kept: list[BaseException] = []
        chance = random.Random(7)
        with interrupting():
            while len(kept) < 60:
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00002, 0.0008))
                    # Bounded: Python swallows what a handler raises inside a destructor.
                    for _ in range(100):
                        store.add_turn("x", continues="main")
                except Interrupted as interrupt:
                    kept.append(interrupt)
                signal.setitimer(signal.ITIMER_REAL, 0)
                is_free(store)
        assert store.verify().problems == ()

    def test_one_that_comes_between_a_statement_and_its_answer_ends_the_connection_in_silence(
        self, new_postgresql: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with Store.open(new_postgresql) as store, interrupting():
            store.add_turn("root", bookmark="main")

            def work(connection: Connection) -> None:
                connection._cursor.execute("SELECT 1")
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                connection._cursor.execute("SELECT pg_sleep(1)")

            with caplog.at_level(logging.ERROR), pytest.raises(Interrupted):
                store._write(work)
            assert caplog.text == ""
            store.add_turn("after", continues="main")
            assert len(store.log("main")) == 2

    def test_one_in_the_middle_of_many_rows_comes_out_as_itself(self, new_postgresql: str) -> None:
        """The driver sends them as one message, which it cannot leave in the middle."""
        slow = Query("wait", "SELECT pg_sleep(%s)")
        with Store.open(new_postgresql) as store, interrupting():
            store.add_turn("root", bookmark="main")

            def work(connection: Connection) -> None:
                connection.run_rows(QUICK, [["1"], ["2"]])
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                connection.run_rows(slow, [["0.2"]] * 40)

            with pytest.raises(Interrupted):
                store._write(work)
            store.add_turn("after", continues="main")

    def test_an_error_that_a_handler_raises_comes_out_as_itself(self, new_postgresql: str) -> None:
        """A time limit raises an error of any class, and the driver's own may stand in its place."""

        class TimeIsOverError(Exception):
            pass

        def expire(*_: object) -> None:
            raise TimeIsOverError

        chance, told = random.Random(3), list[str]()
        known = [{"role": ("user", "assistant")[number % 2], "content": str(number)} for number in range(20)]
        with Store.open(new_postgresql) as store, interrupting():
            store.record(known, bookmark="main")  # what is loaded late is there
            signal.signal(signal.SIGALRM, expire)
            for number in range(INTERRUPTS * 2):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0005, 0.012))
                    for again in range(100):
                        store.record([*known, {"role": "user", "content": f"{number}/{again}"}], bookmark="main")
                except Exception as error:
                    told.append(repr(error))  # an exception would keep the connections of its frames
                finally:
                    with suppress(TimeIsOverError):
                        signal.setitimer(signal.ITIMER_REAL, 0)
            assert set(told) == {"TimeIsOverError()"}
            assert len(told) > INTERRUPTS
            store.add_turn("after", bookmark="another")
            assert store.verify().problems == ()

    def test_an_error_that_a_handler_raises_while_the_driver_reads_a_time_comes_out_as_itself(
        self, new_postgresql: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class TimeIsOverError(Exception):
            pass

        class Struck:
            def __float__(self) -> float:
                raise TimeIsOverError

        from psycopg import conninfo

        monkeypatch.setattr(conninfo._conninfo_utils, "get_param", lambda *_: Struck())
        with pytest.raises(TimeIsOverError):
            Store.open(new_postgresql)

    def test_an_error_while_an_earlier_one_is_handled_is_no_interrupt(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.add_turn("root", bookmark="main")
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            with pytest.raises(DatabaseError, match=r"does not exist|no such"):
                store._write(lambda connection: connection.run(Query("fail", "SELECT 1 / 0 FROM nothing_at_all")))
            store.add_turn("after", continues="main")

    def test_an_exception_of_the_work_leaves_none_either(self, file_place: FilePlace) -> None:
        store = file_place.open()
        for kind in (KeyboardInterrupt, GeneratorExit, MemoryError, SystemExit):

            def work(_: object, kind: type[BaseException] = kind) -> None:
                raise kind

            with pytest.raises(kind):
                store._write(work)
            is_free(store)

    @pytest.mark.usefixtures("uncollected")
    def test_a_thread_that_is_cancelled_leaves_none(self, file_place: FilePlace) -> None:
        import ctypes

        store = file_place.open()
        store.add_turn("root", bookmark="main")
        for _ in range(20):
            started = threading.Event()

            def work(started: threading.Event = started) -> None:
                with suppress(Interrupted):
                    while True:
                        store.add_turn("x", continues="main")
                        started.set()

            thread = threading.Thread(target=work)
            thread.start()
            started.wait()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupted))
            thread.join(30)
            assert not thread.is_alive()
            is_free(store)
        assert store.verify().problems == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork() here; run this on Linux or macOS")
class TestForks:
    def test_a_forked_child_opens_connections_of_its_own(self, durable_place: Place) -> None:
        """In a process of its own: a fork of the test's, which has threads, could wait for a lock of theirs."""
        store = durable_place.open()
        store.add_turn("root", bookmark="main")
        code = """
import os, sys
from headish import Store
store = Store.open(sys.argv[1], space=sys.argv[2])
store.add_turn("before", continues="main")
children = []
for number in range(4):
    child = os.fork()
    if not child:
        try:
            for index in range(10):
                turn = store.add_turn(f"child {number} {index}", continues="main")
                assert store.get(turn.id).id == turn.id
            store.close()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    children.append(child)
for index in range(10):
    store.add_turn(f"parent {index}", continues="main")
codes = [os.waitpid(child, 0)[1] for child in children]
assert codes == [0] * 4, codes
store.add_turn("after", continues="main")
assert len(store.log("main")) == 53, len(store.log("main"))
assert len({turn.id for turn in store.turns()}) == 53
assert store.verify().problems == ()
"""
        done = subprocess.run(
            [sys.executable, "-c", code, durable_place.target, store.space],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert len(store.log("main")) == 53

    def test_one_forked_while_threads_wait_writes_and_waits_for_none_of_them(self, file_place: FilePlace) -> None:
        file_place.open().add_turn("root", bookmark="main")
        code = """
import os, random, subprocess, sys, threading, time
from headish import Store
store = Store.open(sys.argv[1])
store.add_turn("before", continues="main")
shared = store._backend._shared
hold = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE'); " \\
    "print(flush=True); sys.stdin.readline(); c.execute('ROLLBACK')"
other = subprocess.Popen([sys.executable, "-c", hold, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
other.stdout.readline()
random.uniform = lambda *_: 0.05  # a fork of a thread that is inside of SQLite is a matter of luck
def write(number):
    store.add_turn(f"thread {number}", continues="main")
threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
while len(shared._open.jobs) < 6:
    time.sleep(0.001)
child = os.fork()
if not child:
    try:
        assert store.add_turn("child", continues="main").id
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
other.communicate(b"\\n")  # the child has its input too, so closing it would not be seen
for thread in threads:
    thread.join()
assert os.waitpid(child, 0)[1] == 0
said = sorted(store.text(turn.id) for turn in store.log("main"))
assert said == sorted(["root", "before", "child"] + [f"thread {n}" for n in range(6)]), said
assert store.verify().problems == ()
"""
        done = subprocess.run(
            # Python warns of a fork among threads, which is what this is about.
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, file_place.target],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_store_stays_closed_after_an_interrupt(file_place: FilePlace) -> None:
    store = file_place.open()
    store.close()
    with pytest.raises(HeadishError, match="is closed"):
        store.add_turn("x")
