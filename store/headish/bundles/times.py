"""The times at which fields of records changed, on their way to another store.

They travel behind the records, as one entry of the list that has no subject. Earlier editions cannot read it and leave
it out: inside a record they would refuse the record, and as a new field of a head they would find its signature bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec
from blake3 import blake3

from headish.bundles.records import SentRecord
from headish.content.records import RecordTimes

NO_SUBJECT = b""
MARK_BYTES = 16
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_times = msgspec.msgpack.Decoder(dict[bytes, RecordTimes]).decode


def pack_times(records: Iterable[SentRecord]) -> list[SentRecord]:
    """Return the records as they travel: their times behind them, under hashes, as names may be erased."""
    packed: list[SentRecord] = []
    times: dict[bytes, RecordTimes] = {}
    for each in records:
        with suppress(msgspec.MsgspecError, KeyError):
            times[_mark(each.subject)] = msgspec.json.decode(_fields(each.data)["times"], type=RecordTimes)
        packed.append(msgspec.structs.replace(each, data=without_times(each.data)))
    return [*packed, SentRecord(NO_SUBJECT, 0, 0, msgspec.msgpack.encode(times))] if times else packed


def unpack_times(records: Sequence[SentRecord]) -> list[SentRecord]:
    """Return records that have travelled, with their times in them. Times that cannot be read are left out."""
    times: dict[bytes, RecordTimes] = {}
    for each in records:
        with suppress(msgspec.MsgspecError, RecursionError):
            times |= _decode_times(each.data) if each.subject == NO_SUBJECT else {}
    return [_with_times(each, times.get(_mark(each.subject))) for each in records if each.subject != NO_SUBJECT]


def without_times(data: bytes) -> bytes:
    """Return the JSON of a record without its times."""
    fields = _fields(data)
    if "times" not in fields:
        return data
    return msgspec.json.encode({name: value for name, value in fields.items() if name != "times"})


def _with_times(record: SentRecord, times: RecordTimes | None) -> SentRecord:
    fields = _fields(record.data)
    if times is None or not fields:
        return record
    return msgspec.structs.replace(record, data=msgspec.json.encode({**fields, "times": times}))


def _fields(data: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a record as JSON; empty if they cannot be read, which is for others to report."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _mark(subject: bytes) -> bytes:
    return blake3(subject).digest(length=MARK_BYTES)
