"""Remotes that a server syncs with at intervals: each for itself, again after a failure, and with an end."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headish import Database, Store
from headish.serve.sync import timetable
from headish.serve.sync.timetable import SyncerSettings, SyncEvery, Timetable, pause_seconds
from headish.store.keeping.schedules import SCHEDULE_FILE, Schedule, write_runs
from headish.values.checks.controls import report
from headish.values.results.sharing import SyncRun
from support.command import HEADISH, Command
from support.machines import state
from support.processes import children_of, is_alive
from support.served import PATIENCE_SECONDS, served
from support.upstream import Upstream

SILENT = "cmd:" + shlex.join([sys.executable, "-c", "import signal; signal.pause()"])
"""A remote that never says anything, even when nobody talks to it any more."""


def wait_until(done: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_SECONDS
    while not (found := done()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return found


def to(path: Path) -> str:
    return "cmd:" + shlex.join([str(HEADISH), f"--db={path}", "serve-stdio"])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    with Store.open(tmp_path / "history.db") as store:
        store.add_turn("here", bookmark="main")
        yield store


@contextmanager
def syncing(
    desk: Store, told: list[str] | Callable[[str], None], **every: float
) -> Iterator[Callable[[str], SyncRun | None]]:
    """The timetable of a store while it is kept, in threads of the test; gives how a remote stands."""
    target = str(desk._database.target)
    folder = Path(f"{target}.serve")
    folder.mkdir(exist_ok=True)
    remotes = tuple(SyncEvery(name, seconds) for name, seconds in every.items())
    table = Timetable(
        SyncerSettings(target, str(folder), "default", remotes), desk, told.append if isinstance(told, list) else told
    )
    table.begin()
    try:
        yield lambda name: desk.remotes.status(name).run
    finally:
        table.end()


class TestATimetable:
    @pytest.mark.slow
    def test_syncs_again_and_again(self, desk: Store, tmp_path: Path) -> None:
        told: list[str] = []
        with Store.open(tmp_path / "box.db") as box:
            desk.remotes.add("box", to(tmp_path / "box.db"))
            with syncing(desk, told, box=0.05) as run:
                wait_until(lambda: state(box) == state(desk))
                box.add_turn("there", continues="main")
                wait_until(lambda: state(box) == state(desk))
                found = wait_until(lambda: (found := run("box")) and found.last and found)
                assert (found.space, found.every_seconds, found.failed, found.error) == ("default", 0.05, 0, "")
        assert desk.remotes.status("box").run is None, "nobody syncs any more"
        assert told == []

    @pytest.mark.slow
    def test_one_that_fails_is_tried_again_when_nobody_can_be_told(
        self, desk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.remotes.add("box", to(tmp_path / "box.db"))  # which is not there
        with open("/dev/full", "wb", buffering=0) as full, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", io.TextIOWrapper(full, write_through=True))
            with syncing(desk, report, box=0.05) as run:
                assert wait_until(lambda: (found := run("box")) and found.failed > 1)

    @pytest.mark.slow
    def test_one_that_fails_is_told_once_and_tried_again(self, desk: Store, tmp_path: Path) -> None:
        told: list[str] = []
        desk.remotes.add("box", to(tmp_path / "box.db"))  # which is not there
        with syncing(desk, told, box=0.05) as run:
            found = wait_until(lambda: (found := run("box")) and found.failed > 1 and found)
            assert (found.last, "exit code" in found.error, len(told)) == (None, True, 1)
            with Store.open(tmp_path / "box.db") as box:
                wait_until(lambda: state(box) == state(desk))
                wait_until(lambda: (found := run("box")) and found.last and not found.failed)
        assert told[-1] == "headish sync: box: synced again"

    @pytest.mark.slow
    def test_one_that_says_nothing_holds_up_no_other(
        self, desk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(timetable, "END_SECONDS", 0.1)
        desk.remotes.add("silent", SILENT)
        desk.remotes.add("box", to(tmp_path / "box.db"))
        with Store.open(tmp_path / "box.db") as box, syncing(desk, [], silent=0.05, box=0.05) as run:
            wait_until(lambda: state(box) == state(desk))
            found = run("silent")
            assert found is not None
            assert (found.begun is not None, found.next, found.last) == (True, None, None)
            last = wait_until(lambda: (found := run("box")) and found.last)
            wait_until(lambda: (found := run("box")) and found.last and found.last > last)
            assert run("silent") == found, "it is not begun twice"
            [thread] = [each for each in threading.enumerate() if each.name == "sync-silent"]
            assert thread.daemon, "nobody waits for it at the end"
            for number in silent_of(os.getpid()):
                os.kill(number, signal.SIGKILL)

    def test_what_a_server_left_behind_that_was_killed_says_nothing(self, desk: Store) -> None:
        desk.remotes.add("box", "cmd:false")
        folder = Path(f"{desk._database.target}.serve")
        folder.mkdir()
        run = SyncRun("default", "box", 60.0)
        write_runs(folder, [run])
        assert desk.remotes.status("box").run == run
        left = msgspec.json.encode(Schedule(2**30, (run,)))
        recycled = msgspec.json.encode(Schedule(os.getpid(), (run,), "1"))  # another process has its number now
        for said in (left, recycled, b"", b"[]", left.replace(b"1073741824", b"1" * 40)):
            (folder / SCHEDULE_FILE).write_bytes(said)
            assert desk.remotes.status("box").run is None

    def test_a_mistake_of_headish_ends_no_thread(self, desk: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(type(desk.remotes), "exchange", fail)
        desk.remotes.add("box", "cmd:false")
        told: list[str] = []
        with syncing(desk, told, box=0.02) as run:
            wait_until(lambda: (found := run("box")) and found.failed > 2)
        assert len(told) == 1

    def test_a_full_disk_ends_no_thread(self, desk: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is said of the syncs cannot be written for a while."""
        left = [OSError(28, "No space left on device")] * 3

        def write(*given: Any) -> None:
            if left:
                raise left.pop()
            write_runs(*given)

        monkeypatch.setattr(timetable, "write_runs", write)
        desk.remotes.add("box", "cmd:false")
        with syncing(desk, [], box=0.02) as run:
            wait_until(lambda: (found := run("box")) and found.failed > 1)

    def test_failures_double_the_pause_up_to_half_an_hour(self) -> None:
        assert [pause_seconds(300, failed) for failed in (0, 1, 2, 3, 9)] == [300, 600, 1200, 1800, 1800]
        assert [pause_seconds(7200, failed) for failed in (0, 1, 10**6)] == [7200] * 3


