"""The name of a bookmark is erased: it becomes another one, its moves stay, and nothing brings it back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from erasing.test_races import together
from headish import Store, restore
from headish.content.hashes import mark_name
from headish.errors import HeadishError, InvalidArgument, UnknownBookmark
from support.capturers import BEGUN, EVENTS, begin
from support.insides import dump, unchanged
from support.places import FilePlace, Place

NAME = "ada-lovelace"


@pytest.fixture
def named(store: Store) -> Store:
    """A thread whose last two names are a person's; each turn of it lost what it says of the name."""
    store.add_turn("q")
    store.bookmarks.set(NAME, "@")
    store.bookmarks.rename(NAME, f"{NAME}-2")
    store.conversations.set(f"{NAME}-2", title="swimming")
    return store


def says_nothing(store: Store) -> None:
    """No column holds the name, and all is in order."""
    assert NAME not in str(dump(store))
    assert NAME.encode().hex() not in str(dump(store))
    assert store.verify().problems == ()


class TestTheName:
    def test_it_and_the_ones_before_it_are_in_no_row(self, named: Store) -> None:
        moves = [each.turn for each in named.bookmarks.history(f"{NAME}-2")]
        done = named.bookmarks.erase(f"{NAME}-2", reason="asked for", by="Ada")
        assert (done.became, done.found.names) == ("erased-1", (f"{NAME}-2", NAME))
        # Renames are moves now: what told them apart was the name.
        assert [each.turn for each in named.bookmarks.history("erased-1")] == [*moves, *moves, *moves]
        assert list(named.bookmarks) == ["erased-1"]
        assert named.conversations.get("erased-1").record.title == "swimming"
        assert (named.erasures[1].scope, named.erasures[1].by) == ("bookmark", "Ada")
        says_nothing(named)

    def test_the_bookmark_goes_on_under_its_new_name(self, named: Store) -> None:
        named.bookmarks.erase(f"{NAME}-2", reason="r")
        turn = named.add_turn("more", continues="erased-1")
        assert (turn.meta.bookmark, named.bookmarks["erased-1"]) == ("erased-1", turn.id)
        named.add_turn("another", bookmark=NAME)
        assert named.verify().problems == ()

    def test_one_that_was_removed_goes_with_its_history(self, store: Store) -> None:
        store.add_turn("q", bookmark=NAME)
        store.conversations.set(NAME, title="t")
        store.bookmarks.remove(NAME)
        done = store.bookmarks.erase(NAME, reason="r")
        with pytest.raises(UnknownBookmark):
            store.bookmarks.history(NAME)
        assert len(store.bookmarks.history("erased-1")) == 2
        assert done.found.counts == {"moves": 2, "turns": 1}
        assert store.verify().problems == ()
        store.erase("@", meta=True, reason="the turn that says it")
        says_nothing(store)

    def test_turns_that_say_it_are_counted_and_lose_it_with_their_meta(self, store: Store) -> None:
        store.add_turn("q", bookmark=NAME)
        store.add_turn("a", continues=NAME, role="assistant")
        assert store.bookmarks.erase(NAME, reason="r", dry_run=True).found.counts == {"moves": 2, "turns": 2}
        store.bookmarks.erase(NAME, reason="r")
        assert store.verify().problems == ()
        store.erase("erased-1", scope="thread", meta=True, reason="r")
        says_nothing(store)

    @pytest.mark.parametrize("scope", ["thread", "branch"])
    def test_it_goes_with_a_conversation_of_which_nothing_is_left(
        self, store: Store, scope: Literal["thread", "branch"]
    ) -> None:
        store.add_turn("q", bookmark=NAME)
        store.add_turn("a", continues=NAME, role="assistant")
        store.add_turn("else", bookmark="other")
        store.conversations.set(NAME, title=f"{NAME} asks", tags=[NAME], key=NAME, app={"who": NAME})
        assert store.erase(NAME, scope=scope, reason="r", dry_run=True).found.names_gone == (NAME,)
        done = store.erase(NAME, scope=scope, meta=True, reason="r")
        assert (done.found.names_gone, done.found.names, list(store.bookmarks)) == ((NAME,), (), ["other"])
        with pytest.raises(UnknownBookmark):
            store.bookmarks.history(NAME)
        assert [each.conversation.name for each in store.conversations.list().entries] == ["other"]
        says_nothing(store)

    def test_what_is_said_of_a_nameless_conversation_goes_with_it(self, store: Store) -> None:
        turn = store.add_turn("q")
        store.conversations.set(turn.id, title=f"{NAME} asks", tags=[NAME], key=NAME, app={"who": NAME})
        other = store.add_turn("else")
        store.conversations.set(other.id, title="else")
        done = store.erase(turn.id, scope="thread", reason="r")
        assert done.receipt is not None
        assert done.receipt.counts == {"records": 1}
        assert store.conversations.get(other.id).record.title == "else"
        says_nothing(store)

    def test_what_is_said_of_a_nameless_conversation_can_stay(self, store: Store) -> None:
        turn = store.add_turn("q")
        store.conversations.set(turn.id, tags=["t"])
        store.erase(turn.id, scope="thread", keep_name=True, reason="r")
        assert store.conversations.get(turn.id).record.tags == ("t",)

    def test_it_stays_when_it_is_asked_to_and_goes_later(self, store: Store) -> None:
        turn = store.add_turn("q", bookmark=NAME)
        store.conversations.set(NAME, title="t")
        store.erase(NAME, scope="thread", keep_name=True, meta=True, reason="r")
        assert list(store.bookmarks) == [NAME]
        assert store.conversations.get(NAME).record.title == "t"
        later = store.erase(turn.id, scope="thread", reason="r")
        assert later.receipt is not None
        assert later.receipt.scope == "bookmark"
        assert list(store.bookmarks) == []
        says_nothing(store)

    def test_one_that_leads_to_more_than_goes_stays(self, store: Store) -> None:
        first = store.add_turn("q", bookmark=NAME)
        store.bookmarks.set("root", first.id)
        store.add_turn("a", continues=NAME)
        store.erase("root", scope="thread", reason="r")
        assert list(store.bookmarks) == [NAME]
        store.erase(NAME, reason="the last turn alone")
        assert list(store.bookmarks) == [NAME]

    def test_another_bookmark_that_had_it_once_forgets_that(self, store: Store) -> None:
        store.add_turn("q")
        store.bookmarks.set(NAME, "@")
        store.bookmarks.rename(NAME, "other")
        store.bookmarks.set(NAME, "@")
        store.bookmarks.erase(NAME, reason="r")
        assert list(store.bookmarks) == ["erased-1", "other"]
        says_nothing(store)

    def test_a_name_that_somebody_else_has_taken_since_stays_theirs(self, store: Store) -> None:
        store.add_turn("q")
        store.bookmarks.set("theirs", "@")
        store.bookmarks.rename("theirs", NAME)
        store.bookmarks.set("theirs", "@")
        store.conversations.set("theirs", title="t")
        store.bookmarks.set("erased-1", "@")
        assert store.bookmarks.erase(NAME, reason="r").became == "erased-1-"
        assert list(store.bookmarks) == ["erased-1", "erased-1-", "theirs"]
        assert store.conversations.get("theirs").record.title == "t"
        says_nothing(store)

    def test_a_dry_run_and_a_refusal_change_nothing(self, named: Store) -> None:
        with unchanged(named):
            assert named.bookmarks.erase(f"{NAME}-2", reason="r", dry_run=True).receipt is None
            with pytest.raises(UnknownBookmark, match="never was"):
                named.bookmarks.erase("nobody", reason="r")
            with pytest.raises(InvalidArgument):
                named.bookmarks.erase(f"{NAME}-2", reason=" ")


