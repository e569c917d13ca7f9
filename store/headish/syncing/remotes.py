"""What a space stores about a remote: its settings, and how far each log was read. The keys are in files beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import CorruptRecord, NoRemoteKey, UnknownRemote, did_you_mean
from headish.remotes.keys import KeyPair, RemoteKey, is_allowed, load_keys, recipient_of
from headish.remotes.kinds import is_database, is_http, is_live, is_server
from headish.rows.elsewhere.remotes import StoredRemote, list_remotes, write_remote
from headish.rows.signatures import StoredSignature
from headish.values.names import check_name, stored_name
from headish.values.results.sharing import RemotePlace

S = TypeVar("S", bound=Struct)
DEVICE = re.compile(r"[0-9a-f]{16}")
"""The id of a device: the folder of its log."""


class RemoteSettings(Struct, frozen=True, omit_defaults=True):
    """The settings of a remote.

    ``id`` names the file with the keys, and ``device`` the folder of this store's log: 16 random hex digits each. At an
    encrypted remote ``device`` begins as the hash of this machine's recipient (``machine_of``). ``key`` is the
    fingerprint of the confirmed key. ``erasures`` is apply, ask or ignore. ``trust``: turns from devices of a remote
    without a key act here as the user's own. ``sign``: this store signs its log. ``require_signed``: somebody on the
    list of signers must have signed a bundle or a head of another log. ``place`` is the id of a place without
    encryption (``syncing/signers``).
    """

    id: str
    device: str
    label: str
    encrypted: bool = True
    key: str | None = None
    names: str = "*"
    erasures: str = "apply"
    trust: bool = False
    sign: bool = False
    require_signed: bool = False
    place: str | None = None


class SeenLog(Struct, frozen=True, omit_defaults=True):
    """How far a device's log was when it was last read.

    ``hash`` is that of its last bundle, in hex, and ``serial`` the number of its head. ``erased`` are the receipts of
    this store that the device has applied, or for the own log all that this store has; ``key`` is the fingerprint of
    the key that the log was written with. Turns that came from the device up to the commit number ``resent`` here are
    in this store's own log, because the device's log had lost some.
    """

    label: str
    generation: int = 0
    number: int = 0
    hash: str = ""
    made_at: int = 0
    recipient: str | None = None
    erased: tuple[str, ...] = ()
    key: str | None = None
    serial: int = 0
    resent: int = 0

    @property
    def reached(self) -> tuple[int, int, int]:
        """The position in the log: these three only grow, in this order, unless the log was put back."""
        return self.generation, self.number, self.serial


class RemoteState(Struct, frozen=True, omit_defaults=True):
    """How far this store has pushed to a remote and pulled from it.

    ``own`` is this store's log, ``pushed`` the cursor up to which it reaches, ``signed`` the number of the last
    signature in it, and ``key`` the fingerprint of the key that it was written with. ``untidy``: bundles of older
    generations are still to be removed. ``anew``: the next push writes the log from its beginning. ``seen`` are the
    logs of the other devices, ``revoked`` the devices that were taken out, ``leaving`` those of them whose logs are
    still to be removed, with their labels, and ``invited`` the recipients to whom this store gave the key. ``found`` is
    the number of the last signature that was here when the remote was added: what came up to then under its name came
    from an earlier remote.

    For a live remote, ``pushed`` and ``signed`` are how far the other store has this history. ``pulled`` is the other
    store's cursor up to which this store has everything, and ``met`` the last cursor that it gave, which shows whether
    its history goes on. ``taken`` is the commit number there up to which a pull that broke off stored turns.
    ``signed_there`` is the number of the last signature there that is here. ``gone`` are names that were removed there,
    each with its turn: a push does not make them there again while they are at that turn here.
    """

    own: SeenLog = SeenLog("")
    pushed: str | None = None
    signed: int = 0
    key: str | None = None
    untidy: bool = False
    anew: bool = False
    seen: dict[str, SeenLog] = {}
    revoked: tuple[str, ...] = ()
    leaving: dict[str, str] = {}
    invited: tuple[str, ...] = ()
    pulled: str | None = None
    met: str | None = None
    taken: int = 0
    signed_there: int = 0
    found: int = 0
    gone: dict[str, str] = {}


class OpenRemote(NamedTuple):
    """A remote as it is stored."""

    name: bytes
    url: str
    settings: RemoteSettings
    state: RemoteState

    @property
    def held(self) -> dict[tuple[bytes | None, str | None], int]:
        """The devices of this remote, each with the commit number here after which its own log has what came from it.
        The name of the remote belongs to the key: another remote may have a device of the same id."""
        return {(self.name, device): each.resent for device, each in self.state.seen.items()}

    def brought(self, signature: StoredSignature) -> bool:
        """Whether a signature came from this remote."""
        return signature.remote == self.name and signature.number > self.state.found

    @property
    def is_live(self) -> bool:
        """Whether a store answers there. If not, the remote is a place for logs."""
        return is_live(self.url)

    @property
    def logs(self) -> list[tuple[str, SeenLog]]:
        """The devices with their logs, this store first. A live remote has one, the store that answers."""
        own = replace(self.state.own, label=self.settings.label)
        seen = sorted(self.state.seen.items(), key=lambda each: each[1].label)
        return seen if self.is_live else [(self.settings.device, own), *seen]

    @property
    def labels(self) -> frozenset[bytes]:
        """The labels of the other devices."""
        return frozenset(each.label.encode() for each in self.state.seen.values())


_decode_settings = msgspec.json.Decoder(RemoteSettings).decode
_decode_state = msgspec.json.Decoder(RemoteState).decode


def read_remotes(connection: Connection, space: int) -> list[OpenRemote]:
    """The remotes of a space. Raises: CorruptRecord."""
    return [_opened(each) for each in list_remotes(connection, space)]


def read_remote(connection: Connection, space: int, name: str) -> OpenRemote:
    """The remote of a name. Raises: UnknownRemote, InvalidName, CorruptRecord."""
    encoded = check_name(name, "remote")
    listed = list_remotes(connection, space)
    stored = next((each for each in listed if each.name == encoded), None)
    if stored is None:
        raise UnknownRemote(name, did_you_mean(name, (stored_name(each.name) for each in listed)))
    return _opened(stored)


def save_remote(connection: Connection, space: int, base: OpenRemote, mine: OpenRemote) -> OpenRemote:
    """Store what this work changed of a remote since it read ``base``, and keep what others changed meanwhile.

    Requires the lock of the space. Returns the remote as it is stored then. Raises: UnknownRemote if it was removed.
    """
    fresh = next((each for each in read_remotes(connection, space) if each.name == base.name), None)
    # Another id: the remote was removed, and another one added under its name.
    if fresh is None or fresh.settings.id != base.settings.id:
        raise UnknownRemote(stored_name(base.name))
    settings = _merge(base.settings, mine.settings, fresh.settings)
    state = _merge(base.state, mine.state, fresh.state)
    # A device that anybody took out stays out, so sets are joined instead of replaced.
    revoked = {*mine.state.revoked, *fresh.state.revoked}
    seen = {
        device: log
        for device in sorted({*mine.state.seen, *fresh.state.seen} - revoked)
        if (log := _changed(base.state.seen, mine.state.seen, fresh.state.seen, device)) is not None
    }
    invited = {*mine.state.invited, *fresh.state.invited}
    if mine.state.own != base.state.own and mine.state.own.generation < fresh.state.own.generation:
        # Another push began a newer generation, and removed the bundles that this push's head names.
        state = replace(state, anew=True)
    state = replace(state, seen=seen, revoked=tuple(sorted(revoked)), invited=tuple(sorted(invited)))
    merged = fresh._replace(settings=settings, state=state)
    if merged != fresh:
        store_remote(connection, space, merged)
    return merged


def _merge(base: S, mine: S, fresh: S) -> S:
    """Return the stored struct with the fields that this work changed."""
    changed = {
        each: getattr(mine, each) for each in mine.__struct_fields__ if getattr(mine, each) != getattr(base, each)
    }
    return replace(fresh, **changed)


def _changed(
    base: Mapping[str, SeenLog], mine: Mapping[str, SeenLog], fresh: Mapping[str, SeenLog], device: str
) -> SeenLog | None:
    """Return how far a log was read: by this work, unless another one has read more of it meanwhile."""
    log, stored, before = mine.get(device), fresh.get(device), base.get(device)
    if log == before:  # this work has not touched it
        return stored
    # The user accepted a log that went back: then less is right, and ``max`` below would undo it.
    is_accepted = log is not None and before is not None and log.reached < before.reached
    if log is None or stored is None or is_accepted:
        return log
    return max(log, stored, key=lambda each: each.reached)


def store_remote(connection: Connection, space: int, remote: OpenRemote) -> None:
    """Store a remote, in place of one with its name."""
    write_remote(
        connection,
        space,
        remote.name,
        remote.url.encode(),
        msgspec.json.encode(remote.settings),
        msgspec.json.encode(remote.state),
    )


def keys_of(remote: OpenRemote) -> KeyPair | None:
    """The keys that this machine has of a remote; None if it is not encrypted or the file is gone."""
    return load_keys(remote.settings.id) if remote.settings.encrypted else None


def key_of(remote: OpenRemote) -> RemoteKey | None:
    """The key that encrypts a remote's objects; None if it is not encrypted. Raises: NoRemoteKey."""
    if not remote.settings.encrypted:
        return None
    keys = keys_of(remote)
    if keys is None or keys.remote is None:
        raise NoRemoteKey(stored_name(remote.name), waits_of(remote, keys))
    return RemoteKey(keys.remote)


