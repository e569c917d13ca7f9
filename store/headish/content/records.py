"""Records of conversations as they are stored: JSON, with the times of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headish.values.limits import LAST_MILLISECOND, TAGS_LIMIT
from headish.values.results.conversations import Record

Millisecond = Annotated[int, Meta(ge=0, le=LAST_MILLISECOND)]
TagHash = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class RecordTimes(Struct, frozen=True, forbid_unknown_fields=True):
    """When the fields of a record changed last, in Unix milliseconds: each that ever had a value; and its tags by their
    hashes, removed ones, too."""

    fields: Annotated[Mapping[str, Millisecond], Meta(max_length=len(Record.__struct_fields__))] = {}
    tags: Annotated[Mapping[TagHash, Millisecond], Meta(max_length=2 * TAGS_LIMIT)] = {}


class _StoredRecord(Record, frozen=True):
    times: RecordTimes | None = None


def read_record(data: bytes) -> Record:
    """Decode the stored record of a conversation. Raises: msgspec.MsgspecError, UnicodeDecodeError."""
    return read_timed_record(data)[0]


def read_timed_record(data: bytes) -> tuple[Record, RecordTimes | None]:
    """Decode the stored record of a conversation, and its times; None if it has only its own one. Raises:
    msgspec.MsgspecError, UnicodeDecodeError."""
    try:
        stored = msgspec.json.decode(data, type=_StoredRecord)
    except RecursionError:  # one that arrived may nest without end
        raise msgspec.DecodeError("it is nested too deep") from None
    record = Record(stored.title, stored.tags, stored.archived, stored.pinned, stored.key, stored.app)
    return record, stored.times
