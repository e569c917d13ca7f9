"""Merge bookmarks and records of conversations with those of another store, by a three-way comparison: this store, the
other one, and the state of the other one that this store saw last.

A diverged bookmark is no error: it stays where it is here, and both positions are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec.structs import replace

from headish.bundles.records import SentName, SentRecord
from headish.content import strictjson
from headish.database.query import Connection
from headish.history.conversations.changing import write_arrived_record
from headish.history.conversations.records import encode_record, fields_said
from headish.rows.bookmarks import find_bookmark, remove_bookmark, set_bookmark
from headish.rows.conversations import find_dated_record, find_records
from headish.rows.elsewhere.remotes import (
    RemoteBookmark,
    bookmarks_of_device,
    forget_remote_bookmarks,
    write_remote_bookmarks,
)
from headish.rows.moves import has_log, past_place
from headish.rows.turns import turn_at, turn_by_id
from headish.syncing.naming import compare, is_erased_name, names_first, settle_name, subject_here
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import new_refusal, stored_name
from headish.values.results.conversations import Record, read_record
from headish.values.results.sharing import AHEAD, DIVERGED, MADE, MOVED, REFUSED, REMOVED, SAME, ArrivedName

FIELDS = ("title", "archived", "pinned", "key", "app")
"""The fields of a record that are merged one by one; tags are merged as a set."""
HASH_BYTES = 8
CLEARED = "cleared"
"""In place of the hash of a field that was cleared: unlike the default of one that was never set, it is a change."""
Tags = tuple[str, ...]


class Met(NamedTuple):
    """The other side: a device of a remote. ``names`` is the pattern of the bookmarks that it may make here; with
    ``prune``, bookmarks that were removed there are removed here."""

    remote: bytes
    device: bytes
    names: str
    prune: bool


class _SeenRecord(NamedTuple):
    """A record as it arrived or is stored, and the hashes of ``FIELDS`` in it."""

    record: Record
    hashes: Mapping[str, str]


def meet_names(connection: Connection, space: int, met: Met, names: Sequence[SentName]) -> list[ArrivedName]:
    """Move bookmarks here to where a device has them, if that is forward or if only the device moved them.

    Returns those that moved, diverged or were refused or removed; ``tell_apart`` counts the turns of diverged ones, and
    ``name_of_device`` adds the device. Cost: about eight statements for each that is new there.
    """
    seen = bookmarks_of_device(connection, space, met.remote, met.device)
    arrived: list[ArrivedName] = []
    rows: list[tuple[bytes, TurnId | None, bytes | None]] = []
    for sent in names:
        before = seen.get(sent.name)
        turn = as_turn_id(sent.turn)
        turn_here = None if turn is None else turn_by_id(connection, space, turn)
        outcome = _meet_name(connection, space, met, sent, before)
        if outcome.outcome in (MADE, MOVED, DIVERGED, REFUSED):
            arrived.append(outcome)
        if turn_here is not None and outcome.outcome != REFUSED and (before is None or before.turn != turn):
            rows.append((sent.name, turn, None if before is None else before.record))
    write_remote_bookmarks(connection, space, met.remote, met.device, rows)
    there = {sent.name for sent in names}
    gone = [each for name, each in seen.items() if each.turn is not None and name not in there]
    arrived += [_meet_removed(connection, space, met, each) for each in gone]
    forget_remote_bookmarks(connection, space, met.remote, met.device, [each.name for each in gone])
    return arrived


def _meet_name(
    connection: Connection, space: int, met: Met, sent: SentName, before: RemoteBookmark | None
) -> ArrivedName:
    name = stored_name(sent.name)
    place = find_bookmark(connection, space, sent.name)
    if place is None:
        # Also one that the pattern keeps out: it would be listed as that of the device.
        is_wrong = new_refusal(sent.name.decode(errors="surrogateescape")) is not None
        if is_wrong or is_erased_name(connection, space, sent.name):
            return ArrivedName(name, TurnId(sent.turn), REFUSED)
        is_allowed = fnmatchcase(name, met.names)
        if not is_allowed or _was_removed_behind(connection, space, sent):
            return ArrivedName(name, TurnId(sent.turn), AHEAD)
        return settle_name(connection, space, sent)
    here, turn = turn_at(connection, space, place), as_turn_id(sent.turn)
    there = None if turn is None else turn_by_id(connection, space, turn)
    if here is None or there is None:
        return settle_name(connection, space, sent)
    outcome = compare(connection, space, here, there)
    if before is not None and before.turn == there.id:
        return ArrivedName(name, there.id, SAME if outcome == SAME else AHEAD)  # only this side has moved it
    is_unmoved = before is not None and before.turn == here.id
    if outcome == MOVED or (outcome != SAME and is_unmoved):
        set_bookmark(connection, space, sent.name, there)
        return ArrivedName(name, there.id, MOVED)
    return ArrivedName(name, there.id, outcome)


def _was_removed_behind(connection: Connection, space: int, sent: SentName) -> bool:
    """Whether the name was removed here, and its turn there is not beyond the one that it had here: then the device has
    said nothing new, and the name stays removed."""
    if not has_log(connection, space, sent.name):
        return False
    place, turn = past_place(connection, space, sent.name, 1), as_turn_id(sent.turn)
    here = None if place is None else turn_at(connection, space, place)
    there = None if turn is None else turn_by_id(connection, space, turn)
    return here is not None and there is not None and compare(connection, space, here, there) in (SAME, AHEAD)


def _meet_removed(connection: Connection, space: int, met: Met, before: RemoteBookmark) -> ArrivedName:
    """Handle a name that the device no longer has: report it once. With ``prune``, remove it here if it has not moved
    here."""
    assert before.turn is not None
    place = find_bookmark(connection, space, before.name)
    here = None if place is None else turn_at(connection, space, place)
    if met.prune and here is not None and here.id == before.turn:
        remove_bookmark(connection, space, before.name)
    return ArrivedName(stored_name(before.name), before.turn, REMOVED)


def name_of_device(met: Met, names: Sequence[ArrivedName]) -> list[ArrivedName]:
    """The same names as they are shown for a device: ``laptop/main``."""
    return [replace(each, name=f"{stored_name(met.device)}/{each.name}") for each in names]


def meet_records(connection: Connection, space: int, met: Met, records: Sequence[SentRecord]) -> tuple[int, list[str]]:
    """Merge a device's records of conversations into those here, field by field.

    A field that only the device changed is taken over. If both sides changed it, the later record wins. A bookmark
    that has no record here, since its name is new here or another one took the record along, takes the device's.
    Returns the number of records that changed here, and the conversations in which a field here won over a change
    there. Cost: a statement for each 64 records, and about five for each that changes.
    """
    seen = bookmarks_of_device(connection, space, met.remote, met.device)
    here = find_records(connection, space, [each.subject for each in records])
    changed, kept = 0, list[str]()
    rows: list[tuple[bytes, TurnId | None, bytes | None]] = []
    for sent in names_first(records):
        before = seen.get(sent.subject)
        theirs = _decoded(sent.data)
        hashes = None if theirs is None else _hashes(theirs)
        is_known = before is not None and before.record == hashes
        if theirs is None or (is_known and (sent.subject in here or as_turn_id(stored_name(sent.subject)) is not None)):
            continue  # nothing is new there
        subject = subject_here(connection, space, sent.subject)
        if subject is None:
            continue
        base = {} if before is None or before.record is None else msgspec.json.decode(before.record)
        is_changed, is_kept = _meet_record(connection, space, subject, sent, theirs, base)
        changed += is_changed
        kept += [stored_name(sent.subject)] if is_kept else []
        rows.append((sent.subject, None if before is None else before.turn, hashes))
    write_remote_bookmarks(connection, space, met.remote, met.device, rows)
    return changed, kept


def _meet_record(
    connection: Connection, space: int, subject: bytes, sent: SentRecord, theirs: _SeenRecord, base: Mapping[str, Any]
) -> tuple[bool, bool]:
    """Merge a record into that of ``subject``. Returns whether the record here changed, and whether a field here won
    over a change there."""
    dated = find_dated_record(connection, space, subject)
    if dated is None:
        return write_arrived_record(connection, space, subject, sent.revision, sent.milliseconds, sent.data), False
    revision, milliseconds, data = dated
    ours = _decoded(data)
    if ours is None:
        return False, False
    # At equal milliseconds the bytes decide, since both sides must choose the same winner.
    later = (sent.milliseconds, sent.data) > (milliseconds, data)
    merged, is_kept = _merge(ours, theirs, base, later=later)
    if merged == ours.record:
        return False, is_kept
    data = encode_record(merged, fields_said(data))
    return write_arrived_record(
        connection, space, subject, revision + 1, max(milliseconds, sent.milliseconds), data
    ), is_kept


def _merge(ours: _SeenRecord, theirs: _SeenRecord, base: Mapping[str, Any], *, later: bool) -> tuple[Record, bool]:
    changes: dict[str, Any] = {}
    is_kept = False
    for field in FIELDS:
        value = getattr(theirs.record, field)
        # A field that the base lacks had its default when the device was last read.
        was = base.get(field, _hash(getattr(Record(), field)))
        if getattr(ours.record, field) == value or theirs.hashes[field] == was:
            continue
        if ours.hashes[field] == was or later:
            changes[field] = value
        else:
            is_kept = True
    tags = _merge_tags(ours.record.tags, theirs.record.tags, base, later=later)
    return replace(ours.record, **changes, tags=tags), is_kept


def _merge_tags(ours: Tags, theirs: Tags, base: Mapping[str, Any], *, later: bool) -> Tags:
    """Return the union of both sets without the tags that either side removed.

    The order is that of the side that has exactly these tags, of the later one if both have. If neither has, the tags
    are sorted: the device must come to the same order.
    """
    was = set(base.get("tags", ()))
    hashes_there = {_hash(each) for each in theirs}
    stay = {each for each in ours if _hash(each) in hashes_there or _hash(each) not in was}
    tags = stay | {each for each in theirs if _hash(each) not in was}
    as_here, as_there = tags == set(ours), tags == set(theirs)
    if as_there and (later or not as_here):
        return theirs
    return ours if as_here else tuple(sorted(tags))


def hashes_of(data: bytes) -> bytes | None:
    """Return what ``remote_bookmark`` keeps of a device's record, or None if the record cannot be read."""
    said = _decoded(data)
    return None if said is None else _hashes(said)


def _hashes(said: _SeenRecord) -> bytes:
    """Return what to keep of a device's record: only hashes, so that no word of it stays here when it is erased."""
    return strictjson.encode({**said.hashes, "tags": sorted(map(_hash, said.record.tags))})


def _hash(value: Any) -> str:
    return blake3(msgspec.json.encode(value, order="sorted")).hexdigest(length=HASH_BYTES)


def _decoded(data: bytes) -> _SeenRecord | None:
    try:
        record, said = read_record(data), fields_said(data)
        values = {field: getattr(record, field) for field in FIELDS}
        cleared = {field for field, value in values.items() if field in said and value == getattr(Record(), field)}
        hashes = {field: CLEARED if field in cleared else _hash(value) for field, value in values.items()}
        return _SeenRecord(record, hashes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
