"""What two stores say to each other, as its bytes: another form of them would need another word at the beginning."""

from __future__ import annotations

import msgspec
import pytest

from headish.bundles import live
from headish.bundles.live import (
    BODIES,
    KINDS,
    LIVE,
    AskHead,
    AskPages,
    AskRanges,
    AskReceipts,
    AskSigned,
    AskTurns,
    Hello,
    IdRange,
    LeaseAnswer,
    LeaseAnswers,
    LiveHead,
    LiveKind,
    LiveRefusal,
    NameLease,
    NameLeases,
    NewSignatures,
    Nothing,
    Offer,
    OfferedTurn,
    RangeAnswer,
    RangeAnswers,
    Say,
    SignaturesTaken,
    SignedThere,
    Stored,
    TurnMark,
    TurnMarks,
    Wanted,
    Welcome,
)
from headish.bundles.records import BundleHeader, SentName, SentRecord, SentSignature

MARK, SUM = b"m" * 8, b"s" * 16
SIGNED = SentSignature("a", "turn", b"d", 1)
RANGE, TURN = IdRange("a", "b", 2, SUM), TurnMark(7, "a", MARK)
SAID = [
    (Hello("default", "desk"), {"space": "default", "label": "desk"}),
    (Hello("default", "desk", "c"), {"space": "default", "label": "desk", "cursor": "c"}),
    (Welcome("c", True), {"cursor": "c", "holds": True}),
    (Welcome("c", False, True, "a*"), {"cursor": "c", "holds": False, "read_only": True, "names": "a*"}),
    (Welcome("c", True, signed=4), {"cursor": "c", "holds": True, "signed": 4}),
    (AskReceipts(3), {"after": 3}),
    (AskTurns(3, 4), {"after": 3, "until": 4}),
    (TurnMarks((TURN,), 9), {"turns": [[7, "a", MARK]], "reached": 9}),
    (AskRanges((RANGE,)), {"ranges": [["a", "b", 2, SUM]]}),
    (
        RangeAnswers((RangeAnswer(True), RangeAnswer(cut=(RANGE,)), RangeAnswer(turns=(TURN,)))),
        {"answers": [{"same": True}, {"cut": [["a", "b", 2, SUM]]}, {"turns": [[7, "a", MARK]]}]},
    ),
    (AskPages((1, 2)), {"seqs": [1, 2]}),
    (Offer((OfferedTurn("a", MARK),)), {"turns": [["a", MARK]]}),
    (Wanted(b"\1"), {"bits": b"\1"}),
    (Stored(1, "b", "a", True), {"stored": 1, "before": "b", "after": "a", "erases": True}),
    (AskSigned(1, 2), {"after": 1, "until": 2}),
    (SignedThere((SIGNED,), 2), {"signatures": [["a", "turn", b"d", 1]], "reached": 2}),
    (NewSignatures((SIGNED,)), {"signatures": [["a", "turn", b"d", 1]]}),
    (SignaturesTaken(1, 2), {"before": 1, "after": 2}),
    (AskHead(), {}),
    (
        LiveHead("c", (SentName(b"n", "a", b"d"),), (SentRecord(b"n", 1, 2, b"{}"),), ("e",)),
        {"cursor": "c", "names": [[b"n", "a", b"d"]], "records": [[b"n", 1, 2, b"{}"]], "erased": ["e"]},
    ),
    (
        NameLeases((NameLease(b"n", "a", None),), (Say(SentRecord(b"n", 1, 2, b"{}"), b"h"),)),
        {"moves": [[b"n", "a", None]], "says": [[[b"n", 1, 2, b"{}"], b"h"]]},
    ),
    (
        LeaseAnswers((LeaseAnswer("moved"), LeaseAnswer("diverged", 1, 2)), (True,), "b", "a"),
        {"names": [["moved", 0, 0], ["diverged", 1, 2]], "said": [True], "before": "b", "after": "a"},
    ),
    (LiveRefusal("ReadOnly", "why"), {"error": "ReadOnly", "reason": "why"}),
    (Nothing(), {}),
]


def test_each_message_has_its_form_and_comes_back() -> None:
    for said, form in SAID:
        data = msgspec.msgpack.encode(said)
        assert msgspec.msgpack.decode(data) == form
        assert msgspec.msgpack.decode(data, type=type(said)) == said


def test_the_kinds_have_their_numbers() -> None:
    bundles = "HEADER RECEIPT PAGE NAMES RECORDS END SIGNATURES"
    asked = "HELLO WELCOME ASK_RECEIPTS ASK_TURNS TURNS ASK_RANGES RANGES ASK_PAGES OFFER WANTED STORED ASK_HEAD HEAD"
    later = "MOVES MOVED REFUSED WAIT BYE ASK_SIGNED SIGNED SIGN SIGNED_THERE"
    numbered = (*enumerate(bundles.split(), 1), *enumerate(f"{asked} {later}".split(), 16))
    assert {kind.value: kind.name for kind in LiveKind} == dict(numbered)
    assert LIVE.magic == b"headish-live-1\n"


def test_each_kind_of_message_is_among_them() -> None:
    assert {type(said) for said, _ in SAID} == set(BODIES.values())
    assert set(KINDS.values()) == BODIES.keys() - {LiveKind.WAIT, LiveKind.BYE}


@pytest.mark.parametrize(
    "said",
    [
        {"space": "s" * 256, "label": "desk"},
        {"after": -1},
        {"after": 2**63},
        {"turns": [[7, "a", b"m" * 7]], "reached": 9},
        {"ranges": [["a", "b", 2, b"s" * 17]]},
        {"answers": [{"cut": [["a", "b", 2, SUM]] * (live.CUT_IN + 1)}]},
        {"seqs": []},
        {"bits": b"1" * (live.LISTED_AT_ONCE + 1)},
        {"moves": [[b"n", None, None]] * (live.MOVES_AT_ONCE + 1)},
        {"error": "E", "reason": "r" * 2001},
    ],
)
def test_what_no_store_says_is_of_no_kind(said: dict[str, object]) -> None:
    data = msgspec.msgpack.encode(said)
    for kind in BODIES:
        if BODIES[kind] not in (Nothing, AskHead):
            with pytest.raises(msgspec.ValidationError):
                LIVE.decoders[kind](data)


def test_a_header_says_only_what_is_not_usual() -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(BundleHeader())) == {}
    assert BundleHeader() == BundleHeader(
        version=1, features=(), made_at=0, requires=(), after=None, device=None, generation=0, number=0, before=b"",
        until=None, signed=False,
    )  # fmt: skip
    assert msgspec.msgpack.encode(SentSignature("t", "turn", b"d", 1)) == msgspec.msgpack.encode(["t", "turn", b"d", 1])
