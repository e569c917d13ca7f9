"""A database as a remote: this process opens it, and its store answers as one on another machine does."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import (
    DatabaseTooNew,
    DatabaseTooOld,
    HeadishError,
    InvalidArgument,
    NotADatabase,
    RemoteRefused,
    RemoteUnavailable,
)
from headish.syncing.live.answering import Answering
from support.machines import Machine, state

PAIRS = [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "sqlite"), ("postgresql", "postgresql")]
Place = Callable[[str, str], str]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    """Where a database of a kind lies that nobody has made yet."""

    def make(kind: str, name: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / f"{name}.db")
        return request.getfixturevalue("make_postgresql_database")()  # type: ignore[no-any-return]

    return make


class Ends:
    """The desk, whose remote is the box, each on a database of a kind."""

    def __init__(self, folder: Path, desk: str, box: str) -> None:
        self.folder, self.desk_at, self.box_at = folder, desk, box
        self.desk = Machine(Store.open(desk), folder / "keys", "desk")
        self.desk.add(box)

    def box(self) -> Store:
        return Store.open(self.box_at, create=False)

    def call(self, verb: str, **options: Any) -> Any:
        with self.desk as store:
            return getattr(store.remotes, verb)("box", **options)


@pytest.fixture
def ends(request: pytest.FixtureRequest, tmp_path: Path, place: Place) -> Iterator[Ends]:
    desk, box = getattr(request, "param", ("sqlite", "sqlite"))
    made = Ends(tmp_path, place(desk, "desk"), place(box, "box"))
    yield made
    made.desk.store.close()


every_pair = pytest.mark.parametrize("ends", PAIRS, indirect=True, ids="-".join)


@every_pair
class TestOnEveryPairOfDatabases:
    def test_each_takes_what_is_new_at_the_other(self, ends: Ends) -> None:
        desk = ends.desk.store
        desk.add_turn("asked at the desk", bookmark="main")
        desk.conversations.set("main", title="a title", tags=["x"])
        with pytest.raises(RemoteUnavailable, match="--create"):
            ends.call("exchange")
        assert ends.call("exchange", create=True).pushed.turns == 1
        with ends.box() as box:
            assert box.conversations.get("main").record.title == "a title"
            box.add_turn("asked at the box", continues="main", role="assistant")
            box.add_document(b"\0" * 3_000_000, name="zeros", content_type="application/octet-stream")
            desk.add_turn("asked meanwhile", bookmark="other")
            done = ends.call("exchange")
            assert (done.pulled.stored, done.pushed.turns) == (2, 1)
            assert state(desk) == state(box)
            assert desk.verify().problems == box.verify().problems == ()
        assert [each.name for each in desk.remotes.bookmarks()] == ["box/main", "box/other"]
        nothing = ends.call("exchange")
        assert (nothing.pulled.stored, nothing.pulled.known, nothing.pushed.turns) == (0, 0, 0)
        assert ends.call("status").unsent == 0

    def test_names_have_leases_and_go_where_that_is_said(self, ends: Ends) -> None:
        desk = ends.desk.store
        desk.add_turn("asked", bookmark="main")
        desk.add_turn("for a while", bookmark="gone")
        ends.call("push", create=True)
        desk.add_turn("at the desk", continues="main")
        with ends.box() as box:
            there = box.add_turn("at the box", continues="main")
            assert [each.outcome for each in ends.call("exchange").pushed.names] == ["diverged"]
            ends.call("push", force_with_lease=there.id)
            assert box.bookmarks["main"] == desk.bookmarks["main"]
            desk.bookmarks.remove("gone")
            ends.call("push")
            assert "gone" in box.bookmarks
            ends.call("push", delete=True)
            assert "gone" not in box.bookmarks

    def test_an_erasure_waits_or_is_made_at_once_where_this_machine_is_trusted(self, ends: Ends) -> None:
        desk = ends.desk.store
        turns = [desk.add_turn(f"to be forgotten {number}") for number in range(2)]
        ends.call("push", create=True)
        with ends.box() as box:
            desk.erase(turns[0].id, reason="asked to")
            ends.call("push")
            assert [box.get(each.id).erased is None for each in turns] == [True, True]
            assert len(box.remotes.pending_erasures()) == 1
            ends.call("set", trust=True)
            desk.erase(turns[1].id, reason="asked to")
            ends.call("push")
            assert box.get(turns[1].id).erased is not None

    def test_two_that_call_each_other_at_once_lose_nothing(self, ends: Ends) -> None:
        ends.desk.store.add_turn("first", bookmark="main")
        ends.call("push", create=True)
        with ends.box() as box:
            other = Machine(box, ends.folder / "keys", "box")
            with other:
                box.remotes.add("box", ends.desk_at, device="box")
                failed = _both([ends.desk.store, box])
            assert failed == []
            for store in (ends.desk.store, box):
                with ends.desk:
                    store.remotes.exchange("box")
            assert state(ends.desk.store)[0] == state(box)[0]
            assert len(state(box)[0]) == 1 + 2 * ROUNDS
            assert box.verify().problems == ends.desk.store.verify().problems == ()


ROUNDS = 12
KILLS = 6


@pytest.mark.slow
@every_pair
def test_a_sync_is_killed_again_and_again(ends: Ends) -> None:
    """Behind each of its first messages, and while both sides have much to say. On a server, the connections of the
    other database are ended in every second round."""
    desk = ends.desk.store
    desk.add_turns({"content": f"{number} " + "x" * 100_000} for number in range(10))
    for number in range(3):
        _killed(ends, after=number)
    ends.call("exchange", create=True)
    with ends.box() as box:
        for number in range(KILLS):
            for store in (desk, box):
                store.add_turns({"content": f"{number} {each} " + "y" * 100_000} for each in range(20))
                store.bookmarks.set("main", store.get("@").id)
            of_server = ends.box_at.startswith("postgresql") and number % 2
            _killed(ends, after=2 * number, stop=partial(_end_sessions, ends.box_at) if of_server else None)
            assert desk.verify().problems == box.verify().problems == ()
        ends.call("exchange")
        assert state(desk)[0] == state(box)[0]
        assert len(state(box)[0]) == 10 + KILLS * 2 * 20


def _killed(ends: Ends, after: int, stop: Callable[[], None] | None = None) -> None:
    """Sync in another process, which is killed after so many messages, or has ``stop`` happen to it."""
    words = [sys.executable, "-c", _SYNCS, ends.desk_at]
    keys = {"HEADISH_KEYS": str(ends.desk.keys)}
    with subprocess.Popen(words, env=os.environ | keys, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(after + 1):
            assert process.stdout.readline() == b"sends\n"
        process.kill() if stop is None else stop()
        said = process.stdout.read()
    assert process.returncode in (0, -signal.SIGKILL), said


_SYNCS = """
import sys
from headish import Store
from headish.errors import HeadishError
from headish.syncing.live.wire import Wire
send = Wire.send
def told(*given):
    print("sends", flush=True)
    send(*given)
