"""The recorder's process: what stands in a spool is stored once, whatever dies in between."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headish import Store
from headish.errors import DatabaseLocked
from headish.gateway.spool import CallBegin, CallEnd, ResponseHead, SpoolFrame, SpoolKind, SpoolWriter, begin, end, head
from headish.serve.recorder.following import SpoolFollower
from headish.serve.recorder.recording import CallRecorder
from headish.serve.recorder.states import read_state
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, user

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


def _frames(id: str, body: bytes, answer: str) -> list[SpoolFrame]:
    begun = CallBegin(at=time.time_ns() // 1_000_000, api="anthropic", method="POST", path="/v1/messages",
                      headers=CLAUDE_CODE)  # fmt: skip
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

    @pytest.mark.slow
    def test_killed_again_and_again_it_stores_each_call_once(self, tmp_path: Path) -> None:
        target, calls = tmp_path / "history.db", 8
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
