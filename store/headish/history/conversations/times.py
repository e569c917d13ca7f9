"""When the fields of a conversation's record changed, and two records merged by it (rule R33, conversations).

The later change of a field or tag wins, in whatever order records arrive. So stores that have read the same records
have the same one, and what was removed stays so beside an older record that still has it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec.structs import asdict, replace

from headish.content import strictjson
from headish.content.records import RecordTimes, read_timed_record
from headish.values.limits import LAST_MILLISECOND, TAGS_LIMIT
from headish.values.results.conversations import Record

FIELDS = ("title", "archived", "pinned", "key", "app")
"""The fields of a record that are merged one by one; tags are merged as a set, whose order has a time, too."""
HASH_BYTES = 8
CLEARED = "cleared"
"""In place of the hash of a field that was cleared: unlike the default of one that was never set, it is a change."""
AHEAD_LIMIT_MILLISECONDS = 100 * 365 * 86_400_000
"""How far ahead of this clock a time may be that arrives. A clock may be wrong, but no time may be the last one: a
change must always have a later time than the one before it."""
EMPTY = asdict(Record())
_NEVER = -1


class TimedRecord(NamedTuple):
    """A record, and when its fields and tags changed. ``is_exact``: its times are stored. If not, all are the time of
    the record: it was written once, or by an edition that knew no others."""

    record: Record
    times: RecordTimes
    is_exact: bool

    @property
    def hashes(self) -> dict[str, str]:
        """The hashes of ``FIELDS``."""
        return {field: self._hash(field) for field in FIELDS}

    def _hash(self, field: str) -> str:
        value = getattr(self.record, field)
        return CLEARED if field in self.times.fields and value == EMPTY[field] else hash_value(value)

    @property
    def tags(self) -> dict[str, str]:
        """The tags by their hashes."""
        return {hash_value(each): each for each in self.record.tags}

    @property
    def last(self) -> int:
        """The time of the last change; 0 if there was none."""
        return max((*self.times.fields.values(), *self.times.tags.values()), default=0)


def hash_value(value: Any) -> str:
    """The hash of a tag or of the value of a field, in hex."""
    return blake3(_encode(value)).hexdigest(length=HASH_BYTES)


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def read_timed(data: bytes, milliseconds: int) -> TimedRecord:
    """Decode a stored record that was written at ``milliseconds``. Raises: msgspec.MsgspecError, UnicodeDecodeError."""
    record, times = read_timed_record(data)
    said = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).keys() & EMPTY.keys()
    fields = dict.fromkeys(said, milliseconds)
    tags = dict.fromkeys(map(hash_value, record.tags), milliseconds)
    if times is not None:
        fields = {field: times.fields.get(field, at) for field, at in fields.items()}
        tags |= times.tags
    return TimedRecord(record, RecordTimes(fields, tags), times is not None)


def encode_timed(timed: TimedRecord) -> bytes:
    """Encode a record to be stored: the fields with a value, and those that had one before.

    A field that was cleared is stored, unlike one that was never set: so other stores learn that it was cleared.
    """
    said = timed.times.fields
    fields = {name: value for name, value in asdict(timed.record).items() if name in said or value != EMPTY[name]}
    return strictjson.encode({**fields, "times": asdict(timed.times)} if timed.is_exact else fields)


def change_timed(before: TimedRecord | None, milliseconds: int, record: Record) -> tuple[TimedRecord, int]:
    """Put ``record`` in the place of one that was written at ``milliseconds``. Returns it with its times, and the time
    of the change: the present, but later than each time before, even if a clock is wrong."""
    earlier = before or TimedRecord(Record(), RecordTimes(), is_exact=False)
    now = time.time_ns() // 1_000_000
    at = min(max(now, milliseconds + 1, earlier.last + 1), LAST_MILLISECOND)
    fields = {field: at for field in EMPTY if getattr(record, field) != getattr(earlier.record, field)}
    after = TimedRecord(record, earlier.times, is_exact=before is not None)
    tags = dict.fromkeys(earlier.tags.keys() ^ after.tags.keys(), at)
    times = RecordTimes({**earlier.times.fields, **fields}, {**earlier.times.tags, **tags})
    return _bounded(after._replace(times=times)), at


def bring_near(timed: TimedRecord, milliseconds: int) -> tuple[TimedRecord, int]:
    """Return a record that arrived, and its time, none of them further ahead than ``AHEAD_LIMIT_MILLISECONDS``."""
    limit = time.time_ns() // 1_000_000 + AHEAD_LIMIT_MILLISECONDS
    near = [{name: min(at, limit) for name, at in each.items()} for each in (timed.times.fields, timed.times.tags)]
    return timed._replace(times=RecordTimes(*near)), min(milliseconds, limit)


def merge_timed(
    ours: TimedRecord, theirs: TimedRecord, base: Mapping[str, Any], milliseconds: int
) -> tuple[TimedRecord, bool]:
    """Merge a device's record, written at ``milliseconds``, into the one here. ``base`` has the hashes of the one that
    was read of the device before.

    Returns the merged record, and whether a field here won over a change there.
    """
    values = asdict(ours.record)
    fields = dict(ours.times.fields)
    is_kept = False
    here, there = ours.hashes, theirs.hashes
    for field in FIELDS:
        # A field that the base lacks had its default when the device was last read.
        was = base.get(field, hash_value(EMPTY[field]))
        is_new = there[field] != was
        # A key that was read and is not here has another holder here.
        if field not in theirs.times.fields or not (is_new or (theirs.is_exact and field in fields)):
            continue
        value, at = getattr(theirs.record, field), theirs.times.fields[field]
        # Bytes decide at equal times, since all stores must choose the same value.
        is_later = (at, _encode(value)) > (fields.get(field, _NEVER), _encode(values[field]))
        if is_later or (not theirs.is_exact and here[field] == was):
            values[field], fields[field] = value, at
        elif here[field] != there[field]:
            is_kept |= is_new
    states = _merge_tags(ours, theirs, frozenset(base.get("tags", ())), milliseconds)
    tag_times = {each: at for each, (at, _) in states.items() if at != _NEVER}
    record = Record(**{**values, "tags": _arrange_tags(ours, theirs, {each for each in states if states[each][1]})})
    if (at := max(each.times.fields.get("tags", _NEVER) for each in (ours, theirs))) != _NEVER:
        fields["tags"] = at
    merged = TimedRecord(record, RecordTimes(fields, tag_times), is_exact=ours.is_exact or theirs.is_exact)
    if not merged.is_exact and record != ours.record:
        merged = merged._replace(is_exact=True)
    return _bounded(merged), is_kept


def _merge_tags(
    ours: TimedRecord, theirs: TimedRecord, was: frozenset[str], milliseconds: int
) -> dict[str, tuple[int, bool]]:
    """Merge two sets of tags. Returns the time of each by its hash, and whether it is there."""
    here, there = ours.tags, theirs.tags
    states: dict[str, tuple[int, bool]] = {}
    for each in {*here, *there, *ours.times.tags, *theirs.times.tags}:
        mine = ours.times.tags.get(each, _NEVER), each in here
        other = theirs.times.tags.get(each, _NEVER), each in there
        if theirs.is_exact or (each in there and each not in was):
            states[each] = max(mine, other)
        elif each in here and each in was and each not in there:
            states[each] = max(mine[0] + 1, milliseconds), False  # removed there, which does not say when
        else:
            states[each] = mine
    return states


def _arrange_tags(ours: TimedRecord, theirs: TimedRecord, stay: AbstractSet[str]) -> tuple[str, ...]:
    """Return the tags in the order of the side that has exactly these, of the later one if both have. If neither has,
    they are sorted: the device must come to the same order."""
    exact = [each for each in (ours, theirs) if each.tags.keys() == stay]
    if exact:
        last = max(exact, key=lambda each: (each.times.fields.get("tags", _NEVER), _encode(each.record.tags)))
        return last.record.tags
    return tuple(sorted(tag for each, tag in {**theirs.tags, **ours.tags}.items() if each in stay))


def _bounded(timed: TimedRecord) -> TimedRecord:
    """Forget the oldest removals of tags, if there are more than a record may have tags."""
    tags = timed.tags
    removed = sorted((at, each) for each, at in timed.times.tags.items() if each not in tags)
    gone = {each for _, each in removed[:-TAGS_LIMIT]}
    if not gone:
        return timed
    kept = {each: at for each, at in timed.times.tags.items() if each not in gone}
    return timed._replace(times=replace(timed.times, tags=kept))
