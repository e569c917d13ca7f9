"""The bytes of a bundle, as docs/reference/bundles.md promises them."""

from __future__ import annotations

from io import BytesIO

import msgspec
import pytest
from msgspec.structs import replace

from headish.bundles.heads import LogHead, read_head, write_head
from headish.bundles.pages import TurnColumns, TurnRecord, from_page, to_page
from headish.bundles.records import (
    BUNDLE,
    BundleEnd,
    BundleHeader,
    BundleKind,
    SentName,
    SentRecord,
    SentSignature,
    WirePage,
    check_signature,
)
from headish.bundles.streams import BundleReader, BundleWriter
from headish.content.frames import FrameWriter
from headish.content.hashes import begin_digest, digest_behind, hash_payload, seal_turn
from headish.errors import InvalidBundle, InvalidContent, NotADevice, TooLarge
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.history.writing.proofs import derive_digest, derive_seal
from headish.syncing.departing import find_keys
from headish.values.ids import TurnId
from headish.values.limits import LAST_MILLISECOND
from support.loops import failing

FIRST, SECOND, THIRD = [TurnId(f"03haya000000000000000000{each}") for each in "abc"]
PAYLOAD = b'[{"type":"text","text":"hi"}]'
TURN = TurnRecord(
    FIRST, (), PAYLOAD, hash_payload(PAYLOAD), b"s" * 32, "user", None, None, False, None, None, None, None, b"main"
)
NEXT = TURN._replace(id=SECOND, parents=(FIRST,), role="assistant", cache=True, head=None)


def write(key: bytes | None = None) -> bytes:
    file = BytesIO()
    writer = BundleWriter(file, BundleHeader(made_at=1), key)
    writer.page(TurnColumns.of([TURN, NEXT]), "cursor")
    writer.end([SentName(b"main", SECOND, b"d" * 32)])
    return file.getvalue()


def test_a_page_says_a_payload_once_and_a_parent_by_its_place() -> None:
    page = to_page(TurnColumns.of([TURN, NEXT]), None)
    assert page.payloads == (PAYLOAD,)
    assert [each.parents for each in page.turns] == [(), (0,)]
    assert from_page(page, "x") == [TURN, NEXT]
    assert to_page(TurnColumns.of([NEXT]), None).turns[0].parents == (FIRST,)


def test_the_frames_are_those_of_the_reference() -> None:
    data = write()
    assert data.startswith(b"headish-bundle-1\n\x01")
    reader = BundleReader(BytesIO(data), "x")
    parts = list(reader.parts())
    assert [kind for kind, _ in parts] == [BundleKind.PAGE, BundleKind.NAMES]
    assert reader.header == BundleHeader(made_at=1)
    assert parts[1][1] == (SentName(b"main", SECOND, b"d" * 32),)
    assert data == write()


def test_sums_under_a_key_are_made_by_who_has_it() -> None:
    key = b"k" * 32
    assert from_page(next(BundleReader(BytesIO(write(key)), "x", key).parts())[1], "x") == [TURN, NEXT]
    for data, theirs in ((write(key), b"o" * 32), (write(), key)):
        with pytest.raises(NotADevice):
            BundleReader(BytesIO(data), "x", theirs)
    with pytest.raises(InvalidBundle):
        BundleReader(BytesIO(write(key)), "x")


def test_a_signature_of_a_head_covers_all_else_that_it_says() -> None:
    head = LogHead("a" * 16, "desk", None, 1, 2, b"h" * 32, "cursor", 5, names=(SentName(b"main", FIRST, b"d" * 32),))
    assert head.message == b"headish-sign-1\nhead\na590f9483c8e4685116b8c1a4f062eab32ae4b776e28732f5b30392b73bfe68b\n"
    assert replace(head, signature=b"any").message == head.message
    signed = replace(
        head,
        signature=b"any",
        recipient="age1",
        erased=("e",),
        revoked=("r",),
        serial=3,
        place="p",
        records=(SentRecord(b"n", 1, 2, b"{}"),),
    )
    assert read_head(write_head(signed, None), "x", None).message == signed.message
    changes = {"device": "b" * 16, "label": "d", "recipient": None, "generation": 2, "number": 1, "hash": b"g" * 32,
               "cursor": "c", "made_at": 6, "names": (), "records": (), "erased": (), "revoked": (),
               "serial": 4, "place": "q"}  # fmt: skip
    assert {*changes, "signature"} == {*LogHead.__struct_fields__}
    assert len({signed.message, *(replace(signed, **{each: changes[each]}).message for each in changes)}) == 15


