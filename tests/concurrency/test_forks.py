"""A process forks while it has stores open: parent and child write on, and nothing that was acknowledged is lost."""

from __future__ import annotations

import builtins
import os
import pkgutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from headish import Store
from headish.adapters.hiding import HidesOnly, erases
from headish.adapters.remembering import TurnMemory
from headish.calls.clouds.remembering import PerEnvironment
from headish.database.file import forking
from headish.store import later
from headish.values.ids import TurnId
from support.forks import SECONDS, Child, Halt
from support.places import FilePlace, Place

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX systems; run this on one")
SlowPackage = Callable[[Callable[[], object]], None]


class Line:
    """A pipe by which one process waits for another."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()

    def say(self) -> None:
        os.write(self._in, b".")

    def wait(self) -> None:
        assert os.read(self._out, 1) == b"."


def elsewhere(target: str, space: str) -> None:
    """Another program stores a turn, and closes the database."""
    script = "import sys; from headish import Store; Store.open(sys.argv[1], space=sys.argv[2]).add_turn('elsewhere')"
    subprocess.run([sys.executable, "-c", script, target, space], check=True, timeout=SECONDS)


def said(store: Store) -> list[str]:
    return sorted(store.text(turn.id) for turn in store.turns())


WORK: dict[str, Callable[[Store], object]] = {
    "write": lambda store: store.add_turn("of a thread"),
    "read": lambda store: list(store.turns()),
    "search": lambda store: list(store.search("thread")),
    "verify": lambda store: store.verify(),
    "move a name": lambda store: store.bookmarks.set("moved", "main"),
}


@pytest.mark.parametrize("what", WORK)
def test_a_child_writes_whatever_other_threads_of_its_parent_did_at_the_fork(durable_place: Place, what: str) -> None:
    store = durable_place.open()
    store.add_turn("first", bookmark="main")
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            WORK[what](store)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        children = [Child(lambda number=number: store.add_turn(f"child {number}")) for number in range(8)]  # type: ignore[misc]
        for child in children:
            child.end()
    finally:
        stopped.set()
        for thread in threads:
            thread.join(SECONDS)
    assert {f"child {number}" for number in range(8)} <= set(said(store))
    assert store.verify().problems == ()


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["before the fork", "in the child"])
def test_nothing_is_lost_when_the_parent_closes_and_another_program_comes(durable_place: Place, opened: str) -> None:
    """SQLite removes the log where nobody else has the file open, and nobody sees the child of a fork."""
    store = durable_place.open()
    store.add_turn("first", bookmark="main")
    began, closed = Line(), Line()

    def work() -> None:
        own = store if opened == "before the fork" else durable_place.open()
        own.add_turn("child begins")
        began.say()
        closed.wait()
        for number in range(100):
            own.add_turn(f"child {number:02}")

    child = Child(work)
    began.wait()
    store.close()
    elsewhere(durable_place.target, durable_place.space)
    closed.say()
    child.end()
    again = durable_place.open()
    assert said(again) == sorted(
        ["first", "child begins", "elsewhere", *(f"child {number:02}" for number in range(100))]
    )
    assert again.verify().problems == ()


def test_a_child_of_a_child_and_its_parent_write_on(durable_place: Place) -> None:
    store = durable_place.open()

    def work(depth: int) -> None:
        store.add_turn(f"depth {depth}")
        if depth < 3:
            Child(lambda: work(depth + 1)).end()
        store.add_turn(f"depth {depth} again")

    work(0)
    assert said(store) == sorted(f"depth {depth}{more}" for depth in range(4) for more in ("", " again"))


@pytest.mark.parametrize("part", ["wal.Log", "queue.Queue", "sharing.SharedCommits"])
def test_a_child_writes_if_another_thread_was_preparing_its_first_write(
    file_place: FilePlace, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    file_place.open()  # makes the database, so that the next one has not written yet
    store = file_place.open()
    halt, where = Halt(), f"headish.database.file.{part}"
    make = pkgutil.resolve_name(where)

    def slow(*given: object) -> object:
        halt.wait()
        return make(*given)

    monkeypatch.setattr(where, slow)
    halt.fork(lambda: store.add_turn("of the parent"), lambda: store.add_turn("of the child"))
    assert said(store) == ["of the child", "of the parent"]


def test_a_fork_waits_for_the_transaction_of_another_thread(file_place: FilePlace) -> None:
    store = file_place.open()
    begun, may_end, forked = threading.Event(), threading.Event(), threading.Event()

    def slow(_: object) -> None:
        begun.set()
        may_end.wait(SECONDS)
        assert not forked.is_set()

    writer = threading.Thread(target=lambda: store._backend.write(slow))
    writer.start()
    begun.wait(SECONDS)

    def fork() -> None:
        Child(lambda: store.add_turn("of the child")).end()
        forked.set()

    forker = threading.Thread(target=fork)
    forker.start()
    forker.join(0.2)
    may_end.set()
    for thread in (writer, forker):
        thread.join(SECONDS)
    assert forked.is_set()
    assert said(store) == ["of the child"]


def test_a_fork_does_not_wait_for_ever(file_place: FilePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "WAIT_SECONDS", 0.1)
    store = file_place.open()
    begun, may_end = threading.Event(), threading.Event()
    reader = threading.Thread(target=lambda: store._backend.read(lambda _: (begun.set(), may_end.wait(SECONDS))))
    reader.start()
    begun.wait(SECONDS)
    Child(lambda: None).end()
    may_end.set()
    reader.join(SECONDS)
    store.add_turn("afterwards")
    assert said(store) == ["afterwards"]


def test_two_threads_fork_at_once(file_place: FilePlace) -> None:
    store = file_place.open()

    def fork(number: int) -> None:
        for each in range(5):
            Child(lambda each=each: store.add_turn(f"{number} {each}")).end()  # type: ignore[misc]

    threads = [threading.Thread(target=fork, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert said(store) == sorted(f"{number} {each}" for number in range(3) for each in range(5))


def test_a_fork_inside_a_transaction_of_its_own_does_not_wait_for_itself(file_place: FilePlace) -> None:
    store = file_place.open()
    store._backend.write(lambda _: Child(lambda: None).end())
    store.add_turn("afterwards")
    assert said(store) == ["afterwards"]


@pytest.mark.slow
def test_a_child_is_not_locked_out_of_a_module_that_another_thread_imports(tmp_path: Path) -> None:
    """The first call of a verb imports what it needs; a fork waits for that."""
    script = """
