"""This store's own log at a remote: find where it ends, and continue it.

A push may have been cut off, another copy of this store may have written the log (a cloned disk, a restore), and
anybody who can write to the place may have put anything there. So headish compares what it finds with what this
store remembers of its own pushes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LAST_GENERATION, LogHead
from headish.bundles.pages import read_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader
from headish.errors import InvalidArgument, InvalidBundle, RemoteRolledBack
from headish.history.feeds.cursors import is_held, parse_cursor
from headish.signing.judging import TrustLists, read_trust
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.syncing.departing import Departing, Span
from headish.syncing.logs import Logs, hash_object
from headish.syncing.remotes import OpenRemote, SeenLog, save_remote
from headish.syncing.signers import BundleSigner, find_signer, judge_head, keep_place
from headish.values.names import stored_name


class Push(NamedTuple):
    """A running push: the source, the remote, and whether text that looks like a key may leave. ``stored`` is the
    remote as the database has it, if the push has changed ``remote`` since."""

    target: SyncTarget
    logs: Logs
    remote: OpenRemote
    allow_secrets: bool
    stored: OpenRemote | None = None


def find_place(given: Push, *, make: bool) -> Push:
    """Keep the id of the place, if this store signs there (``keep_place``)."""
    if not given.remote.settings.sign:
        return given
    remote = keep_place(given.target, given.logs, given.remote, make=make)
    return given if remote is given.remote else given._replace(remote=remote)


def leave_log_of_another(given: Push) -> Push:
    """Begin a log of this store's own before a pull, if another copy of it has put the present one: a pull then reads
    that one, too. It may have what this store said or erased before it was restored, and a push must not send again
    what was erased."""
    try:
        head = given.logs.head(given.remote.settings.device)
    except InvalidBundle:  # a push says what to do then
        return given
    return given if head is None or _is_ours(given, head.cursor) else _begin_again(given)


def find_end_of_log(given: Push, accept_rollback: bool) -> tuple[Push, LogHead | None]:
    """Find how far the log really is, and its head.

    Raises: RemoteRolledBack; InvalidBundle and NotADevice if the bytes in the place of the head are not its head. With
    ``accept_rollback``, none of them.
    """
    try:
        head = given.logs.head(given.remote.settings.device)
    except InvalidBundle as error:
        if accept_rollback:
            return _go_without_head(given), None
        anew = f"'headish push {stored_name(given.remote.name)} --accept-rollback' writes it anew"
        raise type(error)(error.file, f"{error.reason}; this store has put another head there: {anew}") from None
    return _reconcile(given, head, accept_rollback), head


def _reconcile(given: Push, head: LogHead | None, accept_rollback: bool) -> Push:
    """Find how far the log really is.

    A push that was cut off after it replaced the head counts as done. If another copy of this store writes the log (a
    cloned disk, a restore), this store begins a log of its own.
    """
    remote, own = given.remote, given.remote.state.own
    if head is None:
        # Nothing was put yet, or a first push was cut off before its head: nothing has gone back.
        if own.number == 0 or own.generation == 0:
            return given
        if not accept_rollback:
            name = stored_name(remote.name)
            raise RemoteRolledBack(name, (f"the log of {remote.settings.label} (this store) is gone",))
        return _begin_again(given)
    if head.is_last or not _is_ours(given, head.cursor):
        return _begin_again(given)
    at = (head.generation, head.number)
    if at < (own.generation, own.number) and not accept_rollback:
        reason = f"the log of {remote.settings.label} (this store) was at bundle {own.number} and is at {head.number}"
        raise RemoteRolledBack(stored_name(remote.name), (reason,))
    if at < (own.generation, own.number):
        return _begin_again(given)
    if at == (own.generation, own.number) and head.hash.hex() == own.hash:
        return given
    if not _is_signed(remote, partial(judge_head, head, "the head of its log", remote)):
        return _begin_again(given)
    written = _find_written(given, head)
    if written is None:
        return _begin_again(given)
    own_now = replace(own, generation=head.generation, number=head.number, hash=head.hash.hex())
    return given._replace(remote=remote._replace(state=replace(remote.state, own=own_now, pushed=written or None)))


def _go_without_head(given: Push) -> Push:
    """Find where to continue the log if the bytes in the place of its head are not a head, whoever put them there.

    This store remembers what it has put, and the next head states it again.
    """
    own = given.remote.state.own
    beyond = sorted(at for at in given.logs.bundles(given.remote.settings.device) if at > (own.generation, own.number))
    if not beyond:
        return given
    if any(_is_anothers(given, *at) for at in beyond):
        # Another copy of this store has put it. Without the head, its history may be in these bundles alone.
        return _begin_again(given)
    return begin_generation(given, beyond[-1][0] + 1)


def _is_anothers(given: Push, generation: int, number: int) -> bool:
    """Whether another history than this one wrote a bundle of the log. Bytes that are not a bundle are nobody's."""
    device = given.remote.settings.device
    data = given.logs.bundle(device, generation, number) or b""
    try:
        return not _is_our_bundle(given, given.logs.open(device, generation, number, data))
    except InvalidBundle:
        return False


