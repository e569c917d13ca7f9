"""What the frames of a bundle hold, and the turns in them as values (docs/reference/bundles.md).

A bundle does not hold ``hash`` and ``digest``: the receiver derives both, and the seal proves them.
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
"""The most turns of a page, which is one transaction that other writers wait for."""
LISTED_LIMIT = 1_000_000
"""The most names, records or required turns of a frame: even a small frame may list many, and each takes memory."""
RECEIPTS_LIMIT_BYTES = 2 * BODY_LIMIT_BYTES
"""The most bytes of all receipts of a bundle, which memory holds until its first page."""
VERSION = 1
FEATURES: tuple[str, ...] = ()
"""The features that this edition knows; it refuses a bundle that needs another one."""


SentNumber = Annotated[int, Meta(ge=0, le=LAST_NUMBER)]
SentTime = Annotated[int, Meta(ge=0, le=LAST_MILLISECOND)]
"""Milliseconds since 1970."""


class BundleKind(IntEnum):
    """What a frame holds."""

    HEADER = 1
    RECEIPT = 2
    PAGE = 3
    NAMES = 4
    RECORDS = 5
    END = 6
    SIGNATURES = 7


class BundleHeader(Struct, frozen=True, omit_defaults=True):
    """``requires`` are the ids of turns that turns of the bundle continue and that are not in it; ``after`` is the
    cursor of the sender that it begins behind. A bundle in the log of a ``device`` has its ``generation`` and
    ``number`` there, ``before``, the BLAKE3 of the one before it, and ``until``, the cursor behind it; ``signed`` if
    its end has a signature."""

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
    """What nobody can derive for a turn that lost its meta."""

    digest: bytes
    key: bytes | None
    supersedes: str | None


class WireTurn(Struct, frozen=True, array_like=True, gc=False):
    """A turn in a page. A parent is an id, or the place of an earlier turn of the page; ``payload`` is the place of its
    bytes in the page, or the hash of bytes that were erased. ``erased`` is the id of the receipt that says so.
    ``foreign``: the sender has it from a stranger, and so has whoever receives it."""

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
    """Turns in the order in which they can be stored, and how far the sender is behind them."""

    payloads: Annotated[tuple[bytes, ...], Meta(max_length=PAGE_TURNS)]
    turns: Annotated[tuple[WireTurn, ...], Meta(max_length=PAGE_TURNS)]
    cursor: str | None = None


class SentName(Struct, frozen=True, array_like=True):
    """A bookmark of the sender, and the turn that it names."""

    name: bytes
    turn: str
    digest: bytes


class SentRecord(Struct, frozen=True, array_like=True):
    """What the sender says of a conversation."""

    subject: bytes
    revision: SentNumber
    milliseconds: SentTime
    data: bytes


class SentSignature(Struct, frozen=True, array_like=True):
    """A signature of a turn, or of all that leads to it, without its armour; ``milliseconds`` is when it was made, as
    the signer says."""

    turn: str
    kind: str
    data: bytes
    milliseconds: int


SentNames = Annotated[tuple[SentName, ...], Meta(max_length=LISTED_LIMIT)]
SentRecords = Annotated[tuple[SentRecord, ...], Meta(max_length=LISTED_LIMIT)]
SentSignatures = Annotated[tuple[SentSignature, ...], Meta(max_length=PAGE_TURNS)]


class BundleEnd(Struct, frozen=True, omit_defaults=True):
    """How many turns and receipts came, and the signature of whoever wrote the bundle, without its armour."""

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
    """What is said of a conversation as it leaves. A revision goes no further than others take it."""
    return SentRecord(subject, min(revision, LAST_NUMBER), milliseconds, data)


def check_listed(what: str, listed: Sequence[object]) -> None:
    """Check that a frame may list this many. Raises: InvalidContent."""
    if len(listed) > LISTED_LIMIT:
        raise InvalidContent(what, f"it has {len(listed):,} entries and the limit is {LISTED_LIMIT:,}")


class TurnRecord(NamedTuple):
    """A turn on its way: what its seal covers, its payload (None where it was erased) and the hash of that, and whether
    it is a stranger's."""

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
    """Turns from their columns, in the order of the fields of a record: one by one they take thrice as long."""
    return [*map(TurnRecord._make, zip(*columns, strict=True))]