def describe(remote: OpenRemote) -> RemotePlace:
    """A remote as callers see it."""
    keys = keys_of(remote)
    has_key = keys is not None and keys.remote is not None
    return RemotePlace(
        name=stored_name(remote.name),
        url=remote.url,
        encrypted=remote.settings.encrypted,
        device=remote.settings.label,
        names=remote.settings.names,
        erasures=remote.settings.erasures,
        trust=remote.settings.trust,
        sign=remote.settings.sign,
        require_signed=remote.settings.require_signed,
        fingerprint=RemoteKey(keys.remote).fingerprint if keys is not None and keys.remote is not None else None,
        recipient=None if keys is None else recipient_of(keys.own),
        waits="" if has_key or not (remote.settings.encrypted or remote.is_live) else waits_of(remote, keys),
    )


def waits_of(remote: OpenRemote, keys: KeyPair | None) -> str:
    """A message that tells the user what to do before a remote syncs; empty if a live remote is ready."""
    name = stored_name(remote.name)
    if remote.is_live:
        is_missing = is_database(remote.url) and not is_server(remote.url) and not os.path.lexists(remote.url)
        return refusal_of(remote) or (
            f"no database is there: 'headish push {name} --create' makes it" if is_missing else ""
        )
    if keys is None:
        return "its keys are gone from this machine: 'headish remote remove' it and add it again"
    if remote.settings.key is not None:
        return f"it takes its key when it syncs, if that is the one that was confirmed: 'headish sync {name}'"
    return ask_invitation(name, keys)