def test_the_bytes_of_a_head_and_what_its_signature_covers_stay_as_they_are() -> None:
    names, records = (SentName(b"main", FIRST, b"d" * 32),), (SentRecord(b"main", 1, 2, b"{}"),)
    head = LogHead(
        "0a1b", "desk", "age1x", 2, 3, b"h" * 32, "03haya", 5, names, records, ("e",), ("0c",), 7, "place", b"sig"
    )  # fmt: skip
    assert msgspec.msgpack.encode(head).hex() == (
        "8fa6646576696365a430613162a56c6162656ca46465736ba9726563697069656e74a56167653178aa67656e65726174696f6e02"
        "a66e756d62657203a468617368c420" + "68" * 32 + "a6637572736f72a6303368617961a76d6164655f617405"
        "a56e616d65739193c4046d61696eb930336861796130303030303030303030303030303030303061c420" + "64" * 32 +
        "a77265636f7264739194c4046d61696e0102c4027b7da665726173656491a165a77265766f6b656491a23063a673657269616c07"
        "a5706c616365a5706c616365a97369676e6174757265c403736967"
    )  # fmt: skip
    unsigned = msgspec.msgpack.encode(replace(head, signature=None))
    assert head.message == f"headish-sign-1\nhead\n{hash_payload(unsigned).hex()}\n".encode()


def test_a_head_comes_back_and_is_no_bundle() -> None:
    head = LogHead("a" * 16, "desk", None, 1, 2, b"h" * 32, "cursor", 5, names=(SentName(b"main", FIRST, b"d" * 32),))
    data = write_head(head, None)
    assert read_head(data, "x", None) == head
    for broken in (b"", data[:-1], data + b"x", write()):
        with pytest.raises(InvalidBundle):
            read_head(broken, "x", None)
    with pytest.raises(NotADevice):
        read_head(data, "x", b"k" * 32)


def test_a_frame_that_lists_more_than_any_that_is_written_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.bundles.streams.RECEIPTS_LIMIT_BYTES", 10)
    one = to_page(TurnColumns.of([TURN]), None).turns[0]
    name, record = SentName(b"", "", b""), (b"", 0, 0, b"")
    cases: dict[str, tuple[BundleKind, object, str]] = {
        "payloads": (BundleKind.PAGE, WirePage((b"",) * 501, (one,)), "length <= 500"),
        "turns": (BundleKind.PAGE, WirePage((PAYLOAD,), (one,) * 501), "length <= 500"),
        "parents": (BundleKind.PAGE, WirePage((PAYLOAD,), (replace(one, parents=(0,) * 1025),)), "length <= 1024"),
        "names": (BundleKind.NAMES, (name,) * 1_000_001, "length <= 1000000"),
        "records": (BundleKind.RECORDS, (record,) * 1_000_001, "length <= 1000000"),
        "receipts": (BundleKind.RECEIPT, b"{" + b" " * 10, "its receipts have more bytes"),
    }

    def check(case: str) -> None:
        kind, value, words = cases[case]
        file = BytesIO()
        frames = FrameWriter(file, BUNDLE)
        frames.write(BundleKind.HEADER, BundleHeader())
        frames.write(kind, value)
        file.seek(0)
        with pytest.raises(InvalidBundle, match=words):
            list(BundleReader(file, "x").parts())

    assert failing(cases, check) == {}


def test_turns_that_share_a_large_payload_are_counted_each() -> None:
    one = to_page(TurnColumns.of([TURN]), None).turns[0]
    shared = WirePage((b"x" * 1024 * 1024,), (one,) * 201)
    with pytest.raises(InvalidBundle, match="the turns of a page have 210,763,776 bytes"):
        from_page(shared, "x")


