"""What waits for a space that takes no calls leaves the room of the spool to the others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import SpaceRestoring
from headish.gateway.spool import CallBegin, SpoolFrame, SpoolReader, SpoolWriter, begin, reader
from headish.gateway.spool import writer as writing
from headish.gateway.spool.state import RecorderState, read_state, write_state
from headish.gateway.spool.writer import sum_of
from headish.serve.recorder import following
from headish.serve.recorder.following import SpoolFollower
from headish.serve.recorder.recording import CallRecorder
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, user
from support.spools import frames_of, new_id


def call_of(space: str | None, size: int = 100, request: bytes | None = None) -> tuple[str, list[SpoolFrame]]:
    """A whole call of a space."""
    id = new_id()
    begun = CallBegin(at=1, api="anthropic", method="POST", path="/v1/messages", headers=CLAUDE_CODE, space=space)
    _, *frames = frames_of(id, b"x" * size if request is None else request, anthropic_answer("Yes."))
    return id, [begin(id, begun), *frames]


def test_a_call_that_waits_keeps_its_own_bytes_and_not_those_of_its_segment(tmp_path: Path) -> None:
    writer, spool = SpoolWriter(tmp_path), SpoolReader(tmp_path)
    waiting, frames = call_of("ill", 1000)
    writer.write(frames)
    others = []
    for _ in range(40):
        id, frames = call_of("well", 5000)
        others.append(id)
        writer.write(frames)
    writer.seal()
    assert len(list(spool.read())) == 41
    spool.compact()
    assert sum_of(tmp_path) > 200_000, "nothing is forgotten yet"
    for id in others:
        spool.forget(id)
    list(spool.read())
    spool.compact()
    assert sum_of(tmp_path) < 5000
    assert [path.stat().st_mode & 0o777 for path in tmp_path.glob("*.spool")] == [0o600]
    assert list(tmp_path.glob("*.part")) == []
    [again] = SpoolReader(tmp_path).read()
    assert (again.id, again.begin.space, len(again.request), again.is_complete) == (waiting, "ill", 1000, True)
    spool.forget(waiting)
    list(spool.read())
    assert list(tmp_path.glob("*.spool")) == []


@pytest.mark.parametrize("others", [0, 100_000])
def test_a_stored_call_does_not_come_back_as_one_that_goes_on(others: int, tmp_path: Path) -> None:
    """Its end stands in a segment that goes, or is written anew, and its beginning in one that stays."""
    writer, spool = SpoolWriter(tmp_path), SpoolReader(tmp_path)
    waiting, frames = call_of("ill", 100_000)
    stored, (*begun, ended) = call_of("well")
    writer.write([*frames, *begun])
    writer.seal()
    writer.write([ended, *(call_of("well", others)[1] if others else [])])
    writer.seal()
    for call in spool.read():
        if call.id != waiting:
            spool.forget(call.id)
    for _ in range(2):
        list(spool.read())
        spool.compact()
    assert sum_of(tmp_path) < 105_000
    assert {call.id: call.is_complete for call in SpoolReader(tmp_path).read()} == {waiting: True, stored: True}
    spool.forget(waiting)
    list(spool.read())
    assert list(tmp_path.glob("*.spool")) == []


def test_a_call_of_a_killed_gateway_does_not_come_back_as_one_that_goes_on(tmp_path: Path) -> None:
    """That a later gateway wrote says that nothing follows of it, so something of that one must stay."""
    spool = SpoolReader(tmp_path)
    waiting, frames = call_of("ill", 100_000)
    abandoned, begun = call_of("well")
    SpoolWriter(tmp_path).write([*frames, *begun[:-1]])
    writer = SpoolWriter(tmp_path)
    for _ in range(2):
        writer.write(call_of("well", 100_000)[1])
        writer.seal()
        for call in spool.read():
            if call.id != waiting:
                spool.forget(call.id)
    list(spool.read())
    spool.compact()
    assert [path.name for path in sorted(tmp_path.glob("*.spool"))] == [
        "00000001-000001.spool",
        "00000002-000002.spool",
    ]
    assert sum_of(tmp_path) < 105_000, "no more of it than its name is needed"
    assert {call.id: call.is_complete for call in SpoolReader(tmp_path).read()} == {waiting: True, abandoned: True}
    spool.forget(waiting)
    list(spool.read())
    assert list(tmp_path.glob("*.spool")) == []


@given(st.data())
def test_what_is_read_after_a_restart_is_whole_whatever_was_stored_before(data: st.DataObject) -> None:
    """Calls beside each other over small segments, of gateways that are killed, stored in any order."""
    with TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "COMPACT_BYTES", 0)
        patch.setattr(reader.os, "fsync", lambda _: None)
        folder, spool = Path(made), SpoolReader(Path(made))
        writer, going, whole = SpoolWriter(folder), dict[str, list[SpoolFrame]](), dict[str, bytes]()
        steps = st.sampled_from(["begin", "go on", "go on", "seal", "kill", "store"])
        for step in data.draw(st.lists(steps, min_size=10, max_size=40)):
            if step in ("begin", "go on"):
                id = data.draw(st.sampled_from(sorted(going))) if step == "go on" and going else None
                id, frames = (id, going.pop(id)) if id else call_of("well", 300)
                taken = data.draw(st.integers(1, len(frames)))
                writer.write(frames[:taken])
                if frames[taken:]:
                    going[id] = frames[taken:]
            elif step == "seal":
                writer.seal()
            elif step == "kill":
                writer._lock.close()
                writer, going = SpoolWriter(folder), {}
                writer.write(call_of("well")[1])
            for call in spool.read():
                if call.is_complete:
                    whole[call.id] = call.request + call.response
            if step == "store" and (held := sorted(id for id in whole if id in spool)):
                spool.forget(data.draw(st.sampled_from(held)))
            spool.compact()
            again = {call.id: call for call in SpoolReader(folder).read()}
            assert all(again[id].is_complete for id in whole if id in again)
            assert all(again[id].request + again[id].response == whole[id] for id in whole if id in again)
            assert all(id in again for id in whole if id in spool)


def test_a_call_of_many_small_frames_is_written_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, spool, written = SpoolWriter(tmp_path), SpoolReader(tmp_path), list[int]()
    waiting = new_id()
    writer.write(frames_of(waiting, b"asked", *[b"a"] * 3000))
    stored, frames = call_of("well", 300_000)
    writer.write(frames)
    writer.seal()
    list(spool.read())
    spool.forget(stored)
    monkeypatch.setattr(reader.os, "fsync", written.append)
    for _ in range(3):
        list(spool.read())
        spool.compact()
    assert len(written) == 1
    assert sum_of(tmp_path) > reader.COMPACT_BYTES


def test_a_call_that_says_nothing_for_long_keeps_no_others_on_the_disk(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers of others come in the segment after that of what they were asked."""
    monkeypatch.setattr(reader, "COMPACT_BYTES", 2000)  # as small beside a segment as it is
    writer = SpoolWriter(tmp_path / "spool", segment_bytes=100_000)
    follower = SpoolFollower(CallRecorder(lambda _space: store), tmp_path, lambda _line: None)
    silent, (*begun, ended) = call_of("well")
    writer.write(begun)
    rest: list[SpoolFrame] = []
    for number in range(60):
        body = json.dumps(anthropic_body([user(f"{number} " + "x" * 20_000)], nonce=number)).encode()
        asked, rest = rest, call_of("well", request=body)[1]
        writer.write([*rest[:4], *asked[4:]])
        follower.look()
    assert sum_of(tmp_path / "spool") < 130_000
    assert [call.id for call in SpoolReader(tmp_path / "spool").read() if call.id == silent] == [silent]
    writer.write([*rest, ended])
    writer.close()
    for _ in range(2):
        follower.look(is_over=True)
    assert len(store.calls.list(limit=500)) == 61
    assert list((tmp_path / "spool").glob("*.spool")) == []


