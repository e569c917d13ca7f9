"""What a turn said is erased: who meets it then, and what stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headish import Database, Store
from headish.errors import (
    BarredContent,
    CorruptTurn,
    InvalidArgument,
    InvalidContent,
    KeyTaken,
    TurnErased,
    UnknownErasure,
    Unrepresentable,
)
from headish.values.blocks import Erased, Text
from headish.values.limits import INLINE_BYTES
from support.growing import grow, texts
from support.insides import run_sql, unchanged
from support.places import FilePlace, Place

LARGE = "x" * (2 * INLINE_BYTES)


@pytest.fixture
def talk(store: Store) -> list[str]:
    """Three turns on ``main``; the second says the secret, in many words."""
    first = store.add_turn("hello", bookmark="main")
    secret = store.add_turn("the secret " + LARGE, continues="main", role="assistant", inherited={"tone": "dry"})
    last = store.add_turn("thanks", continues="main")
    return [first.id, secret.id, last.id]


class TestTheTombstone:
    def test_the_record_stays_and_verify_is_clean(self, store: Store, talk: list[str]) -> None:
        before = store.get(talk[1]).to_dict()
        done = store.erase(talk[1], reason="asked for", by="ana")
        after = store.get(talk[1]).to_dict()
        assert after.pop("erased") == 1
        assert after == before
        assert done.receipt is not None
        assert done.receipt.turns[0].seal == before["seal"]
        assert store.verify().problems == ()
        assert store.resolve("main").options == {"tone": "dry"}
        assert [turn.id for turn in store.children(talk[1])] == talk[2:]

    def test_the_bytes_are_given_back(self, store: Store, talk: list[str]) -> None:
        held = store.stats().payload_bytes
        done = store.erase(talk[1], reason="r")
        assert done.found.bytes > len(LARGE)
        assert store.stats().payload_bytes == held - done.found.bytes

    def test_the_contents_of_many_turns_have_the_mark_of_its_erasure(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="r")
        found = store.contents(talk)
        [(_, message)] = store.messages(talk[1], limit=1)
        assert [*found] == talk
        assert found[talk[1]] == message.content
        assert found[talk[2]] == (Text("thanks"),)

    def test_a_log_that_is_searched_passes_over_it(self, store: Store, talk: list[str]) -> None:
        assert [turn.id for turn in store.log("main", grep="SECRET")] == [talk[1]]
        store.erase(talk[1], reason="r")
        assert store.log("main", grep="secret") == []
        assert [turn.id for turn in store.log("main", grep="hello")] == [talk[0]]

    def test_asking_again_finds_nothing_left(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="r")
        with unchanged(store):
            again = store.erase(talk[1], reason="r")
        assert (again.receipt, again.found.already) == (None, 1)

    def test_a_reason_may_be_of_a_class_of_texts(self, store: Store, talk: list[str]) -> None:
        class Words(str):
            __slots__ = ()

        store.erase(talk[1], reason=Words("asked for"), by=Words("ana"), scrub=False)
        [receipt] = store.erasures.list()
        assert (receipt.reason, receipt.by) == ("asked for", "ana")

    def test_a_dry_run_changes_nothing(self, store: Store, talk: list[str]) -> None:
        with unchanged(store):
            found = store.erase(talk[1], reason="r", content=True, meta=True, dry_run=True).found
        assert (found.turns, found.children, found.barred, found.options) == ((talk[1],), 1, 1, ("tone",))

    def test_with_meta_nothing_that_the_turn_said_of_itself_stays(self, store: Store) -> None:
        turn = store.add_turn(
            "q", bookmark="main", key="k", attributes={"speaker": "Ada"}, meta={"a": 1}, inherited={"o": 1}, cache=True
        )
        later = store.add_turn("a", continues="main")
        seals = [store.get(each).seal for each in (turn.id, later.id)]
        store.erase(turn.id, reason="first the words")
        store.erase(turn.id, meta=True, reason="then the rest")
        left = store.get(turn.id)
        assert (left.erased, left.meta.to_dict()) == (
            3 if store._backend.scrubs_itself else 2,
            {"role": "user", "content_type": "application/json", "cache": True, "continues": []},
        )
        assert [store.get(each).seal for each in (turn.id, later.id)] == seals
        assert store.options("main") == {}
        assert store.verify().problems == ()

    def test_with_meta_a_name_that_points_there_is_found_and_moves_on(self, store: Store) -> None:
        turn = store.add_turn("q", bookmark="main")
        store.erase(turn.id, meta=True, reason="r")
        assert store.bookmarks.at([turn.id]) == {turn.id: ["main"]}
        assert store.tree("main")[0].bookmarks == ("main",)
        more = store.add_turn("a", continues=turn.id)
        assert (more.meta.bookmark, store.bookmarks["main"]) == ("main", more.id)
        store.bookmarks.rename("main", "other")
        assert store.verify().problems == ()


class TestReaders:
    def test_each_says_that_it_was_erased(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="asked for")
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        [[mark]] = [message.content for turn, message in store.messages("main") if turn.erased]
        assert isinstance(mark, Erased)
        assert str(mark) == f"erased on {day}: asked for"
        assert store.thread("main")[1].content == (mark,)
        assert [turn.content for turn in store.tree("main") if turn.id == talk[1]] == [(mark,)]
        assert [turn.content for turn in store.tree("main", limit=9) if turn.id == talk[1]] == [(mark,)]
        assert [turn.erased for turn in store.log("main")] == [None, 1, None]
        assert [turn.text for turn in store.log("main")] == ["thanks", "", "hello"]
        assert [turn.content for turn in store.turns() if turn.erased] == [(mark,)]
        assert "(erased)" in store.get(talk[1])._repr_html_()
        for format in ("html", "markdown", "text"):
            page = store.render("main", format)
            assert f"Erased on {day}: asked for" in page
            assert "secret" not in page
        assert store.render(talk[1], debug=True).count("asked for") == 1

    def test_what_it_said_is_refused_by_name(self, store: Store, talk: list[str]) -> None:
        turn = store.get(talk[1])
        store.erase(talk[1], reason="asked for")
        assert turn.text == ""  # however early it was read
        for read in (store.blocks, store.payload, store.text):
            with pytest.raises(TurnErased, match="asked for") as caught:
                read(talk[1])
            assert (caught.value.turn, caught.value.number) == (talk[1], 1)
        assert store.open_calls(talk[1]) == []

    def test_a_window_leaves_it_out_with_a_note(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="asked for")
        window = store.resolve("main")
        assert texts(store, "main") == ["hello", "thanks"]
        assert [note.turn for note in window.notes] == [talk[1]]
        notes = store.request("main", to="openai", model="m").notes
        assert any("erased" in note.what for note in notes)

    def test_a_transcript_is_refused_unless_it_is_given_up(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="asked for")
        for options in ({}, {"as_user": True}):
            with pytest.raises(Unrepresentable) as caught:
                store.export("main", **options)
            assert caught.value.drops == ("erased",)
            assert "hello" in store.export("main", drop="erased", **options)

    def test_a_page_takes_its_title_from_what_is_left(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[0], reason="private")
        assert "<title>thanks</title>" in store.render("main")
        assert store.conversations.list().entries[0].title == "(erased)"

    def test_a_mark_cannot_be_stored(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="r")
        with pytest.raises(InvalidContent):
            store.add_turn(store.messages("main")[1][1].content)

    def test_bytes_that_are_missing_without_a_receipt_are_damage(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("hello")
        run_sql(store, "UPDATE turn SET data = NULL WHERE pos = 0")
        with pytest.raises(CorruptTurn):
            store.resolve("@")
        assert [problem.what for problem in store.verify().problems][:1] == ["its payload is missing"]


class TestSaidAgain:
    @pytest.mark.parametrize("text", ["short", LARGE], ids=["in its row", "beside it"])
    def test_the_words_are_stored_and_read(self, store: Store, text: str) -> None:
        first = store.add_turn(text)
        store.erase(first.id, reason="r")
        again = store.add_turn(text)
        assert store.text(again.id) == text
        with pytest.raises(TurnErased):
            store.text(first.id)
        assert store.verify().problems == ()

    @pytest.mark.parametrize("text", ["short", LARGE], ids=["in its row", "beside it"])
    def test_equal_bytes_of_other_turns_stay_and_are_counted(self, store: Store, text: str) -> None:
        first, second = store.add_turn(text), store.add_turn(text)
        found = store.erase(first.id, reason="r").found
        assert found.equal_turns == 1
        assert found.kept_bytes == (0 if text == "short" else found.bytes)
        assert store.text(second.id) == text
        with pytest.raises(TurnErased):
            store.text(first.id)
        assert store.thread(first.id)[0].content[0].__class__ is Erased
        assert store.verify().problems == ()
        assert store.erase(second.id, reason="r").found.kept_bytes == 0
        assert Database(store._database).gc(dry_run=True).payloads == 0

    @pytest.mark.parametrize("text", ["short", LARGE], ids=["in its row", "beside it"])
    def test_barred_content_goes_everywhere_and_is_refused(self, store: Store, text: str) -> None:
        first, second = store.add_turn(text, bookmark="a"), store.add_turn(text, bookmark="b")
        done = store.erase(first.id, content=True, reason="r")
        assert done.found.turns == (first.id, second.id)
        store.add_turn("go on", continues="a")
        for add in (
            lambda: store.add_turn(text),
            lambda: store.add_turn(text, continues="a"),
            lambda: store.add_turns(["fine", text]),
            lambda: store.record([{"role": "user", "content": "new"}, {"role": "user", "content": text}]),
            lambda: store.add_turn(text, key="k"),
        ):
            with unchanged(store), pytest.raises(BarredContent) as caught:
                add()
            assert caught.value.number == 1
        assert store.erase(first.id, content=True, reason="r").receipt is None
        assert store.verify().problems == ()

    def test_content_that_was_erased_before_can_still_be_barred(self, store: Store) -> None:
        turn = store.add_turn("again")
        store.erase(turn.id, reason="r")
        store.erase(turn.id, content=True, reason="r")
        with pytest.raises(BarredContent):
            store.add_turn("again")
        assert store.verify().problems == ()

    def test_what_says_nothing_is_not_barred(self, store: Store) -> None:
        store.add_turn("question", bookmark="main")
        store.add_turn("answer", continues="main")
        hidden = store.hide("main~1", continues="main")
        store.add_turn("", continues="main")
        store.add_turn([], continues="main")
        store.add_document(b"", continues="main")
        done = store.erase("main", scope="thread", content=True, reason="r")
        assert done.found.barred == 2
        store.add_turn("another", bookmark="new")
        store.add_turn("", continues="new")
        store.add_turn([], continues="new")
        store.add_document(b"", continues="new")
        assert None not in (hidden, store.hide("new~3", continues="new"))
        assert store.verify().problems == ()

    def test_a_definition_of_barred_bytes_is_refused(self, store: Store) -> None:
        document = store.add_document(b'[{"name":"read"}]', name="x.json")
        store.erase(document.id, content=True, reason="r")
        with pytest.raises(BarredContent):
            store.tools.set("files", [{"name": "read"}])

    @pytest.mark.parametrize("content", [False, True])
    def test_bytes_that_a_definition_has_stay(self, store: Store, content: bool) -> None:
        tools = [{"name": LARGE}]
        store.tools.set("files", tools)
        document = store.add_document(store._read(lambda c: _tools_bytes(c, store)), name="x.json")
        found = store.erase(document.id, content=content, reason="r").found
        assert (found.definitions, found.barred) == (1, 0)
        assert store.tools["files"] == tools
        assert store.verify().problems == ()

    def test_a_list_that_is_sent_again_finds_them_and_brings_no_words_back(self, store: Store) -> None:
        said: list[Any] = [{"role": "user", "content": each} for each in ("one", "two", "three")]
        tip = store.record(said).tip
        store.erase([tip.id, store.get(f"{tip.id}~1").id], meta=True, reason="r")
        again = store.record([*said, {"role": "user", "content": "four"}])
        assert (again.added, again.erased) == (1, 2)
        assert texts(store, again.tip.id) == ["one", "four"]
        assert store.record([{"role": "user", "content": "one"}]).erased == 0

    @pytest.mark.parametrize("meta", [False, True])
    def test_an_import_recognises_the_key_of_an_erased_turn(self, store: Store, meta: bool) -> None:
        turn = store.add_turn("words", key="f:1", attributes={"speaker": "Ada"})
        store.erase(turn.id, meta=meta, reason="r")
        assert store.add_turn("words", key="f:1", attributes={"speaker": "Ada"}).id == turn.id
        found = store.find("f:1")
        assert found is not None
        assert found.id == turn.id
        with pytest.raises(KeyTaken):
            store.add_turn("other words", key="f:1")
        with pytest.raises(TurnErased):
            store.text(turn.id)
        assert store.verify().problems == ()


def _tools_bytes(connection: Any, store: Store) -> bytes:
    from headish.rows.definitions import TOOLS, find_definition

    row = find_definition(connection, store._number, TOOLS, b"files")
    assert row is not None
    return bytes(row[3])


class TestWhatRepeatsIt:
    def test_versions_copies_and_titles_are_named_and_taken_on_request(self, store: Store) -> None:
        first = store.add_turn("my trip to Rome", key="k", bookmark="main")
        second = store.add_turn("my trip to Rome in May", key="k;2", supersedes=first.id)
        copy = store.add_turn("my trip to Rome!", copy_of=first.id)
        store.conversations.set("main", title="Trip to Rome")
        found = store.erase(first.id, reason="r", dry_run=True).found
        assert {(each.kind, each.subject) for each in found.repeats} == {
            ("version", second.id), ("copy", copy.id), ("title", "main"),
        }  # fmt: skip
        done = store.erase(second.id, repeats=True, reason="r")
        assert set(done.found.turns) == {first.id, second.id, copy.id}
        assert store.conversations.get("main").record.title == ""
        assert store.verify().problems == ()

    def test_they_are_found_too_when_the_words_are_gone_already(self, store: Store) -> None:
        first = store.add_turn("my trip to Rome", key="k", bookmark="main")
        version = store.add_turn("my trip to Rome in May", key="k;2", supersedes=first.id)
        copy = store.add_turn("my trip to Rome!", copy_of=first.id)
        store.add_turn("else", bookmark="other")
        store.conversations.set("main", title="Trip to Rome")
        store.conversations.set("other", title="as after the trip to Rome")
        store.erase(first.id, meta=True, reason="r")
        asked = store.erase(first.id, meta=True, reason="r")
        repeats = {("version", version.id), ("copy", copy.id), ("title", "main")}
        assert asked.receipt is None
        assert {(each.kind, each.subject) for each in asked.found.repeats} == repeats
        done = store.erase(first.id, repeats=True, reason="r").found
        assert (set(done.turns), done.titles) == ({version.id, copy.id}, ("main",))
        assert store.conversations.get("main").record.title == ""
        # Nobody can tell any more whether this one repeats it.
        assert (done.uncompared_titles, store.conversations.get("other").record.title[:2]) == (1, "as")
        left = store.erase(first.id, repeats=True, reason="r")
        assert (left.receipt, left.found.repeats, left.found.uncompared_titles) == (None, (), 1)
        assert store.erase(first.id, reason="r").found.repeats == ()
        assert store.verify().problems == ()

    def test_a_title_that_only_a_version_says_goes_too(self, store: Store) -> None:
        first = store.add_turn("a", key="k", bookmark="main")
        store.add_turn("my trip to Rome in May", key="k;2", supersedes=first.id)
        store.add_turn("else", bookmark="other")
        store.conversations.set("other", title="Rome in May")
        assert store.erase(first.id, repeats=True, reason="r").found.titles == ("other",)
        assert store.conversations.get("other").record.title == ""

    def test_the_title_of_a_bookmark_that_was_moved_away_or_removed_is_found(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="gone")
        second = store.add_turn("my trip to Rome", continues="gone")
        store.bookmarks.set("moved", second.id)
        store.conversations.set("gone", title="Rome")
        store.conversations.set("moved", title="Rome")
        store.bookmarks.set("moved", first.id)
        store.bookmarks.remove("gone")
        store.erase(second.id, reason="r")
        assert set(store.erase(second.id, repeats=True, reason="r").found.titles) == {"gone", "moved"}

    def test_an_overlay_over_it_is_named(self, file_place: FilePlace) -> None:
        store = file_place.open()
        first = store.add_turn("words", bookmark="main")
        over = store.add_turn("shorter", continues="main", attributes={"extra": {"covers": first.digest}})
        run_sql(store, f"UPDATE turn SET type = 'overlay' WHERE id = '{over.id}'")
        [repeat] = store.erase(first.id, reason="r", dry_run=True).found.repeats
        assert (repeat.kind, repeat.subject) == ("overlay", over.id)

    def test_answers_that_are_arriving_are_named(self, store: Store) -> None:
        turn = store.add_turn("q", bookmark="main")
        capture = store.capture("main", "anthropic")
        assert store.erase(turn.id, reason="r").found.streams == tuple(store.streams)
        answer = capture.finish()
        assert answer.meta.continues == (turn.id,)


class TestReceipts:
    def test_they_hold_who_when_and_why_and_no_content(self, store: Store, talk: list[str]) -> None:
        store.erase(talk[1], reason="asked for", by="ana")
        receipt = store.erasures[1]
        assert (receipt.reason, receipt.by, receipt.scope, receipt.stays) == (
            "asked for",
            "ana",
            "turn",
            {"children": 1},
        )
        assert receipt.not_reached
        assert store.erasures.is_scrubbed is store._backend.scrubs_itself
        assert [each.number for each in store.erasures if each.covers is None] == [1]
        with pytest.raises(UnknownErasure):
            store.erasures[9]

    @pytest.mark.parametrize("reason", ["", " ", "x" * 1025, "é" * 513, None, "\ud800"])
    def test_a_reason_has_limits(self, store: Store, talk: list[str], reason: Any) -> None:
        with unchanged(store), pytest.raises((InvalidArgument, InvalidContent)):
            store.erase(talk[1], reason=reason)

    def test_only_what_was_said_before_a_time(self, store: Store) -> None:
        old = datetime.now(UTC) - timedelta(days=9)
        store.add_turn("old", bookmark="main", said_at=old)
        new = store.add_turn("new", continues="main")
        limit = datetime.now(UTC) - timedelta(days=1)
        assert len(store.erase("main", scope="thread", said_before=limit, reason="r").found.turns) == 1
        assert store.text(new.id) == "new"
        with pytest.raises(InvalidArgument):
            store.erase("main", said_before=datetime(2020, 1, 1), reason="r")


class TestCopies:
    @pytest.mark.parametrize("meta", [False, True])
    def test_a_tombstone_arrives_as_one_with_a_receipt(self, place: Place, meta: bool) -> None:
        store = place.open("here")
        grown = grow(store, "q? <- a <- r?")
        store.bookmarks.set("main", grown["r?"].id)
        store.erase(grown["a"].id, meta=meta, reason="asked for")
        Database(store._database).spaces.add(f"{store.space}-there")
        there = Database(store._database).store(f"{store.space}-there")
        for _ in range(2):
            store.copy_to(there.space, "main")
        assert [turn.to_dict() for turn in there.turns()] == [store.get(turn.id).to_dict() for turn in there.turns()]
        assert (there.erasures[1].reason, there.erasures[1].scope) == ("asked for", "arrived")
        assert (there.verify().problems, store.verify().problems) == ((), ())

    @pytest.mark.parametrize("by", ["store", "transaction"])
    def test_a_copy_in_another_space_is_named_until_it_is_erased_there(self, place: Place, by: str) -> None:
        store = place.open("here")
        name = f"{store.space}-there"
        Database(store._database).spaces.add(name)
        there = Database(store._database).store(name)
        turn = store.add_turn("words", bookmark="main")
        store.copy_to(name, "main")
        assert store.erase(turn.id, reason="r", dry_run=True).found.elsewhere == {name: 1}
        if by == "store":
            store.erase(turn.id, meta=True, content=True, repeats=True, reason="r")
        else:
            store.write(lambda write: write.erase_conversation("main", "r"))
        [first, *_] = store.erasures
        assert first.not_reached[0] == "copies of these turns in other spaces of this database (1)"
        assert any("other databases" in each for each in first.not_reached)
        assert store.erase(turn.id, reason="r").found.elsewhere == {name: 1}
        there.erase(turn.id, reason="r")
        assert store.erase(turn.id, reason="r").found.elsewhere == {}
        assert (there.verify().problems, store.verify().problems) == ((), ())

    def test_barred_content_does_not_arrive(self, place: Place) -> None:
        store = place.open("here")
        Database(store._database).spaces.add(f"{store.space}-there")
        there = Database(store._database).store(f"{store.space}-there")
        there.erase(there.add_turn("words").id, content=True, reason="r")
        store.add_turn("words", bookmark="main")
        with unchanged(there), pytest.raises(BarredContent):
            store.copy_to(there.space, "main")