Wire.send = told
with Store.open(sys.argv[1]) as store:
    try:
        store.remotes.exchange("box", create=True)
    except HeadishError as error:
        print(type(error).__name__)
"""


def _end_sessions(url: str) -> None:
    """End the connections of all others to a database of a server."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _both(stores: list[Store]) -> list[HeadishError]:
    """Both say something and sync, again and again, at the same time; what failed."""
    failed: list[HeadishError] = []

    def run(store: Store, name: str) -> None:
        try:
            for number in range(ROUNDS):
                store.add_turn(f"{name} {number} " + "x" * 50_000, bookmark=f"{name}-{number}")
                store.remotes.exchange("box")
        except HeadishError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(each, f"of-{index}")) for index, each in enumerate(stores)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return failed


class TestWhichDatabase:
    def test_a_path_is_that_of_every_folder(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ends.folder)
        with ends.desk as store:
            assert store.remotes.add("near", "near.db").url == str(ends.folder / "near.db")
            assert "no database is there" in store.remotes.list()[1].waits
            monkeypatch.setenv("HOME", str(ends.folder / "home"))
            assert store.remotes.add("home", "~/x.db").url == str(ends.folder / "home" / "x.db")

    def test_a_slip_in_the_path_makes_no_database(self, ends: Ends) -> None:
        ends.desk.store.add_turn("x", bookmark="main")
        for verb in ("push", "pull", "exchange"):
            with pytest.raises(RemoteUnavailable, match="there is no database"):
                ends.call(verb)
        assert not os.path.exists(ends.box_at)
        with pytest.raises(RemoteUnavailable, match="there is no database"), ends.desk, Store.open(":memory:") as new:
            new.remotes.clone("origin", ends.box_at)

    def test_a_space_that_is_not_there_is_made_if_that_is_said(self, tmp_path: Path) -> None:
        Store.open(tmp_path / "box.db").close()
        desk = Machine(Store.open(tmp_path / "desk.db", space="work"), tmp_path / "keys", "desk")
        with desk as store:
            store.add_turn("x")
            store.remotes.add("box", str(tmp_path / "box.db"))
            with pytest.raises(RemoteUnavailable, match="no space 'work'"):
                store.remotes.push("box")
            assert store.remotes.push("box", create=True).turns == 1
            store.close()

    def test_one_that_is_cloned(self, ends: Ends) -> None:
        last = ends.desk.store.add_turn("asked", bookmark="main")
        with ends.desk, Store.open(ends.folder / "new.db") as new:
            assert new.remotes.clone("origin", ends.desk_at).pulled.stored == 1
            assert new.get("@").id == last.id

    def test_the_database_itself_is_refused(self, ends: Ends) -> None:
        path = Path(ends.desk_at)
        link = ends.folder / "link.db"
        link.symlink_to(path)
        ends.desk.store.add_turn("x")
        with ends.desk as store:
            for name in (path, link):
                with pytest.raises(InvalidArgument, match="is this database itself"):
                    store.remotes.add("me", str(name))
            later = ends.folder / "later.db"
            store.remotes.add("me", str(later))
            later.symlink_to(path)
            for verb in ("push", "pull", "exchange"):
                with pytest.raises(InvalidArgument, match="is this database itself"):
                    getattr(store.remotes, verb)("me")

    @pytest.mark.postgresql
    def test_a_database_of_a_server_is_itself_however_it_is_named(self, tmp_path: Path, place: Place) -> None:
        url = place("postgresql", "")
        with Machine(Store.open(url), tmp_path / "keys", "desk") as store:
            store.remotes.add("me", f"{url}{'&' if '?' in url else '?'}application_name=other")
            with pytest.raises(InvalidArgument, match="is this database itself"):
                store.remotes.push("me")
            store.close()

    def test_a_copy_of_the_file_is_another_database(self, ends: Ends) -> None:
        ends.desk.store.add_turn("before", bookmark="main")
        ends.desk.store.close()
        Path(ends.box_at).write_bytes(Path(ends.desk_at).read_bytes())
        ends.desk.store = Store.open(ends.desk_at)
        ends.desk.store.add_turn("behind", continues="main")
        assert ends.call("exchange").pushed.turns == 1

    def test_what_names_none_is_refused(self, ends: Ends) -> None:
        (ends.folder / "folder").mkdir()
        for url in ("", ":memory:", str(ends.folder / "folder"), "a\nb.db", "a\udc80.db", "postgresql:x", "ftp://x"):
            with ends.desk as store, pytest.raises(InvalidArgument):
                store.remotes.add("x", url)
        with ends.desk as store:
            for options in ({"plain": True}, {"passphrase": True}, {"key": "0" * 32}):
                with pytest.raises(InvalidArgument):
                    store.remotes.add("x", "x.db", **options)
            assert [each.name for each in store.remotes.list()] == ["box"]

    def test_an_address_that_no_server_can_have_is_refused_at_once(self, ends: Ends) -> None:
        wrong = {
            "postgresql://[x": "host", "postgresql://a b/db": "host", "postgresql://h]/db": "host",
            "postgresql://h:0/db": "port", "postgresql://h:65536/db": "port", "postgresql://h:x/db": "PORT",
            "postgresql://u:hunter2": "PORT", "postgresql://h:/db": "PORT", "postgresql://u%zz@h/db": "%",
            "postgresql://h/db%4": "%", "postgresql://h/db?application_name=100%": "%",
            "postgresql://u%0a@h/db": "control", "postgresql://h/d%00b": "control",
            "postgresql://h/db?host=%7f": "control", "postgresql:///db?host=a:1&host=b:2&port=3": "ports",
        }  # fmt: skip
        with ends.desk as store:
            for url, why in wrong.items():
                with pytest.raises(InvalidArgument, match="the database URL of the remote cannot be read") as refused:
                    store.remotes.add("x", url)
                assert why in str(refused.value), url
                assert "hunter2" not in str(refused.value)
            for index, url in enumerate(
                ("[::1]:5432/db", "h/db", "/db?host=/run/pg", "h1/db?host=a:1&host=b:2", "u%40@h/%C3%A4")
            ):
                store.remotes.add(f"x{index}", f"postgresql://{url}")
            assert len(store.remotes.list()) == 6

    @pytest.mark.parametrize("url", ["u:hunter2@h/db", "u@h/db?password=hunter2", "u@h/db?sslpassword=hunter2"])
    def test_a_password_is_neither_stored_nor_said(self, ends: Ends, url: str) -> None:
        with ends.desk as store, pytest.raises(InvalidArgument, match="PGPASSWORD") as refused:
            store.remotes.add("server", f"postgresql://{url}")
        assert "hunter2" not in str(refused.value)
        assert b"hunter2" not in b"".join(each.read_bytes() for each in ends.folder.rglob("*") if each.is_file())

    def test_a_server_that_is_not_there(self, ends: Ends) -> None:
        with ends.desk as store:
            store.remotes.add("server", "postgresql://u@127.0.0.1:1/db")
            with pytest.raises(RemoteUnavailable):
                store.remotes.push("server")

    def test_one_that_came_with_a_database_from_elsewhere_is_not_opened(self, ends: Ends) -> None:
        ends.desk.store.add_turn("x")
        ends.call("push", create=True)
        stranger = Machine(ends.desk.store, ends.folder / "keys of another machine", "stranger")
        with stranger as store, pytest.raises(RemoteUnavailable, match="has not named its database"):
            store.remotes.pull("box")


