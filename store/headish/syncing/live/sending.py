"""Push to a store that answers: the turns that it does not have, then names, each with the turn that it was seen at."""

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
from headish.bundles.records import SentName
from headish.content.receipts import decode_receipt
from headish.database.query import Connection
from headish.errors import InvalidBundle, RemoteRefused, SecretsFound
from headish.history.feeds.cursors import Cursor, find_end, is_held, parse_cursor
from headish.history.signatures import as_sent
from headish.rows.elsewhere.arrivals import arrivals_among, arrived_with
from headish.rows.elsewhere.sealed import SealedTurn, sealed_behind
from headish.rows.signatures import last_signature
from headish.syncing.bundling.arriving import write_locked
from headish.syncing.bundling.writing import receipts_behind
from headish.syncing.departing import find_keys, find_said_keys
from headish.syncing.live.answering import read_pages, signatures_between
from headish.syncing.live.conversation import LiveSync
from headish.syncing.live.moves import NameWishes, choose_moves, is_overtaken, note_moved, only_sent, send_moves
from headish.syncing.pushing import handles_of
from headish.values.results.sharing import ArrivedName, Pushed


class LivePush(NamedTuple):
    """A running push. ``allow_secrets``: text that looks like a key may leave."""

    live: LiveSync
    wishes: NameWishes
    allow_secrets: bool


def send_all(given: LivePush) -> Pushed:
    """Send all that is new here, then publish names and records of conversations.

    Cost: no round trip if nothing is new since the last time.
    Raises: RemoteRefused, RemoteUnavailable, SecretsFound, CorruptTurn.
    """
    live = given.live
    space, backend, state = live.target.space, live.target.backend, live.remote.state
    # In one transaction: otherwise a signature could be sent whose turn came later, and is not sent.
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
        # The erasure of meta removed signatures too, and their numbers may be given again: send from the first one.
        live.note(replace(live.remote.state, signed=0))
    _send_signatures(live, signed)
    names, waits = _publish(given, end.seq)
    state = live.remote.state
    # What waits for a pull goes with the push after it. An unchanged ``pushed`` makes that push run even if the pull
    # changes nothing here.
    pushed = state.pushed if waits else str(end.cursor)
    live.note(replace(state, pushed=pushed, met=state.met or live.welcome.cursor))
    return Pushed(live.label, turns, len(receipts), names=tuple(names))


def _find_pushed(live: LiveSync) -> Cursor | None:
    """The cursor up to which the other store has this history, if both histories go on from it; else None."""
    pushed, space = live.remote.state.pushed, live.target.space
    if pushed is None or not live.welcome.holds:
        return None
    cursor = parse_cursor(pushed)
    is_here = live.target.backend.read(lambda connection: is_held(connection, space, cursor))
    return cursor if is_here else None


def _send_turns(given: LivePush, after: Cursor | None, end: int, receipts: Sequence[bytes]) -> int:
    """Send receipts, and the turns that the other store does not have. Returns how many turns were sent."""
    sent = 0
    for seqs in _missing_there(given.live, after, end):
        while seqs:
            count = _send(given, seqs, receipts)
            sent, seqs, receipts = sent + count, seqs[count:], ()
    if receipts:  # no turn was missing, so they have not gone with any
        _send(given, (), receipts)
    return sent


def _missing_there(live: LiveSync, after: Cursor | None, end: int) -> Iterator[Sequence[int]]:
    """The commit numbers of the turns that the other store does not have, in parts and in order."""
    low, skips = (0, False) if after is None else (after.seq, True)
    different = live.compare() if after is None else None
    if different is not None:
        for first in range(0, len(different.here), LISTED_AT_ONCE):
            yield different.here[first : first + LISTED_AT_ONCE]
        low, skips = live.compared_at or 0, True  # the turns that were added here since the comparison
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
    """Return turns above a commit number, and the number up to which these are all. ``skips`` leaves out the turns that
    came from the other store."""
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
    """Send receipts, and the first of the turns in one bundle. Returns how many turns were sent."""
    live = given.live
    receipts_of_erased, pages = live.target.backend.read(partial(read_pages, space=live.target.space, seqs=seqs))
    keys = tuple(key for page in pages for key in find_keys(page))
    if keys and not given.allow_secrets:
        raise SecretsFound(keys, handles_of(live.target, keys))
    sent = live.wire.send_bundle(dict.fromkeys([*receipts, *receipts_of_erased]), pages)
    answer = live.wire.receive(Stored)
    before, after = live.cursor(answer.before), live.cursor(answer.after)
    # If its counters grew by exactly what this bundle stored, nobody else wrote there, and nothing need be read back.
    is_ours = (after.seq, after.change) == (before.seq + answer.stored, before.change)
    state = live.moved_on(answer.before, answer.after, is_ours=is_ours)
    if answer.erases:
        erased = {*live.seen().erased, *(decode_receipt(each, 0).id for each in receipts)}
        state = replace(state, seen=live.seen_with(tuple(sorted(erased))))
    live.note(state)
    return sent


def _send_signatures(live: LiveSync, last: int) -> None:
    """Send the signatures up to number ``last`` that did not come from the other store. Call it after their turns were
    sent: signatures of turns that are missing there are dropped."""
    space, low = live.target.space, live.remote.state.signed
    while low < last:
        signatures, low = live.target.backend.read(partial(signatures_between, space=space, after=low, until=last))
        new = tuple(as_sent(each) for each in signatures if not live.remote.brought(each))
        state = live.remote.state
        if new:
            answer = live.wire.ask(NewSignatures(new), SignaturesTaken)
            # The signatures sent just now need not be asked for at the next pull.
            signed_there = answer.after if answer.before == state.signed_there and answer.after else state.signed_there
            state = replace(state, signed_there=signed_there)
        live.note(replace(state, signed=low))


def _publish(given: LivePush, end: int) -> tuple[list[ArrivedName], bool]:
    """Publish the names of turns up to a commit number, and the records of conversations. Returns what became of the
    names, and whether something waits for a pull."""
    live = given.live
    space, head, pattern = live.target.space, live.head(), live.welcome.names
    chosen = live.target.backend.read(
        lambda connection: only_sent(
            connection, space, choose_moves(connection, space, live.remote, head, pattern, given.wishes), end
        )
    )
    names = (SentName(each.name, each.turn, b"") for each in chosen.moves if each.turn)
    subjects = () if given.allow_secrets else tuple(find_said_keys(names, (each.record for each in chosen.says)))
    if subjects:
        raise SecretsFound((), (), subjects)
    arrived, waits = chosen.apart, chosen.waits
    for asked, moved in send_moves(live.wire, chosen):
        waits = (overtaken := is_overtaken(asked, moved, head)) or waits
        note = partial(_note_moved, live=live, asked=asked, moved=moved, is_ours=not overtaken)
        arrived += write_locked(live.target, note)
    return arrived, waits


def _note_moved(
    connection: Connection, live: LiveSync, asked: NameLeases, moved: LeaseAnswers, is_ours: bool
) -> list[ArrivedName]:
    arrived = note_moved(connection, live.target.space, live.remote, asked, moved)
    live.keep(connection, live.moved_on(moved.before, moved.after, is_ours=is_ours))
    return arrived
