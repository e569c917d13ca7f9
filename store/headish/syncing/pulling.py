"""Pull: read the logs of all other devices of a remote as far as they have arrived, and store what is new."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

from msgspec.structs import replace

from headish.bundles.heads import LogHead
from headish.bundles.streams import BundleReader
from headish.database.query import Connection
from headish.errors import (
    ForeignConflict,
    HeadishError,
    InvalidBundle,
    MissingParents,
    QuotaExceeded,
    RemoteRolledBack,
    TooLarge,
)
from headish.rows.elsewhere.arrivals import OWN, PLAIN, ArrivalOrigin
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import tell_diverged, write_locked
from headish.syncing.bundling.entangled import WaitingBundle, store_entangled
from headish.syncing.erasures import made_here
from headish.syncing.heads import LogReading, Pull, find_listed, note_signer, read_heads
from headish.syncing.logs import hash_object
from headish.syncing.meeting import Met, meet_names, meet_records, name_of_device
from headish.syncing.remotes import OpenRemote, read_remote
from headish.syncing.signers import find_signer
from headish.values.results.sharing import ArrivedName, Pulled

NO_ROOM = (QuotaExceeded, TooLarge)
NOT_STORED = (*NO_ROOM, ForeignConflict)
"""The errors that keep a sound page from being stored here. Other logs are read all the same, and a push still runs."""
UNTIED_BYTES = 256 * 1024 * 1024
"""Bundles that wait for each other are read together up to this size: memory holds them."""


def pull(given: Pull) -> tuple[Pulled, HeadishError | None]:
    """Read all heads, fetch the new bundles, and store them; then merge names and records of conversations.

    Logs may arrive in any order and in parts: a bundle waits for the turns that it continues. Returns what came, and an
    error if something of a device was left out; all other logs were read.
    Cost: if nothing is new, one request, and one for each device.
    Raises: RemoteUnavailable.
    """
    reading = LogReading(given)
    read_heads(reading)
    broken = _read_on(reading)
    while sum(_advance(reading, device) for device in sorted(reading.heads)) or _untie(reading):
        pass  # a bundle of one device may have waited for turns of another one
    reading.waiting |= broken
    for device, head in sorted(reading.heads.items()):
        if device in reading.heads and device not in reading.waiting:
            _meet(reading, device, head)
    waiting = tuple(reading.waiting[each] for each in sorted(reading.waiting))
    return replace(reading.pulled, waiting=waiting, erased=reading.erasures.count), _find_failure(reading)


def _read_on(reading: LogReading) -> dict[str, str]:
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


def _find_failure(reading: LogReading) -> HeadishError | None:
    """Return why something was left out, as one error; None if nothing was."""
    reading.refused.pop(reading.given.gone or "", None)
    # First: if the key was changed, the logs of devices that were taken out are gone, too, and that is not a rollback.
    if reading.unreadable:
        return next(iter(reading.unreadable.values()))
    if reading.went_back:
        return RemoteRolledBack(reading.pulled.remote, tuple(reading.went_back.values()))
    return next(iter(reading.refused.values()), None)


def _advance(reading: LogReading, device: str) -> bool:
    """Store the new bundles of a log, as far as they have arrived. Returns whether there were any."""
    moved, given = False, reading.given
    if device not in reading.heads or reading.seen[device].generation != reading.heads[device].generation:
        return False
    for number, data in _new_bundles(reading, device):
        seen = reading.seen[device]
        try:
            applied = apply_bundle(given.target, *_opened(reading, device, number, data), erasures=reading.erasures)
        except (MissingParents, InvalidBundle, *NOT_STORED) as error:
            _wait(reading, device, error)
            if isinstance(error, MissingParents):
                reading.behind[device] = number, data
            return moved
        sums = reading.pulled
        reading.pulled = replace(sums, stored=sums.stored + applied.stored, known=sums.known + applied.known)
        reading.seen[device] = now = replace(seen, number=number, hash=hash_object(data).hex())
        reading.save()
        moved = True
        if reading.seen.get(device) != now:  # another process has read more of it, or has taken the device out
            break
    return moved


def _opened(reading: LogReading, device: str, number: int, data: bytes) -> tuple[BundleReader, ArrivalOrigin]:
    """Open a bundle of a log once its signature is judged; with the origin of what it brings."""
    seen, given = reading.seen[device], reading.given
    read = partial(given.logs.read, device, seen.generation, number, data, bytes.fromhex(seen.hash))
    bundle = read()
    if bundle.header.signed or given.remote.settings.require_signed:
        # The signature is at the end, and no turn may be stored before it is judged: so it is read twice.
        whole = read()
        note_signer(reading, seen.label, find_listed(reading, whole.name, partial(find_signer, whole)))
    kind = PLAIN if given.logs.key is None else OWN
    origin = ArrivalOrigin(kind, given.remote.name, device, seen.label.encode())
    reading.erasures.come_from(origin)
    return bundle, origin


def _untie(reading: LogReading) -> bool:
    """Store turns of bundles that wait for each other: a log that was written anew has few bundles, and two devices may
    have continued one conversation in turns. Returns whether any was new (ADR 0124)."""
    target, waiting, size = reading.given.target, dict[str, WaitingBundle](), 0
    behind = sorted(reading.behind.keys() & reading.heads.keys())
    for device in behind if len(behind) > 1 else ():
        number, data = reading.behind[device]
        size += len(data)
        if size > UNTIED_BYTES:
            break
        try:
            waiting[device] = WaitingBundle(target, *_opened(reading, device, number, data), reading.erasures)
        except InvalidBundle as error:
            _wait(reading, device, error)
    stored = store_entangled(target, [*waiting.values()])
    for device, bundle in waiting.items():
        if bundle.error is not None:
            _wait(reading, device, bundle.error)
    reading.pulled = replace(reading.pulled, stored=reading.pulled.stored + stored)
    return stored > 0


def _wait(reading: LogReading, device: str, error: HeadishError) -> None:
    """Note why a log is not read on."""
    label = reading.seen[device].label
    reading.waiting[device] = f"{label}: {error}"
    if isinstance(error, NOT_STORED):
        reading.refused[device] = _told_of(label, error)


def _told_of(label: str, error: HeadishError) -> HeadishError:
    """Return the refusal, naming the device whose turns exceed the quota."""
    if not isinstance(error, QuotaExceeded):
        return error
    return QuotaExceeded(error.what, error.limit, error.used, error.more, label)


def _new_bundles(reading: LogReading, device: str) -> Iterator[tuple[int, bytes]]:
    head, seen = reading.heads[device], reading.seen[device]
    reading.waiting.pop(device, None)
    reading.refused.pop(device, None)
    reading.behind.pop(device, None)
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


def _meet(reading: LogReading, device: str, head: LogHead) -> None:
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
