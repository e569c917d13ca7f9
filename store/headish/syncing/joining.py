"""The keys of a remote, as they are stored at its place: the first store makes them, others take them; a store wraps
them for another machine, or replaces them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from blake3 import blake3

from headish.errors import InvalidArgument, NoRemoteKey, NotADevice, RemoteTaken
from headish.remotes.begun import BegunKey, hold_begun
from headish.remotes.keys import (
    KeyPair,
    RemoteKey,
    new_secret,
    read_passphrase,
    recipient_of,
    save_keys,
    unwrap,
    unwrap_by_passphrase,
    wrap,
    wrap_by_passphrase,
)
from headish.remotes.objects import ObjectPlace
from headish.syncing.logs import Logs, folder_of, machine_of
from headish.syncing.remotes import OpenRemote, ask_invitation, keys_of
from headish.values.names import stored_name

FIRST, BY_PASSPHRASE = "keys/first", "keys/passphrase.age"


def check_plain(name: str, place: ObjectPlace, space: str) -> None:
    """Check that the objects at a place are not encrypted. Raises: RemoteTaken."""
    if place.get(f"{folder_of(space)}/{FIRST}") is not None:
        raise RemoteTaken(name, "what lies there is encrypted: add it without --plain")


def make_keys(
    name: str, place: ObjectPlace, space: str, keep: Callable[[KeyPair], None], *, passphrase: bool, key: str | None
) -> KeyPair:
    """Make this machine's key pair, and add the remote's key if the remote is new or the passphrase opens it. ``keep``
    saves them here, and what else must be stored for them to be used.

    ``key`` is the fingerprint that the remote's key must have. Two processes of this machine join a place one after the
    other: else the second could take the first, which is at work, for one that was killed.
    Raises: RemoteTaken, InvalidArgument, NotADevice.
    """
    folder = folder_of(space)
    with hold_begun(blake3(f"{place.url}/{folder}".encode()).hexdigest(length=8)) as begun:
        return _join(_Joining(name, place, space, keep, begun), passphrase, key)


class _Joining(NamedTuple):
    """Who joins what: the arguments of ``make_keys``, and the key that was begun there."""

    name: str
    place: ObjectPlace
    space: str
    keep: Callable[[KeyPair], None]
    begun: BegunKey


def _join(joining: _Joining, passphrase: bool, key: str | None) -> KeyPair:
    name, place, space, keep, begun = joining
    folder = folder_of(space)
    first = place.get(f"{folder}/{FIRST}")
    # Compared before anything is made or taken: the place may hold another key than the user's (ADR 0089).
    if key is not None and (first or b"").decode(errors="replace") != key:
        there = "none" if first is None else first.decode(errors="replace")
        raise NotADevice(place.url, f"the key that lies there is {there}, and not the one that was given")
    own, phrase = new_secret(), read_passphrase() if passphrase else None
    if passphrase and phrase is None:
        raise InvalidArgument("the passphrase comes from HEADISH_PASSPHRASE, or the file HEADISH_PASSPHRASE_FILE")
    if first is None and place.list(folder):
        raise RemoteTaken(name, "what lies there is not encrypted: say --plain (plain=True)")
    made = None if first is None else begun.load()
    if made is not None and made.fingerprint.encode() == first:
        # A new pair: the killed process may have stored the first one for another database.
        return _finish(joining, KeyPair(own, made.secret), _wrapped(space, own, made, phrase))
    if first is None and (keys := _begin(joining, own, phrase)) is not None:
        return keys
    begun.forget()
    keys = _take(place, space, own, phrase)
    keep(keys)
    return keys


def _begin(joining: _Joining, own: str, phrase: str | None) -> KeyPair | None:
    """Make the key of a new remote, wrapped for this machine and by the passphrase, and save it here. If that fails,
    nothing of it stays there: nobody would have the key, and the place would be closed for good. None if another store
    was faster."""
    _, place, space, _, begun = joining
    first, key = f"{folder_of(space)}/{FIRST}", RemoteKey(new_secret())
    wrapped = _wrapped(space, own, key, phrase)
    begun.save(key)  # so that the next try on this machine can go on if this process is killed
    # It decides which of two machines that begin at once made the key; the other one must be invited.
    if not place.put_new(first, key.fingerprint.encode()):
        return None
    try:
        return _finish(joining, KeyPair(own, key.secret), wrapped)
    except BaseException:
        for path in (*wrapped, first):
            place.delete(path)
        begun.forget()
        raise


def _wrapped(space: str, own: str, key: RemoteKey, phrase: str | None) -> dict[str, bytes]:
    """A remote's key by its path there: wrapped for this machine and, which takes a second, by the passphrase."""
    recipient = recipient_of(own)
    wrapped = {_path(space, recipient): wrap(key, recipient)}
    if phrase is not None:
        wrapped[f"{folder_of(space)}/{BY_PASSPHRASE}"] = wrap_by_passphrase(key, phrase)
    return wrapped