def check_signature(sent: SentSignature, file: str) -> None:
    """Whether a signature that arrived is one of a turn; nothing of it is proven. Raises: InvalidBundle."""
    if as_turn_id(sent.turn) != sent.turn or sent.kind not in (TURN, THREAD):
        raise InvalidBundle(file, "a signature is of something that is no turn")
    if not 0 <= sent.milliseconds <= LAST_MILLISECOND:
        raise InvalidBundle(file, f"a signature of turn {sent.turn} was made at no time")
    try:
        read_signature(sent.data)
    except InvalidContent as error:
        raise InvalidBundle(file, f"a signature of turn {sent.turn}: {error.reason}") from None


def to_page(turns: Sequence[TurnRecord], cursor: str | None) -> WirePage:
    """Turns as a page says them; equal payloads stand in it once."""
    ids, parents, said, hashes, *others = zip(*turns, strict=True) if turns else ((),) * 4
    places = {id: place for place, id in enumerate(ids)}
    payloads = {hash: payload for hash, payload in zip(hashes, said, strict=True) if payload is not None}
    at = {hash: place for place, hash in enumerate(payloads)}
    # Equal payloads have one place; the hash of one that was erased stands for it, even where another turn has it.
    told = [hash if payload is None else at[hash] for hash, payload in zip(hashes, said, strict=True)]
    # Most turns continue one.
    before = [
        (places.get(listed[0], listed[0]),) if len(listed) == 1 else tuple([places.get(each, each) for each in listed])
        for listed in parents
    ]
    # What stands behind the hash is alike in both.
    wired = starmap(WireTurn, zip(ids, before, told, *others, strict=True))
    return WirePage(tuple(payloads.values()), tuple(wired), cursor)


def from_page(page: WirePage, file: str) -> list[TurnRecord]:
    """The turns of a page. Raises: InvalidBundle."""
    payloads = [(each, hash_payload(each)) for each in page.payloads]
    turns = _from_whole(page, payloads)
    if turns is None:
        turns = []
        for wire in page.turns:
            turns.append(_from_wire(wire, turns, payloads, file))
    # Many turns may share one payload, and each is counted, read and searched for itself.
    size = sum([len(turn.payload) for turn in turns if turn.payload is not None])
    if size > BODY_LIMIT_BYTES:
        raise InvalidBundle(file, f"the turns of a page have {size:,} bytes, more than any that is written")
    return turns


def _from_whole(page: WirePage, payloads: Sequence[tuple[bytes, bytes]]) -> list[TurnRecord] | None:
    """What ``_from_wire`` gives of each turn, by columns, in a third of the time. None for a page with an erased turn,
    or with anything that ``_from_wire`` has to name."""
    if not page.turns:
        return []
    ids, parents, places, seals, *others, erased, left, foreign = zip(*map(astuple, page.turns), strict=True)
    whole = len(ids)
    is_whole = erased.count(None) == left.count(None) == whole and {int}.issuperset(map(type, places))
    if not (is_whole and are_turn_ids(ids) and {32}.issuperset(map(len, seals))):
        return None
    if not 0 <= min(places) <= max(places) < len(payloads):
        return None
    # Nearly every turn continues one that stands before it.
    before = [
        (ids[listed[0]],)
        if len(listed) == 1 and listed[0].__class__ is int and 0 <= listed[0] < place
        else _ids_of(listed, place, ids)
        for place, listed in enumerate(parents)
    ]
    if None in before:
        return None
    said = [payloads[place] for place in places]
    return as_records(ids, before, *zip(*said, strict=True), seals, *others, erased, left, foreign)


def _ids_of(parents: Sequence[int | str], place: int, ids: Sequence[str]) -> tuple[str, ...] | None:
    """The ids of what the turn at a place of a page continues; None where that is no turn before it, and no id."""
    found: list[str] = []
    for each in parents:
        if isinstance(each, int):
            if not 0 <= each < place:
                return None
            each = ids[each]
        elif not is_turn_id(each):
            return None
        found.append(each)
    return tuple(found)


def _from_wire(
    wire: WireTurn, before: Sequence[TurnRecord], payloads: Sequence[tuple[bytes, bytes]], file: str
) -> TurnRecord:
    if not is_turn_id(wire.id):
        raise InvalidBundle(file, "the id of a turn is none")
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
        raise InvalidBundle(file, f"turn {turn_id} continues something that is no id")
    return TurnId(given)
