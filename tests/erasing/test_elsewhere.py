"""Erasures meet what follows, copies, compares and backs up a space: nothing brings back what is gone."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest

from headish import Database, Store, restore
from headish.errors import (
    BarredContent,
    CursorLost,
    HeadishError,
    InvalidArgument,
    InvalidBackup,
    QuotaExceeded,
    SpaceRestoring,
    TurnErased,
)
from headish.history.writing import copies
from headish.rows.upkeep.whole import add_rows, names_of
from headish.store.backups.restoring import _begin
from headish.values.limits import INLINE_BYTES
from support.insides import dump, unchanged
from support.places import FilePlace, Place

SECRET = "hunter2-very-secret"
LARGE = SECRET + "x" * (2 * INLINE_BYTES)


def say(store: Store, *said: str) -> list[str]:
    """A thread of these words on the bookmark main, each with a key and meta; the ids."""
    ids: list[str] = []
    for index, words in enumerate(said):
        before = {"continues": ids[-1]} if ids else {}
        ids.append(store.add_turn(words, bookmark="main", key=f"k{index}", meta={"n": index}, **before).id)
    return ids


def say_and_erase(store: Store) -> list[str]:
    """A thread of six turns, of which three are erased: a large one, one without its meta, and barred content."""
    ids = say(store, "q", LARGE, f"{SECRET} 2", "kept", f"{SECRET} 4", "end")
    store.erase(ids[1], reason="asked for", by="Ada")
    store.erase(ids[2], meta=True, reason="all of it")
    store.erase(ids[4], content=True, reason="barred")
    return ids


def is_as_erased(store: Store, source: Store) -> None:
    """Everything reads there as it does here, and verifies; what is barred stays barred."""
    turns = list(store.turns())
    # The number of an erasure is that of the space.
    assert [{**turn.to_dict(), "erased": 0} for turn in turns] == [
        {**source.get(turn.id).to_dict(), "erased": 0} for turn in turns
    ]
    assert [turn.erased is not None for turn in store.turns()] == [False, True, True, False, True, False]
    assert store.verify().problems == ()


class TestFollowing:
    def test_a_follower_sees_who_erased_what_and_why(self, store: Store) -> None:
        ids = say_and_erase(store)
        [first, *_] = store.follow(wait=False, kinds="erasure")
        assert first.kind == "erasure"
        assert (first.receipt["by"], first.receipt["reason"]) == ("Ada", "asked for")
        assert [each["id"] for each in first.receipt["turns"]] == [ids[1]]
        told = [(each.author, each.subject, each.what) for each in store.audit(kinds="erasure")]
        assert told[0] == ("Ada", "1", "erased: asked for")
        assert [what for _, _, what in told if what.startswith("erased")][1:] == ["erased: all of it", "erased: barred"]
        assert {what for _, _, what in told if not what.startswith("erased")} <= {
            "what was erased before is off the disk"
        }

    def test_cursors_from_before_an_erasure_go_on(self, store: Store) -> None:
        turn = store.add_turn(SECRET, bookmark="main")
        before = [each.cursor for each in store.follow(wait=False)]
        store.erase(turn.id, meta=True, reason="r")
        store.bookmarks.rename("main", "other")
        for cursor in before:
            assert [each.kind for each in store.follow(cursor, wait=False)][-3:] == ["erasure", "move", "live"]
        assert SECRET not in str(list(store.follow(wait=False)))

    def test_who_follows_a_space_that_is_erased_learns_that_it_is_gone(self, durable_place: Place) -> None:
        store = durable_place.open("person")
        store.add_turn(SECRET, bookmark="main")
        cursor = store.position()
        done = Database(store._database).spaces.erase(store.space, reason="asked for", by="Ada")
        with pytest.raises(CursorLost):
            list(store.follow(cursor, wait=False))
        assert done.became is not None
        left = list(Database(store._database).store(done.became).follow(wait=False))
        [receipt] = [each for each in left if each.kind == "erasure" and each.receipt["scope"] == "space"]
        assert (receipt.receipt["by"], receipt.receipt["reason"]) == ("Ada", "asked for")
        assert {each.kind for each in left} <= {"erasure", "live"}


class TestCopies:
    @pytest.mark.parametrize("portion", [1, 2, 500])
    def test_tombstones_arrive_in_another_database_with_receipts(
        self, durable_place: Place, tmp_path: Path, portion: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(copies, "PORTION", portion)
        here, there = durable_place.open(), Store.open(tmp_path / "there.db")
        ids = say_and_erase(here)
        assert here.copy_to(there, "main").stored == len(ids)
        assert here.copy_to(there, "main").stored == 0
        is_as_erased(there, here)
        assert [(each.scope, each.reason, each.by) for each in there.erasures] == [
            ("arrived", "asked for", "Ada"),
            ("arrived", "all of it", None),
            ("arrived", "barred", None),
        ]
        later = here.add_turn("later", continues="main")
        here.copy_to(there, "main")
        assert there.log("main")[0].id == later.id
        assert there.verify().problems == ()

    def test_barred_content_does_not_arrive_among_others(self, durable_place: Place, tmp_path: Path) -> None:
        here, there = durable_place.open(), Store.open(tmp_path / "there.db")
        say(here, "a", SECRET, "b")
        there.erase(there.add_turn(SECRET).id, content=True, reason="r")
        with unchanged(there), pytest.raises(BarredContent):
            here.copy_to(there, "main")


class TestEdits:
    def test_a_difference_shows_the_mark_of_what_is_gone(self, store: Store) -> None:
        store.add_turn("q", bookmark="main")
        gone, other = (store.add_turn(words, continues="main~0", moves=False) for words in (SECRET, "said instead"))
        store.erase(gone.id, reason="asked for")
        shown = str(store.diff(gone.id, other.id).to_dict())
        assert "asked for" in shown
        assert SECRET not in shown

    def test_what_is_gone_is_neither_edited_nor_laid_behind_an_edit(self, store: Store) -> None:
        ids = say(store, "q", SECRET, "end")
        store.erase(ids[1], reason="r")
        for headish, keep in ((ids[1], False), (ids[0], True)):
            with unchanged(store), pytest.raises(TurnErased):
                store.edit(headish, "other words", keep=keep)

    def test_an_edit_does_not_say_what_is_barred(self, store: Store) -> None:
        turn = store.add_turn("q", bookmark="main")
        store.erase(store.add_turn(SECRET).id, content=True, reason="r")
        with unchanged(store), pytest.raises(BarredContent):
            store.edit(turn.id, SECRET)


class TestOverlays:
    @pytest.mark.parametrize("meta", [False, True])
    def test_an_erased_summary_goes_on_hiding_what_it_covers(self, store: Store, meta: bool) -> None:
        ids = say(store, "q", "covered one", "covered two", "end")
        overlay = store.summarize(ids[1], ids[2], f"summary {SECRET}", continues="main")
        assert SECRET in str(store.resolve("main").to_dict())
        store.erase(overlay.id, meta=meta, reason="asked for")
        window = store.resolve("main")
        assert [message.turn for message in window.messages] == [ids[0], ids[3]]
        assert any("asked for" in str(note) for note in window.notes)
        assert "covered" not in str(window.to_dict())
        assert [message.turn for message in store.resolve("main", raw=True).messages] == ids
        assert store.tokens("main").turns[-1].turn == ids[3]
        assert store.verify().problems == ()

    def test_what_is_hidden_and_erased_is_not_even_told(self, store: Store) -> None:
        ids = say(store, "q", SECRET, "end")
        store.hide(ids[1], continues="main")
        store.erase(ids[1], reason="asked for")
        window = store.resolve("main")
        assert [message.turn for message in window.messages] == [ids[0], ids[2]]
        assert "asked for" not in str(window.notes)
        assert store.verify().problems == ()

    def test_other_words_stand_in_the_place_of_what_is_erased(self, store: Store) -> None:
        ids = say(store, "q", SECRET, "end")
        store.replace(ids[1], "other words", continues="main")
        store.erase(ids[1], reason="asked for")
        assert [message.text for message in store.resolve("main").messages] == ["q", "other words", "end"]


def test_an_erasure_gives_the_bytes_of_a_quota_back(durable_place: Place) -> None:
    store = durable_place.open()
    turn = store.add_turn("x" * 1000, bookmark="main")
    Database(store._database).spaces.limit(store.space, bytes=1500)
    with pytest.raises(QuotaExceeded):
        store.add_turn("y" * 1000, continues="main")
    store.erase(turn.id, reason="r")
    store.add_turn("y" * 1000, continues="main")
    assert store.verify().problems == ()


class TestBackups:
    def test_a_backup_carries_tombstones_receipts_and_bars(self, durable_place: Place, tmp_path: Path) -> None:
        store = durable_place.open()
        say_and_erase(store)
        made = store.backup(tmp_path / "a.hbackup")
        assert SECRET.encode() not in Path(made.path).read_bytes()
        restore(made.path, tmp_path / "again.db")
        with Store.open(tmp_path / "again.db", space=store.space) as again:
            is_as_erased(again, store)
            assert again.erasures.list() == store.erasures.list()
            with pytest.raises(BarredContent):
                again.add_turn(f"{SECRET} 4")

    @pytest.mark.parametrize("name", ["all.hbackup", "all.db"])
    def test_a_space_that_was_erased_stays_erased(self, file_place: FilePlace, tmp_path: Path, name: str) -> None:
        store = file_place.open("person")
        store.add_turn(SECRET, bookmark="main")
        database = Database(store._database)
        became = database.spaces.erase("person", reason="asked for").became
        database.store("other").add_turn("kept")
        assert became is not None
        made = database.backup(tmp_path / name)
        restore(made.path, tmp_path / "again.db")
        with Database.open(tmp_path / "again.db") as again:
            assert all(not report.problems for report in again.verify().values())
            erased = again.store(became, create=False)
            assert [each.reason for each in erased.erasures][:1] == ["asked for"]
            with pytest.raises(HeadishError):
                erased.add_turn("words")

    def test_gc_leaves_a_space_alone_that_is_being_restored(self, file_place: FilePlace) -> None:
        """Payloads arrive before the turns that name them."""
        store = file_place.open()
        store.add_turn(LARGE)
        database = Database(store._database)
        backend = database.backend
        number, _ = _begin(backend, "half")
        payload = {"hash": b"h" * 32, "size": 3, "data": b"abc", "erased": None}

        def put(connection: object) -> None:
            values = [payload[each] for each in names_of("payload")]
            add_rows(connection, number, "payload", [values])  # type: ignore[arg-type]

        backend.write(put)
        assert database.gc().payloads == 0
        with pytest.raises(SpaceRestoring):
            database.store("half")


class TestReceiptsOfARestore:
    @pytest.fixture
    def before(self, durable_place: Place, tmp_path: Path) -> Store:
        """A space, and a backup of it from before an erasure."""
        store = durable_place.open()
        say(store, "q", f"{SECRET} 1", LARGE, "kept")
        store.backup(tmp_path / "old.hbackup")
        return store

    def export(self, store: Store, path: Path) -> Path:
        path.write_bytes(b"\n".join(map(msgspec.json.encode, store.erasures)) + b"\n\n")
        return path

    def test_what_was_erased_since_is_erased_again_before_anybody_reads(self, before: Store, tmp_path: Path) -> None:
        before.erase("main~2", meta=True, content=True, reason="asked for", by="Ada")
        before.erase("main~1", reason="large")
        Database(before._database).gc(scrub=before._database.backend.scrubs_itself)
        receipts = self.export(before, tmp_path / "receipts.jsonl")
        done = restore(tmp_path / "old.hbackup", tmp_path / "again.db", erasures=receipts)
        assert (done.turns, done.erased, done.unscrubbed) == (4, 2, "")
        assert SECRET.encode() not in (tmp_path / "again.db").read_bytes()
        with Store.open(tmp_path / "again.db", space=before.space) as again:
            assert [each.erased is not None for each in again.turns()] == [False, True, True, False]
            assert [each.seal for each in again.turns()] == [each.seal for each in before.turns()]
            told = [(each.reason, each.by, each.meta) for each in again.erasures if each.scope != "scrub"]
            assert told == [("asked for", "Ada", True), ("large", None, False)]
            assert again.verify().problems == ()
            with pytest.raises(BarredContent):
                again.add_turn(f"{SECRET} 1")

    def test_what_was_said_of_an_erased_conversation_goes_too(self, before: Store, tmp_path: Path) -> None:
        """Its name, title, tags and key, also if it has no name; and a title that repeats what a turn said."""
        words = {"title": f"{SECRET} title", "tags": [f"{SECRET}-tag"], "app": {"words": f"{SECRET} app"}}
        before.add_turn("a", bookmark=f"{SECRET}-name")
        before.conversations.set(f"{SECRET}-name", key=f"{SECRET}-key", **words)
        nameless = before.add_turn("b").id
        before.conversations.set(nameless, key=f"{SECRET}-other", **words)
        repeated = before.add_turn(f"{SECRET} said", bookmark="repeated").id
        before.conversations.set("repeated", title=f"{SECRET} said", tags=["stays"])
        before.conversations.set("main", title="stays", key="stays")
        before.backup(tmp_path / "titled.hbackup")
        before.erase(f"{SECRET}-name", scope="thread", meta=True, reason="asked for")
        before.erase(nameless, scope="thread", meta=True, reason="asked for")
        before.erase(repeated, repeats=True, meta=True, reason="asked for")
        before.erase(["main~2", "main~1"], meta=True, reason="asked for")
        receipts = self.export(before, tmp_path / "receipts.jsonl")
        assert SECRET.encode() not in receipts.read_bytes()
        done = restore(tmp_path / "titled.hbackup", tmp_path / "again.db", erasures=receipts)
        assert (done.erased, done.unscrubbed) == (6, "")
        assert SECRET.encode() not in (tmp_path / "again.db").read_bytes()
        with Store.open(tmp_path / "again.db", space=before.space) as again:
            assert list(again.bookmarks) == list(before.bookmarks) == ["main", "repeated"]
            assert [again.conversations.get(name) for name in again.bookmarks] == [
                before.conversations.get(name) for name in before.bookmarks
            ]
            assert again.conversations.get("main").record.title == "stays"
            assert again.verify().problems == ()

    def test_receipts_that_the_backup_has_or_that_are_of_another_space_take_nothing(
        self, before: Store, tmp_path: Path
    ) -> None:
        other = Database(before._database).store(f"{before.space}-other")
        other.erase(other.add_turn("elsewhere").id, content=True, reason="r")
        before.erase("main~1", reason="large")
        before.backup(tmp_path / "new.hbackup")
        receipts = tmp_path / "receipts.jsonl"
        lines = [*map(msgspec.json.encode, before.erasures), *map(msgspec.json.encode, other.erasures)]
        receipts.write_bytes(b"\n".join(lines))
        done = restore(tmp_path / "new.hbackup", tmp_path / "again.db", erasures=receipts)
        assert done.erased == 0
        with Store.open(tmp_path / "again.db", space=before.space) as again:
            assert again.erasures.list() == before.erasures.list()
            again.add_turn("elsewhere")

    def test_a_file_that_is_none_is_refused_before_anything_is_made(self, before: Store, tmp_path: Path) -> None:
        whole = Database(before._database).store(f"{before.space}-whole")
        whole.add_turn("x")
        became = Database(before._database).spaces.erase(whole.space, reason="r").became
        assert became is not None
        receipts = tmp_path / "receipts.jsonl"
        refused = partial(restore, tmp_path / "old.hbackup", tmp_path / "again.db", erasures=receipts)
        with pytest.raises(InvalidArgument, match="cannot be read"):
            refused()
        for text, said in ((b"\xff\n", "line 1 of"), (b'\n{"number": 1}', "line 2 of"), (b"[]", "not a receipt")):
            receipts.write_bytes(text)
            with pytest.raises(InvalidArgument, match=said):
                refused()
        self.export(Database(before._database).store(became), receipts)
        with pytest.raises(InvalidArgument, match="its whole space was erased"):
            refused()
        assert not (tmp_path / "again.db").exists()

    def test_a_receipt_of_another_turn_with_its_id_restores_nothing(self, before: Store, tmp_path: Path) -> None:
        before.erase("main~1", reason="r")
        receipts = self.export(before, tmp_path / "receipts.jsonl")
        seal = before.get("main~1").seal
        receipts.write_text(receipts.read_text().replace(seal, "0" * len(seal)))
        with pytest.raises(InvalidBackup, match="another seal"):
            restore(tmp_path / "old.hbackup", tmp_path / "again.db", erasures=receipts)
        assert not (tmp_path / "again.db").exists()


def test_a_renamed_bookmark_and_the_log_of_titles_go_with_their_space(durable_place: Place) -> None:
    store = durable_place.open("person")
    store.add_turn("q", bookmark=f"old-{SECRET}")
    store.conversations.set(f"old-{SECRET}", title=SECRET)
    store.bookmarks.rename(f"old-{SECRET}", f"new-{SECRET}")
    Database(store._database).spaces.erase(store.space, reason="r")
    assert SECRET not in str(dump(store))
    assert SECRET.encode().hex() not in str(dump(store))
