"""Pull from a store that answers: receipts first, then turns, then names, so that each finds what it needs here.

Turns are found by cursor if the other history goes on from the one last seen, else by ranges, else by a list of all.
Turns that were taken stay: a pull continues where the one before broke off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from headish.bundles.live import (
    LISTED_AT_ONCE,
    AskPages,
    AskReceipts,
    AskSigned,
    AskTurns,
    LiveHead,
    SignedThere,
    TurnMark,
    TurnMarks,
)
from headish.bundles.records import BundleKind
from headish.database.query import Connection
from headish.errors import InvalidBundle
from headish.rows.elsewhere.remotes import bookmarks_of_device, forget_remote_bookmarks
from headish.rows.elsewhere.sealed import SealedTurn, sealed_with
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import read_sent_receipt, store_arrived_signatures, tell_diverged, write_locked
from headish.syncing.erasures import ErasuresThere, made_here
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.ranges import check_mark
from headish.syncing.meeting import Met, meet_names, meet_records, name_of_device
from headish.values.ids import as_turn_id
from headish.values.names import stored_name
from headish.values.results.erasures import Receipt
from headish.values.results.sharing import REMOVED, ArrivedName, Pulled


def take_all(live: LiveSync, *, prune: bool) -> Pulled:
    """Take all that is new there; then merge names and records of conversations.

    Cost: no round trip if nothing is new since the last time.
    Raises: RemoteRefused, RemoteUnavailable, InvalidBundle, ForeignConflict, MissingParents, QuotaExceeded.
    """
    state = live.remote.state
    is_known = state.pulled == live.welcome.cursor
    if is_known and state.signed_there == live.welcome.signed:
        return Pulled(live.label)
    if is_known:
        _take_signatures(live)
        return Pulled(live.label)
    # Before its turns arrive: whether their options act here is looked up by this entry.
    if not state.seen:
        live.note(replace(state, seen=live.seen_with(())))
    erasures = ErasuresThere(live.target, live.remote.settings.erasures)
    erasures.come_from(live.origin)
    after = live.cursor(state.pulled) if state.pulled is not None and live.welcome.holds else None
    if live.there.change > (after.change if after else 0):
        receipts = _ask_receipts(live, after.change if after else 0)
        erasures.take(receipts)
        if any(each.meta for each in receipts):
            # The erasure of meta removed signatures there, too, and their numbers may be given again.
            live.note(replace(live.remote.state, signed_there=0))
    low = max(after.seq if after else 0, live.remote.state.taken)
    different = None if low else live.compare()
    if different is not None:
        stored, known = _take(live, different.there, erasures), 0
    else:
        stored, known = _take_listed(live, low, erasures)
    _take_signatures(live)
    names, records, kept = write_locked(live.target, partial(_meet, live=live, head=live.head(), prune=prune))
    names = name_of_device(_met(live, prune), tell_diverged(live.target, names))
    return Pulled(live.label, stored, known, tuple(names), records, tuple(kept), erasures.count)


def _ask_receipts(live: LiveSync, after: int) -> list[Receipt]:
    live.wire.send(AskReceipts(after))
    parts = live.wire.bundle().parts()
    return [read_sent_receipt(value, live.wire.name) for kind, value in parts if kind is BundleKind.RECEIPT]


def _take_listed(live: LiveSync, low: int, erasures: ErasuresThere) -> tuple[int, int]:
    """Take the turns above a commit number there. Returns how many are new here, and how many were here already."""
    stored = known = 0
    while low < live.there.seq:
        listed = live.wire.ask(AskTurns(low, live.there.seq), TurnMarks)
        if not low < listed.reached <= live.there.seq:  # without progress, this loop would not end
            raise InvalidBundle(live.wire.name, "it lists other turns than it was asked for")
        missing = _missing_here(live, listed.turns)
        stored += _take(live, missing, erasures)
        known += len(listed.turns) - len(missing)
        low = listed.reached
        if low < live.there.seq:
            live.note(replace(live.remote.state, taken=low, met=live.welcome.cursor))
    return stored, known


def _take_signatures(live: LiveSync) -> None:
    """Take the signatures that are new there. Call it after their turns came: one without its turn is dropped."""
    low, target = live.remote.state.signed_there, live.target
    while low < live.welcome.signed:
        answer = live.wire.ask(AskSigned(low, live.welcome.signed), SignedThere)
        if not low < answer.reached <= live.welcome.signed:
            raise InvalidBundle(live.wire.name, "it has other signatures than it was asked for")
        store_arrived_signatures(target, answer.signatures, live.wire.name, live.origin.bringer)
        low = answer.reached
        live.note(replace(live.remote.state, signed_there=low))


def _missing_here(live: LiveSync, listed: Sequence[TurnMark]) -> list[int]:
    """The commit numbers of the listed turns that are not here. Raises: ForeignConflict, InvalidBundle."""
    space = live.target.space
    ids = [each.id for each in listed]
    if any(as_turn_id(each) != each for each in ids):
        raise InvalidBundle(live.wire.name, "the id of a turn is not an id")
    turns = live.target.backend.read(lambda connection: sealed_with(connection, space, ids))
    here: dict[str, SealedTurn] = {each.id: each for each in turns.values()}
    for each in listed:
        if each.id in here:
            check_mark(here[each.id], each.mark)
    return sorted(each.seq for each in listed if each.id not in here)


def _take(live: LiveSync, seqs: Sequence[int], erasures: ErasuresThere) -> int:
    """Take turns by their commit numbers there. Returns how many are new here."""
    stored = 0
    while seqs:
        live.wire.send(AskPages(tuple(seqs[:LISTED_AT_ONCE])))
        applied = apply_bundle(live.target, live.wire.bundle(), live.origin, erasures=erasures)
        came = applied.stored + applied.known
        if not came:  # an empty bundle would be asked for again without end
            raise InvalidBundle(live.wire.name, "it sends none of the turns that it listed")
        stored, seqs = stored + applied.stored, seqs[came:]
    return stored


def _meet(
    connection: Connection, live: LiveSync, head: LiveHead, prune: bool
) -> tuple[list[ArrivedName], int, list[str]]:
    """Merge names and records of conversations, and store how far this pull is."""
    remote, space = live.remote, live.target.space
    met = _met(live, prune)
    if remote.state.pulled is None:
        # A history that was put back lost names. Nobody removed them, so the next push makes them again.
        seen_there = bookmarks_of_device(connection, space, remote.name, remote.name)
        lost = seen_there.keys() - {each.name for each in head.names}
        forget_remote_bookmarks(connection, space, remote.name, remote.name, sorted(lost))
    names = meet_names(connection, space, met, head.names)
    records, kept = meet_records(connection, space, met, head.records)
    names_there = {stored_name(each.name) for each in head.names}
    removed = {each.name: str(each.turn) for each in names if each.outcome == REMOVED}
    gone = {name: turn for name, turn in {**remote.state.gone, **removed}.items() if name not in names_there}
    # Only up to the cursor of the greeting: the next pull takes what was added there meanwhile.
    at = live.welcome.cursor
    seen = live.seen_with(made_here(connection, space, head.erased))
    state = replace(remote.state, pulled=at, met=at, taken=0, gone=gone, seen=seen)
    live.keep(connection, state)
    return names, records, kept


def _met(live: LiveSync, prune: bool) -> Met:
    """The other side of a merge: the store that answers is a device with the name of the remote."""
    remote = live.remote
    return Met(remote.name, remote.name, remote.settings.names, prune)
