"""The contents of a bundle's frames, and its turns as values (docs/reference/bundles.md).

A bundle has no ``hash`` and no ``digest`` of a turn: the receiver derives both, and the seal proves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import starmap
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

from headish.content.frames import BODY_LIMIT_BYTES, FrameFormat
from headish.content.hashes import hash_payload
from headish.errors import InvalidBundle, InvalidContent
from headish.signing.sshsig import THREAD, TURN, read_signature
from headish.values.ids import TurnId, are_turn_ids, as_turn_id, is_turn_id
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


class TurnRecord(NamedTuple):
    """A turn outside of a store: the fields that its seal covers, its payload (None if erased) with its hash, and
    whether it is a stranger's."""

    id: TurnId
    parents: tuple[TurnId, ...]
    payload: bytes | None
    hash: bytes
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
    erased: TurnId | None = None
    left: WireLeft | None = None
    foreign: bool = False


def as_records(*columns: Iterable[Any]) -> list[TurnRecord]:
    """Make records from columns in the order of the fields. Making them one by one takes three times as long."""
    return [*map(TurnRecord._make, zip(*columns, strict=True))]


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


def to_page(turns: Sequence[TurnRecord], cursor: str | None) -> WirePage:
    """Make a page of turns. It has equal payloads once."""
    ids, parents, contents, hashes, *others = zip(*turns, strict=True) if turns else ((),) * 4
    places = {id: place for place, id in enumerate(ids)}
    payloads = {hash: payload for hash, payload in zip(hashes, contents, strict=True) if payload is not None}
    index_of = {hash: place for place, hash in enumerate(payloads)}
    # An erased payload is written as its hash, even if another turn in the page still has the same bytes: an index
    # would give the erased turn its words back.
    refs = [hash if payload is None else index_of[hash] for hash, payload in zip(hashes, contents, strict=True)]
    # Most turns continue one: the first branch spares them a list.
    before = [
        (places.get(listed[0], listed[0]),) if len(listed) == 1 else tuple([places.get(each, each) for each in listed])
        for listed in parents
    ]
    # From ``seal`` on, the fields are the same in both structs.
    wired = starmap(WireTurn, zip(ids, before, refs, *others, strict=True))
    return WirePage(tuple(payloads.values()), tuple(wired), cursor)


def from_page(page: WirePage, file: str) -> list[TurnRecord]:
    """Read the turns of a page. Raises: InvalidBundle."""
    payloads = [(each, hash_payload(each)) for each in page.payloads]
    turns = _from_whole(page, payloads)
    if turns is None:
        turns = []
        for wire in page.turns:
            turns.append(_from_wire(wire, turns, payloads, file))
    # Many turns may share one payload, and headish counts, decodes and indexes it for each: a small page of a stranger
    # could cost as much as a huge one.
    size = sum([len(turn.payload) for turn in turns if turn.payload is not None])
    if size > BODY_LIMIT_BYTES:
        raise InvalidBundle(file, f"the turns of a page have {size:,} bytes, more than any that is written")
    return turns


def _from_whole(page: WirePage, payloads: Sequence[tuple[bytes, bytes]]) -> list[TurnRecord] | None:
    """Read a page by columns, in a third of the time that ``_from_wire`` takes for its turns. None if a turn is erased
    or something is wrong: then ``_from_wire`` reads them one by one, and names the fault."""
    if not page.turns:
        return []
    ids, parents, places, seals, *others, erased, left, foreign = zip(*map(astuple, page.turns), strict=True)
    whole = len(ids)
    is_whole = erased.count(None) == left.count(None) == whole and {int}.issuperset(map(type, places))
    if not (is_whole and are_turn_ids(ids) and {32}.issuperset(map(len, seals))):
        return None
    if not 0 <= min(places) <= max(places) < len(payloads):
        return None
    # Nearly every turn continues one earlier turn of the page.
    before = [
        (ids[listed[0]],)
        if len(listed) == 1 and listed[0].__class__ is int and 0 <= listed[0] < place
        else _ids_of(listed, place, ids)
        for place, listed in enumerate(parents)
    ]
    if None in before:
        return None
    pairs = [payloads[place] for place in places]
    return as_records(ids, before, *zip(*pairs, strict=True), seals, *others, erased, left, foreign)


def _ids_of(parents: Sequence[int | str], place: int, ids: Sequence[str]) -> tuple[str, ...] | None:
    """The ids of the parents of the turn at an index of a page; None if one is neither an earlier turn nor an id."""
    parent_ids: list[str] = []
    for each in parents:
        if isinstance(each, int):
            if not 0 <= each < place:
                return None
            each = ids[each]
        elif not is_turn_id(each):
            return None
        parent_ids.append(each)
    return tuple(parent_ids)


def _from_wire(
    wire: WireTurn, before: Sequence[TurnRecord], payloads: Sequence[tuple[bytes, bytes]], file: str
) -> TurnRecord:
    if not is_turn_id(wire.id):
        raise InvalidBundle(file, "the id of a turn is not an id")
    turn_id = TurnId(wire.id)
    parents = tuple([_parent(each, turn_id, before, file) for each in wire.parents])
    payload, hash = None, wire.payload
    if isinstance(hash, int):
        if not 0 <= hash < len(payloads):
            raise InvalidBundle(file, f"turn {turn_id} has a payload that is not in its page")
        payload, hash = payloads[hash]
    if (payload is None) != (wire.erased is not None) or len(hash) != 32 or len(wire.seal) != 32:
        raise InvalidBundle(file, f"turn {turn_id} has no payload, or hashes of another length")
    erased = None if wire.erased is None else as_turn_id(wire.erased)
    if (erased is None) != (wire.erased is None) or (wire.left is not None and erased is None):
        raise InvalidBundle(file, f"turn {turn_id} says that it was erased, and not by what")
    if wire.left is not None and len(wire.left.digest) != 32:
        raise InvalidBundle(file, f"turn {turn_id} has a digest of another length")
    return TurnRecord(
        turn_id, parents, payload, hash, wire.seal, wire.role, wire.type, wire.content_type, wire.cache,
        wire.attributes, wire.inherited, wire.system, wire.app, wire.head, erased, wire.left, wire.foreign,
    )  # fmt: skip


def _parent(given: int | str, turn_id: TurnId, before: Sequence[TurnRecord], file: str) -> TurnId:
    if isinstance(given, int):
        if not 0 <= given < len(before):
            raise InvalidBundle(file, f"turn {turn_id} continues what does not stand before it")
        return before[given].id
    if not is_turn_id(given):
        raise InvalidBundle(file, f"turn {turn_id} continues something that is not an id")
    return TurnId(given)
