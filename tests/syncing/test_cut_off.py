"""A sync that stops anywhere is gone on with: at each of its moments, by kill -9, and on a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.bundles.heads import LogHead
from headish.bundles.records import BUNDLE
from headish.content.frames import read_frames
from headish.errors import HeadishError
from headish.syncing.logs import Logs
from support.machines import CutOff, Machine, Pair, bundles, cut_off, invite, objects, url_of

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
KILLED = """
import os, signal, sys
from headish import Store
from support.machines import cut_off
with Store.open(sys.argv[1]) as store, cut_off(int(sys.argv[3]), lambda: os.kill(os.getpid(), signal.SIGKILL)):
    getattr(store.remotes, sys.argv[2])("box")
"""


def same(*machines: Machine) -> bool:
    """Whether all hold the same, and nothing is wrong with it."""
    held = [{turn.id: (turn.seal, turn.erased is not None) for turn in each.store.turns()} for each in machines]
    return all(each == held[0] for each in held) and all(each.store.verify().problems == () for each in machines)


def settle(desk: Machine, laptop: Machine) -> None:
    """What has come is whole; and both go on as if nothing had been."""
    laptop.sync()
    assert laptop.store.verify().problems == ()
    for each in (desk, laptop, desk):
        each.sync()
    assert same(desk, laptop)


def stop_everywhere(pair: Pair, say: Callable[[int], object], work: Callable[[], object]) -> int:
    """Do a piece of work again and again, stopped one moment later each time, until it is done; how often."""
    for after in count():
        say(after)
        try:
            with cut_off(after) as moments:
                work()
        except CutOff:
            settle(*pair)
        else:
            settle(*pair)
            return len(moments)
    raise AssertionError


class TestStoppedAnywhere:
    def test_a_push(self, pair: Pair) -> None:
        desk, _ = pair

        def push() -> None:
            with desk as store:
                store.remotes.push("box")

        assert stop_everywhere(pair, lambda after: desk.store.add_turn(f"{after}", bookmark=f"b{after}"), push) > 6

    def test_a_push_behind_an_erasure(self, pair: Pair, tmp_path: Path) -> None:
        desk, _ = pair

        def say(after: int) -> None:
            turn = desk.store.add_turn(f"a rare word {after}", bookmark=f"b{after}")
            desk.sync()
            desk.store.add_turn("stays", continues=turn.id)
            desk.store.erase(turn.id, reason="r")

        def push() -> None:
            with desk as store:
                store.remotes.push("box")

        assert stop_everywhere(pair, say, push) > 10
        with desk as store:
            assert store.remotes.not_reached() == {}
        generations = {path.rpartition("/")[0] for path in objects(tmp_path / "box") if path.endswith(".hb")}
        assert len(generations) <= 2  # of each log the last one: nothing of an older one is left behind

    def test_a_pull(self, pair: Pair) -> None:
        desk, laptop = pair

        def say(after: int) -> None:
            desk.store.add_turn(f"{after}", bookmark=f"b{after}")
            desk.store.erase(desk.store.add_turn("slip").id, reason="r")
            desk.store.conversations.set(f"b{after}", title=f"{after}")
            desk.sync()

        def pull() -> None:
            with laptop as store:
                store.remotes.pull("box")

        assert stop_everywhere(pair, say, pull) > 6


def push_without_head(machine: Machine) -> None:
    """A push that is cut off once all of its bundles lie there."""
    with pytest.MonkeyPatch.context() as patch, machine as store:
        patch.setattr(Logs, "put_head", lambda *_: _stop())
        with pytest.raises(CutOff):
            store.remotes.push("box")


def _stop() -> None:
    raise CutOff


class TestWhatAPushThatWasCutOffLeftBehind:
    """It is not taken for what is to be pushed now: no head names it, and then it is gone."""

    def test_behind_an_erasure(self, machine: Any, tmp_path: Path) -> None:
        for kind, is_pushed in (("first", False), ("empty", True)):
            desk, box = machine(kind), tmp_path / kind
            desk.add(url_of(box), plain=True)
            if is_pushed:
                desk.sync()
            turn = desk.store.add_turn("a rare word", bookmark="main")
            push_without_head(desk)
            assert is_said_in(box)
            desk.store.erase(turn.id, reason="r")
            desk.sync()
            assert not is_said_in(box)
            with desk as store:
                assert store.remotes.not_reached() == {}

    def test_behind_an_erasure_after_an_erasure(self, machine: Any, tmp_path: Path) -> None:
        desk, box = machine("desk"), tmp_path / "box"
        desk.add(url_of(box), plain=True)
        slip, turn = desk.store.add_turn("slip"), desk.store.add_turn("a rare word")
        desk.sync()
        desk.store.erase(slip.id, reason="r")
        push_without_head(desk)
        desk.store.erase(turn.id, reason="r")
        desk.sync()
        assert not is_said_in(box)
        with desk as store:
            assert store.remotes.not_reached() == {}

    def test_behind_a_change_of_the_key(self, machine: Any, pair: Pair, tmp_path: Path) -> None:
        desk, laptop = pair
        lost = machine("lost")
        invite(desk, lost, url_of(tmp_path / "box"))
        slip = desk.store.add_turn("slip", bookmark="main")
        for each in (desk, lost, laptop):
            each.sync()
        desk.store.erase(slip.id, reason="r")
        push_without_head(desk)
        with desk as store:
            fingerprint = store.remotes.revoke("box", "lost")
        laptop.set(key=fingerprint)
        settle(*pair)


def test_two_pushes_that_write_the_log_anew_at_once_are_made_good_by_the_next(machine: Any, tmp_path: Path) -> None:
    for kind, is_pushed in (("first", False), ("anew", True)):
        desk, late, url = machine(kind), machine(f"late-{kind}"), url_of(tmp_path / kind)
        desk.add(url, plain=True)
        slip = desk.store.add_turn("slip", bookmark="main")
        if is_pushed:
            desk.sync()
            desk.store.erase(slip.id, reason="r")
        with Store.open(tmp_path / f"{kind}.db") as beside, pytest.MonkeyPatch.context() as patch:
            before_the_head(patch, partial(beside.remotes.push, "box"))
            desk.store.remotes.push("box")
        desk.sync()
        late.add(url, plain=True)
        assert late.sync().pulled.waiting == ()
        assert same(desk, late)


def before_the_head(patch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Have something done once, before a head is put."""
    put, waiting = Logs.put_head, [work]

    def put_head(logs: Logs, head: LogHead) -> None:
        if waiting:
            waiting.pop()()
        put(logs, head)

    patch.setattr(Logs, "put_head", put_head)


