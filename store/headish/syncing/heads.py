"""Read the heads of all logs of a remote, and judge how far each log may be read: who signed its head, whether it went
back, and which devices were taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LogHead
from headish.database.query import Connection
from headish.errors import HeadishError, InvalidBundle, NotADevice, SigningFailed
from headish.rows.counters import read_counter
from headish.rows.elsewhere.remotes import forget_device
from headish.signing.judging import TrustLists, read_trust
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.syncing.erasures import ErasuresThere
from headish.syncing.logs import Logs
from headish.syncing.own_log import Push, leave_log_of_another
from headish.syncing.remotes import OpenRemote, SeenLog, save_remote
from headish.syncing.signers import BundleSigner, check_signed, judge_head, keep_place
from headish.values.forking import cached_property
from headish.values.names import stored_name
from headish.values.results.sharing import Pulled


class Pull(NamedTuple):
    """A running pull. ``gone`` is a device that is about to be taken out: nothing that is wrong with its log is an
    error, and without a head the log is read as far as its bundles go."""

    target: SyncTarget
    logs: Logs
    remote: OpenRemote
    accept_rollback: bool
    prune: bool
    gone: str | None = None


class LogReading:
    """The state of a running pull: how far each log was read, and what was found."""

    def __init__(self, given: Pull) -> None:
        self.given = given
        self.anew = False
        self.pulled = Pulled(stored_name(given.remote.name))
        self.seen = dict(given.remote.state.seen)
        self.went_back: dict[str, str] = {}
        self.unreadable: dict[str, NotADevice] = {}
        self.waiting: dict[str, str] = {}
        self.behind: dict[str, tuple[int, bytes]] = {}
        """By device, the number and the bytes of the next bundle if that waits for turns that are not here."""
        self.refused: dict[str, HeadishError] = {}
        self.heads: dict[str, LogHead] = {}
        self.revoked = set(given.remote.state.revoked)
        self.erasures = ErasuresThere(given.target, given.remote.settings.erasures)

    @cached_property
    def trust(self) -> TrustLists:
        """The lists of signers, read once per pull, and only if something is signed. Raises: SigningFailed."""
        return read_trust(None, None)

    def save(self) -> None:
        """Store how far every log was read, and continue with what is stored then."""
        self.take(write_locked(self.given.target, self.write))

    def keep_place(self) -> OpenRemote:
        """Keep the id of the remote's place, and return the remote with it. Raises: InvalidBundle, RemoteTaken."""
        target, logs, remote = self.given[:3]
        settings = keep_place(target, logs, remote, make=False).settings
        self.given = self.given._replace(remote=remote._replace(settings=settings))
        return self.given.remote

    def write(self, connection: Connection) -> OpenRemote:
        """Store how far every log was read. Requires the lock of the space."""
        base, space = self.given.remote, self.given.target.space
        state = replace(base.state, seen=dict(self.seen), revoked=tuple(sorted(self.revoked)))
        mine = base._replace(state=replace(state, anew=state.anew or self.anew))
        return save_remote(connection, space, base, mine)

    def take(self, remote: OpenRemote) -> None:
        """Continue with the remote as it is stored now."""
        self.given = self.given._replace(remote=remote)
        self.seen, self.revoked = dict(remote.state.seen), set(remote.state.revoked)
        # Another process may have taken a device out meanwhile: its log must not be read on.
        self.heads = {device: head for device, head in self.heads.items() if device in self.seen}


def read_heads(reading: LogReading) -> None:
    """Read the heads of all other devices. Stores what must be known before anything of a log is stored."""
    given, listed = reading.given, reading.given.logs.devices()
    if given.remote.settings.device in listed:
        own = leave_log_of_another(Push(given.target, given.logs, given.remote, allow_secrets=False))
        reading.take(own.remote)
    devices = [each for each in listed if each != reading.given.remote.settings.device]
    for device in devices:
        if device not in reading.revoked:
            _read_head(reading, device)
    # After all heads: any of them may name a device that was taken out.
    _leave_out_revoked(reading, devices)
    for device in sorted(reading.seen.keys() - set(devices)):
        _went_back(reading, device, f"the log of {reading.seen[device].label} is gone")
    if reading.anew:  # before anything is stored: the next push must send again what the lost logs had
        reading.save()


def _leave_out_revoked(reading: LogReading, devices: Sequence[str]) -> None:
    """Leave out the devices that another one has taken out; their turns are in the log of that other one.

    A listed device that has no log and never had one here is not kept: somebody could list any number of them, and this
    store's head repeats the list.
    """
    revoked = {each for head in reading.heads.values() for each in head.revoked}
    revoked &= {*devices, *reading.seen} - reading.revoked
    reading.revoked |= revoked
    target, remote = reading.given.target, reading.given.remote.name
    for label in [reading.seen[device].label.encode() for device in sorted(revoked & reading.seen.keys())]:
        write_locked(target, partial(forget_device, space=target.space, remote=remote, device=label))
    for device in revoked:
        for listed in (reading.seen, reading.heads, reading.waiting, reading.refused):
            listed.pop(device, None)
    if revoked:
        reading.save()


