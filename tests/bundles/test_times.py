"""Records on their way: an edition that knows no times reads them as before."""

from __future__ import annotations

import msgspec
import pytest

from headish.bundles.records import SentRecord
from headish.bundles.times import pack_times, unpack_times, without_times

PLAIN = b'{"title":"T","tags":["a"],"app":{"times":1}}'
TIMED = PLAIN[:-1] + b',"times":{"fields":{"title":7},"tags":{"00112233aabbccdd":9}}}'
RECORDS = [
    SentRecord(b"main", 3, 9, TIMED),
    SentRecord(b"other", 1, 2, b'{"title":"","pinned":true}'),
    SentRecord(b"\xff", 1, 2, b"what nobody reads"),
]


def test_times_travel_behind_the_records() -> None:
    packed = pack_times(RECORDS)
    assert [each.data for each in packed[:3]] == [PLAIN, RECORDS[1].data, RECORDS[2].data]
    assert [(each.subject, each.revision, each.milliseconds) for each in packed[3:]] == [(b"", 0, 0)]
    assert unpack_times(packed) == RECORDS


def test_records_without_times_travel_alone() -> None:
    assert pack_times(RECORDS[1:]) == unpack_times(RECORDS[1:]) == RECORDS[1:]


def test_the_bytes_of_times_stay_as_they_are() -> None:
    assert pack_times(RECORDS)[-1].data.hex() == (
        "81c410e726318bbc3fd75ac8733a7e030cc35b82a66669656c647381a57469746c6507a47461677381b0"
        "3030313132323333616162626363646409"
    )


def test_no_name_is_in_the_times() -> None:
    assert b"main" not in pack_times(RECORDS)[-1].data


@pytest.mark.parametrize(
    "times",
    [
        b"",
        b"\xc1",
        b"{}",
        msgspec.msgpack.encode({b"x": {"fields": {}, "tags": {"not a hash": 1}}}),
        msgspec.msgpack.encode({b"x": {"fields": {"title": -1}}}),
        msgspec.msgpack.encode({b"x": {"fields": {"title": 2**60}}}),
        msgspec.msgpack.encode({b"x": {"tags": {f"{each:016x}": 1 for each in range(201)}}}),
        b"\x81\xc4\x01x" + b"\x91" * 100_000,
    ],
)
def test_times_that_nobody_can_read_are_left_out(times: bytes) -> None:
    packed = [*pack_times(RECORDS)[:3], SentRecord(b"", 0, 0, times)]
    assert unpack_times(packed) == [SentRecord(b"main", 3, 9, PLAIN), *RECORDS[1:]]


def test_only_the_times_of_the_record_itself_are_taken_out() -> None:
    assert (without_times(TIMED), without_times(PLAIN)) == (PLAIN, PLAIN)
    assert without_times(b"[" * 100_000) == b"[" * 100_000
