"""Push: append what is new to this store's own log at a remote. A push replaces no object but its own head."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LogHead
from headish.bundles.pages import TurnColumns
from headish.bundles.records import BundleHeader, SentName, SentRecord, SentSignature
from headish.bundles.streams import BundleWriter
from headish.database.query import Connection
from headish.errors import SecretsFound
from headish.history.feeds.cursors import Position, find_end, parse_cursor, position_at
from headish.history.signatures import as_sent
from headish.remotes.keys import recipient_of
from headish.rows.signatures import all_signatures, last_signature
from headish.signing.keygen import sign_message
from headish.syncing.bundling.arriving import SyncTarget
from headish.syncing.bundling.writing import receipts_behind
from headish.syncing.departing import Departing, Span, all_names, all_records, find_keys, find_said_keys, take_pages
from headish.syncing.erasures import ids_of_applied, ids_of_erasures
from headish.syncing.logs import Logs
from headish.syncing.own_log import Push, begin_generation, count_in, find_end_of_log, find_place, go_behind, save_push
from headish.syncing.remotes import OpenRemote, SeenLog, keys_of
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.sharing import Pushed

BUNDLE_BYTES = 16 * 1024 * 1024
"""A bundle of a log ends once its payloads exceed this size: memory holds one bundle."""
BUNDLES_LIMIT = 200
"""A log with this many bundles is rewritten in fewer: each small push adds one, and a new machine reads them all."""


class _Saying(NamedTuple):
    """What the head of the log says: bookmarks, records of conversations, ids of applied erasures; and the position of
    the space at that moment."""

    names: tuple[SentName, ...]
    records: tuple[SentRecord, ...]
    erased: tuple[str, ...]
    end: Position


class _Gathered(NamedTuple):
    """The contents of the next bundle, the position of the space after it, and the number of the last signature by
    then."""

    header: BundleHeader
    receipts: Sequence[bytes]
    pages: Sequence[TurnColumns]
    signatures: Sequence[SentSignature]
    end: Position
    signed: int


class _Written(NamedTuple):
    """A bundle to put: its bytes, the counts of its turns and receipts, the position of the space after it, and the
    number of the last signature by then."""

    data: bytes
    turns: int
    receipts: int
    keys: tuple[TurnId, ...]
    end: Position
    signed: int


def push(given: Push, *, anew: bool = False, accept_rollback: bool = False) -> tuple[Pushed, OpenRemote]:
    """Append all that is new since the last push, then replace the head.

    ``anew`` rewrites the log from its beginning as a new generation, and removes the old one. A push also does so when
    the log has grown long, when the key has changed, when something was erased here, and when the user accepted another
    device's log that had lost something.
    Cost: if nothing is new, one read. Otherwise two writes, and one more for each further ``BUNDLE_BYTES``.
    Raises: SecretsFound, RemoteUnavailable, RemoteRolledBack, NotADevice, CorruptTurn.
    """
    given, is_rekeyed = find_place(given, make=False), _is_rekeyed(given)
    given = given._replace(stored=given.remote)
    # The old head is encrypted with a key that this store no longer has.
    given, head = (given, None) if is_rekeyed else find_end_of_log(given, accept_rollback)
    remote, state = given.remote, given.remote.state
    is_other = is_rekeyed or _has_erased(given.target, state.own)
    begins = anew or state.anew or state.own.number >= BUNDLES_LIMIT or bool(state.own.number and is_other)
    # Bundles that a cut-off push left may contain what was erased since, or have another key: begin beyond them.
    lying = given.logs.bundles(remote.settings.device) if begins or not state.own.number else {}
    if begins or lying:
        given = begin_generation(given, max(state.own.generation, *(each for each, _ in lying), 0) + 1)
    pushed = Pushed(stored_name(remote.name))
    while isinstance(written := _write_next(given), _Written):
        if written.keys and not given.allow_secrets:
            raise SecretsFound(written.keys, handles_of(given.target, written.keys))
        # The head will publish names and titles: refuse those that look like a key before anything is put.
        if not pushed.objects:
            _check_said(given, given.target.backend.read(partial(_read_said, space=given.target.space)))
        given = _put(find_place(given, make=True), written)
        pushed = replace(
            pushed, turns=pushed.turns + written.turns, receipts=pushed.receipts + written.receipts,
            objects=pushed.objects + 1,
        )  # fmt: skip
    given, put = _put_head(given, head, written)
    return replace(pushed, objects=pushed.objects + put), _tidy(given).remote


def _is_rekeyed(given: Push) -> bool:
    """Whether the log was written with another key, so that this store cannot read its head, or was never written."""
    written_with, device = given.remote.state.key, given.remote.settings.device
    return written_with != given.logs.fingerprint and (written_with is not None or not given.logs.is_readable(device))


def check_keys(given: Push) -> None:
    """Check that the log, written from its beginning, would contain nothing that looks like a key. Puts nothing.

    Cost: reads each turn that would be in it.
    Raises: SecretsFound, CorruptTurn.
    """
    target, remote = given.target, given.remote

    def find(connection: Connection) -> tuple[TurnId, ...]:
        span = Span(0, find_end(connection, target.space).seq, remote.held)
        pages = Departing(connection, target.space).since(span)
        return tuple(key for page in pages for key in find_keys(page))

    keys = target.backend.read(find)
    if keys and not given.allow_secrets:
        raise SecretsFound(keys, handles_of(given.target, keys))
    _check_said(given, target.backend.read(partial(_read_said, space=target.space)))


def _check_said(given: Push, said: _Saying) -> None:
    """Check that no name or record of a head looks like a key. Raises: SecretsFound."""
    subjects = () if given.allow_secrets else tuple(find_said_keys(said.names, said.records))
    if subjects:
        raise SecretsFound((), (), subjects)


def _has_erased(target: SyncTarget, own: SeenLog) -> bool:
    """Whether something was erased here that this store's own log may contain."""
    erased = target.backend.read(lambda connection: ids_of_erasures(connection, target.space))
    return not set(erased) <= set(own.erased)


