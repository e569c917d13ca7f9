"""What two stores say to each other while both are there: frames in two directions (docs/reference/live-remotes.md).

::

    each direction = "headish-live-1" LF, frame, frame, …

The store that called asks, and the other one answers each question before it reads the next. Turns travel as bundles
do: a header, receipts, pages and an end.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headish.bundles.records import BUNDLE, BundleKind, SentNames, SentRecord, SentRecords, SentSignatures
from headish.content.frames import FrameFormat

LISTED_AT_ONCE = 10_000
"""The most turns of a list: an id and the beginning of a seal each."""
RANGES_AT_ONCE = 4096
"""The most ranges of a question."""
CUT_IN = 16
"""Ranges that differ are cut in so many, until they hold ``LEFT`` turns or fewer: those are listed."""
LEFT = 64
MOVES_AT_ONCE = 200
"""The most names that move in one transaction there."""
MARK_BYTES = 8
"""So much of a seal tells whether two turns of one id are the same."""
SUM_BYTES = 16
TEXT_LIMIT = 255


class LiveKind(IntEnum):
    """What a frame holds. The first seven are those of a bundle."""

    HEADER = BundleKind.HEADER
    RECEIPT = BundleKind.RECEIPT
    PAGE = BundleKind.PAGE
    NAMES = BundleKind.NAMES
    RECORDS = BundleKind.RECORDS
    END = BundleKind.END
    SIGNATURES = BundleKind.SIGNATURES
    HELLO = 16
    WELCOME = 17
    ASK_RECEIPTS = 18
    ASK_TURNS = 19
    TURNS = 20
    ASK_RANGES = 21
    RANGES = 22
    ASK_PAGES = 23
    OFFER = 24
    WANTED = 25
    STORED = 26
    ASK_HEAD = 27
    HEAD = 28
    MOVES = 29
    MOVED = 30
    REFUSED = 31
    WAIT = 32
    BYE = 33
    ASK_SIGNED = 34
    SIGNED = 35
    SIGN = 36
    SIGNED_THERE = 37


Text = Annotated[str, Meta(max_length=TEXT_LIMIT)]
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Hello(Struct, frozen=True, omit_defaults=True):
    """Who calls: the name of its space, what its machine is called, and the cursor of the other store that it was given
    last, to be told whether that history goes on."""

    space: Text
    label: Text
    cursor: Text | None = None


class Welcome(Struct, frozen=True, omit_defaults=True):
    """Who answers: how far it is, whether it holds what lay at the caller's cursor, whether it takes anything, the
    pattern of the names that the caller may move, and the number of the last signature of those turns."""

    cursor: Text
    holds: bool
    read_only: bool = False
    names: Text = "*"
    signed: Number = 0


class AskReceipts(Struct, frozen=True):
    """The receipts of erasures behind a change. The answer is a bundle without pages."""

    after: Number


class AskTurns(Struct, frozen=True):
    """Which turns have the commit numbers behind one, up to another."""

    after: Number
    until: Number


class TurnMark(Struct, frozen=True, array_like=True):
    """A turn: its commit number there, its id, and the beginning of its seal."""

    seq: Number
    id: Text
    mark: Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


MarkedTurns = Annotated[tuple[TurnMark, ...], Meta(max_length=LISTED_AT_ONCE)]


class TurnMarks(Struct, frozen=True):
    """The turns that were asked for, in commit order, as far as ``reached``; that is what was asked for if all came."""

    turns: MarkedTurns
    reached: Number


class IdRange(Struct, frozen=True, array_like=True):
    """The turns whose ids are above ``low``, up to ``high``: how many, and the beginning of the hash of the sum of
    their seals."""

    low: Text
    high: Text
    count: Number
    sum: Annotated[bytes, Meta(min_length=SUM_BYTES, max_length=SUM_BYTES)]


Ranges = Annotated[tuple[IdRange, ...], Meta(max_length=RANGES_AT_ONCE)]


class AskRanges(Struct, frozen=True):
    """Ranges in order, none of which reaches into the next, as the caller has them."""

    ranges: Ranges


class RangeAnswer(Struct, frozen=True, omit_defaults=True):
    """A range there: it is the same, it is cut, or it holds these turns. More than ``LEFT`` are listed only where the
    caller has none."""

    same: bool = False
    cut: Annotated[tuple[IdRange, ...], Meta(max_length=CUT_IN)] = ()
    turns: MarkedTurns = ()


class RangeAnswers(Struct, frozen=True):
    """An answer for each range."""

    answers: Annotated[tuple[RangeAnswer, ...], Meta(max_length=RANGES_AT_ONCE)]


class AskPages(Struct, frozen=True):
    """The turns with these commit numbers, which ascend. The answer is a bundle of the first ones, or of all."""

    seqs: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=LISTED_AT_ONCE)]


class OfferedTurn(Struct, frozen=True, array_like=True):
    """The id of a turn, and the beginning of its seal."""

    id: Text
    mark: Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


class Offer(Struct, frozen=True):
    """Turns that the caller could send."""

    turns: Annotated[tuple[OfferedTurn, ...], Meta(max_length=LISTED_AT_ONCE)]


class Wanted(Struct, frozen=True):
    """Those of an offer that are not there: a bit for each, the lowest of a byte first."""

    bits: Annotated[bytes, Meta(max_length=LISTED_AT_ONCE)]


class Stored(Struct, frozen=True):
    """What became of a bundle: how many turns are new there, how far that store was before and is now, and whether the
    erasures of its receipts are applied there."""

    stored: Number
    before: Text
    after: Text
    erases: bool


class AskSigned(Struct, frozen=True):
    """The signatures whose numbers are behind one, up to another: they may be younger than their turns."""

    after: Number
    until: Number


class SignedThere(Struct, frozen=True):
    """The first of the signatures that were asked for, in order, and the number up to which they are all."""

    signatures: SentSignatures
    reached: Number


class NewSignatures(Struct, frozen=True):
    """Signatures that the caller has; those of turns that are not there are left out."""

    signatures: SentSignatures


class SignaturesTaken(Struct, frozen=True):
    """The number of the last signature there before and now; ``after`` is 0 where somebody else signed meanwhile."""

    before: Number
    after: Number


class AskHead(Struct, frozen=True):
    """What is called what there."""


class LiveHead(Struct, frozen=True):
    """Where names are and what is said of conversations, how far the store was then, and the ids of the receipts of
    erasures that it has: what a head says in a log."""

    cursor: Text
    names: SentNames
    records: SentRecords
    erased: tuple[str, ...]


class NameLease(Struct, frozen=True, array_like=True):
    """A name is to be at a turn, or gone, where it is now as it was ``seen``; None: where it is not there."""

    name: Annotated[bytes, Meta(max_length=TEXT_LIMIT)]
    turn: Text | None
    seen: Text | None


class Say(Struct, frozen=True, array_like=True):
    """Something is to be said of a conversation where what is said there has the hash ``seen``; empty: nothing."""

    record: SentRecord
    seen: bytes


class NameLeases(Struct, frozen=True):
    """Names to be moved, and what is to be said of conversations."""

    moves: Annotated[tuple[NameLease, ...], Meta(max_length=MOVES_AT_ONCE)]
    says: Annotated[tuple[Say, ...], Meta(max_length=MOVES_AT_ONCE)] = ()


class LeaseAnswer(Struct, frozen=True, array_like=True):
    """What became of a name there (``values/results/sharing``), and how many turns only each side has."""

    outcome: Text
    here: Number = 0
    there: Number = 0


class LeaseAnswers(Struct, frozen=True):
    """What became of each name, whether something was said of each conversation, and how far that store was before and
    is now."""

    names: Annotated[tuple[LeaseAnswer, ...], Meta(max_length=MOVES_AT_ONCE)]
    said: Annotated[tuple[bool, ...], Meta(max_length=MOVES_AT_ONCE)]
    before: Text
    after: Text


class LiveRefusal(Struct, frozen=True):
    """The name of an error, and what it says. Nothing comes behind it."""

    error: Text
    reason: Annotated[str, Meta(max_length=2000)]


class Nothing(Struct, frozen=True):
    """A frame that says all by its kind."""


BODIES: dict[LiveKind, type[Struct]] = {
    LiveKind.HELLO: Hello,
    LiveKind.WELCOME: Welcome,
    LiveKind.ASK_RECEIPTS: AskReceipts,
    LiveKind.ASK_TURNS: AskTurns,
    LiveKind.TURNS: TurnMarks,
    LiveKind.ASK_RANGES: AskRanges,
    LiveKind.RANGES: RangeAnswers,
    LiveKind.ASK_PAGES: AskPages,
    LiveKind.OFFER: Offer,
    LiveKind.WANTED: Wanted,
    LiveKind.STORED: Stored,
    LiveKind.ASK_HEAD: AskHead,
    LiveKind.HEAD: LiveHead,
    LiveKind.MOVES: NameLeases,
    LiveKind.MOVED: LeaseAnswers,
    LiveKind.ASK_SIGNED: AskSigned,
    LiveKind.SIGNED: SignedThere,
    LiveKind.SIGN: NewSignatures,
    LiveKind.SIGNED_THERE: SignaturesTaken,
    LiveKind.REFUSED: LiveRefusal,
    LiveKind.WAIT: Nothing,
    LiveKind.BYE: Nothing,
}
KINDS: dict[type[Struct], LiveKind] = {body: kind for kind, body in BODIES.items() if body is not Nothing}
"""The kind of each message that says something."""
LIVE: FrameFormat = BUNDLE._replace(
    magic=b"headish-live-1\n",
    kinds=LiveKind,
    last=LiveKind.BYE,
    called="what a live remote says",
    decoders={
        **{LiveKind(kind): decode for kind, decode in BUNDLE.decoders.items()},
        **{kind: msgspec.msgpack.Decoder(body).decode for kind, body in BODIES.items()},
    },
)