def two_calls(folder: Path) -> tuple[SpoolWriter, SpoolReader]:
    """A small call and a large one, their writer, and a reader of them."""
    writer = SpoolWriter(folder)
    for space in ("ill", "well"):
        writer.write(call_of(space, 100_000 if space == "well" else 10)[1])
    return writer, SpoolReader(folder)


def half_forgotten(folder: Path) -> SpoolReader:
    """A reader of a segment that is to be written anew."""
    writer, spool = two_calls(folder)
    writer.seal()
    _, stored = spool.read()
    spool.forget(stored.id)
    list(spool.read())
    return spool


def test_a_disk_that_is_nearly_full_keeps_its_room_for_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, before = half_forgotten(tmp_path), sum_of(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(reader, "disk_usage", lambda _: SimpleNamespace(free=reader.ROOM_BYTES))
        patch.setattr(reader.os, "fsync", lambda _: pytest.fail("it was written"))
        spool.compact()
    assert sum_of(tmp_path) == before
    spool.compact()
    assert sum_of(tmp_path) < before / 2


def test_what_a_killed_reader_was_writing_goes(tmp_path: Path) -> None:
    half_forgotten(tmp_path)
    [segment] = tmp_path.glob("*.spool")
    left = segment.with_name(f"{segment.name}.part")
    left.write_bytes(b"what people said")
    assert len(list(SpoolReader(tmp_path).read())) == 2
    assert not left.exists()


def test_a_segment_that_grows_or_cannot_be_read_to_its_end_is_left_alone(tmp_path: Path) -> None:
    writer, spool = two_calls(tmp_path)
    _, stored = spool.read()
    spool.forget(stored.id)
    before = sum_of(tmp_path)
    spool.compact()
    assert sum_of(tmp_path) == before, "its writer has not left it"
    writer.close()
    [path] = tmp_path.glob("*.spool")
    with path.open("ab") as file:
        file.write(b"\x09 what a newer headish wrote")
    list(spool.read())
    spool.compact()
    assert sum_of(tmp_path) > before


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_a_segment_as_it_is(failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, spool = two_calls(tmp_path)
    writer.close()
    waiting, stored = spool.read()
    spool.forget(stored.id)
    before = sum_of(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reader.os, failing, full)
    spool.compact()
    assert sum_of(tmp_path) == before
    assert list(tmp_path.glob("*.part")) == []
    monkeypatch.undo()
    spool.compact()
    assert sum_of(tmp_path) < 3000
    assert [call.id for call in SpoolReader(tmp_path).read()] == [waiting.id]


@pytest.mark.parametrize(
    ("held", "refused"),
    [
        ({}, set()),
        ({"ill": 24_999}, set()),
        ({"ill": 25_000}, {"ill"}),
        ({"ill": 10_000, "sick": 30_000}, {"sick"}),
        ({"ill": 10_000, "sick": 24_000, "hurt": 16_000}, {"ill", "sick", "hurt"}),
        ({"default": 25_000}, {None, "default"}),
    ],
)
def test_only_the_spaces_that_take_no_calls_are_refused(
    held: Mapping[str, int], refused: set[str | None], tmp_path: Path
) -> None:
    write_state(tmp_path, RecorderState(1, 0, 0, 0, 0, held=held))
    writer = SpoolWriter(tmp_path / "spool", limit_bytes=100_000)
    for space in (None, "default", "well", "ill", "sick", "hurt"):
        before = writer.unrecorded
        id, frames = call_of(space)
        writer.write(frames)
        assert (writer.unrecorded > before) == (space in refused), space
        assert (id in [call.id for call in SpoolReader(tmp_path / "spool").read()]) == (space not in refused)
    assert writer.last_failure == ("a space that takes no calls has its share of the spool" if refused else None)


def test_a_space_that_takes_calls_again_is_recorded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_COUNTED_SECONDS", 0.0)
    writer = SpoolWriter(tmp_path / "spool", limit_bytes=100_000)
    write_state(tmp_path, RecorderState(1, 0, 0, 0, 0, held={"ill": 90_000}))
    writer.write(call_of("ill")[1])
    assert writer.unrecorded == 1
    write_state(tmp_path, RecorderState(2, 0, 0, 0, 0))
    writer.write(call_of("ill")[1])
    assert writer.unrecorded == 1
    assert writer.failure is None


def test_while_a_space_rests_the_others_are_recorded_for_as_long_as_it_takes(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "FIRST_WAIT_SECONDS", 600.0)
    monkeypatch.setattr(following, "TOLD_MILLISECONDS", 0)
    monkeypatch.setattr(writing, "_COUNTED_SECONDS", 0.0)
    limit = 1_000_000
    writer = SpoolWriter(tmp_path / "spool", limit_bytes=limit, segment_bytes=100_000)
    is_ill = True

    def open_store(space: str) -> Store:
        if space == "ill" and is_ill:
            raise SpaceRestoring("history.db", "ill")
        return store

    follower = SpoolFollower(CallRecorder(open_store), tmp_path, lambda _line: None)
    stored, waiting = 0, 0
    for number in range(120):
        for space in ("ill", "well"):
            body = json.dumps(anthropic_body([user(f"{space} {number} " + "x" * 20_000)], nonce=number)).encode()
            before = writer.unrecorded
            writer.write(call_of(space, request=body)[1])
            assert space == "ill" or writer.unrecorded == before, f"call {number} of the others has no room"
            stored += space == "well"
            waiting += space == "ill" and writer.unrecorded == before
        follower.look()
        assert sum_of(tmp_path / "spool") < limit // 2
    state = read_state(tmp_path)
    assert state is not None
    assert state.held, state
    assert limit // 4 <= state.held["ill"] < limit // 3
    assert len(store.calls.list(limit=500)) == stored == 120
    assert 0 < waiting < 20
    is_ill = False
    writer.close()
    for _ in range(2):
        follower.look(is_over=True)
    assert len(store.calls.list(limit=500)) == stored + waiting
    assert list((tmp_path / "spool").glob("*.spool")) == []
    state = read_state(tmp_path)
    assert state is not None
    assert state.held == {}