def _write_next(given: Push) -> _Written | _Saying:
    """Write the next bundle of the log, or return what the head says if nothing is new. One transaction decides and
    reads both, so a head never names a turn that no bundle has."""
    target, remote = given.target, given.remote
    gathered = target.backend.read(lambda connection: _gather(connection, target.space, remote))
    return gathered if isinstance(gathered, _Saying) else _write(gathered, given.logs)


def _gather(connection: Connection, space: int, remote: OpenRemote) -> _Gathered | _Saying:
    end = find_end(connection, space)
    cursor = None if remote.state.pushed is None else parse_cursor(remote.state.pushed)
    low, change = (0, 0) if cursor is None else (cursor.seq, cursor.change)
    signed = last_signature(connection, space)
    if (low, change) == (end.seq, end.change) and signed == remote.state.signed:
        return _read_said(connection, space)
    span = Span(low, end.seq, remote.held)
    departing = Departing(connection, space)
    pages, is_full = take_pages(departing.since(span), BUNDLE_BYTES)
    high = departing.reached if is_full else end.seq
    receipts = list(receipts_behind(connection, space, change))
    reached = position_at(connection, space, end.epoch, high, end.change)
    # Only in the last bundle: a reader stores a signature only if it has its turn.
    signatures = _signatures_behind(connection, space, remote) if high == end.seq else []
    if not pages and not receipts and not signatures:  # only names moved, or the new turns came from this remote
        return _read_said(connection, space)
    inside = {id for page in pages for id in page.ids}
    outside = dict.fromkeys(id for page in pages for parents in page.parents for id in parents)
    outside |= dict.fromkeys(TurnId(each.turn) for each in signatures)
    own = remote.state.own
    header = BundleHeader(
        made_at=time.time_ns() // 1_000_000,
        requires=tuple(each for each in outside if each not in inside),
        after=remote.state.pushed,
        device=remote.settings.device,
        generation=max(own.generation, 1),
        number=own.number + 1,
        before=bytes.fromhex(own.hash),
        until=str(reached.cursor),
        signed=remote.settings.sign,
    )
    return _Gathered(header, receipts, pages, signatures, reached, signed if high == end.seq else remote.state.signed)


def _signatures_behind(connection: Connection, space: int, remote: OpenRemote) -> list[SentSignature]:
    """The signatures that this store's own log does not have, without those that came from this remote.

    A log that was written anew has all of them: the log of a device that was taken out, or lost something, had some.
    """
    anew = remote.state.signed == 0 and remote.state.own.generation > 1
    signatures = all_signatures(connection, space, remote.state.signed)
    return [as_sent(each) for each in signatures if anew or not remote.brought(each)]


