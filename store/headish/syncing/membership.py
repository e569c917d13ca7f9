"""Join a place for objects with this store, or take another device out of one."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import InvalidArgument, shown
from headish.remotes.keys import KeyPair, RemoteKey, recipient_of, save_keys
from headish.remotes.objects import ObjectPlace
from headish.rows.elsewhere.remotes import forget_device
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.syncing.joining import change_key, check_plain, make_keys, renew_key
from headish.syncing.logs import logs_of, machine_of
from headish.syncing.own_log import Push
from headish.syncing.pushing import check_keys, push
from headish.syncing.remotes import OpenRemote, RemoteSettings, keys_of, save_remote
from headish.values.names import check_name, new_refusal, stored_name

_FINGERPRINT = re.compile(r"[0-9a-f]{32}")


def check_labels(name: str, device: str | None) -> tuple[bytes, str]:
    """Check the names of a new remote and of this store there, which is the machine's name by default. Returns both.
    Raises: InvalidName, InvalidArgument."""
    encoded = check_name(name, "remote", is_new=True)
    label = stored_name(check_name(device or _machine(), "device", is_new=True))
    if "/" in name or "/" in label:  # DEVICE/NAME names a bookmark of a device
        raise InvalidArgument("the name of a remote or of a device holds no /")
    return encoded, label


def _machine() -> str:
    """The name of this machine: ``HEADISH_DEVICE``, else the first label of its host name."""
    name = os.environ.get("HEADISH_DEVICE") or socket.gethostname().partition(".")[0].lower()
    return name if new_refusal(name) is None and "/" not in name else "device"


def check_fingerprint(key: str | None) -> None:
    """Check the form of a key's fingerprint. Raises: InvalidArgument."""
    if key is not None and not _FINGERPRINT.fullmatch(key):
        raise InvalidArgument(f"key is the 32 hex digits that invite printed, not {shown(key)}")


def join(
    name: str, url: str, space: str, label: str, store: Callable[[RemoteSettings], None], *, plain: bool,
    passphrase: bool, key: str | None,
) -> RemoteSettings:  # fmt: skip
    """Join a place for objects, and make its key if the place is new. Returns the settings, which ``store`` has stored;
    if that fails, nothing of a new place stays there.

    Raises: RemoteTaken, InvalidArgument, NotADevice, RemoteUnavailable.
    """
    place = ObjectPlace(url, create=True)
    begun = RemoteSettings(os.urandom(8).hex(), os.urandom(8).hex(), label, encrypted=not plain,
                           erasures="ask" if plain else "apply")  # fmt: skip
    if plain:
        check_plain(name, place, space)
        store(begun)
        return begun

    def settings_with(keys: KeyPair) -> RemoteSettings:
        confirmed = None if keys.remote is None else RemoteKey(keys.remote).fingerprint
        # From the recipient, which a person carries over, the inviting machine then knows the device (ADR 0091).
        return replace(begun, key=confirmed or key, device=machine_of(recipient_of(keys.own)))

    def keep(keys: KeyPair) -> None:
        save_keys(begun.id, keys)
        store(settings_with(keys))

    return settings_with(make_keys(name, place, space, keep, passphrase=passphrase, key=key))


def take_out(target: SyncTarget, space: str, remote: OpenRemote, label: str, *, allow_secrets: bool) -> str:
    """Take a device out after a pull of its log: make a new key for those that stay, write this store's log anew, and
    remove the log of the device. Returns the fingerprint of the key, empty if there is none.

    Raises: InvalidArgument, NoRemoteKey, RemoteUnavailable; SecretsFound before anything is changed.
    """
    gone = _find_device(remote, label)
    if gone is not None:
        remote = _leave_out(target, space, remote, gone, allow_secrets=allow_secrets)
    # The key is taken after the settings: with a new key and old settings, this store would refuse what it made itself.
    remote = renew_key(remote, space)
    logs = logs_of(remote, space)
    # Its turns must be in this store's own log before its log is removed: no other log may have them.
    _, remote = push(Push(target, logs, remote, allow_secrets))
    leaving = {device: other for device, other in remote.state.leaving.items() if other != label}
    for device in remote.state.leaving.keys() - leaving:
        for path in logs.place.list(f"{logs.folder}/{device}"):
            logs.place.delete(path)
    done = remote._replace(state=replace(remote.state, leaving=leaving))
    write_locked(target, lambda connection: save_remote(connection, target.space, remote, done))
    return remote.settings.key or ""


def _leave_out(target: SyncTarget, space: str, remote: OpenRemote, gone: str, *, allow_secrets: bool) -> OpenRemote:
    """Change the key, and store that a device is out, whose log the next push makes up for. Its log is still there."""
    label, state = remote.state.seen[gone].label, remote.state
    seen = {device: log for device, log in state.seen.items() if device != gone}
    without = remote._replace(state=replace(state, seen=seen))
    # The log that is written anew gets all turns of the device. Refuse it now, before the key is changed.
    check_keys(Push(target, logs_of(without, space), without, allow_secrets))
    settings = _change_key(remote, space, gone)
    revoked, leaving = tuple(sorted({*state.revoked, gone})), {**state.leaving, gone: label}
    changed = without._replace(
        settings=settings, state=replace(without.state, revoked=revoked, leaving=leaving, anew=True)
    )

    def keep(connection: Connection) -> OpenRemote:
        forget_device(connection, target.space, remote.name, label.encode())
        return save_remote(connection, target.space, remote, changed)

    return write_locked(target, keep)


def _find_device(remote: OpenRemote, label: str) -> str | None:
    """The id of the device with a label; None if it is out already, but its log is still there. Raises:
    InvalidArgument."""
    seen = remote.state.seen
    device_id = next((device for device, log in seen.items() if log.label == label), None)
    if device_id is None and label not in remote.state.leaving.values():
        listed = ", ".join(sorted(log.label for log in seen.values())) or "no other device"
        raise InvalidArgument(f"remote {stored_name(remote.name)!r} has no device {label!r}: it has {listed}")
    return device_id


def _change_key(remote: OpenRemote, space: str, gone: str) -> RemoteSettings:
    """Give the machines that stay a new key, if the remote has one: those that this store invited and that have a log.

    The lost machine can write a log that names any recipient, so a log alone earns no key (ADR 0091).
    """
    keys, lost = keys_of(remote), remote.state.seen[gone]
    if keys is None:
        return remote.settings
    taken_out = {gone, *([machine_of(lost.recipient)] if lost.recipient else [])}
    staying = remote.state.seen.keys() - taken_out
    stay = {each for each in remote.state.invited if machine_of(each) in staying}
    return replace(remote.settings, key=change_key(remote, space, keys, stay))
