"""The messages of two stores in a live conversation: frames in both directions (docs/reference/live-remotes.md).

::

    each direction = "headish-live-1" LF, frame, frame, …

The store that called asks; the other one answers each question before it reads the next. Turns travel in the frames of
a bundle: a header, receipts, pages and an end.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headish.bundles.records import BUNDLE, BundleKind, SentNames, SentRecord, SentRecords, SentSignatures
from headish.content.frames import FrameFormat

LISTED_AT_ONCE = 10_000
"""The most turns in a list, each with its id and the beginning of its seal."""
RANGES_AT_ONCE = 4096
"""The most ranges in a question."""
CUT_IN = 16
"""The number of parts into which a range that differs is cut."""
LEFT = 64
"""A range with this many turns or fewer is not cut but listed."""
MOVES_AT_ONCE = 200
"""The most names in a message, which move in one transaction there: other writers wait for it."""
MARK_BYTES = 8
"""The length of the beginning of a seal that tells whether two turns with one id are the same."""
SUM_BYTES = 16
TEXT_LIMIT = 255


class LiveKind(IntEnum):
    """The kinds of frames. The first seven are those of a bundle."""

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
    """The greeting of the caller: the name of its space, the label of its machine, and the last cursor that the other
    store gave it, to learn whether that history goes on."""

    space: Text
    label: Text
    cursor: Text | None = None


class Welcome(Struct, frozen=True, omit_defaults=True):
    """The answer to a greeting: the cursor of this store, whether its history goes on from the caller's cursor, whether
    it is read-only, the pattern of the names that the caller may move, and the number of its last signature."""

    cursor: Text
    holds: bool
    read_only: bool = False
    names: Text = "*"
    signed: Number = 0


class AskReceipts(Struct, frozen=True):
    """Ask for the receipts of erasures after a change number. The answer is a bundle without pages."""

    after: Number


class AskTurns(Struct, frozen=True):
    """Ask which turns have the commit numbers above ``after``, up to ``until``."""

    after: Number
    until: Number


class TurnMark(Struct, frozen=True, array_like=True):
    """A turn: its commit number there, its id, and the beginning of its seal."""

    seq: Number
    id: Text
    mark: Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


MarkedTurns = Annotated[tuple[TurnMark, ...], Meta(max_length=LISTED_AT_ONCE)]


class TurnMarks(Struct, frozen=True):
    """The answer to ``AskTurns``, in commit order: all turns up to ``reached``. That is the question's ``until`` if all
    fit into the list."""

    turns: MarkedTurns
    reached: Number


class IdRange(Struct, frozen=True, array_like=True):
    """The turns whose ids are above ``low``, up to ``high``: their count, and the beginning of the hash of the sum of
    their seals."""

    low: Text
    high: Text
    count: Number
    sum: Annotated[bytes, Meta(min_length=SUM_BYTES, max_length=SUM_BYTES)]


Ranges = Annotated[tuple[IdRange, ...], Meta(max_length=RANGES_AT_ONCE)]


class AskRanges(Struct, frozen=True):
    """Ask about ranges, as the caller measures them: in order, without overlaps."""

    ranges: Ranges


class RangeAnswer(Struct, frozen=True, omit_defaults=True):
    """The state of a range there: it is the same, it is cut into these parts, or it has these turns. More than ``LEFT``
    turns are listed only if the caller has none in the range."""

    same: bool = False
    cut: Annotated[tuple[IdRange, ...], Meta(max_length=CUT_IN)] = ()
    turns: MarkedTurns = ()


class RangeAnswers(Struct, frozen=True):
    """An answer for each range."""

    answers: Annotated[tuple[RangeAnswer, ...], Meta(max_length=RANGES_AT_ONCE)]


class AskPages(Struct, frozen=True):
    """Ask for the turns with these ascending commit numbers. The answer is a bundle of the first of them, or of all."""

    seqs: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=LISTED_AT_ONCE)]


class OfferedTurn(Struct, frozen=True, array_like=True):
    """The id of a turn, and the beginning of its seal."""

    id: Text
    mark: Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


class Offer(Struct, frozen=True):
    """Offer turns that the caller could send."""

    turns: Annotated[tuple[OfferedTurn, ...], Meta(max_length=LISTED_AT_ONCE)]


class Wanted(Struct, frozen=True):
    """The answer to an offer: a bit for each turn, set if it is missing there; the lowest bit of a byte comes first."""

    bits: Annotated[bytes, Meta(max_length=LISTED_AT_ONCE)]


class Stored(Struct, frozen=True):
    """The answer to a bundle: the number of turns that are new there, the cursors of that store before and after, and
    whether that store applies the erasures of the receipts."""

    stored: Number
    before: Text
    after: Text
    erases: bool


class AskSigned(Struct, frozen=True):
    """Ask for the signatures with numbers above ``after``, up to ``until``. They may be younger than their turns."""

    after: Number
    until: Number


class SignedThere(Struct, frozen=True):
    """The answer to ``AskSigned``: the first of them, in order, and the number up to which these are all."""

    signatures: SentSignatures
    reached: Number


class NewSignatures(Struct, frozen=True):
    """Send signatures. The other store ignores those of turns that it does not have."""

    signatures: SentSignatures


class SignaturesTaken(Struct, frozen=True):
    """The answer to signatures: the number of the last one there before and after; ``after`` is 0 if somebody else
    signed meanwhile."""

    before: Number
    after: Number


class AskHead(Struct, frozen=True):
    """Ask for the names and the records of conversations."""


class LiveHead(Struct, frozen=True):
    """The names, the records of conversations, the cursor of the store then, and the ids of the receipts that it has
    made or applied: what a head says in a log."""

    cursor: Text
    names: SentNames
    records: SentRecords
    erased: tuple[str, ...]


class NameLease(Struct, frozen=True, array_like=True):
    """Ask to move a name to ``turn`` (None: to remove it) if it is at the turn ``seen`` now (None: if it does not
    exist)."""

    name: Annotated[bytes, Meta(max_length=TEXT_LIMIT)]
    turn: Text | None
    seen: Text | None


class Say(Struct, frozen=True, array_like=True):
    """Ask to store the record of a conversation if the record there has the hash ``seen`` (empty: if there is none)."""

    record: SentRecord
    seen: bytes


class NameLeases(Struct, frozen=True):
    """Ask to move names and to store records of conversations."""

    moves: Annotated[tuple[NameLease, ...], Meta(max_length=MOVES_AT_ONCE)]
    says: Annotated[tuple[Say, ...], Meta(max_length=MOVES_AT_ONCE)] = ()


class LeaseAnswer(Struct, frozen=True, array_like=True):
    """The outcome for a name there (``values/results/sharing``), and the number of turns that only each side has."""

    outcome: Text
    here: Number = 0
    there: Number = 0


class LeaseAnswers(Struct, frozen=True):
    """The outcome for each name, whether each record was stored, and the cursors of that store before and after."""

    names: Annotated[tuple[LeaseAnswer, ...], Meta(max_length=MOVES_AT_ONCE)]
    said: Annotated[tuple[bool, ...], Meta(max_length=MOVES_AT_ONCE)]
    before: Text
    after: Text


class LiveRefusal(Struct, frozen=True):
    """The name of an error and its message. Nothing follows it."""

    error: Text
    reason: Annotated[str, Meta(max_length=2000)]


class Nothing(Struct, frozen=True):
    """A message without a body: its kind says everything."""


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
# Without ``Nothing``, which has two kinds: WAIT and BYE are written by their kind.
KINDS: dict[type[Struct], LiveKind] = {body: kind for kind, body in BODIES.items() if body is not Nothing}
"""The kind of each message that has a body."""
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
