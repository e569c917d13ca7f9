"""Remotes as callers see them: what they are, how they stand, and what a sync did."""

from __future__ import annotations

from datetime import datetime

from headish.values.results.bundles import ArrivedName
from headish.values.results.plain import PlainResult


class RemotePlace(PlainResult, frozen=True):
    """Another place that holds the same space.

    ``encrypted``: nobody reads it without its key, whose ``fingerprint`` is None where this machine does not have it
    yet; then ``recipient`` is what another one takes to invite it. ``device`` is what this store is called there.
    ``names`` is the pattern of the bookmarks that a pull may make. ``waits`` says what is to be done before it syncs.
    """

    name: str
    url: str
    encrypted: bool
    device: str
    names: str = "*"
    fingerprint: str | None = None
    recipient: str | None = None
    waits: str = ""


class RemoteDevice(PlainResult, frozen=True):
    """A store that syncs with a remote: how far its log was when it was last read, and when it wrote that.

    ``erased`` says whether all erasures that were made here had reached it.
    """

    label: str
    device: str
    bundles: int
    time: datetime | None
    recipient: str | None = None
    own: bool = False
    erased: bool = True


class RemoteStatus(PlainResult, frozen=True):
    """How a remote stands: the turns that it does not have yet, its devices, and the bookmarks that go apart there."""

    remote: RemotePlace
    unsent: int
    devices: tuple[RemoteDevice, ...]
    diverged: tuple[str, ...]


class Pushed(PlainResult, frozen=True):
    """What went to a remote: turns, receipts of erasures, and objects that were written there."""

    remote: str
    turns: int = 0
    receipts: int = 0
    objects: int = 0


class Pulled(PlainResult, frozen=True):
    """What came from a remote: ``stored`` turns are new here, ``known`` were here. ``names`` are those of its devices
    that moved or go apart, by the name of the device before them. ``records`` conversations were given another title or
    other tags, ``kept`` are titles of here that stayed where both sides had changed them. ``erased`` turns were erased
    because a device has erased them. ``waiting`` says what has not come yet, and what cannot be read."""

    remote: str
    stored: int = 0
    known: int = 0
    names: tuple[ArrivedName, ...] = ()
    records: int = 0
    kept: tuple[str, ...] = ()
    erased: int = 0
    waiting: tuple[str, ...] = ()


class Synced(PlainResult, frozen=True):
    """What came from a remote, and what went to it."""

    pulled: Pulled
    pushed: Pushed
