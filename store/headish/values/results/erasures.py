"""Erasures as callers get them: the receipt of each, and a report of what it found, took and left."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

SCOPES = ("turn", "thread", "branch")
"""The scopes of ``erase``: the named turns, all that lead to them, or those of them that lead nowhere else."""
ARRIVED, SPACE, SCRUB, BOOKMARK = "arrived", "space", "scrub", "bookmark"
"""The scopes of other receipts: tombstones that came with a copy, a whole space, bytes that were taken off the disk,
and the name of a bookmark."""


class ErasedTurn(PlainResult, frozen=True, omit_defaults=True):
    """A turn in a receipt: its id, and its hashes in hex. ``rest`` is the hash of what remains of a record without its
    meta."""

    id: TurnId
    hash: str
    digest: str
    seal: str
    rest: str | None = None


class Barred(PlainResult, frozen=True):
    """Content that is refused from now on: its address in hex, and its size."""

    hash: str
    size: int


class ErasedName(PlainResult, frozen=True):
    """A name of a bookmark that was erased; ``became`` is what the bookmark is called since. ``marks`` recognise the
    bookmark in an older backup: for each name that it had, a hash over that name and the first move of its log."""

    became: str
    marks: tuple[str, ...]


class Receipt(PlainResult, frozen=True, omit_defaults=True, kw_only=True):
    """What an erasure did. It holds no content and no names of bookmarks.

    ``bytes`` is what turns no longer hold. ``stays`` counts what was kept although it says the same; ``not_reached``
    names the places that no erasure reaches. Receipts of a space are numbered from 1 and chained by a hash.
    """

    number: int
    id: TurnId
    time: datetime
    seq: int
    change: int
    scope: str
    reason: str
    by: str | None = None
    meta: bool = False
    content: bool = False
    bytes: int = 0
    turns: tuple[ErasedTurn, ...] = ()
    barred: tuple[Barred, ...] = ()
    counts: Mapping[str, int] = {}
    stays: Mapping[str, int] = {}
    not_reached: tuple[str, ...] = ()
    covers: int | None = None
    names: tuple[ErasedName, ...] = ()


class Kept(PlainResult, frozen=True):
    """A turn of a thread that the scope ``branch`` leaves, with all turns that lead to it, and why."""

    turn: TurnId
    why: str


class Repeat(PlainResult, frozen=True):
    """What may repeat the words of a turn: a ``kind`` of ``version``, ``copy``, ``overlay`` or ``title``, and which."""

    kind: str
    subject: str


class Found(PlainResult, frozen=True, kw_only=True):
    """What an erasure takes, and what it leaves.

    ``turns`` go, in walk order; ``bytes`` is what they hold, ``kept_bytes`` the part of it that stays because other
    turns need it. ``already`` counts named turns that were erased before. ``equal_turns`` and ``definitions`` say the
    same and stay; ``barred`` is how much content is refused from now on. ``kept`` says why turns of a thread stay,
    ``kept_turns`` how many do. ``beside`` counts turns that keep words of their source beside what they say (what a
    provider sent besides, the head and the rest of a transcript), which only ``meta`` takes. ``children`` is how many
    turns continue one that goes, and stay; ``names`` point at them. ``repeats`` may say the same words. ``streams`` are
    answers to these turns that are still arriving. ``options`` are set by turns that lose their meta. ``names_gone``
    are bookmarks of which nothing is left: they go with title, tags and log. ``titles`` name the conversations whose
    titles go. ``uncompared_titles`` counts those that cannot be compared, because the words were erased before.
    ``elsewhere`` counts the copies that stay in other spaces of the database, by space. ``copies`` are files beside the
    database that hold older states of it. ``spooled`` counts the calls of the space that passed the gateway of this
    machine and are not stored yet. ``counts`` is what a space holds; of a bookmark its ``moves``, and how many
    ``turns`` say one of the ``names`` that it had.
    """

    turns: tuple[TurnId, ...] = ()
    bytes: int = 0
    kept_bytes: int = 0
    already: int = 0
    equal_turns: int = 0
    definitions: int = 0
    barred: int = 0
    kept_turns: int = 0
    kept: tuple[Kept, ...] = ()
    beside: int = 0
    children: int = 0
    names: tuple[str, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    streams: tuple[TurnId, ...] = ()
    options: tuple[str, ...] = ()
    names_gone: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    uncompared_titles: int = 0
    elsewhere: Mapping[str, int] = {}
    copies: tuple[str, ...] = ()
    spooled: int = 0
    counts: Mapping[str, int] = {}


class Erasure(PlainResult, frozen=True):
    """What ``erase`` found and did. ``receipt`` is None for a dry run, and where there was nothing to erase.

    ``scrubbed``: the bytes are off the disk, too; else ``unscrubbed`` says why not, and ``gc`` finishes it. ``became``
    is the name that an erased space or bookmark has from now on.
    """

    found: Found
    receipt: Receipt | None = None
    scrubbed: bool = False
    unscrubbed: str = ""
    became: str | None = None


class Collected(PlainResult, frozen=True):
    """What ``gc`` removed: payloads that nothing names, streams that ended, parts of files that were never finished.

    ``scrubbed`` and ``unscrubbed`` are those of ``Erasure``, for all erasures of the database.
    """

    payloads: int = 0
    bytes: int = 0
    streams: int = 0
    files: tuple[str, ...] = ()
    scrubbed: bool = False
    unscrubbed: str = ""