def is_said_in(folder: Path) -> bool:
    """Whether the rare word stands in what lies in a folder without a key."""
    read = (value for path in bundles(folder) for _, value in read_frames(BytesIO(path.read_bytes()), "x", BUNDLE))
    return any("a rare word" in repr(value) for value in read)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system")
def test_kill_9_in_a_push_and_in_a_pull(pair: Pair, tmp_path: Path) -> None:
    for each, verb, after in ((0, "push", 3), (0, "push", 5), (1, "pull", 3), (1, "pull", 5)):
        pair[0].store.add_turn(f"{verb} {after}", bookmark=f"{verb}-{after}")
        if verb == "pull":
            pair[0].sync()
        machine = pair[each]
        command = [sys.executable, "-c", KILLED, str(tmp_path / f"{machine.name}.db"), verb, str(after)]
        keys = {**os.environ, "HEADISH_KEYS": str(machine.keys)}
        assert subprocess.run(command, cwd=TESTS, env=keys, check=False).returncode == -signal.SIGKILL
        settle(*pair)


@contextmanager
def full_disk(limit_bytes: int) -> Iterator[None]:
    """No file can grow beyond a size: as on a disk that is full then."""
    resource = pytest.importorskip("resource", reason="the size of files cannot be bounded here; run this on POSIX")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_there_and_here(pair: Pair, tmp_path: Path) -> None:
    desk, laptop = pair
    desk.store.add_turn(os.urandom(300_000).hex(), bookmark="main")
    before = objects(tmp_path / "box")
    with full_disk(200_000), pytest.raises(HeadishError):
        desk.sync()
    assert {path: data for path, data in objects(tmp_path / "box").items() if path.endswith((".hb", "head"))} == {}
    assert set(before) <= set(objects(tmp_path / "box"))
    desk.sync()
    with full_disk(100_000), pytest.raises(HeadishError):
        laptop.sync()
    assert (laptop.store.stats().turns, laptop.store.verify().problems) == (0, ())
    settle(*pair)
