"""Add, change and leave the places that have a space, and invite or remove machines."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import InvalidArgument, RemoteTaken, RemoteUnavailable, shown
from headish.remotes.keys import forget_keys
from headish.remotes.kinds import check_url, is_database, is_live, is_server
from headish.remotes.objects import ObjectPlace, is_missing
from headish.rows.counters import read_counter
from headish.rows.elsewhere.remotes import remove_remote
from headish.rows.signatures import last_signature
from headish.store.keeping.sharing.exchanges import find_remote, pull_from
from headish.store.keeping.sharing.live import (
    check_history,
    database_at,
    name_token,
    no_history,
    refuse_key_env,
    settings_of_live,
    target_of,
)
from headish.store.space import Space
from headish.syncing.bundling.arriving import write_locked
from headish.syncing.joining import give_key, renew_key
from headish.syncing.logs import folder_of
from headish.syncing.membership import check_fingerprint, check_labels, join, take_out
from headish.syncing.remotes import (
    OpenRemote,
    RemoteSettings,
    RemoteState,
    describe,
    key_of,
    read_remotes,
    save_remote,
    store_remote,
)
from headish.values.names import stored_name
from headish.values.results.sharing import Cloned, RemotePlace

ERASURES = ("apply", "ask", "ignore")
Make = Callable[[], AbstractContextManager[Space]]
"""Makes the store to which something is added first."""
WithRemote = Callable[[bytes, str, RemoteSettings], None]
"""Checks or stores a new remote: its name, its URL and its settings."""


class Joining(NamedTuple):
    """How a machine joins a place: the arguments of ``Remotes.add``."""

    device: str | None = None
    plain: bool = False
    passphrase: bool = False
    key: str | None = None
    key_env: str | None = None


def add_place(space: Space, name: str, url: str, how: Joining) -> RemotePlace:
    """``Remotes.add``."""
    encoded, label = _check_new(name, how)
    if any(each.name == encoded for each in space._read_by(read_remotes)):
        raise RemoteTaken(name, "there is one of this name: 'headish remote remove' it first")
    if is_database(url):
        url = database_at(url, space._database.backend)
    return _join(space.space, encoded, url, label, how, partial(_store_new, space))


def add_first(
    make: Make, path: str, space: str, name: str, url: str, how: Joining, check: WithRemote | None = None
) -> RemotePlace:
    """Add a remote to a store that is not there yet, as ``Remotes.add``. ``make`` makes it, at the path or URL in
    ``path``, once nothing refuses the remote any more, ``check`` included."""
    encoded, label = _check_new(name, how)
    if is_database(url):
        url = database_at(url, path)

    def store(name: bytes, url: str, settings: RemoteSettings) -> None:
        if check is not None:
            check(name, url, settings)
        with make() as made:
            _store_new(made, name, url, settings)

    return _join(space, encoded, url, label, how, store)


def _check_new(name: str, how: Joining) -> tuple[bytes, str]:
    """Check a new remote's name and how it is joined. Returns the name, and the label of this machine there."""
    names = check_labels(name, how.device)
    check_fingerprint(how.key)
    if how.plain and (how.key is not None or how.passphrase):
        raise InvalidArgument("a plain remote has no key: leave out key and passphrase, or plain")
    return names


def _join(space: str, name: bytes, url: str, label: str, how: Joining, store: WithRemote) -> RemotePlace:
    def keep(settings: RemoteSettings) -> None:
        try:
            store(name, url, settings)
        except BaseException:
            forget_keys(settings.id)  # no remote would name the files of its keys any more
            raise

    if is_live(url):
        has_options = how.plain or how.passphrase or how.key is not None
        settings = settings_of_live(url, label, how.key_env, has_options=has_options)
        keep(settings)
    else:
        refuse_key_env(how.key_env)
        url = check_url(url)
        settings = join(
            stored_name(name), url, space, label, keep, plain=how.plain, passphrase=how.passphrase, key=how.key
        )  # fmt: skip
    return describe(OpenRemote(name, url, settings, RemoteState()))


def _store_new(space: Space, name: bytes, url: str, settings: RemoteSettings) -> None:
    def write(connection: Connection) -> None:
        state = RemoteState(found=last_signature(connection, space._number))
        store_remote(connection, space._number, OpenRemote(name, url, settings, state))

    space._write(write)


def clone_place(space: Space, name: str, url: str, how: Joining) -> Cloned:
    """``Remotes.clone``."""
    if _is_begun(space):
        raise InvalidArgument("there is a history here already: 'headish remote add', then 'headish sync' joins both")
    _check_history(url, space.space)
    return _take_history(space, name, url, add_place(space, name, url, how))


def clone_first(make: Make, path: str, space: str, name: str, url: str, how: Joining) -> Cloned:
    """Clone into a store that is not there yet, as ``Remotes.clone``. ``make`` and ``path`` are those of
    ``add_first``."""
    _check_history(url, space)
    added = add_first(make, path, space, name, url, how, partial(check_history, space=space) if is_live(url) else None)
    with make() as made:
        return _take_history(made, name, url, added)