def test_an_answer_that_is_arriving_does_not_bring_it_back(store: Store) -> None:
    store.add_turn("q")
    store.bookmarks.set("main", "@")
    capture = begin(store)
    done = store.bookmarks.erase("main", reason="r")
    assert len(done.found.streams) == 1
    for event in EVENTS[len(BEGUN) :]:
        capture.feed(event)
    assert capture.finish().meta.bookmark is None
    assert list(store.bookmarks) == ["erased-1"]
    assert store.verify().problems == ()


def test_no_file_holds_the_name_then(file_place: FilePlace) -> None:
    store = file_place.open()
    store.add_turn("q")
    store.bookmarks.set(NAME, "@")
    assert store.bookmarks.erase(NAME, reason="r").scrubbed
    store.close()
    for path in Path(file_place.target).parent.iterdir():
        assert NAME.encode() not in path.read_bytes(), path


def test_whoever_follows_is_told_and_meets_the_new_name(named: Store) -> None:
    cursor = named.position()
    named.bookmarks.erase(f"{NAME}-2", reason="asked for")
    told = [each for each in named.follow(cursor, wait=False) if each.kind != "live"]
    assert [each.kind for each in told if each.kind in ("move", "erasure")][:2] == ["move", "erasure"]
    assert [each.name for each in told if each.kind == "move"] == ["erased-1"]
    receipts = [each.receipt for each in told if each.kind == "erasure"]
    assert [each["became"] for each in receipts[0]["names"]] == ["erased-1"]
    mine = [each.kind for each in named.follow(cursor, wait=False, bookmark=f"{NAME}-2")]
    assert set(mine) == {"erasure", "live"}
    assert NAME not in str(list(named.follow(wait=False)))


