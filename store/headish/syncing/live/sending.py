"""Push to a store that answers: what it does not have, then names, each with what was seen of it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.live import (
    LISTED_AT_ONCE,
    MARK_BYTES,
    LeaseAnswers,
    NameLeases,
    NewSignatures,
    Offer,
    OfferedTurn,
    SignaturesTaken,
    Stored,
    Wanted,
)
from headish.content.receipts import decode_receipt
from headish.database.query import Connection
from headish.errors import InvalidBundle, RemoteRefused, SecretsFound
from headish.history.feeds.cursors import Cursor, find_end, is_held, parse_cursor
from headish.history.signatures import as_sent
from headish.rows.elsewhere.arrivals import arrivals_among, arrived_with
from headish.rows.elsewhere.sealed import SealedTurn, sealed_behind
from headish.rows.signatures import last_signature
from headish.syncing.bundling import receipts_behind, write_locked
from headish.syncing.departing import find_keys, find_said_keys
from headish.syncing.live.answering import read_pages, signatures_between
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.moves import NameWishes, choose_moves, names_of, note_moved, only_sent, records_of, send_moves
from headish.syncing.pushing import handles_of
from headish.values.results.sharing import ArrivedName, Pushed


class LivePush(NamedTuple):
    """A push that goes on. ``allow_secrets``: what looks like a key may leave."""

    live: LiveSync
    wishes: NameWishes
    allow_secrets: bool


def send_all(given: LivePush) -> Pushed:
    """Send all that is new here, then publish names and what is said of conversations.

    Cost: no round trip where nothing is new since the last time.
    Raises: RemoteRefused, RemoteUnavailable, SecretsFound, CorruptTurn.
    """
    live = given.live
    space, backend, state = live.target.space, live.target.backend, live.remote.state
    # Of one moment: a signature goes with or behind its turn.
    end, signed = backend.read(lambda connection: (find_end(connection, space), last_signature(connection, space)))
    is_known = str(end.cursor) == state.pushed and live.welcome.holds and not given.wishes
    if is_known and signed == state.signed:
        return Pushed(live.label)
    if live.welcome.read_only:
        raise RemoteRefused(live.wire.name, "ReadOnly", "it is open to readers alone")
    after = _find_pushed(live)
    change = 0 if after is None else after.change
    receipts: list[bytes] = []
    if end.change > change:
        receipts = backend.read(lambda connection: list(receipts_behind(connection, space, change)))
    turns = _send_turns(given, after, end.seq, receipts)
    if any(decode_receipt(each, 0).meta for each in receipts):
        # Signatures went with it, and later ones may have got their numbers.
        live.note(replace(live.remote.state, signed=0))
    _send_signatures(live, signed)
    names, waits = _publish(given, end.seq)
    state = live.remote.state
    # What waits for a pull is said by the push behind it, even if that pull changes nothing here.
    pushed = state.pushed if waits else str(end.cursor)
    live.note(replace(state, pushed=pushed, met=state.met or live.welcome.cursor))
    return Pushed(live.label, turns, len(receipts), names=tuple(names))


def _find_pushed(live: LiveSync) -> Cursor | None:
    """Up to where this history is there, if both go on from there; else None."""
    pushed, space = live.remote.state.pushed, live.target.space
    if pushed is None or not live.welcome.holds:
        return None
    cursor = parse_cursor(pushed)
    is_here = live.target.backend.read(lambda connection: is_held(connection, space, cursor))
    return cursor if is_here else None


def _send_turns(given: LivePush, after: Cursor | None, end: int, receipts: Sequence[bytes]) -> int:
    """Send receipts, and the turns that are not there; how many turns those were."""
    sent = 0
    for seqs in _missing_there(given.live, after, end):
        while seqs:
            done = _send(given, seqs, receipts)
            sent, seqs, receipts = sent + done, seqs[done:], ()
    if receipts:
        _send(given, (), receipts)
    return sent


def _missing_there(live: LiveSync, after: Cursor | None, end: int) -> Iterator[Sequence[int]]:
    """The commit numbers of the turns that are not there, in parts and in order."""
    low, skips = (0, False) if after is None else (after.seq, True)
    different = live.compare() if after is None else None
    if different is not None:
        for first in range(0, len(different.here), LISTED_AT_ONCE):
            yield different.here[first : first + LISTED_AT_ONCE]
        low, skips = live.compared_at or 0, True  # what was said or came since then
    while low < end:
        offered, low = live.target.backend.read(partial(_own_behind, live=live, low=low, high=end, skips=skips))
        if not offered:
            continue
        offer = Offer(tuple(OfferedTurn(each.id, each.seal[:MARK_BYTES]) for each in offered))
        bits = live.wire.ask(offer, Wanted).bits
        if len(bits) != -(-len(offered) // 8):
            raise InvalidBundle(live.wire.name, "it wants other turns than were offered")
        yield [each.seq for index, each in enumerate(offered) if bits[index // 8] >> index % 8 & 1]


def _own_behind(
    connection: Connection, live: LiveSync, low: int, high: int, skips: bool
) -> tuple[Sequence[SealedTurn], int]:
    """Turns behind a commit number, ``skips``: that did not come from there; and how far that is."""
    space = live.target.space
    turns = sealed_behind(connection, space, low, high, LISTED_AT_ONCE)
    reached = turns[-1].seq if len(turns) == LISTED_AT_ONCE else high
    if not skips:
        return turns, reached
    source = live.origin.remote, live.origin.device
    among = arrivals_among(connection, space, low + 1, reached)
    came = [each for each in among if (each.remote, each.device) == source]
    skipped = arrived_with(came, (each.seq for each in turns))
    return [each for each in turns if each.seq not in skipped], reached


def _send(given: LivePush, seqs: Sequence[int], receipts: Sequence[bytes]) -> int:
    """Send receipts, and the first of some turns; how many turns went."""
    live = given.live
    told, pages = live.target.backend.read(partial(read_pages, space=live.target.space, seqs=seqs))
    keys = tuple(key for page in pages for key in find_keys(page))
    if keys and not given.allow_secrets:
        raise SecretsFound(keys, handles_of(live.target, keys))
    sent = live.wire.send_bundle(dict.fromkeys([*receipts, *told]), pages)
    done = live.wire.receive(Stored)
    before, after = live.cursor(done.before), live.cursor(done.after)
    is_ours = (after.seq, after.change) == (before.seq + done.stored, before.change)
    state = live.moved_on(done.before, done.after, is_ours=is_ours)
    if done.erases:
        erased = {*live.seen().erased, *(decode_receipt(each, 0).id for each in receipts)}
        state = replace(state, seen=live.seen_with(tuple(sorted(erased))))
    live.note(state)
    return sent


def _send_signatures(live: LiveSync, last: int) -> None:
    """Send the signatures up to a number that did not come from there, once their turns are there."""
    space, low = live.target.space, live.remote.state.signed
    while low < last:
        found, low = live.target.backend.read(partial(signatures_between, space=space, after=low, until=last))
        new = tuple(as_sent(each) for each in found if each.remote != live.remote.name)
        state = live.remote.state
        if new:
            done = live.wire.ask(NewSignatures(new), SignaturesTaken)
            # What came from here is not asked for.
            there = done.after if done.before == state.signed_there and done.after else state.signed_there
            state = replace(state, signed_there=there)
        live.note(replace(state, signed=low))


def _publish(given: LivePush, end: int) -> tuple[list[ArrivedName], bool]:
    """Publish names of turns up to a commit number, and what is said of conversations; what became of the names, and
    whether something waits for a pull."""
    live = given.live
    space, head, pattern = live.target.space, live.head(), live.welcome.names
    chosen = live.target.backend.read(
        lambda connection: only_sent(
            connection, space, choose_moves(connection, space, live.remote, head, pattern, given.wishes), end
        )
    )
    subjects = () if given.allow_secrets else tuple(find_said_keys(names_of(chosen), records_of(chosen)))
    if subjects:
        raise SecretsFound((), (), subjects)
    told = chosen.apart
    for asked, moved in send_moves(live.wire, chosen):
        told += write_locked(live.target, partial(_note_moved, live=live, asked=asked, moved=moved))
    return told, chosen.waits


def _note_moved(connection: Connection, live: LiveSync, asked: NameLeases, moved: LeaseAnswers) -> list[ArrivedName]:
    told = note_moved(connection, live.target.space, live.remote, asked, moved)
    live.keep(connection, live.moved_on(moved.before, moved.after, is_ours=True))
    return told
