"""This store's own log at a remote: how far it is, and where it goes on.

A push may have been cut off, another copy of this store may have written the log (a cloned disk, a restore), and
whoever can write to the place may have put anything there. What this store has put is known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LAST_GENERATION, LogHead
from headish.errors import InvalidArgument, InvalidBundle, RemoteRolledBack
from headish.history.feeds.cursors import is_held, parse_cursor
from headish.signing.judging import TrustLists, read_trust
from headish.syncing.bundling import SyncTarget, write_locked
from headish.syncing.logs import Logs, hash_object
from headish.syncing.remotes import OpenRemote, SeenLog, save_remote
from headish.syncing.signers import BundleSigner, find_signer, judge_head, keep_place
from headish.values.names import stored_name


class Push(NamedTuple):
    """A running push: from where, to which remote, and whether what looks like a key may leave. ``stored`` is the
    remote as it was last read, where the push has changed it since."""

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


def find_end_of_log(given: Push, accept_rollback: bool) -> tuple[Push, LogHead | None]:
    """Find how far the log really is, and its head. Raises: RemoteRolledBack; InvalidBundle and NotADevice for bytes in
    the place of its head that are none; all unless ``accept_rollback``."""
    try:
        head = given.logs.head(given.remote.settings.device)
    except InvalidBundle as error:
        if accept_rollback:
            return _go_without_head(given), None
        anew = f"'headish push {stored_name(given.remote.name)} --accept-rollback' writes it anew"
        raise type(error)(error.file, f"{error.reason}; this store has put another head there: {anew}") from None
    return _reconcile(given, head, accept_rollback), head


def _reconcile(given: Push, head: LogHead | None, accept_rollback: bool) -> Push:
    """Find how far the log really is: a push that was cut off after its head was replaced counts as done, and where
    another copy of this store writes the log (a cloned disk, a restore), this one begins a log of its own."""
    remote, own = given.remote, given.remote.state.own
    if head is None:
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
        told = f"the log of {remote.settings.label} (this store) was at bundle {own.number} and is at {head.number}"
        raise RemoteRolledBack(stored_name(remote.name), (told,))
    if at < (own.generation, own.number):
        return _begin_again(given)
    if at == (own.generation, own.number) and head.hash.hex() == own.hash:
        return given
    if not _is_signed(remote, partial(judge_head, head, "the head of its log", remote)):
        return _begin_again(given)
    found = replace(own, generation=head.generation, number=head.number, hash=head.hash.hex())
    return given._replace(remote=remote._replace(state=replace(remote.state, own=found, pushed=head.cursor)))


def _go_without_head(given: Push) -> Push:
    """Find where the log goes on if bytes lie in the place of its head that are none, whoever put them there. What this
    store has put is known here, and the next head says it again."""
    own = given.remote.state.own
    beyond = sorted(at for at in given.logs.bundles(given.remote.settings.device) if at > (own.generation, own.number))
    if not beyond:
        return given
    if any(_is_anothers(given, *at) for at in beyond):
        return _begin_again(given)  # another copy of this store has put it, and may have nothing else left
    return begin_generation(given, beyond[-1][0] + 1)


def _is_anothers(given: Push, generation: int, number: int) -> bool:
    """Whether a bundle of the log is of another history than this one."""
    device = given.remote.settings.device
    there = given.logs.bundle(device, generation, number) or b""
    try:
        header = given.logs.open(device, generation, number, there).header
    except InvalidBundle:
        return False
    return not _is_ours(given, header.until or "")


def _is_ours(given: Push, cursor: str) -> bool:
    """Whether this very history wrote a head or a bundle, as the witness of its cursor shows."""
    target = given.target
    try:
        parsed = parse_cursor(cursor)
    except InvalidArgument:  # anybody may have written it
        return False
    return target.backend.read(lambda connection: is_held(connection, target.space, parsed))


def _is_signed(remote: OpenRemote, find: Callable[[TrustLists], BundleSigner]) -> bool:
    """Whether what goes further than this store knows is signed as its own is: at a place that anybody can write to,
    what is put next would stand behind a stranger's bundle. Raises: SigningFailed."""
    if not remote.settings.sign:
        return True
    try:
        signer = find(read_trust(None, None))
    except InvalidBundle:
        return False
    return (signer.name is not None) if remote.settings.require_signed else bool(signer.told)


def begin_generation(given: Push, generation: int) -> Push:
    """Write the log from its beginning, as this generation. Where somebody has put one there that none can follow, a
    log of its own begins."""
    if generation > LAST_GENERATION:
        given, generation = _begin_again(given), 1
    state, key = given.remote.state, given.logs.fingerprint
    begun = SeenLog(state.own.label, generation, serial=state.own.serial)
    state = replace(state, own=begun, pushed=None, signed=0, key=key, untidy=True, anew=False)
    return given._replace(remote=given.remote._replace(state=state))


def _begin_again(given: Push) -> Push:
    """Begin a log under another name; the old one stays, as somebody else's."""
    remote = given.remote
    settings = replace(remote.settings, device=os.urandom(8).hex())
    return save_push(
        given, remote._replace(settings=settings, state=replace(remote.state, own=SeenLog(""), pushed=None, signed=0))
    )


def count_in(given: Push, generation: int, number: int) -> Push:
    """Count a bundle that lies in the place of the next one as this store's own, if it is: its push was cut off."""
    device, own = given.remote.settings.device, given.remote.state.own
    there = given.logs.bundle(device, generation, number) or b""
    try:
        bundle = given.logs.open(device, generation, number, there)
    except InvalidBundle:  # it is nobody's: the next generation goes without it
        return begin_generation(given, max(generation, *(each for each, _ in given.logs.bundles(device))) + 1)
    header = bundle.header
    found, cursor = SeenLog("", generation, number, hash_object(there).hex()), header.until or ""
    is_next = (header.device, header.generation, header.number) == (device, generation, number)
    if not is_next or header.before.hex() != own.hash or not _is_ours(given, cursor):
        return _begin_again(given)
    if not _is_signed(given.remote, partial(find_signer, bundle)):
        return _begin_again(given)
    return go_behind(given, found, cursor, given.remote.state.signed)


def go_behind(given: Push, found: SeenLog, cursor: str, signed: int) -> Push:
    """Continue behind a bundle of this store's own log."""
    state = given.remote.state
    own = replace(state.own, generation=found.generation, number=found.number, hash=found.hash)
    state = replace(state, own=own, pushed=cursor, signed=signed, key=given.logs.fingerprint)
    return given._replace(remote=given.remote._replace(state=state))


def save_push(given: Push, remote: OpenRemote) -> Push:
    """Store how far the push is."""
    base, target = given.stored or given.remote, given.target
    stored = write_locked(target, lambda connection: save_remote(connection, target.space, base, remote))
    return given._replace(remote=stored, stored=stored)
