"""What a space keeps of a remote: settings, how far each log was, and the keys beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import CorruptRecord, NoRemoteKey, UnknownRemote
from headish.remotes.keys import KeyPair, RemoteKey, is_allowed, load_keys, recipient_of
from headish.remotes.kinds import is_database, is_http, is_live, is_server
from headish.rows.elsewhere.remotes import StoredRemote, list_remotes, write_remote
from headish.values.names import check_name, stored_name
from headish.values.results.sharing import RemotePlace

S = TypeVar("S", bound=Struct)
DEVICE = re.compile(r"[0-9a-f]{16}")
"""The id of a device: the folder of its log."""


class RemoteSettings(Struct, frozen=True, omit_defaults=True):
    """``id`` names the file with the keys, ``device`` the folder of this store's log: 16 hex digits each, by chance. At
    an encrypted remote ``device`` is first that of the recipient (``machine_of``). ``key`` is the fingerprint of the
    key that was confirmed. ``erasures`` is apply, ask or ignore. ``trust``: what devices of a remote without a key say
    acts here as one's own. ``sign``: each bundle of this store's log is signed. ``require_signed``: a bundle of another
    log is taken only from somebody whom the list of signers names. ``place`` is the
    id of a place without encryption (``syncing/signers``)."""

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
    """How far a device's log was when it was last read; ``hash`` is that of its last bundle, in hex. ``erased`` are the
    erasures that it had made or taken over, ``key`` the fingerprint of the key that it was written with, ``serial`` the
    number of its head. Turns that came from it up to the commit number ``resent`` are in this store's own log, since
    that log had lost some."""

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
        """What grows as a log does."""
        return self.generation, self.number, self.serial


class RemoteState(Struct, frozen=True, omit_defaults=True):
    """How far this store's own log is: ``own``, with ``pushed``, the cursor behind it, ``signed``, the number of the
    last signature in it, and the fingerprint of the key that it was written with; ``anew``: the next push writes it
    from its beginning. ``seen`` are the logs of the others, by device, ``invited`` the recipients that this store gave
    the key.

    Of a live remote: ``pushed`` and ``signed``, of what went there, ``pulled``, the cursor of the store there up to
    which all is here, and ``met``, the last one that it gave, which tells whether its history goes on. ``taken``: of a
    pull that broke off, the commit number there up to which turns are here. ``signed_there``: the number of the last
    signature there that is here. ``gone`` are names that were removed there, each with the turn that it had: they are
    not put there again while they stay here at that turn."""

    own: SeenLog = SeenLog("")
    pushed: str | None = None
    signed: int = 0
    key: str | None = None
    untidy: bool = False
    anew: bool = False
    seen: dict[str, SeenLog] = {}
    revoked: tuple[str, ...] = ()
    invited: tuple[str, ...] = ()
    pulled: str | None = None
    met: str | None = None
    taken: int = 0
    signed_there: int = 0
    gone: dict[str, str] = {}


class OpenRemote(NamedTuple):
    """A remote as it is stored."""

    name: bytes
    url: str
    settings: RemoteSettings
    state: RemoteState

    @property
    def held(self) -> dict[tuple[bytes | None, str | None], int]:
        """The devices whose logs hold what came from there, with the name of this remote: another one may have a device
        of the same id. Each with the commit number behind which they do."""
        return {(self.name, device): each.resent for device, each in self.state.seen.items()}

    @property
    def is_live(self) -> bool:
        """Whether a store answers there; else it is a place for logs."""
        return is_live(self.url)

    @property
    def logs(self) -> list[tuple[str, SeenLog]]:
        """The devices with their logs, this store first; at the end of a live remote there is one store alone."""
        own = replace(self.state.own, label=self.settings.label)
        seen = sorted(self.state.seen.items(), key=lambda each: each[1].label)
        return seen if self.is_live else [(self.settings.device, own), *seen]

    @property
    def labels(self) -> frozenset[bytes]:
        """What the other devices are called."""
        return frozenset(each.label.encode() for each in self.state.seen.values())


_decode_settings = msgspec.json.Decoder(RemoteSettings).decode
_decode_state = msgspec.json.Decoder(RemoteState).decode


def read_remotes(connection: Connection, space: int) -> list[OpenRemote]:
    """The remotes of a space. Raises: CorruptRecord."""
    return [_opened(each) for each in list_remotes(connection, space)]


def read_remote(connection: Connection, space: int, name: str) -> OpenRemote:
    """The remote of a name. Raises: UnknownRemote, InvalidName, CorruptRecord."""
    encoded = check_name(name, "remote")
    found = next((each for each in list_remotes(connection, space) if each.name == encoded), None)
    if found is None:
        raise UnknownRemote(name)
    return _opened(found)


def save_remote(connection: Connection, space: int, base: OpenRemote, mine: OpenRemote) -> OpenRemote:
    """Keep what this work has changed of a remote since it read ``base``, beside what others have changed meanwhile.

    The space is locked. Returns the remote as it is stored then. Raises: UnknownRemote where it was removed.
    """
    fresh = next((each for each in read_remotes(connection, space) if each.name == base.name), None)
    if fresh is None or fresh.settings.id != base.settings.id:
        raise UnknownRemote(stored_name(base.name))
    settings = _merge(base.settings, mine.settings, fresh.settings)
    state = _merge(base.state, mine.state, fresh.state)
    # What was taken out stays out, whoever did it.
    revoked = {*mine.state.revoked, *fresh.state.revoked}
    seen = {
        device: log
        for device in sorted({*mine.state.seen, *fresh.state.seen} - revoked)
        if (log := _changed(base.state.seen, mine.state.seen, fresh.state.seen, device)) is not None
    }
    invited = {*mine.state.invited, *fresh.state.invited}
    if mine.state.own != base.state.own and mine.state.own.generation < fresh.state.own.generation:
        state = replace(state, anew=True)  # another push has removed the bundles that the head of this one names
    state = replace(state, seen=seen, revoked=tuple(sorted(revoked)), invited=tuple(sorted(invited)))
    merged = fresh._replace(settings=settings, state=state)
    if merged != fresh:
        store_remote(connection, space, merged)
    return merged


def _merge(base: S, mine: S, fresh: S) -> S:
    """What is stored, with those fields that this work has changed."""
    changed = {
        each: getattr(mine, each) for each in mine.__struct_fields__ if getattr(mine, each) != getattr(base, each)
    }
    return replace(fresh, **changed)


def _changed(
    base: Mapping[str, SeenLog], mine: Mapping[str, SeenLog], fresh: Mapping[str, SeenLog], device: str
) -> SeenLog | None:
    """How far a log is: as this work has read it, unless another one has read more of it meanwhile."""
    log, there, before = mine.get(device), fresh.get(device), base.get(device)
    # This work has not touched it.
    if log == before:
        return there
    is_accepted = log is not None and before is not None and log.reached < before.reached  # it went back, and may
    if log is None or there is None or is_accepted:
        return log
    return max(log, there, key=lambda each: each.reached)


def store_remote(connection: Connection, space: int, remote: OpenRemote) -> None:
    """Store a remote in place of the one of its name."""
    write_remote(
        connection,
        space,
        remote.name,
        remote.url.encode(),
        msgspec.json.encode(remote.settings),
        msgspec.json.encode(remote.state),
    )


def keys_of(remote: OpenRemote) -> KeyPair | None:
    """The keys of a remote that this machine has; None of one that is not encrypted, or where the file is gone."""
    return load_keys(remote.settings.id) if remote.settings.encrypted else None


def key_of(remote: OpenRemote) -> RemoteKey | None:
    """The key that closes a remote's objects, None of one that is not encrypted. Raises: NoRemoteKey."""
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
    """What is to be done before a remote syncs."""
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
    """Why this machine does not call a live remote: a database that came from elsewhere may name any."""
    if is_allowed(remote.settings.id, remote.url):
        return ""
    what = "server" if is_http(remote.url) else "database" if is_database(remote.url) else "command"
    return f"this machine has not named its {what}: 'headish remote remove' it and add it again"


def ask_invitation(name: str, keys: KeyPair) -> str:
    """What gives this machine the key of a remote."""
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
    # A database may be a stranger's: these are folders at a place, below which this store writes and removes.
    if any(DEVICE.fullmatch(each) is None for each in (remote.settings.device, *remote.state.seen)):
        raise CorruptRecord(what, "the id of a device is not 16 hex digits")
    return remote