class TestWhatIsThere:
    def test_an_older_database_is_upgraded_by_what_writes_alone(self, ends: Ends) -> None:
        ends.desk.store.add_turn("x")
        ends.call("push", create=True)
        _set_revision(ends.box_at, "headish_0009_remotes")
        with pytest.raises(DatabaseTooOld):
            ends.call("pull")
        assert _revision(ends.box_at) == "headish_0009_remotes"

    def test_a_newer_database_and_that_of_another_program_are_refused_by_name(self, ends: Ends) -> None:
        ends.desk.store.add_turn("x")
        ends.call("push", create=True)
        _set_revision(ends.box_at, "headish_9999_later")
        with pytest.raises(DatabaseTooNew):
            ends.call("push")
        os.unlink(ends.box_at)
        with sqlite3.connect(ends.box_at) as other:
            other.execute("CREATE TABLE theirs (x)")
        with pytest.raises(NotADatabase):
            ends.call("push", create=True)

    @pytest.mark.postgresql
    def test_one_that_takes_nothing_is_read(self, ends: Ends, place: Place) -> None:
        url = place("postgresql", "")
        with Store.open(url) as box:
            box.add_turn("there", bookmark="main")
        with ends.desk as store:
            at = f"{url}{'&' if '?' in url else '?'}options=-c%20default_transaction_read_only%3Don"
            store.remotes.add("ro", at)
            store.add_turn("here")
            assert store.remotes.pull("ro").stored == 1
            with pytest.raises(HeadishError):
                store.remotes.push("ro")
        with Store.open(url) as box:
            assert len(list(box.turns())) == 1

    def test_a_mistake_there_is_told_and_nothing_stays_open(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        ends.desk.store.add_turn("x", bookmark="main")
        ends.call("push", create=True)
        ends.desk.store.add_turn("y", continues="main")

        def fail(*_: Any) -> None:
            raise ZeroDivisionError("of this test")

        gc.collect()  # what earlier tests have left open would else be closed meanwhile
        before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
        threads = set(threading.enumerate())
        with monkeypatch.context() as patch:
            patch.setattr(Answering, "_send_head", fail)
            with pytest.raises(RemoteRefused, match="ZeroDivisionError") as refused:
                ends.call("exchange")
        assert isinstance(refused.value.__cause__, ZeroDivisionError)
        assert before is None or sorted(os.listdir("/proc/self/fd")) == before
        assert {each for each in threading.enumerate() if not each.daemon} <= threads
        ends.call("exchange")
        with ends.box() as box:
            assert state(box) == state(ends.desk.store)

    @pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="lists the open files in /proc")
    @pytest.mark.parametrize("number", [1, 2])
    def test_a_process_that_may_open_no_more_files_leaves_none_open(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        ends.desk.store.add_turn("x", bookmark="main")
        ends.call("push", create=True)
        make, calls = os.pipe, iter(range(1, 9))

        def pipe() -> tuple[int, int]:
            if next(calls) == number:
                raise OSError(errno.EMFILE, "too many open files")
            return make()

        gc.collect()  # what earlier tests have left open would else be closed meanwhile
        before = sorted(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "pipe", pipe)
            with pytest.raises(OSError, match="too many open files") as failed:
                ends.call("exchange")
        assert failed.value.__traceback__ is not None  # it holds what was open, so no collector has closed it
        assert sorted(os.listdir("/proc/self/fd")) == before
        ends.call("exchange")

    def test_an_interrupt_leaves_both_whole(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(40):
            ends.desk.store.add_turn(f"{number} " + "x" * 600_000)

        from headish.syncing.live import sending

        def interrupted(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sending, "_publish", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ends.call("push", create=True)
        ends.call("push")
        with ends.box() as box:
            assert state(box) == state(ends.desk.store)
            assert box.verify().problems == ()


def _set_revision(path: str, revision: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", [revision])


def _revision(path: str) -> str:
    with sqlite3.connect(path) as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])
