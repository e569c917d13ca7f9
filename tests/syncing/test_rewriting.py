"""A bundle that is written again has nothing of what was erased since, and arrives like one of the store itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headish import Store, rewrite_bundle, verify_bundle
from headish.bundles.records import BundleHeader
from headish.bundles.streams import BundleWriter
from headish.errors import FileTaken, InvalidArgument, InvalidBundle
from headish.values.ids import TurnId
from support.places import Place

SECRET = "a rare ornithological word"


def export(store: Store, path: Path) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in store.erasures))
    return path


def words_in(path: Path) -> int:
    from headish.bundles.records import BUNDLE
    from headish.content.frames import read_frames

    with path.open("rb") as file:
        return sum(SECRET in repr(value) for _, value in read_frames(file, "x", BUNDLE))


def test_what_was_erased_is_gone_and_the_rest_arrives(store: Store, place: Place, tmp_path: Path) -> None:
    there = place.fresh()
    store.add_turn("q", bookmark="main")
    store.add_turn(SECRET, continues="main", key="k", meta={"mine": SECRET}, inherited={"mine": SECRET})
    store.add_turn(SECRET + "!", continues="main", meta={"kept": 1})
    store.add_turn("stays", continues="main")
    store.add_turn(SECRET, bookmark="all")
    store.conversations.set("all", title=SECRET)
    store.conversations.set("main", title="fine")
    before = store.add_turn("gone before", continues="main")
    store.erase(before.id, reason="before")
    old, new = tmp_path / "old", tmp_path / "new"
    store.bundles.create(old)
    store.erase("main~2", reason="r")
    store.erase("main~3", reason="r", meta=True)
    store.erase("all", scope="thread", reason="r", meta=True)
    done = rewrite_bundle(old, new, export(store, tmp_path / "receipts"))
    assert (done.path, done.turns, done.erased, done.receipts, done.names) == (str(new), 6, 3, 4, 1)
    assert (words_in(old) > 0, words_in(new)) == (True, 0)
    checked = verify_bundle(new)
    assert (checked.turns, checked.proven, checked.receipts) == (6, 6, 4)
    there.bundles.apply(new)
    assert {turn.id: turn.seal for turn in there.turns()} == {turn.id: turn.seal for turn in store.turns()}
    assert [turn.erased is not None for turn in there.turns()] == [turn.erased is not None for turn in store.turns()]
    assert (list(there.bookmarks), there.conversations.get("main").record.title) == (["main"], "fine")
    assert there.verify().problems == ()
    again = rewrite_bundle(new, tmp_path / "again", tmp_path / "receipts")
    assert (again.erased, (tmp_path / "again").read_bytes() == new.read_bytes()) == (0, True)


def test_what_was_erased_first_without_its_meta_loses_it(store: Store, tmp_path: Path) -> None:
    turn = store.add_turn("said", bookmark="main", meta={"mine": SECRET})
    store.erase(turn.id, reason="r")
    store.bundles.create(tmp_path / "old")
    store.erase(turn.id, reason="r", meta=True)
    receipts = export(store, tmp_path / "receipts")
    assert rewrite_bundle(tmp_path / "old", tmp_path / "new", receipts).erased == 1
    assert (words_in(tmp_path / "old"), words_in(tmp_path / "new")) == (1, 0)
    assert verify_bundle(tmp_path / "new").proven == 1


def test_the_name_of_a_thread_goes_however_its_last_turn_went(store: Store, tmp_path: Path) -> None:
    def begin(name: str) -> tuple[TurnId, TurnId]:
        first = store.add_turn(f"{name} 1", bookmark=name)
        last = store.add_turn(f"{name} 2", continues=first.id)
        store.bookmarks.set(name, last.id)
        store.conversations.set(name, title=f"{name}: {SECRET}")
        return first.id, last.id

    ends = {name: begin(name) for name in ("before", "again", "missed")}
    store.erase(ends["missed"][1], reason="before the bundle is made")
    single = store.add_turn("by itself", bookmark="stays")
    half = store.add_turn("2", continues=store.add_turn("1").id, bookmark="half").id
    store.bundles.create(tmp_path / "old")
    for turn in (ends["before"][1], single.id, half):
        store.erase(turn, reason="r")
    for first, last in ends.values():
        store.erase(last, scope="thread", reason="r")
        assert store.get(first).erased is not None
    store.erase(ends["again"][1], reason="r", meta=True)
    done = rewrite_bundle(tmp_path / "old", tmp_path / "new", export(store, tmp_path / "receipts"))
    assert (words_in(tmp_path / "old") > 0, words_in(tmp_path / "new")) == (True, 0)
    assert done.names == 2  # of no thread that was erased as one
    assert verify_bundle(tmp_path / "new").proven == done.turns


def test_a_turn_that_only_has_the_id_of_one_that_was_erased_stays(store: Store, tmp_path: Path) -> None:
    turn = store.add_turn(SECRET, bookmark="main")
    store.bundles.create(tmp_path / "old")
    store.erase(turn.id, reason="r")
    receipts = export(store, tmp_path / "receipts")
    receipts.write_text(receipts.read_text().replace(turn.seal, "0" * 64))
    assert rewrite_bundle(tmp_path / "old", tmp_path / "new", receipts).erased == 0
    assert words_in(tmp_path / "new") == 1


def test_what_is_refused(store: Store, tmp_path: Path) -> None:
    turn = store.add_turn("said", bookmark="main")
    store.bundles.create(tmp_path / "old")
    store.erase(turn.id, reason="r")
    receipts = export(store, tmp_path / "receipts")
    (tmp_path / "none").write_text("{}\n")
    with pytest.raises(InvalidArgument, match="not a receipt"):
        rewrite_bundle(tmp_path / "old", tmp_path / "new", tmp_path / "none")
    with pytest.raises(FileTaken):
        rewrite_bundle(tmp_path / "old", tmp_path / "old", receipts)
    (tmp_path / "cut").write_bytes((tmp_path / "old").read_bytes()[:-1])
    with pytest.raises(InvalidBundle, match="cut off"):
        rewrite_bundle(tmp_path / "cut", tmp_path / "new", receipts)
    with (tmp_path / "log").open("wb") as file:
        BundleWriter(file, BundleHeader(device="a" * 16)).end()
    with pytest.raises(InvalidArgument, match="the log of a device"):
        rewrite_bundle(tmp_path / "log", tmp_path / "new", receipts)
    assert not (tmp_path / "new").exists()