def _read_head(reading: LogReading, device: str) -> None:
    given, seen = reading.given, reading.seen.get(device)
    try:
        head = given.logs.head(device)
    except InvalidBundle as error:
        reading.waiting[device] = str(error)
        # An error only if this log was read with the present key before: then the remote has another key now, or
        # somebody wrote in its place. Otherwise the device has not confirmed a new key yet, and the pull waits for it.
        if seen is not None and isinstance(error, NotADevice) and seen.key == given.logs.fingerprint:
            reading.unreadable[device] = error
        return
    if head is None:
        if seen is not None:
            _went_back(reading, device, f"the log of {seen.label} has no head any more")
        return
    label = _label(reading, device, head.label)
    if not _is_signed(reading, device, label, head):
        return
    if seen is not None and (reason := _why_back(head, seen)):
        if not _went_back(reading, device, reason):
            return
        seen = None
    if seen is None:
        _begin(reading, device, SeenLog(label, head.generation))
    elif seen.generation < head.generation:
        reading.seen[device] = SeenLog(label, head.generation, serial=seen.serial, resent=seen.resent)
    reading.heads[device] = head


def _why_back(head: LogHead, seen: SeenLog) -> str:
    """Why a log ends before the point where it was last read; empty if it does not."""
    at, was = (head.generation, head.number), (seen.generation, seen.number)
    # The serial shows an older head with other names and the same bundles.
    if at == was and head.serial < seen.serial:
        return f"the log of {seen.label} had said its names {seen.serial} times, and has {head.serial} times"
    if at < was or (at == was and head.hash.hex() != seen.hash) or head.serial < seen.serial:
        return f"the log of {seen.label} was at bundle {seen.number} and is at {head.number}"
    return ""


def _begin(reading: LogReading, device: str, log: SeenLog) -> None:
    """Begin to read a log that is new here, or one that lost something or was gone.

    Turns that came from a lost log may be in no log any more. ``resent`` marks them, so that this store's own log gets
    them when it is written anew. The names last seen under this label belong to another device, and are forgotten.
    """
    given, target = reading.given, reading.given.target
    resent = target.backend.read(lambda connection: read_counter(connection, target.space)).seq
    reading.seen[device] = replace(log, resent=resent)
    label = log.label.encode()
    write_locked(target, lambda connection: forget_device(connection, target.space, given.remote.name, label))


def _went_back(reading: LogReading, device: str, told: str) -> bool:
    """Note a log that ends before the point where it was last read. Returns whether to read it as it is now."""
    if reading.given.accept_rollback:
        reading.seen.pop(device, None)
        reading.anew = True
        return True
    reading.went_back[device] = told
    return False


def _label(reading: LogReading, device: str, wanted: str) -> str:
    """The label of a device here: the one that it gives itself, with a number if another device has that label."""
    seen = reading.seen.get(device)
    if seen is not None and seen.label:
        return seen.label
    labels = {each.label for each in reading.seen.values()} | {reading.given.remote.settings.label}
    number = 1
    label = wanted
    while label in labels:
        number += 1
        label = f"{wanted}-{number}"
    return label


def _is_signed(reading: LogReading, device: str, label: str, head: LogHead) -> bool:
    """Whether a head is signed as the remote's settings require. If not, its device waits and nothing in the head
    counts: neither the end of the log, nor its names, nor the devices taken out."""
    if head.signature is None and not reading.given.remote.settings.require_signed:
        return True
    name = "the head of its log"
    try:
        remote = reading.given.remote if head.signature is None else reading.keep_place()
        signer = find_listed(reading, name, partial(judge_head, head, name, remote))
    except InvalidBundle as error:
        reading.waiting[device] = f"{label}: {error}"
        return False
    seen = reading.seen.get(device)
    if seen is None or seen.serial < head.serial:  # the signer of a head that was read before has been reported
        note_signer(reading, label, signer)
    return True


def find_listed(reading: LogReading, name: str, find: Callable[[TrustLists], BundleSigner]) -> BundleSigner:
    """Find who signed a head or a bundle, before anything of it is stored. Raises: InvalidBundle for a bad signature,
    NotSigned if a listed signer is required."""
    try:
        signer = find(reading.trust)
    except SigningFailed as error:
        # A machine without ssh-keygen still pulls; a required signature then counts as missing.
        signer = BundleSigner(None, f"not checked: {error}")
    if reading.given.remote.settings.require_signed:
        check_signed(name, signer)
    return signer


def note_signer(reading: LogReading, label: str, signer: BundleSigner) -> None:
    if signer.told:
        signed = dict.fromkeys((*reading.pulled.signed, f"{label}: {signer.told}"))
        reading.pulled = replace(reading.pulled, signed=tuple(signed))