def _write(gathered: _Gathered, logs: Logs) -> _Written:
    """Make the bytes of a bundle. Call it without a transaction: signing may ask a person for a passphrase. Raises:
    SigningFailed."""
    header, receipts, pages, signatures, end, signed = gathered
    file = BytesIO()
    writer = BundleWriter(file, header, None if logs.key is None else logs.key.sums)
    for receipt in receipts:
        writer.receipt(receipt)
    for page in pages:
        writer.page(page)
    writer.end((), (), signatures, partial(sign_message, key=None) if header.signed else None)
    keys = tuple(key for page in pages for key in find_keys(page))
    return _Written(file.getvalue(), writer.turns, writer.receipts, keys, end, signed)


def _put(given: Push, written: _Written) -> Push:
    """Put a bundle, and note that the log ends with it. If the path already has one, ``count_in`` decides."""
    settings, own = given.remote.settings, given.remote.state.own
    generation, number = max(own.generation, 1), own.number + 1
    hash = given.logs.put_bundle(settings.device, generation, number, written.data)
    if hash is None:
        return count_in(given, generation, number)
    return go_behind(given, SeenLog("", generation, number, hash.hex()), str(written.end.cursor), written.signed)


def _put_head(given: Push, before: LogHead | None, said: _Saying) -> tuple[Push, bool]:
    """Replace the head if anything in it is new. Returns whether it did."""
    given = find_place(given, make=True)
    own, cursor = given.remote.state.own, str(said.end.cursor)
    if before is not None and before.device != given.remote.settings.device:
        before = None  # this store has begun another log, and that head belongs to the old one
    generation = max(own.generation, 1)
    head = _head_at(given, generation, own.number, bytes.fromhex(own.hash), cursor)
    revoked = given.remote.state.revoked
    head = replace(head, names=said.names, records=said.records, erased=said.erased, revoked=revoked)
    # A new cursor alone is not worth a new head: it moves with turns that came from this remote, which the others have.
    is_new = before is None or replace(before, made_at=head.made_at, cursor=cursor, serial=0, signature=None) != head
    is_new = is_new or (given.remote.settings.sign and before is not None and before.signature is None)
    serial = max(own.serial, 0 if before is None else before.serial) + is_new
    if is_new:
        _check_said(given, said)
        head = replace(head, serial=serial)
        if given.remote.settings.sign:
            head = replace(head, signature=sign_message(head.message, key=None))
        given.logs.put_head(head)
    key = given.logs.fingerprint
    made_at = head.made_at if is_new else own.made_at
    own = replace(own, label=head.label, generation=generation, made_at=made_at, erased=said.erased, serial=serial)
    state = replace(given.remote.state, own=own, pushed=cursor, key=key)
    return save_push(given, given.remote._replace(state=state)), is_new


def _head_at(given: Push, generation: int, number: int, hash: bytes, cursor: str) -> LogHead:
    settings, keys = given.remote.settings, keys_of(given.remote)
    recipient = None if keys is None else recipient_of(keys.own)
    place = settings.place if settings.sign else None
    now = time.time_ns() // 1_000_000
    return LogHead(settings.device, settings.label, recipient, generation, number, hash, cursor, now, place=place)


def _read_said(connection: Connection, space: int) -> _Saying:
    end = find_end(connection, space)
    erased = (*ids_of_erasures(connection, space), *ids_of_applied(connection, space))
    return _Saying(tuple(all_names(connection, space)), tuple(all_records(connection, space)), erased, end)


def _tidy(given: Push) -> Push:
    """Remove the bundles of older generations, which no head names any more.

    It comes last: until the new head is there, the old one names them.
    """
    remote = given.remote
    if not remote.state.untidy:
        return given
    for (generation, _), path in given.logs.bundles(remote.settings.device).items():
        if generation < remote.state.own.generation:
            given.logs.place.delete(path)
    return save_push(given, remote._replace(state=replace(remote.state, untidy=False)))


def handles_of(target: SyncTarget, keys: tuple[TurnId, ...]) -> tuple[str, ...]:
    """The handles of turns, as lists show them."""
    from headish.history.reading.handles import make_handles

    return tuple(target.backend.read(lambda connection: make_handles(connection, target.space, keys)).values())
