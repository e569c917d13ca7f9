"""Results of bundles and remotes: what was sent, what arrived, and the state of remotes."""

from __future__ import annotations

from datetime import datetime

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

MADE, MOVED, SAME, AHEAD = "made", "moved", "same", "ahead"
DIVERGED, UNKNOWN, REFUSED, REMOVED = "diverged", "unknown", "refused", "removed"
"""What became of a name that arrived: it was made here, it moved forward, or it is where it was; it is ahead here; the
two sides diverged; its turn did not come; it may not be given here; a device removed it."""


class Bundled(PlainResult, frozen=True):
    """A bundle that was written: how many turns, receipts of erasures and names are in it, its size, and ``cursor``,
    after which the next one begins. ``paths`` counts the documents that tell their path on this machine."""

    path: str
    turns: int
    receipts: int
    names: int
    size_bytes: int
    cursor: str
    paths: int = 0


class BundleChecked(PlainResult, frozen=True):
    """A bundle that is whole. ``turns`` counts its turns; the digests of ``proven`` of them follow from the bundle
    alone. ``requires`` are the turns outside of it that it continues or speaks of. ``signatures`` counts those of its
    turns. ``signed`` says who signed the whole bundle; it is empty if nobody did."""

    path: str
    turns: int
    proven: int
    receipts: int
    names: int
    requires: tuple[TurnId, ...]
    signatures: int = 0
    signed: str = ""


class BundleRewritten(PlainResult, frozen=True):
    """A bundle that was written again: how many turns, receipts and names are in it, and its size. ``erased`` turns
    lost what they said."""

    path: str
    turns: int
    erased: int
    receipts: int
    names: int
    size_bytes: int


class ArrivedName(PlainResult, frozen=True):
    """A name that arrived, the turn that it names there, and what became of it here: one of ``made``, ``moved``,
    ``same``, ``ahead``, ``diverged``, ``unknown``, ``refused`` and ``removed``. If it diverged, ``here`` and ``there``
    count the turns that only this side has, and only the other."""

    name: str
    turn: TurnId
    outcome: str
    here: int = 0
    there: int = 0


class NameElsewhere(PlainResult, frozen=True):
    """Where a device had a bookmark of this store when the device was last read, as ``laptop/main``. ``outcome``:
    ``same``; ``moved`` if its thread continues the turn here; ``ahead`` if the thread here continues its turn;
    ``diverged`` if neither thread contains the other's turn."""

    name: str
    turn: TurnId
    outcome: str


class Applied(PlainResult, frozen=True):
    """What a bundle brought: ``stored`` turns are new here, ``known`` were here already. ``records`` counts the records
    of conversations, ``signatures`` the signatures. ``signed`` says who signed the bundle."""

    stored: int
    known: int
    names: tuple[ArrivedName, ...] = ()
    records: int = 0
    signatures: int = 0
    signed: str = ""


class RemotePlace(PlainResult, frozen=True):
    """Another place that holds the same space.

    ``encrypted``: nobody reads it without its key. The key's ``fingerprint`` is None if this machine does not have the
    key yet; then another machine needs ``recipient`` to invite it. ``device`` is the name of this store there.
    ``names``, ``erasures``, ``trust``, ``sign`` and ``require_signed`` are those of ``store.remotes.set``. ``waits``
    says what must be done before it can sync.
    """

    name: str
    url: str
    encrypted: bool
    device: str
    names: str = "*"
    erasures: str = "apply"
    trust: bool = False
    sign: bool = False
    require_signed: bool = False
    fingerprint: str | None = None
    recipient: str | None = None
    waits: str = ""


class RemoteDevice(PlainResult, frozen=True):
    """A store that syncs with a remote: how far its log was when it was last read, and when it wrote that.

    ``invited``: this store gave it the key. ``erased`` says whether all erasures that were made here had reached it.
    """

    label: str
    device: str
    bundles: int
    time: datetime | None
    own: bool = False
    invited: bool = False
    erased: bool = True


class SyncRun(PlainResult, frozen=True):
    """How ``headish serve`` syncs a space with a remote, at intervals of ``every_seconds``. ``last`` is when it last
    did, ``next`` when it will, ``begun`` when the sync that is running began. ``failed`` counts the failures since
    ``last``, the newest because of ``error``."""

    space: str
    remote: str
    every_seconds: float
    last: datetime | None = None
    next: datetime | None = None
    begun: datetime | None = None
    failed: int = 0
    error: str = ""


class RemoteStatus(PlainResult, frozen=True):
    """The state of a remote: the turns that it does not have yet, its devices, and the bookmarks that diverged
    there. ``run``: a server of this machine syncs with it at intervals."""

    remote: RemotePlace
    unsent: int
    devices: tuple[RemoteDevice, ...]
    diverged: tuple[str, ...]
    run: SyncRun | None = None


class Pushed(PlainResult, frozen=True):
    """What went to a remote: turns, receipts of erasures, and objects that were written there. ``names`` are the
    bookmarks that moved at a live remote or diverged from it, and what became of each there."""

    remote: str
    turns: int = 0
    receipts: int = 0
    objects: int = 0
    names: tuple[ArrivedName, ...] = ()


class Pulled(PlainResult, frozen=True):
    """What came from a remote: ``stored`` turns are new here, ``known`` were here. ``names`` are the names of its
    devices that moved or diverged, each after the name of its device. ``records`` counts the conversations that got
    another title or other tags; ``kept`` are the titles that stayed as they are here although both sides had changed
    them. ``erased`` counts the turns that were erased because a device has erased them. ``waiting`` says what has not
    come yet and what cannot be read, ``signed`` which devices signed what came, and by whom."""

    remote: str
    stored: int = 0
    known: int = 0
    names: tuple[ArrivedName, ...] = ()
    records: int = 0
    kept: tuple[str, ...] = ()
    erased: int = 0
    waiting: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()


class Cloned(PlainResult, frozen=True):
    """A remote whose history was copied to here, and what came; ``pulled`` is None if this machine must first be
    invited."""

    remote: RemotePlace
    pulled: Pulled | None


class Synced(PlainResult, frozen=True):
    """What came from a remote, and what went to it."""

    pulled: Pulled
    pushed: Pushed