def test_of_two_who_erase_it_one_is_told_that_it_never_was(durable_place: Place) -> None:
    one, other = durable_place.open(), durable_place.open()
    one.add_turn("q")
    one.bookmarks.set(NAME, "@")

    def erase(store: Store) -> str:
        try:
            return store.bookmarks.erase(NAME, reason="r", scrub=False).became or ""
        except HeadishError as error:
            return type(error).__name__

    assert sorted(together(lambda: erase(one), lambda: erase(other))) == ["UnknownBookmark", "erased-1"]
    assert one.verify().problems == ()


class TestBackups:
    def test_a_restore_takes_the_name_that_a_receipt_marks(self, durable_place: Place, tmp_path: Path) -> None:
        store = durable_place.open()
        store.add_turn("q")
        store.bookmarks.set(NAME, "@")
        store.bookmarks.set("kept", "@")
        store.backup(tmp_path / "old.hbackup")
        store.bookmarks.rename(NAME, f"{NAME}-2")
        store.bookmarks.erase(f"{NAME}-2", reason="asked for")
        store.bookmarks.set(NAME, "@")
        store.backup(tmp_path / "new.hbackup")
        lines = list(map(msgspec.json.encode, store.erasures))
        (tmp_path / "receipts.jsonl").write_bytes(b"\n".join(lines))
        assert NAME.encode() not in b"".join(lines)
        for file, names in (("old", ["erased-1", "kept"]), ("new", [NAME, "erased-1", "kept"])):
            target = tmp_path / f"{file}.db"
            done = restore(tmp_path / f"{file}.hbackup", target, erasures=tmp_path / "receipts.jsonl")
            assert (done.erased, done.unscrubbed) == (int(file == "old"), "")
            with Store.open(target, space=store.space) as again:
                assert list(again.bookmarks) == names
                assert again.verify().problems == ()
            assert (NAME.encode() in target.read_bytes()) == (NAME in names)

    def test_the_mark_of_a_name_is_this_hash(self) -> None:
        assert (
            mark_name(b"main", b"\1" * 32).hex() == "a4da70fb335f539badfe0d37266cbc83ed4d319b3cfe4b9ec8aa243c0bae8523"
        )
