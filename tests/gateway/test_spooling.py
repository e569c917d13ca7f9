"""The thread that writes calls down: nothing waits for it, and what it cannot write is counted."""

from __future__ import annotations

import asyncio
import fcntl
import stat
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from headish.gateway.recording import spooling
from headish.gateway.recording.bodies import RecordedBody
from headish.gateway.recording.spooling import Recording, Spooler
from headish.gateway.spool import CallEnd, SpooledCall, SpoolFrame, SpoolKind, SpoolReader, SpoolWriter
from headish.gateway.spool.state import (
    BEHIND_MILLISECONDS,
    SILENT_MILLISECONDS,
    STATE_FILE,
    RecorderState,
    find_problems,
    living,
    write_state,
)
from support.spools import BEGUN, new_id


def begin(spooler: Spooler) -> Recording:
    recording = Recording(spooler, new_id(), [])
    recording.start(recording.begin(BEGUN))
    recording.expect(SpoolKind.RESPONSE, "text/event-stream", "")
    return recording


async def wait_for(found: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not found():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)


def complete(reader: SpoolReader) -> list[SpooledCall]:
    return [call for call in reader.read() if call.is_complete]


class HangingWriter(SpoolWriter):
    """A writer whose disk hangs until it is told to go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.goes_on = threading.Event()

    def write(self, frames: Iterable[SpoolFrame]) -> None:
        self.goes_on.wait(60)
        super().write(frames)


async def test_a_segment_is_sealed_when_no_call_comes_and_can_be_removed_then(tmp_path: Path) -> None:
    spooler, reader = Spooler(SpoolWriter(tmp_path)), SpoolReader(tmp_path)
    for _ in range(2):
        recording = begin(spooler)
        recording.chunk(SpoolKind.RESPONSE, b"said")
        recording.end(CallEnd(outcome="ok", at=1))
        found: list[SpooledCall] = []
        await wait_for(lambda found=found: found.extend(complete(reader)) or found)
        assert [call.response for call in found] == [b"said"]
        reader.forget(found[0].id)
        await wait_for(lambda: list(reader.read()) == [] and not list(tmp_path.glob("*.spool")))
    await spooler.close(60)


async def test_a_segment_is_not_sealed_while_a_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "SEALED_SECONDS", 0.02)
    spooler = Spooler(SpoolWriter(tmp_path))
    recording = begin(spooler)
    for _ in range(3):
        recording.chunk(SpoolKind.RESPONSE, b"a")
        await asyncio.sleep(0.2)
    assert len(list(tmp_path.glob("*.spool"))) == 1
    recording.end(CallEnd(outcome="ok", at=1))
    await spooler.close(60)


def test_a_disk_that_hangs_delays_no_call_and_calls_beyond_the_bound_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooling, "CONFIRMED_SECONDS", 0.05)

    async def run() -> None:
        writer = HangingWriter(tmp_path)
        spooler = Spooler(writer)
        recordings = [begin(spooler) for _ in range(3)]
        await asyncio.sleep(5 * spooling.GATHERED_SECONDS)  # the thread hangs in its first write
        part = b"a" * (spooling.WAITING_LIMIT_BYTES // 4)
        for recording in recordings:
            for _ in range(2):
                recording.chunk(SpoolKind.RESPONSE, part)
        assert spooler.unrecorded == 1
        for recording in recordings:
            recording.end(CallEnd(outcome="ok", at=1))
        assert not await spooler.confirm(begin(spooler).begin(BEGUN)), "it cannot be promised"
        writer.goes_on.set()
        await spooler.close(60)

    asyncio.run(run())
    outcomes = [call.end.outcome for call in SpoolReader(tmp_path).read() if call.end]
    assert outcomes == ["ok", "ok", "unrecorded"]


async def test_a_disk_that_hangs_holds_up_the_end_no_longer_than_is_allowed(tmp_path: Path) -> None:
    writer = HangingWriter(tmp_path)
    spooler = Spooler(writer)
    begin(spooler).end(CallEnd(outcome="ok", at=1))
    await spooler.close(0.05)
    assert list(SpoolReader(tmp_path).read()) == [], "it waited for the disk"
    writer.goes_on.set()
    await wait_for(lambda: complete(SpoolReader(tmp_path)))


def test_an_unexpected_error_in_one_call_takes_nothing_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = RecordedBody.feed

    def feed(self: RecordedBody, data: bytes) -> Iterable[bytes]:
        if data == b"odd":
            raise KeyError("what the call said")
        return whole(self, data)

    monkeypatch.setattr(RecordedBody, "feed", feed)

    async def run() -> Spooler:
        spooler = Spooler(SpoolWriter(tmp_path))
        recordings = [begin(spooler) for _ in range(2)]
        for part in (b"said ", b"odd", b"more"):
            recordings[0].chunk(SpoolKind.RESPONSE, part)
            recordings[1].chunk(SpoolKind.RESPONSE, b"x")
        for recording in recordings:
            recording.end(CallEnd(outcome="ok", at=1))
        await spooler.close(60)
        return spooler

    spooler = asyncio.run(run())
    ended = [(call.response, call.end.outcome) for call in SpoolReader(tmp_path).read() if call.end]
    assert sorted(ended) == [(b"said ", "unrecorded"), (b"xxx", "ok")]
    assert (spooler.unrecorded, spooler.reason, spooler.open_calls) == (1, "an unexpected error (KeyError)", 0)


def test_what_waits_is_written_when_the_gateway_ends(tmp_path: Path) -> None:
    async def run() -> None:
        spooler = Spooler(SpoolWriter(tmp_path))
        recording = begin(spooler)
        recording.chunk(SpoolKind.RESPONSE, b"said")
        recording.end(CallEnd(outcome="ok", at=1))
        await spooler.close(60)

    asyncio.run(run())
    [call] = SpoolReader(tmp_path).read()
    assert (call.response, call.is_complete) == (b"said", True)


def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "recorder.lock").mkdir()
    write_state(tmp_path, RecorderState(at=1, stored=3, failed=0, waiting=2, lag_milliseconds=5))
    assert find_problems(tmp_path, 1) == ["it cannot be told whether the recorder runs (Is a directory)"]


def test_a_recorder_s_state_is_told_in_words(tmp_path: Path) -> None:
    now = 1_000_000
    assert find_problems(tmp_path, now) == ["the recorder does not run"]
    well = RecorderState(at=now, stored=3, failed=0, waiting=2, lag_milliseconds=5)
    write_state(tmp_path, well)
    assert find_problems(tmp_path, now) == ["the recorder does not run"], "a state that a dead one left"
    with (tmp_path / "recorder.lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # as somebody else does who asks at the same time
        assert find_problems(tmp_path, now) == ["the recorder does not run"]
    with living(tmp_path):
        assert find_problems(tmp_path, now + SILENT_MILLISECONDS) == []
        assert find_problems(tmp_path, now + SILENT_MILLISECONDS + 1) == ["the recorder has said nothing for 60 s"]
        aside = {"ill": "the space is being restored"}
        write_state(tmp_path, RecorderState(now, 3, 1, 2, BEHIND_MILLISECONDS + 1, "it does not decode", aside, 1))
        assert find_problems(tmp_path, now) == [
            "the space 'ill' takes no calls: the space is being restored",
            "calls that the database refuses: 1 (it does not decode)",
            "calls that could not be stored: 1 (the log says why)",
            "calls that wait: 2, the first for 30 s",
        ]
        aside |= {"too": "the space is being restored", "full": "the database has no space left"}
        write_state(tmp_path, RecorderState(now, 3, 0, 2, 5, "it does not decode", aside))
        assert find_problems(tmp_path, now, are_strangers=True) == [
            "spaces that take no calls: 3 (the database has no space left; the space is being restored)"
        ]
        assert stat.S_IMODE((tmp_path / STATE_FILE).stat().st_mode) == 0o600, "it names spaces"
    assert find_problems(tmp_path, now) == ["the recorder does not run"]