def refusal_of(remote: OpenRemote) -> str:
    """Why this machine does not call a live remote, as a message; empty if it does.

    It calls only what a user named on this machine: a database that came from elsewhere may name any command or server.
    """
    if is_allowed(remote.settings.id, remote.url):
        return ""
    what = "server" if is_http(remote.url) else "database" if is_database(remote.url) else "command"
    return f"this machine has not named its {what}: 'headish remote remove' it and add it again"


def ask_invitation(name: str, keys: KeyPair) -> str:
    """The message that says how this machine gets the key of a remote."""
    return (
        f"a machine that syncs with it must invite this one: 'headish remote invite {name} {recipient_of(keys.own)}' "
        f"there, then here what that prints"
    )


def _opened(stored: StoredRemote) -> OpenRemote:
    what = f"the remote {stored_name(stored.name)!r}"
    try:
        remote = OpenRemote(
            bytes(stored.name), stored.url.decode(), _decode_settings(stored.settings), _decode_state(stored.state)
        )
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord(what, f"it does not decode ({error})") from None
    # A database may be a stranger's, and these are folders at a place in which this store writes and deletes.
    if any(
        DEVICE.fullmatch(each) is None for each in (remote.settings.device, *remote.state.seen, *remote.state.leaving)
    ):
        raise CorruptRecord(what, "the id of a device is not 16 hex digits")
    return remote
