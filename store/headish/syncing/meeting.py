"""Merge bookmarks and records of conversations with those of another store, by a three-way comparison: this store, the
other one, and the state of the other one that this store saw last.

A diverged bookmark is no error: it stays where it is here, and both positions are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from headish.bundles.records import SentName, SentRecord
from headish.bundles.times import unpack_times
from headish.content import strictjson
from headish.database.query import Connection
from headish.history.conversations.changing import write_arrived_record
from headish.history.conversations.times import (
    TimedRecord,
    bring_near,
    encode_timed,
    hash_value,
    merge_timed,
    read_timed,
)
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
from headish.rows.upkeep.receipts import is_erased_name
from headish.syncing.naming import compare, names_first, settle_name, subject_here
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import new_refusal, stored_name
from headish.values.results.sharing import AHEAD, DIVERGED, MADE, MOVED, REFUSED, REMOVED, SAME, ArrivedName


class Met(NamedTuple):
    """The other side: a device of a remote. ``names`` is the pattern of the bookmarks that it may make here; with
    ``prune``, bookmarks that were removed there are removed here."""

    remote: bytes
    device: bytes
    names: str
    prune: bool


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
        # Checked although the pattern may keep it out: it would still be listed as DEVICE/NAME.
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
    for sent in names_first(unpack_times(records)):
        before = seen.get(sent.subject)
        theirs = _decoded(sent.data, sent.milliseconds)
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
    connection: Connection, space: int, subject: bytes, sent: SentRecord, theirs: TimedRecord, base: Mapping[str, Any]
) -> tuple[bool, bool]:
    """Merge a record into that of ``subject``. Returns whether the record here changed, and whether a field here won
    over a change there."""
    dated = find_dated_record(connection, space, subject)
    if dated is None:
        return write_arrived_record(connection, space, subject, sent.revision, sent.milliseconds, sent.data), False
    revision, milliseconds, data = dated
    ours = _decoded(data, milliseconds)
    if ours is None:
        return False, False
    theirs, at = bring_near(theirs, sent.milliseconds)
    merged, is_kept = merge_timed(ours, theirs, base, at)
    encoded = encode_timed(merged)
    if encoded == data:
        return False, is_kept
    # Times alone are stored, too, for other devices; but nobody has to read the record again.
    is_changed = merged.record != ours.record
    at = max(milliseconds, at)
    is_written = write_arrived_record(connection, space, subject, revision + is_changed, at, encoded)
    return is_changed and is_written, is_kept


def hashes_of(data: bytes) -> bytes | None:
    """Return what ``remote_bookmark`` keeps of a device's record, or None if the record cannot be read."""
    timed = _decoded(data, 0)
    return None if timed is None else _hashes(timed)


def _hashes(timed: TimedRecord) -> bytes:
    """Return what to keep of a device's record: only hashes, so that no word of it stays here when it is erased."""
    times = {"times": hash_value(asdict(timed.times))} if timed.is_exact else {}
    return strictjson.encode({**timed.hashes, "tags": sorted(timed.tags), **times})


def _decoded(data: bytes, milliseconds: int) -> TimedRecord | None:
    try:
        timed = read_timed(data, milliseconds)
        msgspec.json.encode(timed.record)  # no hash can be made of an ``app`` that is nested too deep
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return timed