def test_two_halves_of_a_payload_do_not_pass_for_two_payloads() -> None:
    halves = (b'[{"type":"text","text":"a"}', b'{"type":"text","text":"b"}],[]')
    turns = [each._replace(payload=half) for each, half in zip((TURN, NEXT), halves, strict=True)]
    with pytest.raises(InvalidBundle, match="does not decode"):
        check_payloads(TurnColumns.of(turns), "x")


@pytest.mark.parametrize("place", [1, 2, -1, 10**18])
def test_a_turn_continues_only_what_stands_before_it(place: int) -> None:
    page = to_page(TurnColumns.of([TURN, NEXT]), None)
    broken = replace(page, turns=(page.turns[0], replace(page.turns[1], parents=(place,))))
    with pytest.raises(InvalidBundle, match="continues what does not stand before it"):
        from_page(broken, "x")


@pytest.mark.parametrize("end", [BundleEnd(1, 1), BundleEnd(2, 2), BundleEnd(2, 0), BundleEnd(0, 1)])
def test_an_end_that_counts_other_turns_or_receipts_is_refused(end: BundleEnd) -> None:
    def read(end: BundleEnd) -> None:
        file = BytesIO()
        writer = FrameWriter(file, BUNDLE)
        writer.write(BundleKind.HEADER, BundleHeader())
        writer.write(BundleKind.RECEIPT, b"{}")
        writer.write(BundleKind.PAGE, to_page(TurnColumns.of([TURN, NEXT]), None))
        writer.write(BundleKind.END, end)
        list(BundleReader(BytesIO(file.getvalue()), "x").parts())

    with pytest.raises(InvalidBundle, match="counts other turns or receipts"):
        read(end)
    read(BundleEnd(2, 1))


def test_a_signature_of_no_turn_is_refused() -> None:
    good = SentSignature(FIRST, "turn", b"", 1)
    for sent in (replace(good, turn="x"), replace(good, turn=FIRST.upper()), replace(good, kind="bundle")):
        with pytest.raises(InvalidBundle, match="something that is not a turn"):
            check_signature(sent, "x")
    for milliseconds in (-1, LAST_MILLISECOND + 1):
        with pytest.raises(InvalidBundle, match="at no time"):
            check_signature(replace(good, milliseconds=milliseconds), "x")
    for milliseconds in (0, LAST_MILLISECOND):
        with pytest.raises(InvalidBundle, match=f"a signature of turn {FIRST}"):
            check_signature(replace(good, milliseconds=milliseconds), "x")


def test_a_head_that_says_what_no_store_says_is_refused() -> None:
    """Everybody may write to a place that has no key."""
    good = LogHead("a" * 16, "desk", None, 1, 2, b"h" * 32, "cursor", 5)
    cases: dict[str, dict[str, object]] = {
        "terminal codes": {"label": "\x1b[2J"}, "a folder": {"label": "desk/main"}, "nothing": {"label": ""},
        "a time that is none": {"made_at": 10**15}, "before all time": {"made_at": -1}, "no hash": {"hash": b"h"},
        "numbers": {"number": 10**18}, "generation": {"generation": 0}, "serial": {"serial": -1},
    }  # fmt: skip

    def check(case: str) -> None:
        with pytest.raises(InvalidBundle, match="what no head says"):
            read_head(write_head(replace(good, **cases[case]), None), "x", None)

    assert failing(cases, check) == {}
    for each in (good, replace(good, hash=b"", number=0)):  # a log without a bundle
        assert read_head(write_head(each, None), "x", None) == each


def test_what_no_reader_would_take_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.bundles.records.LISTED_LIMIT", 2)
    monkeypatch.setattr("headish.bundles.streams.RECEIPTS_LIMIT_BYTES", 10)
    monkeypatch.setattr("headish.content.frames.BODY_LIMIT_BYTES", 1000)
    three = (SentName(b"x", FIRST, b""),) * 3
    head = LogHead("a" * 16, "desk", None, 1, 2, b"", "cursor", 5)
    with pytest.raises(InvalidContent, match="3 entries"):
        BundleWriter(BytesIO(), BundleHeader(requires=(FIRST,) * 3))
    writer = BundleWriter(BytesIO(), BundleHeader())
    refused = {
        "names": lambda: writer.end(three),
        "conversations": lambda: writer.end((), three),
        "bookmarks": lambda: write_head(replace(head, names=three), None),
        "titles": lambda: write_head(replace(head, records=three), None),
    }

    def check(case: str) -> None:
        with pytest.raises(InvalidContent, match="3 entries"):
            refused[case]()

    assert failing(refused, check) == {}
    writer.receipt(b"x" * 10)
    with pytest.raises(TooLarge, match="the receipts of a bundle"):
        writer.receipt(b"x")
    with pytest.raises(TooLarge, match="a frame"):
        writer.page(TurnColumns.of([TURN._replace(app=b"x" * 1000)]))