def _finish(joining: _Joining, keys: KeyPair, wrapped: Mapping[str, bytes]) -> KeyPair:
    """Put the wrapped keys there, and save them here."""
    for path, data in wrapped.items():
        joining.place.put(path, data)
    joining.keep(keys)
    joining.begun.forget()
    return keys


def _take(place: ObjectPlace, space: str, own: str, phrase: str | None) -> KeyPair:
    """The keys with the remote's if the passphrase opens it; else this machine must be invited. Raises: NotADevice."""
    path = f"{folder_of(space)}/{BY_PASSPHRASE}"
    wrapped = None if phrase is None else place.get(path)
    if phrase is None or wrapped is None:
        return KeyPair(own)
    key = unwrap_by_passphrase(wrapped, phrase, f"{place.url}/{path}")
    _check_fits(Logs(place, space, key), key)
    return KeyPair(own, key.secret)


def _check_fits(logs: Logs, key: RemoteKey) -> None:
    """Check that a key belongs to the logs at a place. Raises: NotADevice.

    Somebody who once knew the passphrase can put another key and its fingerprint, so a log must open with it, too.
    """
    first, devices = logs.place.get(f"{logs.folder}/{FIRST}") or b"", logs.devices()
    if first.decode(errors="replace") != key.fingerprint or (devices and not any(map(logs.is_readable, devices))):
        reason = "the key that the passphrase opens is not that of its logs"
        raise NotADevice(f"{logs.place.url}/{logs.folder}", reason)


def give_key(place: ObjectPlace, space: str, key: RemoteKey, recipient: str) -> None:
    """Wrap a remote's key for another machine. Raises: InvalidArgument."""
    place.put(_path(space, recipient), wrap(key, recipient))


def change_key(remote: OpenRemote, space: str, keys: KeyPair, stay: Collection[str]) -> str:
    """Replace the remote's key, and wrap the new one for this machine and for the recipients that stay. Returns its
    fingerprint, for the settings: with them ``renew_key`` takes the key. The passphrase no longer opens anything."""
    place, key, folder = ObjectPlace(remote.url), RemoteKey(new_secret()), folder_of(space)
    save_keys(remote.settings.id, keys)  # no change, but it fails before anything is changed there
    wrapped = {_path(space, each): wrap(key, each) for each in {recipient_of(keys.own), *stay}}
    # passphrase.age goes, too: it holds the old key, and no machine keeps the passphrase to wrap the new one.
    for path in place.list(f"{folder}/keys"):
        if path.endswith(".age") and path not in wrapped:
            place.delete(path)
    for path, data in wrapped.items():
        place.put(path, data)
    place.put(f"{folder}/{FIRST}", key.fingerprint.encode())
    return key.fingerprint


def renew_key(remote: OpenRemote, space: str) -> OpenRemote:
    """Take the key that was wrapped for this machine, if it is the one that the user confirmed. Raises: NoRemoteKey.

    The place could hold another key, which somebody else wrapped for this machine (ADR 0089).
    """
    keys = keys_of(remote)
    if keys is None or (keys.remote is not None and RemoteKey(keys.remote).fingerprint == remote.settings.key):
        return remote
    path = _path(space, recipient_of(keys.own))
    wrapped = ObjectPlace(remote.url).get(path)
    if wrapped is None:
        raise NoRemoteKey(stored_name(remote.name), ask_invitation(stored_name(remote.name), keys))
    key = unwrap(wrapped, keys.own, f"{remote.url}/{path}")
    if key.fingerprint != remote.settings.key:
        raise _changed(remote)
    save_keys(remote.settings.id, KeyPair(keys.own, key.secret))
    return remote


def check_key(remote: OpenRemote, space: str) -> None:
    """Check that the place names the key that the user confirmed. Raises: NoRemoteKey."""
    if remote.settings.encrypted:
        data = ObjectPlace(remote.url).get(f"{folder_of(space)}/{FIRST}")
        if data is not None and data.decode(errors="replace") != remote.settings.key:
            raise _changed(remote)


def _changed(remote: OpenRemote) -> NoRemoteKey:
    name = stored_name(remote.name)
    return NoRemoteKey(
        name,
        f"its key is not one that was confirmed here; if this machine was invited, or a device was taken out, "
        f"confirm what the other machine printed: 'headish remote set {name} key=…'",
    )


def _path(space: str, recipient: str) -> str:
    """The path of the key that was wrapped for a machine."""
    return f"{folder_of(space)}/keys/{machine_of(recipient)}.age"