def _check_history(url: str, space: str) -> None:
    if is_database(url) and not is_server(url) and not os.path.lexists(os.path.expanduser(url)):
        raise RemoteUnavailable(url, "there is no database")
    if not is_live(url) and (is_missing(check_url(url)) or not ObjectPlace(url).list(folder_of(space))):
        raise RemoteUnavailable(url, f"no history of the space {space!r} lies there")


def _take_history(space: Space, name: str, url: str, added: RemotePlace) -> Cloned:
    try:
        waits = added.waits and not is_live(added.url)
        cloned = Cloned(added, None if waits else pull_from(space, name))
        if is_live(url) and not (cloned.pulled and cloned.pulled.stored):
            raise no_history(url, space.space)
        return cloned
    except BaseException as error:  # Ctrl-C, too
        if _is_begun(space):
            error.add_note(f"what came stays: 'headish sync {name}' goes on")
        else:
            # The file stays, even if it was made for this: another program may have opened it meanwhile.
            remove_place(space, name)
            error.add_note("nothing came, and the database is empty: clone into it again")
        raise


def _is_begun(space: Space) -> bool:
    return bool(space._read_by(read_counter).seq)


def remove_place(space: Space, name: str) -> None:
    """``Remotes.remove``."""
    remote, number = find_remote(space, name), space._number
    space._write(lambda connection: remove_remote(connection, number, remote.name))
    forget_keys(remote.settings.id)


def change_place(space: Space, name: str, changes: dict[str, Any], key_env: str | None) -> RemotePlace:
    """``Remotes.set``; a value of None changes nothing."""
    remote = find_remote(space, name)
    new_values = {field: each for field, each in changes.items() if each is not None}
    _check_changes(remote, name, new_values)
    if key_env is not None:
        name_token(remote, key_env)
    settings = replace(remote.settings, **new_values)
    if new_values.keys() & {"sign", "require_signed"}:
        # Read anew: if two folders were merged, only one of their ids is left.
        settings = replace(settings, place=None)
    state = remote.state
    if settings.sign and not remote.settings.sign and state.own.number:
        # A device that requires signatures would never get past the unsigned files that were put there before.
        state = replace(state, anew=True)
    return describe(_save(space, remote, remote._replace(settings=settings, state=state)))


def _check_changes(remote: OpenRemote, name: str, wanted: dict[str, Any]) -> None:
    """Check that a remote can have these settings. Raises: InvalidArgument."""
    check_fingerprint(wanted.get("key"))
    if "key" in wanted and remote.is_live:
        raise InvalidArgument(f"remote {name!r} is live and has no key to confirm")
    if "key" in wanted and not remote.settings.encrypted:
        raise InvalidArgument(f"remote {name!r} is not encrypted and has no key to confirm")
    if wanted.get("erasures", "ask") not in ERASURES:
        raise InvalidArgument(f"erasures is apply, ask or ignore, not {shown(wanted['erasures'])}")
    if wanted.get("trust") and remote.settings.encrypted:
        raise InvalidArgument(f"remote {name!r} is encrypted: what your devices say there acts here as it is")
    if (wanted.get("sign") or wanted.get("require_signed")) and remote.is_live:
        raise InvalidArgument(f"remote {name!r} is live and keeps no bundles to sign: 'headish sign' signs turns")


def invite_to(space: Space, name: str, recipient: str) -> str:
    """``Remotes.invite``."""
    remote = find_remote(space, name)
    if remote.is_live:
        raise InvalidArgument(
            f"remote {name!r} has no key to give: ssh, the command or a token says who may call there"
        )
    key = key_of(renew_key(remote, space.space))
    if key is None:
        raise InvalidArgument(f"remote {name!r} is not encrypted: whoever can read the place needs no invitation")
    give_key(ObjectPlace(remote.url), space.space, key, recipient)
    invited = tuple(sorted({*remote.state.invited, recipient}))
    _save(space, remote, remote._replace(state=replace(remote.state, invited=invited)))
    return key.fingerprint


def revoke_from(
    space: Space, name: str, device: str, *, allow_secrets: bool, tell: Callable[[str], None] | None
) -> str:
    """``Remotes.revoke``."""
    remote = find_remote(space, name)
    if remote.is_live:
        raise InvalidArgument(f"remote {name!r} has no devices to take out: a store answers there")
    gone = next((id for id, log in remote.state.seen.items() if log.label == device), None)
    pulled = pull_from(space, name, gone=gone)
    if tell is not None:
        for each in pulled.waiting:
            tell(each)
    remote = find_remote(space, name)
    return take_out(target_of(space), space.space, remote, device, allow_secrets=allow_secrets)


def _save(space: Space, base: OpenRemote, changed: OpenRemote) -> OpenRemote:
    number = space._number
    return write_locked(target_of(space), lambda connection: save_remote(connection, number, base, changed))
