"""The recorder's process: what stands in a spool is stored once, whatever dies in between."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from headish import Store
from headish.errors import (
    CorruptTurn,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseLocked,
    DatabaseTimedOut,
    HeadishError,
    SpaceRestoring,
)
from headish.gateway.spool import (
    CallBegin,
    CallEnd,
    ResponseHead,
    SpooledCall,
    SpoolFrame,
    SpoolKind,
    SpoolWriter,
    begin,
    end,
    head,
)
from headish.gateway.spool.state import read_state
from headish.history.writing.calls import RecordedCall
from headish.serve.recorder import following
from headish.serve.recorder.following import SpoolFollower
from headish.serve.recorder.recording import CallRecorder
from headish.store.keeping.spooled import find_serve_folder
from support.command import Command
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, user
from support.places import FilePlace

PATIENCE_SECONDS = 120.0


def spool(folder: Path, calls: int, first: int = 0) -> list[str]:
    """So many requests of one thread, as a gateway writes them."""
    writer = SpoolWriter(folder / "spool")
    messages = []
    ids = []
    for number in range(first + calls):
        messages.append(user(f"Question {number}"))
        id = f"{number + 1:025}"
        if number >= first:
            frames = _frames(id, json.dumps(anthropic_body(messages, nonce=number)).encode(), f"Answer {number}")
            writer.write(frames)
            ids.append(id)
        messages.append(assistant(f"Answer {number}"))
    writer.seal()
    return ids


def spool_for(folder: Path, spaces: list[str], first: int = 1) -> list[str]:
    """A request for each of the spaces, none of which goes on with another."""
    writer, ids = SpoolWriter(folder / "spool"), []
    for number, space in enumerate(spaces, first):
        id = f"{number:025}"
        body = json.dumps(anthropic_body([user(f"Question {number}")], nonce=number)).encode()
        writer.write(_frames(id, body, f"Answer {number}", space))
        ids.append(id)
    writer.close()
    return ids


def _frames(id: str, body: bytes, answer: str, space: str | None = None) -> list[SpoolFrame]:
    begun = CallBegin(at=time.time_ns() // 1_000_000, api="anthropic", method="POST", path="/v1/messages",
                      headers=CLAUDE_CODE, space=space)  # fmt: skip
    return [
        begin(id, begun),
        SpoolFrame(SpoolKind.REQUEST, id, body),
        SpoolFrame(SpoolKind.SENT, id, b""),
        head(id, ResponseHead(status=200, at=begun.at)),
        SpoolFrame(SpoolKind.RESPONSE, id, anthropic_answer(answer)),
        end(id, CallEnd(outcome="ok", at=begun.at)),
    ]


def follower_of(store: Store, folder: Path, told: list[str]) -> SpoolFollower:
    return SpoolFollower(CallRecorder(lambda _space: store), folder, told.append)


class Refusing(CallRecorder):
    """Refuses some calls for as long as ``refused`` holds an error, as a database does."""

    def __init__(self, store: Store, *calls: str, refused: list[HeadishError]) -> None:
        super().__init__(lambda _space: store)
        self._calls, self._refused = calls, refused
        self.tried: list[str] = []

    def record(self, call: SpooledCall) -> RecordedCall | None:
        self.tried.append(call.id)
        if call.id in self._calls and self._refused:
            raise self._refused[0]
        return super().record(call)


class TestFollowing:
    def test_a_spool_is_emptied_and_says_how_far_it_is(self, store: Store, tmp_path: Path) -> None:
        told: list[str] = []
        ids = spool(tmp_path, 5)
        follower = follower_of(store, tmp_path, told)
        assert follower.look(is_over=True)
        assert follower.look(is_over=True)  # what is forgotten goes at the end of a look
        assert [call.id for call in reversed(store.calls.list())] == ids
        assert store.stats().turns == 1 + 2 * 5
        assert list((tmp_path / "spool").glob("*.spool")) == []
        state = read_state(tmp_path)
        assert state is not None
        assert (state.stored, state.waiting, state.failed, told) == (5, 0, 0, [])

    def test_a_call_that_cannot_be_read_is_named_once_and_stays_and_the_others_are_stored(
        self, store: Store, tmp_path: Path
    ) -> None:
        told: list[str] = []
        writer, odd = SpoolWriter(tmp_path / "spool"), "9" * 25
        begun, *rest = _frames(odd, b"{}", "Answer")
        writer.write([begun._replace(body=b'{"at":"of a newer headish"}'), *rest])
        writer.close()
        ids = spool(tmp_path, 2)
        follower = follower_of(store, tmp_path, told)
        assert follower.look(is_over=True)
        assert follower.look(is_over=True)
        assert [call.id for call in reversed(store.calls.list())] == ids
        assert [odd in path.read_text("latin-1") for path in (tmp_path / "spool").glob("*.spool")] == [True]
        assert told == [
            f"headish recorder: the call {odd} cannot be read: a newer headish wrote it, or it was altered; "
            "it stays in the spool"
        ]

    def test_a_database_that_fails_keeps_calls_waiting(self, store: Store, tmp_path: Path) -> None:
        told: list[str] = []
        is_locked = [True]

        def open_store(_space: str) -> Store:
            if is_locked[0]:
                raise DatabaseLocked("history.db", "another process holds it")
            return store

        spool(tmp_path, 2)
        follower = SpoolFollower(CallRecorder(open_store), tmp_path, told.append)
        assert not follower.look(is_over=True)
        assert not follower.look(is_over=True)
        state = read_state(tmp_path)
        assert state is not None
        assert (state.waiting, len(told)) == (2, 1)
        is_locked[0] = False
        assert follower.look(is_over=True)
        assert len(store.calls.list()) == 2

    def test_a_call_that_nobody_foresaw_does_not_hold_up_the_others(self, store: Store, tmp_path: Path) -> None:
        told: list[str] = []
        spool(tmp_path, 2)
        asked: list[str] = []

        def open_store(space: str) -> Store:
            asked.append(space)
            if len(asked) == 1:
                raise ZeroDivisionError
            return store

        assert SpoolFollower(CallRecorder(open_store), tmp_path, told.append).look(is_over=True)
        assert [call.id for call in store.calls.list()] == [f"{2:025}"]
        assert told == [f"headish recorder: the call {1:025} cannot be stored: ZeroDivisionError"]

    def test_a_space_that_takes_no_record_is_set_aside_and_the_others_go_on(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "FIRST_WAIT_SECONDS", 600.0)
        told: list[str] = []
        ids = spool_for(tmp_path, ["ill", "well", "ill", "well"])
        failures: list[HeadishError] = [SpaceRestoring("/secret/history.db", "ill")]
        asked: list[str] = []

        def open_store(space: str) -> Store:
            asked.append(space)
            if space == "ill" and failures:
                raise failures[0]
            return store

        follower = SpoolFollower(CallRecorder(open_store), tmp_path, told.append)
        assert not follower.look()
        assert [call.id for call in store.calls.list()] == [ids[3], ids[1]]
        assert asked == ["ill", "well", "well"], "of a space that rests no further call is tried"
        assert not follower.look()
        assert asked == ["ill", "well", "well"], "nor in the next look: it rests for a while"
        state = read_state(tmp_path)
        assert state is not None
        assert (state.stored, state.failed, state.waiting) == (2, 0, 2)
        assert dict(state.aside) == {"ill": "the space is being restored, or a restore of it was cut off"}
        assert len(told) == 1
        assert "'ill'" in told[0]
        assert len(list((tmp_path / "spool").glob("*.spool"))) == 1, "what waits stays in the spool"
        failures.clear()
        assert follower.look(is_over=True)
        follower.look(is_over=True)
        assert sorted(call.id for call in store.calls.list()) == ids
        state = read_state(tmp_path)
        assert state is not None
        assert (state.waiting, dict(state.aside), list((tmp_path / "spool").glob("*.spool"))) == (0, {}, [])

    def test_a_call_that_the_database_refuses_stops_no_other_of_its_space(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "FIRST_WAIT_SECONDS", 600.0)
        errors = (CorruptTurn("0" * 25, "it does not decode"), DatabaseError("history.db", "it says something new"))
        for number, error in enumerate(errors):
            folder = tmp_path / str(number)
            ids = spool_for(folder, ["one", "one", "one"], first=1 + 10 * number)
            refused: list[HeadishError] = [error]
            told: list[str] = []
            recorder = Refusing(store, ids[0], refused=refused)
            follower = SpoolFollower(recorder, folder, told.append)
            assert not follower.look()
            assert not follower.look()
            assert recorder.tried == ids, "the others are stored, and the one is not tried again at once"
            state = read_state(folder)
            assert state is not None
            assert (state.stored, state.failed, state.waiting, state.refused) == (2, 0, 1, 1)
            assert len(told) == 1
            refused.clear()
            assert follower.look(is_over=True)
            state = read_state(folder)
            assert state is not None
            assert (state.stored, state.waiting, recorder.tried) == (3, 0, [*ids, ids[0]])
            for id in ids:
                assert store.calls.get(id).id == id

    def test_what_any_call_may_cause_rests_that_call_alone(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "FIRST_WAIT_SECONDS", 600.0)
        causes = (DatabaseTimedOut("history.db", "statement timeout"), DatabaseCorrupt("history.db", "malformed"))
        for number, error in enumerate(causes):
            folder = tmp_path / str(number)
            ids = spool_for(folder, ["one"] * 3, first=1 + 10 * number)
            recorder = Refusing(store, ids[0], refused=[error])
            assert not SpoolFollower(recorder, folder, print).look()
            assert recorder.tried == ids
            state = read_state(folder)
            assert state is not None
            assert (state.stored, state.refused, dict(state.aside)) == (2, 1, {})

    def test_a_space_whose_calls_all_fail_rests_and_those_that_fail_alone_hold_it_up_for_a_while_only(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "FIRST_WAIT_SECONDS", 0.0)
        told: list[str] = []
        ids = spool_for(tmp_path, ["one"] * 6)
        recorder = Refusing(store, *ids[:3], refused=[DatabaseError("history.db", "it says something new")])
        follower = SpoolFollower(recorder, tmp_path, told.append)
        assert not follower.look()
        assert recorder.tried == ids[:2], "two different calls failed: no third one is tried"
        state = read_state(tmp_path)
        assert state is not None
        assert list(state.aside) == ["one"]
        assert [line.partition(" waits")[0].partition(" wait ")[0] for line in told] == [
            f"headish recorder: the call {ids[0]}",
            f"headish recorder: the call {ids[1]}",
            "headish recorder: calls of the space 'one'",
        ]
        assert not follower.look()
        assert recorder.tried[2:] == ids[:3], "in their order, and one that was not tried"
        assert not follower.look()
        assert recorder.tried[5:] == ids, "those that fail alone rest alone"
        state = read_state(tmp_path)
        assert state is not None
        assert (state.stored, state.refused, dict(state.aside)) == (3, 3, {})

    def test_an_erasure_says_how_many_calls_it_does_not_reach(self, file_place: FilePlace) -> None:
        store, folder = file_place.open(), find_serve_folder(file_place.path)
        assert folder is not None
        turn = store.add_turn("Hi", bookmark="main")
        assert store.erase(turn.id, reason="asked", dry_run=True).found.spooled == 0
        spool_for(folder, [store.space, store.space, "another", store.space])
        recorder = Refusing(store, f"{2:025}", refused=[DatabaseError("x", "y")])
        SpoolFollower(recorder, folder, print).look()
        assert (recorder.tried, len(store.calls.list())) == ([f"{number:025}" for number in (1, 2, 3, 4)], 3)
        preview = store.erase(turn.id, reason="asked", dry_run=True)
        assert (preview.found.spooled, preview.receipt) == (1, None), "two of three are stored"
        done = store.erase(turn.id, reason="asked")
        assert done.receipt is not None
        assert (done.found.spooled, done.receipt.not_reached[-1]) == (1, "1 call still in the spool of 'headish serve'")
        assert store.verify().problems == ()
        told = Command(str(file_place.path)).run("erase", turn.id, "--dry-run")
        assert "Not reached: 1 call still in the spool" in told.out + told.err
        assert store.calls.spooled() == 1
        assert (
            "1 call still in the spool of 'headish serve'.\n" in Command(str(file_place.path)).run("call", "list").err
        )

    @pytest.mark.slow
    def test_killed_again_and_again_it_stores_each_call_once(self, tmp_path: Path) -> None:
        target, calls = tmp_path / "history.db", 24
        Store.open(target).close()
        ids = spool(tmp_path, calls)
        program = (
            "import sys; from headish.serve.recorder.following import run_recorder;"
            "from headish.serve.processes.settings import RecorderSettings;"
            "run_recorder(RecorderSettings(*sys.argv[1:]))"
        )
        kills, until = 0, time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            process = subprocess.Popen([sys.executable, "-c", program, str(target), str(tmp_path)])
            before = _count(target)
            while _count(target) == before < calls and process.poll() is None and time.monotonic() < until:
                time.sleep(0.01)
            process.kill()
            process.wait()
            kills += 1
            if before == calls:
                break
        with Store.open(target) as store:
            assert [call.id for call in store.calls.list(limit=1000)] == ids[::-1]
            assert store.stats().turns == 1 + 2 * calls
            assert len(list(store.heads())) == 1
            assert store.verify().problems == ()
        assert kills > 2


def _count(target: Path) -> int:
    with Store.open(target, read_only=True) as store:
        return len(store.calls.list(limit=1000))


def test_a_recorder_goes_on_reporting_when_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "history.db") as store:
        follower = follower_of(store, tmp_path, [])
        for moment in (7_200_000, 3_600_000):
            monkeypatch.setattr(following, "now", partial(int, moment))
            follower.look()
            state = read_state(tmp_path)
            assert state is not None
            assert state.at == moment