def silent_of(number: int) -> list[int]:
    """The commands of a silent remote that a process has begun."""
    found = []
    for each in children_of(number):
        with suppress(OSError):
            if b"signal.pause" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
    return found


@pytest.mark.slow
class TestAServer:
    @pytest.fixture
    def upstream(self) -> Iterator[Upstream]:
        with Upstream() as started:
            yield started

    def test_syncs_with_another_server_and_ends_in_order_though_a_remote_is_stuck(
        self, desk: Store, tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "office").mkdir()
        with (
            Database.open(tmp_path / "office" / "history.db") as database,
            served(tmp_path / "office", upstream, "--no-gateway") as office,
        ):
            monkeypatch.setenv("TOKEN_OF_THE_OFFICE", database.access_tokens.add("desk", rights=["sync"]))
            monkeypatch.setenv("HEADISH_SYNC", "office every 1m, silent every 1m")
            desk.remotes.add("office", office.login.partition("/login")[0], key_env="TOKEN_OF_THE_OFFICE")
            desk.remotes.add("silent", SILENT)
            with served(tmp_path, upstream, "--no-gateway") as server:
                wait_until(lambda: state(database.store()) == state(desk))
                wait_until(lambda: silent_of(server.child("syncer")))
                status = Command(str(tmp_path / "history.db"))("status").out
                assert "'headish serve' syncs every 1 minute, last " in status
                assert "at work since" in status
                stuck = silent_of(server.child("syncer"))
                assert server.end() == 0
            for each in stuck:
                wait_until(lambda each=each: not is_alive(each))
            assert office.end() == 0

    def test_that_may_store_nothing_does_not_sync(
        self, desk: Store, tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADISH_SYNC", "box every 1m")
        monkeypatch.setenv("HEADISH_READ_ONLY", "1")
        with served(tmp_path, upstream, "--no-gateway") as server:
            server.child("web")
            assert set(server.children()) == {"web"}
            assert server.end() == 0