import os, sys, threading
from headish import Store
with Store.open(sys.argv[1]) as store:
    thread = threading.Thread(target=lambda: store.add_turn("of the thread"))
    thread.start()
    child = os.fork()
    if not child:
        store.add_turn("of the child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    assert len(list(store.turns())) == 2
"""
    for number in range(5):
        command = [sys.executable, "-c", script, str(tmp_path / f"{number}.db")]
        assert subprocess.run(command, check=False, timeout=SECONDS).returncode == 0


@pytest.fixture
def slow_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowPackage]:
    """A package to import; in this process its import waits in a function that the test gives."""
    (tmp_path / "slow_package").mkdir()
    (tmp_path / "slow_package" / "__init__.py").write_text("from slow_package.part import whole")
    (tmp_path / "slow_package" / "part.py").write_text(
        "import os\nif os.getpid() == PARENT:\n    WAIT()\nwhole = os.getpid()"
    )
    monkeypatch.setattr(builtins, "PARENT", os.getpid(), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda wait: monkeypatch.setattr(builtins, "WAIT", wait, raising=False)
    for name in ("slow_package", "slow_package.part"):
        sys.modules.pop(name, None)


def import_slowly() -> int:
    """Import the package; returns the process in which its import ended."""
    return int(import_module("slow_package").whole)


def test_a_fork_waits_for_the_import_of_another_thread(slow_package: SlowPackage) -> None:
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        time.sleep(0.2)
        ended.set()

    slow_package(wait)
    thread = threading.Thread(target=import_slowly)
    thread.start()
    assert begun.wait(SECONDS)
    child = Child(lambda: None if ended.is_set() and import_slowly() == os.getppid() else os._exit(1))
    thread.join(SECONDS)
    child.end()


def test_a_child_imports_a_module_that_another_thread_was_importing_at_the_fork(
    slow_package: SlowPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fork does not wait for ever; the child then does not wait for a thread that it does not have."""
    halt = Halt()
    slow_package(halt.wait)
    monkeypatch.setattr(later, "IMPORT_SECONDS", 0.0)
    halt.fork(import_slowly, lambda: None if import_slowly() == os.getpid() else os._exit(1))
    assert import_slowly() == os.getpid()


def test_a_module_that_forks_while_it_is_imported_is_whole_in_the_child(slow_package: SlowPackage) -> None:
    parent, children = os.getpid(), list[int]()
    slow_package(lambda: children.append(os.fork()))
    try:
        made_in = import_slowly()
    finally:
        if os.getpid() != parent:
            os._exit(0 if sys.modules.keys() >= {"slow_package", "slow_package.part"} else 1)
    assert made_in == parent
    assert os.waitpid(children[0], 0)[1] == 0


def test_a_child_remembers_messages_while_a_thread_of_its_parent_does() -> None:
    halt, memory = Halt(), TurnMemory()

    def slow() -> Iterator[tuple[TurnId, bytes]]:
        halt.wait()
        yield TurnId("0" * 25), b'"of the parent"'

    def work() -> None:
        memory.keep_all([(TurnId("1" * 25), b'"of the child"')])
        assert memory.decode(["1" * 25]) == ["of the child"]

    halt.fork(lambda: memory.keep_all(slow()), work)


def test_a_child_is_warned_that_a_verb_hides_while_a_thread_of_its_parent_is() -> None:
    halt = Halt()

    class Adapter(str):
        """A name that halts where it is looked up, which is under the lock."""

        __slots__ = ()

        def __hash__(self) -> int:
            halt.wait()
            return super().__hash__()

    def warned(verb: str) -> None:
        with pytest.warns(HidesOnly):
            assert not erases(None, Adapter("OfThisTest"), verb)

    halt.fork(lambda: warned("clear"), lambda: warned("pop"))


def test_a_child_asks_for_a_credential_while_a_thread_of_its_parent_does() -> None:
    halt, known = Halt(), PerEnvironment(("HEADISH_",))

    def work() -> None:
        assert known.find("one", lambda: "of the child") == "of the child"

    halt.fork(lambda: known.find("one", halt.wait), work)
