"""Find who signed a bundle or the head of a log, and for which place, before anything of it is stored. The signature of
a bundle is at its end, so judging it means reading the whole bundle.

A place without encryption has an id: random, stored in the place, moved with it, and put once by the first store that
signs there. Each machine keeps the id that it found first, since anybody who can write to the place can replace it. A
signed head names the id, so a log that somebody copies to another place is not believed there. An encrypted place needs
no id: another place has another key (ADR 0109).
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.heads import LogHead
from headish.bundles.streams import BundleReader
from headish.database.query import Connection
from headish.errors import InvalidBundle, NotSigned, RemoteTaken
from headish.signing.judging import BAD, TrustLists, judge
from headish.signing.sshsig import read_signature
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.syncing.logs import Logs
from headish.syncing.remotes import OpenRemote, read_remotes, save_remote
from headish.values.names import stored_name

_PLACE = re.compile(rb"[0-9a-f]{32}")


class BundleSigner(NamedTuple):
    """Who signed a bundle or a head: ``name`` by the list of signers, None if nobody on the list did. ``told`` says it
    for people, and is empty if there is no signature."""

    name: str | None = None
    told: str = ""


def find_signer(bundle: BundleReader, trust: TrustLists) -> BundleSigner:
    """Read a bundle to its end, and judge its signature.

    Raises: InvalidBundle for a bad one; SigningFailed if ``ssh-keygen`` cannot be run.
    """
    for _ in bundle.parts():
        pass
    return judge_signer(bundle, trust)


def judge_signer(bundle: BundleReader, trust: TrustLists) -> BundleSigner:
    """Judge the signature of a bundle that was read to its end. Raises: as ``find_signer``."""
    if bundle.signature is None:
        return BundleSigner()
    return _judge(bundle.signature, bundle.message, bundle.header.made_at, bundle.name, trust)


def judge_head(head: LogHead, name: str, remote: OpenRemote, trust: TrustLists) -> BundleSigner:
    """Judge the signature of the head of a log, and the place for which it was made. ``name`` is the head in errors.
    Raises: as ``find_signer``."""
    if head.signature is None:
        return BundleSigner()
    signer = _judge(head.signature, head.message, head.made_at, name, trust)
    if head.place != remote.settings.place:
        switch = "on" if remote.settings.require_signed else "off"
        again = f"'headish remote set {stored_name(remote.name)} require-signed={switch}' takes the id of this one"
        raise InvalidBundle(name, f"it was signed for another place; if both are one, {again}")
    return signer


def _judge(signature: bytes, message: bytes, made_at: int, name: str, trust: TrustLists) -> BundleSigner:
    judgement = judge(signature, message, made_at, trust)
    if judgement.verdict == BAD:
        raise InvalidBundle(name, f"its signature is bad: {judgement.reason}")
    return BundleSigner(judgement.name, judgement.name or f"unknown key {read_signature(signature).fingerprint}")


def check_signed(file: str, signer: BundleSigner) -> None:
    """Check that somebody on the list of signers signed a bundle or a head. Raises: NotSigned."""
    if signer.name is None:
        raise NotSigned(file, f"it is signed by nobody that the list of signers names ({signer.told or 'not signed'})")


def keep_place(target: SyncTarget, logs: Logs, remote: OpenRemote, *, make: bool) -> OpenRemote:
    """Keep the id of a place without encryption, if this store has not kept one. With ``make``, put one if the place
    has none.

    Cost: nothing once it is kept, else one request, and another one with ``make``.
    Raises: InvalidBundle if the stored text is not an id; RemoteTaken if another remote of this space has it.
    """
    if remote.settings.place is not None or logs.key is not None:
        return remote
    place_id = _find(logs, make=make)
    if place_id is None:
        return remote

    def keep(connection: Connection) -> OpenRemote:
        for each in read_remotes(connection, target.space):
            if each.settings.place == place_id and each.name != remote.name:
                reason = f"its folder says that it is the place of remote {stored_name(each.name)!r}"
                raise RemoteTaken(
                    stored_name(remote.name), f"{reason}: remove that one if the folder was moved; else it is a copy"
                )
        return save_remote(connection, target.space, remote, _at(remote, place_id))

    # Only the id is taken from what was stored: ``remote`` may have changes that this work stores later.
    return _at(remote, write_locked(target, keep).settings.place)


def _at(remote: OpenRemote, place: str | None) -> OpenRemote:
    return remote._replace(settings=replace(remote.settings, place=place))


def _find(logs: Logs, *, make: bool) -> str | None:
    path = f"{logs.folder}/place"
    if make:
        logs.place.put_new(path, os.urandom(16).hex().encode())
    # Read after the put: if another store put one first, that one counts.
    data = logs.place.get(path)
    if data is None:
        return None
    if not _PLACE.fullmatch(data):
        raise InvalidBundle(f"{logs.place.url}/{path}", "it is not the id of a place")
    # With the space: anybody who can write there could give another space's folder the same id.
    return f"{logs.folder.rpartition('/')[2]}/{data.decode()}"