def test_whose_a_turn_is_goes_with_it() -> None:
    assert from_page(to_page(TurnColumns.of([TURN._replace(foreign=True), NEXT]), None), "x")[0].foreign


@pytest.mark.parametrize("column", ["payload", "attributes", "inherited", "system", "app", "head"])
def test_a_key_is_found_in_each_column_that_leaves(column: str) -> None:
    key = b"sk-" + b"a1B2c3D4e5F6g7H8i9J0"
    assert [*find_keys(TurnColumns.of([TURN, NEXT._replace(**{column: key}), TURN]))] == [SECOND]


def test_words_that_were_checked_once_are_checked_again_where_one_is_another() -> None:
    """Of a page whose turns say the same but for one word, only that one is refused."""
    others = {"role": "nobody", "type": "a\0b", "content_type": "", "attributes": b"[]", "inherited": b"1", "app": b"{",
              "head": b"a b", "system": b"[]"}  # fmt: skip

    def check(column: str) -> None:
        sealed = _Sealed()
        before = sealed(TURN)
        for number, word in enumerate((None, others[column], None)):
            turn = TURN._replace(id=TurnId(f"03haya00000000000000000{number:02}"), parents=(before.id,))
            if word is None:
                before = sealed(turn)
                continue
            with pytest.raises(InvalidBundle, match=f"turn {turn.id}: "):
                sealed(turn._replace(**{column: word}))

    assert failing(others, check) == {}
    with pytest.raises(TooLarge):
        _Sealed(len(PAYLOAD) - 1)(TURN)
    sealed, few = _Sealed(), _Sealed(len(PAYLOAD))
    turns = [sealed(TURN), sealed(NEXT._replace(cache=False, role="user", head=b"main"))]
    with pytest.raises(TooLarge):
        few.prover.prove([turns[0], turns[1]._replace(payload=PAYLOAD + b" ")])


def test_a_turn_is_proven_behind_what_was_proven_and_by_its_own_seal() -> None:
    sealed = _Sealed()
    first, prover = sealed(TURN), sealed.prover
    with pytest.raises(InvalidBundle, match="continues what comes behind it"):
        prover.prove([first._replace(id=THIRD, parents=(SECOND,))])
    for other in ({"seal": b"s" * 32}, {"hash": b"h" * 32}, {"parents": (FIRST,)}, {"cache": True}, {"head": b"side"}):
        with pytest.raises(InvalidBundle, match="its seal disagrees"):
            prover.prove([first._replace(**other)])
    # What was proven last is nothing that a turn without parents continues.
    digest = digest_behind(begin_digest("user", None, "application/json", None) + b"0:,", TURN.hash, [""])
    seal = seal_turn(FIRST, digest, (), head=TURN.head)
    for known in ([], [first]):
        with pytest.raises(InvalidBundle, match="its seal disagrees"):
            prover.prove([*known, TURN._replace(seal=seal)])


class _Sealed:
    """Gives turns the seals that they should have, and proves them."""

    def __init__(self, limit_bytes: int = 100) -> None:
        self._digests: dict[TurnId, bytes] = {}
        self.prover = RecordProver(self._digests, "x", limit_bytes)

    def __call__(self, turn: TurnRecord) -> TurnRecord:
        digest = derive_digest(turn, None, [self._digests[each] for each in turn.parents])
        sealed = turn._replace(seal=derive_seal(turn, digest, turn.parents))
        assert [each.digest for each in self.prover.prove([sealed])] == [digest]
        return sealed


def test_a_page_without_turns_is_one() -> None:
    assert from_page(to_page(TurnColumns.of([]), None), "x") == []
