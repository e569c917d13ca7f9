"""Bundles: what leaves a store arrives in another one as it was, or nothing of its page does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headish import Store, verify_bundle
from headish.bundles.pages import TurnColumns, TurnRecord, to_page
from headish.bundles.records import BUNDLE, BundleEnd, BundleHeader, BundleKind, SentName
from headish.bundles.streams import BundleWriter
from headish.content.frames import FrameWriter
from headish.content.receipts import encode_receipt
from headish.errors import (
    CursorLost,
    FileTaken,
    ForeignConflict,
    InvalidArgument,
    InvalidBundle,
    MissingParents,
    QuotaExceeded,
    SecretsFound,
)
from headish.rows.counters import lock_space
from headish.values.limits import LAST_NUMBER
from support.growing import grow, texts
from support.insides import run_sql
from support.loops import failing
from support.places import Place

KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0"


def seals(store: Store) -> dict[str, str]:
    return {turn.id: turn.seal for turn in store.turns()}


@pytest.fixture
def two(place: Place) -> tuple[Store, Store]:
    return place.open(), place.fresh()


class TestThereAndBack:
    def test_all_that_was_said_arrives_as_it_was(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        grow(here, "q? <- a <- r? <- b, q? <- c")
        here.add_turn("x" * 5000, role="user", key="k", meta={"n": [1]}, inherited={"a": 1}, bookmark="main")
        here.add_turn("y", continues="main", attributes={"speaker": "Ann"}, cache="1h")
        here.add_document(b"\x00raw", name="notes.bin", bookmark="doc")
        here.conversations.set("main", title="A title", tags=["t"])
        done = here.bundles.create(tmp_path / "a")
        assert (done.turns, done.names, done.receipts) == (8, 2, 0)
        applied = there.bundles.apply(tmp_path / "a")
        assert (applied.stored, applied.known, applied.records) == (8, 0, 1)
        assert [turn.to_dict() for turn in there.turns()] == [turn.to_dict() for turn in here.turns()]
        assert there.find("k").id == here.find("k").id
        assert dict(there.bookmarks) == dict(here.bookmarks)
        assert there.conversations.get("main").record == here.conversations.get("main").record
        assert (there.payload("doc"), there.stats().heads, there.stats().roots) == (
            b"\x00raw", here.stats().heads, here.stats().roots,
        )  # fmt: skip
        assert there.verify().problems == ()
        again = there.bundles.apply(tmp_path / "a")
        assert (again.stored, again.known, {each.outcome for each in again.names}) == (0, 8, {"same"})

    def test_what_came_since_a_cursor_follows_what_was_there(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        here.add_turn("a", bookmark="main")
        first = here.bundles.create(tmp_path / "1")
        here.add_turn("b", continues="main")
        assert here.bundles.create(tmp_path / "2", since=first.cursor).turns == 1
        with pytest.raises(MissingParents, match=here.get("main~1").id):
            there.bundles.apply(tmp_path / "2")
        assert there.stats().turns == 0
        there.bundles.apply(tmp_path / "1")
        assert there.bundles.apply(tmp_path / "2").stored == 1
        assert (texts(there, "main"), there.verify().problems) == (["a", "b"], ())
        with pytest.raises(CursorLost):
            there.bundles.create(tmp_path / "3", since=first.cursor)

    def test_one_conversation_goes_without_the_others(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        grow(here, "q? <- a <- r? <- b, q? <- c")
        here.add_turn("mine", bookmark="mine")
        here.add_turn("theirs", bookmark="theirs")
        document = here.add_document(b"notes", name="notes.txt")
        here.add_turn([{"type": "document", "source": {"type": "turn", "turn": document.id}}], continues="theirs")
        here.conversations.set("mine", title="not yours")
        done = here.bundles.create(tmp_path / "a", "theirs")
        assert (done.turns, done.names) == (3, 1)
        there.bundles.apply(tmp_path / "a")
        assert {turn.id for turn in there.turns()} == {document.id, here.get("theirs").id, here.get("theirs~1").id}
        assert dict(there.bookmarks) == {"theirs": here.get("theirs").id}
        assert (there.get("@").id, there.verify().problems) == (here.get("theirs").id, ())

    def test_what_arrives_is_not_what_was_said_here_last(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        here.add_turn("a", bookmark="main")
        own = there.add_turn("own", bookmark="own")
        here.bundles.create(tmp_path / "a")
        there.bundles.apply(tmp_path / "a")
        assert there.get("@").id == own.id
        assert there.verify().problems == ()
        mine = there.add_turn("more", continues="main")
        assert (there.get("@").id, texts(there, "main"), there.verify().problems) == (mine.id, ["a", "more"], ())

    def test_a_name_goes_forward_and_is_never_taken(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        for name in ("on", "behind", "apart"):
            here.add_turn(name, bookmark=name)
        here.bundles.create(tmp_path / "1")
        there.bundles.apply(tmp_path / "1")
        for name in ("on", "apart"):
            here.add_turn("more", continues=name)
        for name in ("behind", "apart"):
            there.add_turn("other", continues=name)
        stood = dict(there.bookmarks)
        here.bundles.create(tmp_path / "2")
        applied = {each.name: each for each in there.bundles.apply(tmp_path / "2").names}
        assert {name: each.outcome for name, each in applied.items()} == {
            "on": "moved", "behind": "ahead", "apart": "diverged",
        }  # fmt: skip
        assert (applied["apart"].here, applied["apart"].there) == (1, 1)
        assert dict(there.bookmarks) == {**stood, "on": here.get("on").id}
        assert there.verify().problems == ()

    def test_two_that_imported_the_same_and_then_went_on_have_not_diverged(
        self, two: tuple[Store, Store], tmp_path: Path
    ) -> None:
        here, there = two
        for store in two:
            store.add_turn("q", bookmark="main", key="s:1")
            store.add_turn("a", role="assistant", continues="main", key="s:2")
        here.add_turn("more", continues="main", key="s:3")
        first = there.find("s:2")
        here.bundles.create(tmp_path / "a")
        applied = there.bundles.apply(tmp_path / "a")
        assert (applied.stored, [each.outcome for each in applied.names]) == (3, ["moved"])
        assert texts(there, "main") == ["q", "a", "more"]
        assert (there.find("s:2").id, there.find("s:3").id) == (first.id, here.find("s:3").id)
        assert there.verify().problems == ()
        there.bundles.create(tmp_path / "b")
        assert [each.outcome for each in here.bundles.apply(tmp_path / "b").names] == ["same"]
        assert {**seals(here)} == {**seals(there)}
        assert here.verify().problems == ()

    def test_what_was_erased_arrives_as_erased(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        grow(here, "q? <- a <- r? <- b")
        here.bookmarks.set("main", here.get("@").id)
        here.erase("main~1", reason="told in error")
        here.erase("main~3", reason="all of it", meta=True)
        assert here.bundles.create(tmp_path / "a").receipts == 2
        assert verify_bundle(tmp_path / "a").turns == 4
        there.bundles.apply(tmp_path / "a")
        assert [turn.erased is not None for turn in there.turns()] == [True, False, True, False]
        assert {each.reason for each in there.erasures} == {"told in error", "all of it"}
        assert (seals(there), there.verify().problems) == (seals(here), ())

    def test_a_turn_that_lost_its_meta_arrives_with_the_hash_of_its_key_and_nothing_more(
        self, two: tuple[Store, Store], tmp_path: Path
    ) -> None:
        here, there = two
        turn = here.add_turn("a", bookmark="main", key="k", meta={"n": 1}, inherited={"a": 1})
        here.erase(turn.id, reason="all of it", meta=True)
        here.bundles.create(tmp_path / "a")
        assert verify_bundle(tmp_path / "a").proven == 1
        [record] = _records(here, tmp_path)
        [receipt] = [each for each in here.erasures if each.turns]
        for name, changes in {"app": {"app": b"{}"}, "inherited": {"inherited": b'{"servers":["evil"]}'}}.items():
            with (tmp_path / name).open("wb") as file:
                writer = BundleWriter(file, BundleHeader())
                writer.receipt(encode_receipt(receipt))
                writer.page(TurnColumns.of([record._replace(**changes)]))
                writer.end()
            for refuse in (verify_bundle, there.bundles.apply):
                with pytest.raises(InvalidBundle, match="lost its meta, and still has some"):
                    refuse(tmp_path / name)
        assert there.bundles.apply(tmp_path / "a").stored == 1
        assert (there.get(turn.id).erased is not None, there.verify().problems) == (True, ())

    def test_barred_words_arrive_as_erased(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        here.add_turn("never again", bookmark="main")
        here.add_turn("fine", continues="main")
        there.add_turn("never again", bookmark="x")
        there.erase("x", reason="no", content=True)
        here.bundles.create(tmp_path / "a")
        assert there.bundles.apply(tmp_path / "a").stored == 2
        assert there.get("main~1").erased is not None
        assert (there.text("main"), there.verify().problems) == ("fine", ())


class TestRefused:
    def test_keys_stay_unless_it_is_said(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        turn = here.add_turn(f"my key is {KEY}", bookmark="main")
        here.add_turn("hdsh_" + "x9" * 24 + "x", continues="main")
        with pytest.raises(SecretsFound, match=here.abbreviate([turn.id])[turn.id]) as refused:
            here.bundles.create(tmp_path / "a")
        assert refused.value.turns == (turn.id, here.get("main").id)
        assert [each for each in tmp_path.iterdir() if each.name.startswith("a")] == []
        assert here.bundles.create(tmp_path / "a", allow_secrets=True).turns == 2
        with pytest.raises(FileTaken):
            here.bundles.create(tmp_path / "a", allow_secrets=True)
        with pytest.raises(InvalidArgument):
            here.bundles.create(tmp_path / "b", "main", since=here.position())
        assert there.bundles.apply(tmp_path / "a").stored == 2

    def test_an_id_with_another_seal_stores_nothing(self, file_place: Place, tmp_path: Path) -> None:
        here, there = file_place.open("here"), file_place.open("there")
        turn = here.add_turn("a", bookmark="main")
        here.bundles.create(tmp_path / "a")
        there.bundles.apply(tmp_path / "a")
        run_sql(there, f"UPDATE turn SET seal = x'00' WHERE space = {there._number}")
        with pytest.raises(ForeignConflict, match=turn.id):
            there.bundles.apply(tmp_path / "a")

    def test_a_quota_holds_what_arrives(self, file_place: Place, tmp_path: Path) -> None:
        here, there = file_place.open("here"), file_place.open("there")
        here.add_turns([{"content": f"{index}"} for index in range(3)])
        here.bundles.create(tmp_path / "a")
        run_sql(there, f"UPDATE counter SET limit_turns = 2 WHERE space = {there._number}")
        with pytest.raises(QuotaExceeded):
            there.bundles.apply(tmp_path / "a")
        assert there.stats().turns == 0

    def test_a_cut_at_any_byte_leaves_whole_pages(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = place.open(), place.fresh()
        monkeypatch.setattr("headish.syncing.departing.PAGE_TURNS", 2)
        grow(here, "q? <- a <- r? <- b, q? <- c")
        here.bookmarks.set("main", here.get("@").id)
        here.bundles.create(tmp_path / "a")
        whole = (tmp_path / "a").read_bytes()
        part = tmp_path / "part"
        counts = set()
        for length in range(0, len(whole), 1 if len(whole) < 400 else 7):
            part.write_bytes(whole[:length])
            with pytest.raises(InvalidBundle, match=r"cut off|begin"):
                there.bundles.apply(part)
            counts.add(there.stats().turns)
        assert counts == {0, 2, 4, 5}
        assert (dict(there.bookmarks), there.verify().problems) == ({"main": here.get("main").id}, ())

    def test_small_pages_are_stored_together_and_those_before_a_fault_stay(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there, counted = place.open(), place.fresh(), []
        here.add_turns([{"content": f"{index}"} for index in range(16)])
        good = _records(here, tmp_path)
        monkeypatch.setattr(
            "headish.syncing.bundling.arriving.lock_space", lambda *given: counted.append(lock_space(*given))
        )

        def send(*pages: list[TurnRecord]) -> None:
            with (tmp_path / "a").open("wb") as file:
                writer = BundleWriter(file, BundleHeader())
                for page in pages:
                    writer.page(TurnColumns.of(page))
                writer.end()
            counted.clear()
            there.bundles.apply(tmp_path / "a")

        with pytest.raises(InvalidBundle, match="its seal disagrees"):
            send(good[:2], good[2:4], [good[4], good[5]._replace(app=b'{"x":2}')], good[6:8])
        assert [turn.id for turn in there.turns()] == [each.id for each in good[:4]]
        send(*[good[start : start + 2] for start in range(0, 16, 2)])
        assert [turn.id for turn in there.turns()] == [each.id for each in good]
        assert len(counted) == 3  # two for eight pages, and one for ``@``

    def test_a_flipped_bit_is_found_wherever_it_is(self, place: Place, tmp_path: Path) -> None:
        here, there = place.open(), place.fresh()
        here.add_turn("a", bookmark="main")
        here.bundles.create(tmp_path / "a")
        whole = bytearray((tmp_path / "a").read_bytes())
        part = tmp_path / "part"
        for at in range(len(whole)):
            whole[at] ^= 0x20
            part.write_bytes(whole)
            with pytest.raises(InvalidBundle):
                verify_bundle(part)
            if at % 16 == 0:
                with pytest.raises(InvalidBundle):
                    there.bundles.apply(part)
            whole[at] ^= 0x20
        assert there.stats().turns <= 1

    def test_the_frames_that_no_store_writes(self, store: Store, place: Place, tmp_path: Path) -> None:
        here = place.fresh()
        here.add_turn("a", bookmark="main")
        here.add_turn("b", continues="main", meta={"x": 1})
        good = _records(here, tmp_path)
        other = here.add_turn("elsewhere").id

        def broken(**changes: Any) -> list[TurnRecord]:
            return [good[0], good[1]._replace(**changes)]

        cases: dict[str, tuple[list[TurnRecord], str]] = {
            "role": (broken(role="king"), "its role is 'king'"),
            "said otherwise": (broken(app=b'{"x":2}'), "its seal disagrees"),
            "another id": (broken(id=other), "its seal disagrees"),
            "no object": (broken(app=b"[]"), "its app is not a JSON object"),
            "no JSON": (broken(system=b"{"), "system"),
            "key": (broken(system=b'{"key":1}'), "its key is not text"),
            "said at no time": (broken(system=b'{"said_at":"noon"}'), "its said_at is not a time"),
            "a time of no cache": (broken(system=b'{"cache_ttl":"for ever"}'), "its cache flag has an unknown time"),
            "long": (
                broken(system=b'{"x":"%b"}' % (b"y" * 1024 * 1024)),
                "its system has more bytes than any may have",
            ),
            "head": (broken(head=b"-x"), "the name that moved with it is not a name"),
            "terminal codes": (broken(head=b"a\x1b[2J"), "the name that moved with it is not a name"),
            "blocks": (broken(payload=b"{}", hash=b"\0" * 32), "blocks"),
            "attributes": (broken(attributes=b'{"king":1}'), "its attributes do not decode"),
            "content type": (broken(content_type="a\nb"), "its content type is not printable ASCII"),
            "a type with NUL": (broken(type="a\0b"), "its type holds a NUL"),
            "named as a document": (
                broken(system=b'{"document_name":"a"}'),
                "it has the name of a document but is not a document",
            ),
            "twice": ([good[0], good[0]], "has a turn twice"),
            "erased by nobody": (broken(erased=other, payload=None), "no receipt says so"),
            "a short seal": (broken(seal=b"x"), "hashes of another length"),
            "too many": (
                [good[0]._replace(id=f"{index:025d}") for index in range(501)],
                "cannot be read.*length <= 500",
            ),
        }

        def check(name: str) -> None:
            turns, words = cases[name]
            _write(
                tmp_path / name,
                lambda frames: frames.write(BundleKind.PAGE, to_page(TurnColumns.of(turns), None)),
                len(turns),
            )
            with pytest.raises(InvalidBundle, match=words):
                store.bundles.apply(tmp_path / name)

        assert failing(cases, check) == {}
        assert store.stats().turns == 0
        _write(tmp_path / "good", lambda frames: frames.write(BundleKind.PAGE, to_page(TurnColumns.of(good), None)), 2)
        assert store.bundles.apply(tmp_path / "good").stored == 2

    def test_numbers_that_no_store_reaches_store_nothing(self, store: Store, tmp_path: Path) -> None:
        turn = store.add_turn("a", bookmark="main")
        store.add_turn("b", bookmark="other")
        store.erase("other", reason="r", content=True)
        receipt = store.erasures.list()[0]
        end = BundleEnd(0, 0)

        def said(revision: int, milliseconds: int = 1) -> tuple[BundleHeader, BundleKind, Any, BundleEnd]:
            record = (turn.id.encode(), revision, milliseconds, b'{"title":"theirs"}')
            return BundleHeader(), BundleKind.RECORDS, ((b"main", *record[1:]),), end

        def erased(**changes: Any) -> tuple[BundleHeader, BundleKind, Any, BundleEnd]:
            data = json.loads(encode_receipt(receipt)) | changes
            return BundleHeader(), BundleKind.RECEIPT, json.dumps(data).encode(), BundleEnd(0, 1)

        bars = [{"hash": "0" * 64, "size": 2**63}]
        cases = {
            **{f"revision {each}": said(each) for each in (-5, 2**53, 2**63 - 1, 2**64 - 1)},
            **{f"milliseconds {each}": said(1, each) for each in (-1, 2**63, 2**64 - 1)},
            "made at": (BundleHeader(made_at=-(2**63)), BundleKind.RECORDS, (), end),
            "turns": (BundleHeader(), BundleKind.RECORDS, (), BundleEnd(-1, 0)),
            "a size": erased(barred=bars),
            "a count": erased(counts={"x": 2**70}),
            "a number": erased(number=-1),
        }

        def check(name: str) -> None:
            header, kind, value, end = cases[name]
            with (tmp_path / name).open("wb") as file:
                writer = FrameWriter(file, BUNDLE)
                writer.write(BundleKind.HEADER, header)
                writer.write(kind, value)
                writer.write(BundleKind.END, end)
            with pytest.raises(InvalidBundle, match=r"cannot be read.*(`int`|no store counts to)"):
                store.bundles.apply(tmp_path / name)

        assert failing(cases, check) == {}
        assert store.conversations.get("main").revision is None
        assert store.conversations.set("main", title="own").revision == 1

    def test_a_title_of_a_turn_that_begins_no_conversation_is_left_out(self, store: Store, tmp_path: Path) -> None:
        grow(store, "q? <- a")
        turns = [each.id for each in store.turns()]
        says = tuple((each.encode(), 1, 1, b'{"title":"theirs"}') for each in turns)
        with (tmp_path / "a").open("wb") as file:
            writer = FrameWriter(file, BUNDLE)
            writer.write(BundleKind.HEADER, BundleHeader())
            writer.write(BundleKind.RECORDS, says)
            writer.write(BundleKind.END, BundleEnd(0, 0))
        assert store.bundles.apply(tmp_path / "a").records == 1
        assert store.conversations.get(turns[0]).record.title == "theirs"
        assert store.verify().problems == ()

    def test_the_last_revision_that_arrives_has_room_above(self, file_place: Place, tmp_path: Path) -> None:
        """A store says more afterwards, and what it says still travels."""
        here, there = file_place.open("here"), file_place.open("there")
        here.add_turn("a", bookmark="main")
        here.conversations.set("main", title="first")
        run_sql(here, f"UPDATE conversation SET revision = {LAST_NUMBER + 5} WHERE space = {here._number}")
        here.bundles.create(tmp_path / "a")
        there.bundles.apply(tmp_path / "a")
        assert there.conversations.set("main", title="second").revision == LAST_NUMBER + 1
        there.bundles.create(tmp_path / "b")
        assert verify_bundle(tmp_path / "b").names == 1

    def test_frames_in_another_order_and_unknown_features(self, store: Store, tmp_path: Path) -> None:
        names = (SentName(b"x", "0" * 25, b""),)

        def write(*frames: tuple[BundleKind, Any]) -> Path:
            path = tmp_path / os.urandom(4).hex()
            with path.open("wb") as file:
                writer = FrameWriter(file, BUNDLE)
                for kind, value in frames:
                    writer.write(kind, value)
            return path

        header, end = (BundleKind.HEADER, BundleHeader()), (BundleKind.END, BundleEnd(0, 0))
        cases = {
            "no header": ((end,), "no header"),
            "twice": (
                (header, (BundleKind.NAMES, names), (BundleKind.NAMES, names), end),
                "stands behind one of NAMES",
            ),
            "back": ((header, (BundleKind.NAMES, names), (BundleKind.RECEIPT, b"{}"), end), "behind one of NAMES"),
            "counts": ((header, (BundleKind.END, BundleEnd(1, 0))), "counts other turns"),
            "version": (((BundleKind.HEADER, BundleHeader(version=2)), end), "its version is 2"),
            "feature": (((BundleKind.HEADER, BundleHeader(features=("zstd",))), end), "it needs zstd"),
            "receipt": ((header, (BundleKind.RECEIPT, b"{}"), end), "a receipt of an erasure cannot be read"),
            "a page that is none": ((header, (BundleKind.PAGE, [1]), end), "cannot be read"),
        }

        def check(name: str) -> None:
            frames, words = cases[name]
            with pytest.raises(InvalidBundle, match=words):
                store.bundles.apply(write(*frames))

        assert failing(cases, check) == {}

    def test_a_name_that_cannot_be_given_here_is_left_out(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        turn = here.add_turn("a", bookmark="main")
        [record] = _records(here, tmp_path)
        names = [SentName(each, turn.id, b"") for each in (b"..", b"\x1b[2J", b"\xff", b"fine")]
        with (tmp_path / "b").open("wb") as file:
            writer = BundleWriter(file, BundleHeader())
            writer.page(TurnColumns.of([record]))
            writer.end(names)
        outcomes = [each.outcome for each in there.bundles.apply(tmp_path / "b").names]
        assert outcomes == ["refused", "refused", "refused", "made"]
        assert list(there.bookmarks) == ["fine"]

    def test_a_name_that_would_hide_another_turn_is_left_out(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        there.remotes.add("box", (tmp_path / "box").as_uri(), device="laptop", plain=True)
        mine = there.add_turn("mine", bookmark="main")
        handle = there.abbreviate([mine.id])[mine.id]
        hidden = (mine.id[:12], mine.id[:12].upper(), handle, "laptop/main", "box/main")
        turn = here.add_turn("a", bookmark="main")
        [record] = _records(here, tmp_path)
        with (tmp_path / "b").open("wb") as file:
            writer = BundleWriter(file, BundleHeader())
            writer.page(TurnColumns.of([record]))
            writer.end([SentName(each.encode(), turn.id, b"") for each in (*hidden, "topic/main", "question")])
        outcomes = [each.outcome for each in there.bundles.apply(tmp_path / "b").names]
        assert outcomes == ["refused"] * 5 + ["made"] * 2
        assert (there.get(mine.id[:12]).id, there.get(handle).id) == (mine.id, mine.id)

    def test_a_name_that_was_erased_here_is_not_made_again(self, two: tuple[Store, Store], tmp_path: Path) -> None:
        here, there = two
        here.add_turn("a", bookmark="secret")
        here.bundles.create(tmp_path / "a")
        there.bundles.apply(tmp_path / "a")
        there.bookmarks.erase("secret", reason="told in error")
        [name] = there.bundles.apply(tmp_path / "a").names
        assert (name.outcome, "secret" in there.bookmarks) == ("refused", False)

    def test_a_bundle_of_a_log_has_no_names_and_no_records(self, store: Store, tmp_path: Path) -> None:
        turn = store.add_turn("a")
        frames = {
            BundleKind.NAMES: (SentName(b"x", turn.id, b""),),
            BundleKind.RECORDS: ((turn.id.encode(), 1, 1, b"{}"),),
        }

        def check(kind: BundleKind) -> None:
            with (tmp_path / kind.name).open("wb") as file:
                writer = FrameWriter(file, BUNDLE)
                writer.write(BundleKind.HEADER, BundleHeader(device="a" * 16, generation=1, number=1))
                writer.write(kind, frames[kind])
                writer.write(BundleKind.END, BundleEnd(0, 0))
            with pytest.raises(InvalidBundle, match="names or records"):
                store.bundles.apply(tmp_path / kind.name)

        assert failing(frames, check) == {}

    def test_verify_refuses_an_erased_turn_that_no_receipt_lists_and_a_turn_that_comes_twice(
        self, store: Store, tmp_path: Path
    ) -> None:
        plain = store.add_turn("a", bookmark="main")
        store.add_turn("b", continues="main")
        store.erase(plain.id, reason="told in error")
        erased, good = _records(store, tmp_path)
        other = erased._replace(erased=good.id)
        store.bundles.create(tmp_path / "whole")
        assert verify_bundle(tmp_path / "whole").proven == 2
        pages = {"twice": [[good], [good]], "no receipt": [[erased, good]], "another": [[other]]}

        def check(name: str) -> None:
            with (tmp_path / name).open("wb") as file:
                writer = BundleWriter(file, BundleHeader())
                for page in pages[name]:
                    writer.page(TurnColumns.of(page))
                writer.end()
            with pytest.raises(InvalidBundle, match=r"twice|no receipt lists it so"):
                verify_bundle(tmp_path / name)

        assert failing(pages, check) == {}


def test_a_page_without_turns_stores_nothing(tmp_path: Path) -> None:
    _write(tmp_path / "x", lambda frames: frames.write(BundleKind.PAGE, to_page(TurnColumns.of([]), None)), 0)
    with Store.open(tmp_path / "there.db") as store:
        assert store.bundles.apply(tmp_path / "x").stored == 0


def _records(store: Store, folder: Path) -> list[TurnRecord]:
    from headish.rows.counters import read_counter
    from headish.syncing.departing import Departing, Span

    def read(connection: Any) -> list[TurnRecord]:
        last = read_counter(connection, store._number).seq
        return [each for page in Departing(connection, store._number).since(Span(0, last)) for each in page.records()]

    return store._backend.read(read)


def _write(path: Path, put: Callable[[FrameWriter], None], turns: int) -> None:
    with path.open("wb") as file:
        frames = FrameWriter(file, BUNDLE)
        frames.write(BundleKind.HEADER, BundleHeader())
        put(frames)
        frames.write(BundleKind.END, BundleEnd(turns, 0))
