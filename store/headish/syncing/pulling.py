"""Pull: read the logs of all other devices of a remote as far as they have arrived, and store what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LogHead
from headish.database.query import Connection
from headish.errors import (
    ForeignConflict,
    HeadishError,
    InvalidBundle,
    MissingParents,
    NotADevice,
    QuotaExceeded,
    RemoteRolledBack,
    SigningFailed,
    TooLarge,
)
from headish.rows.counters import read_counter
from headish.rows.elsewhere.arrivals import OWN, PLAIN, ArrivalOrigin
from headish.rows.elsewhere.remotes import forget_device
from headish.signing.judging import TrustLists, read_trust
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import SyncTarget, tell_diverged, write_locked
from headish.syncing.erasures import ErasuresThere, made_here
from headish.syncing.logs import Logs, hash_object
from headish.syncing.meeting import Met, meet_names, meet_records, name_of_device
from headish.syncing.remotes import OpenRemote, SeenLog, read_remote, save_remote
from headish.syncing.signers import BundleSigner, check_signed, find_signer, judge_head, keep_place
from headish.values.names import stored_name
from headish.values.results.sharing import ArrivedName, Pulled

NO_ROOM = (QuotaExceeded, TooLarge)
NOT_STORED = (*NO_ROOM, ForeignConflict)
"""The errors that keep a sound page from being stored here. Other logs are read all the same, and a push still runs."""


class Pull(NamedTuple):
    """A running pull. ``gone`` is a device that is about to be taken out: nothing that is wrong with its log is an
    error, and without a head the log is read as far as its bundles go."""

    target: SyncTarget
    logs: Logs
    remote: OpenRemote
    accept_rollback: bool
    prune: bool
    gone: str | None = None


class _LogReading:
    """The state of a running pull: how far each log was read, and what was found."""

    def __init__(self, given: Pull) -> None:
        self.given = given
        self.anew = False
        self.pulled = Pulled(stored_name(given.remote.name))
        self.seen = dict(given.remote.state.seen)
        self.went_back: dict[str, str] = {}
        self.unreadable: dict[str, NotADevice] = {}
        self.waiting: dict[str, str] = {}
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


def pull(given: Pull) -> tuple[Pulled, HeadishError | None]:
    """Read all heads, fetch the new bundles, and store them; then merge names and records of conversations.

    Logs may arrive in any order and in parts: a bundle waits for the turns that it continues. Returns what came, and an
    error if something of a device was left out; all other logs were read.
    Cost: if nothing is new, one request, and one for each device.
    Raises: RemoteUnavailable.
    """
    reading = _LogReading(given)
    devices = [each for each in given.logs.devices() if each != given.remote.settings.device]
    for device in devices:
        if device not in reading.revoked:
            _read_head(reading, device)
    # After all heads: any of them may name a device that was taken out.
    _leave_out_revoked(reading, devices)
    for device in sorted(reading.seen.keys() - set(devices)):
        _went_back(reading, device, f"the log of {reading.seen[device].label} is gone")
    if reading.anew:  # before anything is stored: the next push must send again what the lost logs had
        reading.save()
    broken = _read_on(reading)
    while sum(_advance(reading, device) for device in sorted(reading.heads)):
        pass  # a bundle of one device may have waited for turns of another one
    reading.waiting |= broken
    for device, head in sorted(reading.heads.items()):
        if device in reading.heads and device not in reading.waiting:
            _meet(reading, device, head)
    waiting = tuple(reading.waiting[each] for each in sorted(reading.waiting))
    return replace(reading.pulled, waiting=waiting, erased=reading.erasures.count), _find_failure(reading)


def _read_on(reading: _LogReading) -> dict[str, str]:
    """Let the log that is about to be removed be read up to its last bundle, if its head is broken or gone: no other
    log may have its turns. Returns what is wrong with it; empty if nothing is."""
    given, device = reading.given, reading.given.gone or ""
    seen, told = reading.seen.get(device), reading.went_back.pop(device, "") or reading.waiting.get(device, "")
    reading.unreadable.pop(device, None)
    if not told or seen is None:
        return {}
    bundles = given.logs.bundles(device)
    generation = max([seen.generation, *(each for each, _ in bundles)])
    if generation > seen.generation:
        seen = reading.seen[device] = replace(seen, generation=generation, number=0, hash="")
    last = next(number for number in count(seen.number) if (generation, number + 1) not in bundles)
    data = given.logs.bundle(device, generation, last) if last > seen.number else None
    if data is not None:
        reading.heads[device] = LogHead(device, seen.label, None, generation, last, hash_object(data), "", 0)
    return {device: f"{seen.label}: {told}"}


def _find_failure(reading: _LogReading) -> HeadishError | None:
    """Return why something was left out, as one error; None if nothing was."""
    reading.refused.pop(reading.given.gone or "", None)
    # First: if the key was changed, the logs of devices that were taken out are gone, too, and that is not a rollback.
    if reading.unreadable:
        return next(iter(reading.unreadable.values()))
    if reading.went_back:
        return RemoteRolledBack(reading.pulled.remote, tuple(reading.went_back.values()))
    return next(iter(reading.refused.values()), None)


def _leave_out_revoked(reading: _LogReading, devices: Sequence[str]) -> None:
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


def _read_head(reading: _LogReading, device: str) -> None:
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
    if seen is not None:
        at, was = (head.generation, head.number), (seen.generation, seen.number)
        # The serial shows an older head with other names and the same bundles.
        if at < was or (at == was and head.hash.hex() != seen.hash) or head.serial < seen.serial:
            reason = f"the log of {seen.label} was at bundle {seen.number} and is at {head.number}"
            if at == was and head.serial < seen.serial:
                reason = f"the log of {seen.label} had said its names {seen.serial} times, and has {head.serial} times"
            if not _went_back(reading, device, reason):
                return
            seen = None
    if seen is None:
        _begin(reading, device, SeenLog(label, head.generation))
    elif seen.generation < head.generation:
        reading.seen[device] = SeenLog(label, head.generation, serial=seen.serial, resent=seen.resent)
    reading.heads[device] = head


def _begin(reading: _LogReading, device: str, log: SeenLog) -> None:
    """Begin to read a log that is new here, or one that lost something or was gone.

    Turns that came from a lost log may be in no log any more. ``resent`` marks them, so that this store's own log gets
    them when it is written anew. The names last seen under this label belong to another device, and are forgotten.
    """
    given, target = reading.given, reading.given.target
    resent = target.backend.read(lambda connection: read_counter(connection, target.space)).seq
    reading.seen[device] = replace(log, resent=resent)
    label = log.label.encode()
    write_locked(target, lambda connection: forget_device(connection, target.space, given.remote.name, label))


def _went_back(reading: _LogReading, device: str, told: str) -> bool:
    """Note a log that ends before the point where it was last read. Returns whether to read it as it is now."""
    if reading.given.accept_rollback:
        reading.seen.pop(device, None)
        reading.anew = True
        return True
    reading.went_back[device] = told
    return False


def _label(reading: _LogReading, device: str, wanted: str) -> str:
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


def _advance(reading: _LogReading, device: str) -> bool:
    """Store the new bundles of a log, as far as they have arrived. Returns whether there were any."""
    moved = False
    if device not in reading.heads or reading.seen[device].generation != reading.heads[device].generation:
        return False
    for number, data in _new_bundles(reading, device):
        seen, given = reading.seen[device], reading.given
        try:
            bundle = given.logs.read(device, seen.generation, number, data, bytes.fromhex(seen.hash))
            if bundle.header.signed or given.remote.settings.require_signed:
                # The signature is at the end, and no turn may be stored before it is judged: so it is read twice.
                whole = given.logs.read(device, seen.generation, number, data, bytes.fromhex(seen.hash))
                _note_signer(reading, seen.label, _find_signer(reading, whole.name, partial(find_signer, whole)))
            kind = PLAIN if given.logs.key is None else OWN
            origin = ArrivalOrigin(kind, given.remote.name, device, seen.label.encode())
            reading.erasures.come_from(origin)
            applied = apply_bundle(given.target, bundle, origin, erasures=reading.erasures)
        except (MissingParents, InvalidBundle) as error:
            reading.waiting[device] = f"{seen.label}: {error}"
            return moved
        except NOT_STORED as error:
            reading.waiting[device] = f"{seen.label}: {error}"
            reading.refused[device] = _told_of(seen.label, error)
            return moved
        sums = reading.pulled
        reading.pulled = replace(sums, stored=sums.stored + applied.stored, known=sums.known + applied.known)
        reading.seen[device] = now = replace(seen, number=number, hash=hash_object(data).hex())
        reading.save()
        moved = True
        if reading.seen.get(device) != now:  # another process has read more of it, or has taken the device out
            break
    return moved


def _told_of(label: str, error: HeadishError) -> HeadishError:
    """Return the refusal, naming the device whose turns exceed the quota."""
    if not isinstance(error, QuotaExceeded):
        return error
    return QuotaExceeded(error.what, error.limit, error.used, error.more, label)


def _is_signed(reading: _LogReading, device: str, label: str, head: LogHead) -> bool:
    """Whether a head is signed as the remote's settings require. If not, its device waits and nothing in the head
    counts: neither the end of the log, nor its names, nor the devices taken out."""
    if head.signature is None and not reading.given.remote.settings.require_signed:
        return True
    name = "the head of its log"
    try:
        remote = reading.given.remote if head.signature is None else reading.keep_place()
        signer = _find_signer(reading, name, partial(judge_head, head, name, remote))
    except InvalidBundle as error:
        reading.waiting[device] = f"{label}: {error}"
        return False
    seen = reading.seen.get(device)
    if seen is None or seen.serial < head.serial:  # the signer of a head that was read before has been reported
        _note_signer(reading, label, signer)
    return True


def _find_signer(reading: _LogReading, name: str, find: Callable[[TrustLists], BundleSigner]) -> BundleSigner:
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


def _note_signer(reading: _LogReading, label: str, signer: BundleSigner) -> None:
    if signer.told:
        signed = dict.fromkeys((*reading.pulled.signed, f"{label}: {signer.told}"))
        reading.pulled = replace(reading.pulled, signed=tuple(signed))


def _new_bundles(reading: _LogReading, device: str) -> Iterator[tuple[int, bytes]]:
    head, seen = reading.heads[device], reading.seen[device]
    reading.waiting.pop(device, None)
    reading.refused.pop(device, None)
    for number in range(seen.number + 1, head.number + 1):
        data = reading.given.logs.bundle(device, head.generation, number)
        if data is None:
            reading.waiting[device] = f"{seen.label}: bundle {number} of {head.number} has not come yet"
            return
        # Only the last one is compared with the head: each bundle names the hash of the one before it.
        if number == head.number and hash_object(data) != head.hash:
            reading.waiting[device] = f"{seen.label}: bundle {number} is another one than its head says"
            return
        yield number, data


def _meet(reading: _LogReading, device: str, head: LogHead) -> None:
    """Merge the names and records of conversations of a device whose turns are all here."""
    given, seen = reading.given, reading.seen[device]
    met = Met(given.remote.name, seen.label.encode(), given.remote.settings.names, given.prune)
    target, sums, space = given.target, reading.pulled, given.target.space
    erased = target.backend.read(lambda connection: made_here(connection, space, head.erased))
    now = replace(seen, made_at=head.made_at, recipient=head.recipient, erased=erased, serial=head.serial)
    reading.seen[device] = replace(now, key=given.logs.fingerprint)

    def work(connection: Connection) -> tuple[list[ArrivedName], int, list[str], OpenRemote]:
        stored = read_remote(connection, space, sums.remote).state
        # Another pull may have merged a newer head meanwhile. Merging this one would undo that.
        is_older = device in stored.seen and stored.seen[device].serial > head.serial
        if is_older or device in stored.revoked:
            return [], 0, [], reading.write(connection)
        names = meet_names(connection, space, met, head.names)
        return names, *meet_records(connection, space, met, head.records), reading.write(connection)

    names, records, kept, remote = write_locked(target, work)
    names = name_of_device(met, tell_diverged(target, names))
    reading.pulled = replace(
        sums, names=(*sums.names, *names), records=sums.records + records, kept=(*sums.kept, *kept)
    )
    reading.take(remote)
