"""The contents of a bundle's frames (docs/reference/bundles.md).

A bundle has no ``hash`` and no ``digest`` of a turn: the receiver derives both, and the seal proves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headish.content.frames import BODY_LIMIT_BYTES, FrameFormat
from headish.errors import InvalidBundle, InvalidContent
from headish.signing.sshsig import THREAD, TURN, read_signature
from headish.values.ids import as_turn_id
from headish.values.limits import CONTINUES_LIMIT, LAST_MILLISECOND, LAST_NUMBER

PAGE_TURNS = 500
"""The most turns in a page. A page is stored in one transaction, and other writers wait for it."""
LISTED_LIMIT = 1_000_000
"""The most names, records or required turns in a frame: even a small frame may list many, and each takes memory."""
RECEIPTS_LIMIT_BYTES = 2 * BODY_LIMIT_BYTES
"""The most bytes of all receipts in a bundle: memory holds them until its first page."""
VERSION = 1
FEATURES: tuple[str, ...] = ()
"""The features that this edition knows; it refuses a bundle that needs another one."""


SentNumber = Annotated[int, Meta(ge=0, le=LAST_NUMBER)]
SentTime = Annotated[int, Meta(ge=0, le=LAST_MILLISECOND)]
"""Milliseconds since 1970."""


class BundleKind(IntEnum):
    """The kinds of frames."""

    HEADER = 1
    RECEIPT = 2
    PAGE = 3
    NAMES = 4
    RECORDS = 5
    END = 6
    SIGNATURES = 7


class BundleHeader(Struct, frozen=True, omit_defaults=True):
    """The header of a bundle.

    ``requires`` are the ids of turns outside of the bundle that it continues or speaks of. ``after`` is the sender's
    cursor where the bundle begins. A bundle in the log of a ``device`` has its ``generation`` and ``number`` there,
    ``before``, the BLAKE3 of the bundle before it, and ``until``, the cursor where it ends. ``signed``: its end has a
    signature.
    """

    version: SentNumber = VERSION
    features: tuple[str, ...] = ()
    made_at: SentTime = 0
    requires: Annotated[tuple[str, ...], Meta(max_length=LISTED_LIMIT)] = ()
    after: str | None = None
    device: str | None = None
    generation: SentNumber = 0
    number: SentNumber = 0
    before: bytes = b""
    until: str | None = None
    signed: bool = False


class WireLeft(Struct, frozen=True, array_like=True, gc=False):
    """The values of a turn without its meta that a receiver cannot derive any more."""

    digest: bytes
    key: bytes | None
    supersedes: str | None


class WireTurn(Struct, frozen=True, array_like=True, gc=False):
    """A turn in a page.

    A parent is an id, or the index of an earlier turn in the page. ``payload`` is the index of its bytes in the page,
    or the hash of erased bytes. ``erased`` is the id of the receipt of that erasure. ``foreign``: the sender has the
    turn from a stranger, so it is a stranger's turn at the receiver, too.
    """

    id: str
    parents: Annotated[tuple[int | str, ...], Meta(max_length=CONTINUES_LIMIT)]
    payload: int | bytes
    seal: bytes
    role: str
    type: str | None
    content_type: str | None
    cache: bool
    attributes: bytes | None
    inherited: bytes | None
    system: bytes | None
    app: bytes | None
    head: bytes | None
    erased: str | None = None
    left: WireLeft | None = None
    foreign: bool = False


class WirePage(Struct, frozen=True):
    """Turns, parents before children, and the sender's cursor after them."""

    payloads: Annotated[tuple[bytes, ...], Meta(max_length=PAGE_TURNS)]
    turns: Annotated[tuple[WireTurn, ...], Meta(max_length=PAGE_TURNS)]
    cursor: str | None = None


class SentName(Struct, frozen=True, array_like=True):
    """A bookmark of the sender, and the turn that it names."""

    name: bytes
    turn: str
    digest: bytes


class SentRecord(Struct, frozen=True, array_like=True):
    """The sender's record of a conversation; ``data`` is its JSON."""

    subject: bytes
    revision: SentNumber
    milliseconds: SentTime
    data: bytes


class SentSignature(Struct, frozen=True, array_like=True):
    """A signature of a turn or of the thread that leads to it, without its armour. ``milliseconds`` is its time by the
    signer's clock."""

    turn: str
    kind: str
    data: bytes
    milliseconds: int


SentNames = Annotated[tuple[SentName, ...], Meta(max_length=LISTED_LIMIT)]
SentRecords = Annotated[tuple[SentRecord, ...], Meta(max_length=LISTED_LIMIT)]
SentSignatures = Annotated[tuple[SentSignature, ...], Meta(max_length=PAGE_TURNS)]


class BundleEnd(Struct, frozen=True, omit_defaults=True):
    """The numbers of turns and receipts in the bundle, and the signature of its writer, without its armour."""

    turns: SentNumber
    receipts: SentNumber
    signature: bytes | None = None


BUNDLE = FrameFormat(
    b"headish-bundle-1\n",
    BundleKind,
    BundleKind.END,
    InvalidBundle,
    "a bundle",
    {
        BundleKind.HEADER: msgspec.msgpack.Decoder(BundleHeader).decode,
        BundleKind.RECEIPT: msgspec.msgpack.Decoder(bytes).decode,
        BundleKind.PAGE: msgspec.msgpack.Decoder(WirePage).decode,
        BundleKind.NAMES: msgspec.msgpack.Decoder(SentNames).decode,
        BundleKind.RECORDS: msgspec.msgpack.Decoder(SentRecords).decode,
        BundleKind.SIGNATURES: msgspec.msgpack.Decoder(SentSignatures).decode,
        BundleKind.END: msgspec.msgpack.Decoder(BundleEnd).decode,
    },
)


def record_as_sent(subject: bytes, revision: int, milliseconds: int, data: bytes) -> SentRecord:
    """A record of a conversation to send. Its revision is cut at the highest one that receivers accept."""
    return SentRecord(subject, min(revision, LAST_NUMBER), milliseconds, data)


def check_listed(what: str, listed: Sequence[object]) -> None:
    """Check that a frame may list this many entries. Raises: InvalidContent."""
    if len(listed) > LISTED_LIMIT:
        raise InvalidContent(what, f"it has {len(listed):,} entries and the limit is {LISTED_LIMIT:,}")


def check_signature(sent: SentSignature, file: str) -> None:
    """Check the form of a signature that arrived; it proves nothing yet. Raises: InvalidBundle."""
    if as_turn_id(sent.turn) != sent.turn or sent.kind not in (TURN, THREAD):
        raise InvalidBundle(file, "a signature is of something that is not a turn")
    if not 0 <= sent.milliseconds <= LAST_MILLISECOND:
        raise InvalidBundle(file, f"a signature of turn {sent.turn} was made at no time")
    try:
        read_signature(sent.data)
    except InvalidContent as error:
        raise InvalidBundle(file, f"a signature of turn {sent.turn}: {error.reason}") from None