def _is_ours(given: Push, cursor: str) -> bool:
    """Whether this very history wrote a head or a bundle: only then does the witness of its cursor fit here."""
    target = given.target
    try:
        parsed = parse_cursor(cursor)
    except InvalidArgument:  # anybody who can write to the place may have written it
        return False
    return target.backend.read(lambda connection: is_held(connection, target.space, parsed))


def _find_written(given: Push, head: LogHead) -> str | None:
    """Find the cursor behind the last bundle that a head names, if this very history wrote all those that this store
    does not know of; else None. Empty for a head without bundles."""
    own, device = given.remote.state.own, given.remote.settings.device
    is_known = head.generation == own.generation
    if is_known and head.number == own.number:
        return None  # it names another bundle in the place of one that this store has put
    cursor = (given.remote.state.pushed if is_known else None) or ""
    for number in range(own.number + 1 if is_known else 1, head.number + 1):
        data = given.logs.bundle(device, head.generation, number) or b""
        try:
            bundle = given.logs.open(device, head.generation, number, data)
            if not _is_our_bundle(given, bundle):
                return None
        except InvalidBundle:
            return None
        cursor = bundle.header.until or ""
    return cursor


def _is_our_bundle(given: Push, bundle: BundleReader) -> bool:
    """Whether this very history wrote a bundle: it holds the turns that this store has from its first to its last one.

    The cursor alone proves the last turn. Two copies of a store may each say something, and then get the same turn.
    Raises: InvalidBundle.
    """
    target, until = given.target, bundle.header.until or ""
    if not _is_ours(given, until):
        return False
    try:
        low = parse_cursor(bundle.header.after).seq if bundle.header.after else 0
    except InvalidArgument:
        return False
    span = Span(low, parse_cursor(until).seq, given.remote.held)
    there = [
        id for kind, value in bundle.parts() if kind is BundleKind.PAGE for id in read_page(value, bundle.name).ids
    ]
    pages = target.backend.read(lambda connection: [*Departing(connection, target.space).since(span)])
    return there == [id for page in pages for id in page.ids]


def _is_signed(remote: OpenRemote, find: Callable[[TrustLists], BundleSigner]) -> bool:
    """Whether a head or bundle that goes further than this store knows is signed as this store signs.

    Anybody may be able to write to the place. If this store continued a stranger's bundle, its next bundle would wait
    for that one on every machine (ADR 0107). Raises: SigningFailed.
    """
    if not remote.settings.sign:
        return True
    try:
        signer = find(read_trust(None, None))
    except InvalidBundle:
        return False
    return (signer.name is not None) if remote.settings.require_signed else bool(signer.told)


def begin_generation(given: Push, generation: int) -> Push:
    """Begin the log anew with this generation. Nothing of it is written yet."""
    if generation > LAST_GENERATION:
        # Somebody has put a bundle of the last possible generation, which would end this log for good.
        given, generation = _begin_again(given), 1
    state, key = given.remote.state, given.logs.fingerprint
    begun = SeenLog(state.own.label, generation, serial=state.own.serial)
    state = replace(state, own=begun, pushed=None, signed=0, key=key, untidy=True, anew=False)
    return given._replace(remote=given.remote._replace(state=state))


def _begin_again(given: Push) -> Push:
    """Begin a log under another device id. The old log stays; from now on it belongs to another device."""
    remote = given.remote
    # Stored at once, so that after a cut-off push the next one continues this log and does not begin another.
    settings = replace(remote.settings, device=os.urandom(8).hex())
    return save_push(
        given, remote._replace(settings=settings, state=replace(remote.state, own=SeenLog(""), pushed=None, signed=0))
    )


def count_in(given: Push, generation: int, number: int) -> Push:
    """Count a bundle in the place of the next one as this store's own if it is: a push was cut off after it put it."""
    device, own = given.remote.settings.device, given.remote.state.own
    data = given.logs.bundle(device, generation, number) or b""
    try:
        bundle = given.logs.open(device, generation, number, data)
        is_ours = _is_our_bundle(given, bundle)
    except InvalidBundle:  # nobody's: a new generation has other paths, so that these bytes stop no push
        return begin_generation(given, max(generation, *(each for each, _ in given.logs.bundles(device))) + 1)
    header = bundle.header
    log, cursor = SeenLog("", generation, number, hash_object(data).hex()), header.until or ""
    is_next = (header.device, header.generation, header.number) == (device, generation, number)
    if not is_next or header.before.hex() != own.hash or not is_ours:
        return _begin_again(given)
    if not _is_signed(given.remote, partial(find_signer, bundle)):
        return _begin_again(given)
    return go_behind(given, log, cursor, given.remote.state.signed)


def go_behind(given: Push, found: SeenLog, cursor: str, signed: int) -> Push:
    """Note that the log now ends with this bundle."""
    state = given.remote.state
    own = replace(state.own, generation=found.generation, number=found.number, hash=found.hash)
    state = replace(state, own=own, pushed=cursor, signed=signed, key=given.logs.fingerprint)
    return given._replace(remote=given.remote._replace(state=state))


def save_push(given: Push, remote: OpenRemote) -> Push:
    """Store how far the push is, beside what others have changed of the remote meanwhile (``save_remote``)."""
    base, target = given.stored or given.remote, given.target
    stored = write_locked(target, lambda connection: save_remote(connection, target.space, base, remote))
    return given._replace(remote=stored, stored=stored)
