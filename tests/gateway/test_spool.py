"""The spool: what was written is read whole, whatever was killed, full or cut off meanwhile."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.gateway.spool import (
    CallEnd,
    ResponseHead,
    SpooledCall,
    SpoolFrame,
    SpoolKind,
    SpoolReader,
    SpoolWriter,
    calls_in,
    end,
    is_written,
)
from headish.gateway.spool.frames import MAGIC, read_frames, write_frame
from headish.gateway.spool.writer import WRITTEN_BYTES
from support.spools import BEGUN, frames_of, new_id

TESTS = Path(__file__).parents[1]

FILLING = """
import resource, signal, sys
from pathlib import Path
from headish.gateway.spool import CallEnd, SpoolFrame, SpoolKind, SpoolWriter, end
from support.spools import frames_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
writer = SpoolWriter(Path(sys.argv[1]))
writer.write(frames_of("1" * 25) + frames_of("2" * 25, ended=False))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
writer.write([SpoolFrame(SpoolKind.RESPONSE, "2" * 25, b"a" * 9000)])
assert writer.failure
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
writer.write(frames_of("3" * 25))
writer.write([end("2" * 25, CallEnd(outcome="ok", at=3))])
assert not writer.has_room
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
assert writer.has_room
writer.write(frames_of("4" * 25))
print(writer.unrecorded, writer.failure)
"""


def read_once(folder: Path) -> list[SpooledCall]:
    return list(SpoolReader(folder).read())


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.spool"))


def test_a_call_comes_back_as_it_was_written(tmp_path: Path) -> None:
    id = new_id()
    SpoolWriter(tmp_path / "spool").write(frames_of(id, b"\x00\xff", b"one", b"", b"two"))
    [call] = read_once(tmp_path / "spool")
    assert (call.id, call.begin, call.begin.client) == (id, BEGUN, "a client")
    assert (call.request, call.is_sent, call.response) == (b"\x00\xff", True, b"onetwo")
    assert call.head == ResponseHead(status=200, at=2)
    assert call.end == CallEnd(outcome="ok", at=3)
    assert call.is_complete
    assert not call.is_abandoned
    assert (call.response_size, call.response_from(3)) == (6, b"two")


def test_folder_and_segments_are_their_owners_alone(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "deep" / "spool")
    writer.write(frames_of(new_id()))
    [segment] = segments(writer.folder)
    assert (writer.folder.stat().st_mode & 0o777, segment.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_growing_segment_is_read_from_where_the_last_look_ended(tmp_path: Path) -> None:
    writer, reader, id = SpoolWriter(tmp_path), SpoolReader(tmp_path), new_id()
    assert list(reader.read()) == []
    seen = []
    for frame in frames_of(id, b"asked", b"one", b"two"):
        writer.write([frame])
        [call] = reader.read()
        seen.append((call.request, call.response, call.is_complete))
        assert list(reader.read()) == []
    assert seen[1:] == [
        (b"asked", b"", False),
        (b"asked", b"", False),
        (b"asked", b"", False),
        (b"asked", b"one", False),
        (b"asked", b"onetwo", False),
        (b"asked", b"onetwo", True),
    ]


@given(st.lists(st.tuples(st.sampled_from(SpoolKind), st.binary(max_size=40)), max_size=6), st.data())
def test_frames_end_before_the_first_that_is_cut_off_or_altered(
    written: list[tuple[SpoolKind, bytes]], data: st.DataObject
) -> None:
    frames = [SpoolFrame(kind, new_id(), body) for kind, body in written]
    whole = b"".join(map(write_frame, frames))
    assert [frame for frame, _ in read_frames(whole)] == frames
    cut = data.draw(st.integers(0, len(whole)))
    short = list(read_frames(whole[:cut]))
    assert [frame for frame, _ in short] == frames[: len(short)]
    assert sum(position <= cut for _, position in read_frames(whole)) == len(short)
    if whole:
        at = data.draw(st.integers(0, len(whole) - 1))
        altered = bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]])
        before = [frame for frame, position in read_frames(whole) if position <= at]
        assert [frame for frame, _ in read_frames(altered)] == before


def test_a_torn_tail_is_no_error_at_any_byte(tmp_path: Path) -> None:
    id = new_id()
    SpoolWriter(tmp_path / "whole").write(frames_of(id, b"asked", b"answered"))
    [segment] = segments(tmp_path / "whole")
    data = segment.read_bytes()
    (tmp_path / "torn").mkdir()
    torn = tmp_path / "torn" / segment.name
    torn.write_bytes(b"")
    reader, grown = SpoolReader(tmp_path / "torn"), 0
    for byte in data:  # the same reader looks after each byte
        with torn.open("ab") as file:
            file.write(bytes([byte]))
        grown += len(list(reader.read()))
    [call] = read_once(tmp_path / "torn")
    assert grown == len(frames_of(id, b"asked", b"answered"))
    assert call.is_complete


def test_a_segment_goes_once_all_its_calls_are_forgotten(tmp_path: Path) -> None:
    writer, reader, first, second = SpoolWriter(tmp_path), SpoolReader(tmp_path), new_id(), new_id()
    writer.write(frames_of(first) + frames_of(second))
    writer.seal()
    assert [call.id for call in reader.read()] == [first, second]
    reader.forget(first)
    list(reader.read())
    assert len(segments(tmp_path)) == 1
    reader.forget(second)
    list(reader.read())
    assert segments(tmp_path) == []
    assert reader.waiting == 0


def test_a_segment_that_is_not_sealed_stays(tmp_path: Path) -> None:
    writer, reader, id = SpoolWriter(tmp_path), SpoolReader(tmp_path), new_id()
    writer.write(frames_of(id))
    list(reader.read())
    reader.forget(id)
    list(reader.read())
    later = new_id()
    writer.write(frames_of(later))
    assert [call.id for call in reader.read()] == [later]


def test_a_call_may_lie_in_many_segments_which_stay_until_it_ends(tmp_path: Path) -> None:
    writer, reader, long = SpoolWriter(tmp_path, segment_bytes=1000), SpoolReader(tmp_path), new_id()
    writer.write(frames_of(long, b"a" * 400, ended=False))
    parts = [bytes([65 + number]) * 600 for number in range(8)]
    for part in parts:
        other = new_id()
        writer.write([SpoolFrame(SpoolKind.RESPONSE, long, part), *frames_of(other)])
        for call in reader.read():
            if call.is_complete:
                reader.forget(call.id)
    assert len(segments(tmp_path)) > 4
    assert max(path.stat().st_size for path in segments(tmp_path)) < 2500
    writer.write([end(long, CallEnd(outcome="ok", at=9))])
    writer.seal()
    [call] = reader.read()
    assert (call.request, call.response) == (b"a" * 400, b"".join(parts))
    reader.forget(long)
    list(reader.read())
    assert segments(tmp_path) == []


def test_a_killed_gateway_leaves_its_calls_abandoned_to_the_next(tmp_path: Path) -> None:
    killed, done = new_id(), new_id()
    reader = SpoolReader(tmp_path)
    SpoolWriter(tmp_path).write(frames_of(killed, b"asked", b"half", ended=False) + frames_of(done))
    assert [call.is_complete for call in reader.read()] == [False, True]
    assert list(reader.read()) == []
    assert not is_written(tmp_path)
    follower, later = SpoolWriter(tmp_path), new_id()
    assert is_written(tmp_path)
    follower.write(frames_of(later, ended=False))
    calls = {call.id: call for call in reader.read()}
    assert (calls[killed].is_abandoned, calls[killed].response) == (True, b"half")
    assert not calls[later].is_complete
    reader.forget(killed)
    reader.forget(done)
    list(reader.read())
    assert len(segments(tmp_path)) == 1
    assert [call.id for call in reader.read(is_over=True)] == [later]


def test_frames_are_written_while_they_are_made_and_never_gathered_whole(tmp_path: Path) -> None:
    """As those of a body that unpacks to a thousand times its size."""
    writer, id, part = SpoolWriter(tmp_path), new_id(), b"a" * 2**20

    def made() -> Iterator[SpoolFrame]:
        yield from frames_of(id, ended=False)
        for number in range(32):
            yield SpoolFrame(SpoolKind.RESPONSE, id, part)
            in_memory = (number + 1) * len(part) - sum(path.stat().st_size for path in segments(tmp_path))
            assert in_memory <= WRITTEN_BYTES
        yield end(id, CallEnd(outcome="ok", at=3))

    writer.write(made())
    [call] = read_once(tmp_path)
    assert (call.response_size, call.is_complete) == (32 * len(part), True)


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    assert not is_written(tmp_path / "none")
    writer = SpoolWriter(tmp_path)
    with pytest.raises(BlockingIOError):
        SpoolWriter(tmp_path)
    writer.close()
    SpoolWriter(tmp_path).close()


def test_beyond_the_limit_calls_are_counted_as_unrecorded(tmp_path: Path) -> None:
    writer, before, during, after = SpoolWriter(tmp_path, limit_bytes=3000), new_id(), new_id(), new_id()
    writer.write(frames_of(before, ended=False))
    assert writer.has_room
    writer.write([SpoolFrame(SpoolKind.RESPONSE, before, b"a" * 3000)])
    assert not writer.has_room
    writer.write(frames_of(during))
    assert writer.failure == "the spool has 3,000 bytes, its limit"
    writer.write([SpoolFrame(SpoolKind.RESPONSE, before, b"lost"), end(before, CallEnd(outcome="ok", at=3))])
    assert writer.unrecorded == 2
    [call] = read_once(tmp_path)
    assert call.id == before
    assert call.end is not None
    assert (call.response, call.end.outcome) == (b"a" * 3000, "unrecorded")
    for path in segments(tmp_path):
        path.unlink()
    writer._counted_at = float("-inf")  # as a second later
    writer.seal()
    writer.write(frames_of(after))
    assert [call.id for call in read_once(tmp_path)] == [after]
    assert (writer.unrecorded, writer.failure) == (2, None)


@pytest.mark.slow
def test_a_disk_that_fills_in_mid_call_loses_that_call_alone_and_says_so(tmp_path: Path) -> None:
    """The limit of a file's size stands for a disk: the system writes a part, and refuses the rest."""
    run = subprocess.run(
        [sys.executable, "-c", FILLING, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "2 None\n", run.stderr
    calls = {call.id[0]: call for call in read_once(tmp_path)}
    assert sorted(calls) == ["1", "2", "4"]
    outcomes = {id: call.end.outcome for id, call in calls.items() if call.end}
    assert outcomes == {"1": "ok", "2": "unrecorded", "4": "ok"}


def test_a_call_goes_on_after_somebody_emptied_the_folder(tmp_path: Path) -> None:
    id, reader = new_id(), SpoolReader(tmp_path)
    SpoolWriter(tmp_path).write(frames_of(id, ended=False))
    assert [call.is_abandoned for call in reader.read()] == [False]
    for path in segments(tmp_path):
        path.unlink()
    assert list(reader.read()) == []
    [last] = reader.read(is_over=True)
    assert (last.id, last.is_abandoned) == (id, True)


def test_what_is_no_segment_is_left_alone(tmp_path: Path) -> None:
    others = [tmp_path / "0-1.spool", tmp_path / "notes.txt"]
    for other in others:
        other.write_text("something else")
    writer, id = SpoolWriter(tmp_path), new_id()
    writer.write(frames_of(id))
    assert [call.id for call in read_once(tmp_path)] == [id]
    assert [other.exists() for other in others] == [True, True]
    assert segments(tmp_path)[-1].read_bytes().startswith(MAGIC)


UNREADABLE = [(SpoolKind.BEGIN, b"{"), (SpoolKind.BEGIN, b'{"at":"soon"}'), (SpoolKind.HEAD, b"\xff"),
              (SpoolKind.HEAD, b"[" * 9000), (SpoolKind.END, b'{"outcome":"of a newer headish","at":3}')]  # fmt: skip


@pytest.mark.parametrize(("kind", "body"), UNREADABLE)
def test_a_call_that_cannot_be_read_stays_whole_and_no_other_waits(
    tmp_path: Path, kind: SpoolKind, body: bytes
) -> None:
    odd, other, last = new_id(), new_id(), new_id()
    frames = [frame._replace(body=body) if frame.kind is kind else frame for frame in frames_of(odd, b"a", b"b")]
    writer = SpoolWriter(tmp_path)
    for written in (frames[:3] + frames_of(other), frames[3:], frames_of(last)):
        writer.write(written)
        writer.seal()
    reader = SpoolReader(tmp_path)
    assert [call.id for call in reader.read(is_over=True)] == [other, last]
    assert reader.unreadable == {odd}
    reader.forget(other)
    reader.forget(last)
    assert list(reader.read(is_over=True)) == []
    assert [len(read_frames_of(path)) for path in segments(tmp_path)] == [3 + 5 + 1, 3 + 1]  # with their marks
    assert odd in calls_in(tmp_path)


def read_frames_of(path: Path) -> list[SpoolFrame]:
    return [frame for frame, _ in read_frames(path.read_bytes()[len(MAGIC) :])]


def test_a_call_whose_end_found_no_room_is_ended_later_and_one_that_goes_on_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, open_, other = new_id(), new_id(), new_id()
    writer = SpoolWriter(tmp_path)
    writer.write(frames_of(ended, ended=False) + frames_of(open_, ended=False))

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "it is full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        writer.write([end(ended, CallEnd(outcome="ok", at=3))])
        writer.write([SpoolFrame(SpoolKind.RESPONSE, open_, b"more")])
    writer.write(frames_of(other))
    calls = {call.id: call for call in read_once(tmp_path)}
    assert [calls[id].end and calls[id].end.outcome for id in (ended, open_, other)] == ["unrecorded", None, "ok"]
    writer.write([end(open_, CallEnd(outcome="ok", at=4))])
    calls = {call.id: call for call in read_once(tmp_path)}
    assert calls[open_].end
    assert (calls[open_].end.outcome, writer.unrecorded) == ("unrecorded", 2)
