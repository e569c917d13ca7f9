"""Conversations: what people call one, what they say of it, and the list of them (rule R33, conversations)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headish import ABSENT, Store
from headish.errors import (
    InputError,
    InvalidArgument,
    InvalidContent,
    KeyTaken,
    RecordChanged,
    UnknownBookmark,
    UnknownConversation,
    UnknownTurn,
)
from headish.values.limits import KEY_LIMIT_BYTES, PREVIEW_BYTES, TAGS_LIMIT, TITLE_LIMIT
from headish.values.results.conversations import Entry, Record
from support.growing import grow
from support.insides import counted_rows, counted_statements, unchanged
from support.places import Place


def listed(store: Store, **options: Any) -> list[Entry]:
    """All entries, page by page."""
    found: list[Entry] = []
    page = store.conversations.list(**options)
    found += page.entries
    while page.after is not None:
        page = store.conversations.list(after=page.after, **options)
        found += page.entries
    return found


def subjects(store: Store, **options: Any) -> list[str]:
    return [entry.conversation.subject for entry in listed(store, **options)]


class TestWhatAConversationIs:
    def test_a_bookmark_is_one(self, store: Store) -> None:
        turn = store.add_turn("a", bookmark="main")
        found = store.conversations.get("main")
        assert (found.name, found.first, found.turn, found.subject) == ("main", None, turn.id, "main")
        assert (found.record, found.revision) == (Record(), None)

    def test_a_turn_of_a_bookmarks_thread_is_of_its_conversation(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c?, a? <- d")
        store.bookmarks.set("main", grown["c?"].id)
        assert {store.conversations.get(turn.id).subject for turn in grown.values()} == {"main"}

    def test_without_a_name_it_is_the_first_turn_that_is_no_instruction(self, store: Store) -> None:
        system = store.add_turn("be kind", role="system")
        developer = store.add_turn("be brief", role="developer", continues=system.id)
        firsts = [store.add_turn(text, continues=developer.id) for text in ("one", "two")]
        answer = store.add_turn("yes", role="assistant", continues=firsts[0].id)
        late = store.add_turn("now in French", role="system", continues=answer.id)
        fork = store.add_turn("oui", role="assistant", continues=late.id)
        retried = store.add_turn("no", role="assistant", continues=firsts[0].id)
        for turn in (firsts[0], answer, late, fork, retried):
            assert store.conversations.get(turn.id).first == firsts[0].id
        assert store.conversations.get(fork.id).turn == retried.id
        assert store.conversations.get(firsts[1].id).first == firsts[1].id
        for turn in (system, developer):
            with pytest.raises(UnknownConversation, match="only system turns"):
                store.conversations.get(turn.id)
        assert subjects(store) == [firsts[1].id, firsts[0].id]

    def test_several_names_in_one_tree_are_conversations_of_their_own(self, store: Store) -> None:
        grown = grow(store, "a? <- b, a? <- c")
        store.bookmarks.set("one", grown["b"].id)
        store.bookmarks.set("two", grown["c"].id)
        assert sorted(subjects(store)) == ["one", "two"]
        with pytest.raises(InvalidArgument, match=r"several bookmarks lie in the conversation of .* \(one, two …\)"):
            store.conversations.get(grown["a?"].id)

    def test_a_name_in_the_middle_of_a_chain_is_a_name_too(self, store: Store) -> None:
        tip = store.add_turn("a", bookmark="here")
        store.add_turn("b", continues=tip.id, bookmark="there")
        store.bookmarks.remove("there")
        store.add_turn("c", continues="@")
        assert subjects(store) == ["here"]

    def test_what_merges_two_is_of_both(self, store: Store) -> None:
        grown = grow(store, "a? <- x, b? <- y, x + y <- end?")
        assert subjects(store) == [grown["b?"].id, grown["a?"].id]
        store.bookmarks.set("both", grown["end?"].id)
        assert subjects(store) == ["both"]

    def test_what_there_is_not_is_an_error(self, store: Store) -> None:
        with pytest.raises(UnknownTurn):
            store.conversations.get("nowhere")
        with pytest.raises(UnknownConversation, match="none has this key") as refused:
            store.conversations.find("k")
        assert isinstance(refused.value, InputError)
        assert isinstance(refused.value, KeyError)


class TestWhatIsSaid:
    def test_what_is_set_stays_until_it_is_set_anew(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        first = store.conversations.set(
            "main", title="Höhen", tags=["a", "b", "a"], key="ext:1", app={"z": 1, "a": [2]}
        )
        assert first.record == Record("Höhen", ("a", "b"), key="ext:1", app={"z": 1, "a": [2]})
        second = store.conversations.set("main", archived=True, pinned=True)
        assert second.record == Record("Höhen", ("a", "b"), True, True, "ext:1", {"z": 1, "a": [2]})
        assert (first.revision, second.revision) == (1, 2)
        assert store.conversations.get("main") == store.conversations.find("ext:1") == second
        bare = store.conversations.set("main", title=None, tags=[], archived=False, pinned=False, key=None, app=None)
        assert bare.record == Record()
        assert store.verify().problems == ()

    def test_of_one_without_a_name(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c?")
        store.conversations.set(grown["c?"].id, title="T", key="k")
        found = store.conversations.get(grown["b"].id)
        assert (found.record.title, found.first, found.turn) == ("T", grown["a?"].id, grown["c?"].id)
        assert store.conversations.find("k") == found
        assert store.verify().problems == ()

    def test_an_append_does_not_touch_it(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        store.conversations.set("main", title="T")
        store.add_turn("b", continues="main")
        found = store.conversations.get("main")
        assert (found.record.title, found.revision, store.text(found.turn)) == ("T", 1, "b")

    @pytest.mark.parametrize("expect", [1, 3, ABSENT], ids=str)
    def test_another_revision_than_the_expected_one_refuses(self, store: Store, expect: Any) -> None:
        store.add_turn("a", bookmark="main")
        store.conversations.set("main", title="one", expect=ABSENT)
        store.conversations.set("main", title="two", expect=1)
        with unchanged(store), pytest.raises(RecordChanged) as refused:
            store.conversations.set("main", title="three", expect=expect)
        assert refused.value.actual == 2

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ({"title": 5}, InvalidArgument),
            ({"title": "x" * (TITLE_LIMIT + 1)}, InvalidArgument),
            ({"title": "\ud800"}, InvalidContent),
            ({"tags": "text"}, InvalidArgument),
            ({"tags": [""]}, InvalidArgument),
            ({"tags": [1]}, InvalidArgument),
            ({"tags": [str(index) for index in range(TAGS_LIMIT + 1)]}, InvalidArgument),
            ({"archived": 1}, InvalidArgument),
            ({"pinned": None}, InvalidArgument),
            ({"key": ""}, InvalidArgument),
            ({"key": "é" * (KEY_LIMIT_BYTES // 2 + 1)}, InvalidArgument),
            ({"app": []}, InvalidArgument),
            ({"app": {"x": float("nan")}}, InvalidContent),
            ({"expect": 0}, InvalidArgument),
        ],
        ids=lambda value: ascii(value)[:30],
    )
    def test_what_cannot_be_said_is_refused(self, store: Store, given: Any, error: type[Exception]) -> None:
        store.add_turn("a", bookmark="main")
        with unchanged(store), pytest.raises(error):
            store.conversations.set("main", **given)


class TestKeys:
    def test_a_key_is_unique_in_its_space(self, place: Place) -> None:
        store, other = place.fresh(), place.open("other")
        for each in (store, other):
            each.add_turn("a", bookmark="one")
            each.add_turn("a", bookmark="two")
            each.conversations.set("one", key="k")
        with unchanged(store), pytest.raises(KeyTaken, match="belongs to the conversation 'one'") as refused:
            store.conversations.set("two", key="k")
        assert (refused.value.key, refused.value.holder) == ("k", "one")
        store.conversations.set("one", key=None)
        assert store.conversations.set("two", key="k").record.key == "k"

    def test_a_removed_name_gives_its_key_up(self, store: Store) -> None:
        one, _ = (store.add_turn("a", bookmark=name) for name in ("one", "two"))
        store.conversations.set("one", key="k", title="T")
        store.bookmarks.remove("one")
        with pytest.raises(UnknownConversation):
            store.conversations.find("k")
        store.conversations.set("two", key="k")
        store.bookmarks.set("one", one.id)
        assert store.conversations.get("one").record == Record("T")
        assert store.conversations.find("k").name == "two"
        assert store.verify().problems == ()


class TestItGoesWithTheName:
    def test_through_a_rename(self, store: Store) -> None:
        store.add_turn("a", bookmark="old")
        store.conversations.set("old", title="T", key="k")
        store.bookmarks.rename("old", "new")
        assert store.conversations.get("new").record == Record("T", key="k")
        assert store.conversations.find("k").name == "new"
        store.add_turn("b", bookmark="old")
        assert store.conversations.get("old").record == Record()
        assert store.verify().problems == ()

    def test_the_first_name_takes_it_over(self, store: Store) -> None:
        for how in ("set", "continue", "record"):
            grown = grow(store, f"a{how}? <- b{how}")
            tip = grown[f"b{how}"].id
            store.conversations.set(tip, title=how)
            if how == "set":
                store.bookmarks.set("set", tip)
            elif how == "continue":
                store.add_turn("more", continues=tip, bookmark="continue")
            else:
                messages = [{"role": "user", "content": "again"}]
                store.record(messages, continues=tip, bookmark="record")
            assert store.conversations.get(how).record.title == how
        store.bookmarks.set("second", "set")
        assert store.conversations.get("second").record == Record()
        assert store.verify().problems == ()

    def test_a_new_name_elsewhere_takes_nothing(self, store: Store) -> None:
        grown = grow(store, "a? <- b, c?")
        store.conversations.set(grown["b"].id, title="T")
        store.add_turn("new", bookmark="main")
        store.bookmarks.set("other", grown["c?"].id)
        assert store.conversations.get(grown["b"].id).record.title == "T"

    def test_a_name_that_was_removed_has_it_again(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        store.conversations.set("main", title="T")
        store.bookmarks.remove("main")
        with pytest.raises(UnknownBookmark):
            store.bookmarks["main"]
        assert (subjects(store), store.verify().problems) == ([store.log("@")[0].id], ())
        store.bookmarks.set("main", "@")
        assert store.conversations.get("main").record.title == "T"


class TestTheList:
    def test_a_turn_counts_once_that_supersedes_the_first_and_continues_it(self, store: Store) -> None:
        first = store.add_turn("a")
        answer = store.add_turn("b", role="assistant", continues=first.id)
        store.add_turn("A", continues=answer.id, supersedes=first.id)
        [entry] = listed(store)
        assert (entry.turns, entry.branches) == (3, 1)

    def test_until_inside_the_millisecond_of_a_move_it_is_there(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        [entry] = listed(store)
        assert listed(store, until=entry.time + timedelta(microseconds=700)) == [entry]
        assert listed(store, until=entry.time) == []

    def test_an_original_that_arrives_after_its_edit_is_the_first(self, place: Place, tmp_path: Path) -> None:
        here, there = place.fresh(), place.fresh()
        original = here.add_turn("a?", key="k")
        edited = here.add_turn("A?", supersedes=original.id, key="k;2")
        answer = here.add_turn("b", role="assistant", continues=edited.id)
        for number, end in enumerate((answer, original)):
            here.bundles.create(tmp_path / str(number), end.id)
            there.bundles.apply(tmp_path / str(number))
        newest = there.find("k")
        assert newest is not None
        assert newest.id == edited.id
        there.conversations.set(answer.id, title="T")
        [entry] = listed(there)
        assert (entry.title, entry.conversation.subject) == ("T", original.id)
        assert entry.conversation.record == there.conversations.get(original.id).record
        assert {turn.id: turn.versions for turn in there.tree(answer.id)} == {
            original.id: 2,
            edited.id: 2,
            answer.id: 1,
        }
        there.bookmarks.set("named", answer.id)
        assert there.conversations.get("named").record.title == "T"

    def test_names_by_recency_then_the_others_newest_first(self, store: Store) -> None:
        nameless = [store.add_turn(f"nameless {index}").id for index in range(3)]
        for name in ("a", "b", "c"):
            store.add_turn(f"first of {name}", bookmark=name)
        store.add_turn("more", continues="a")
        expected = ["a", *sorted(("b", "c"), reverse=True), *nameless[::-1]]
        recent = [bookmark.name for bookmark in store.bookmarks.list(by="recency")]
        assert recent[0] in {"a", "c"}  # in one millisecond names decide
        assert sorted(subjects(store)) == sorted(expected)
        assert subjects(store)[3:] == nameless[::-1]
        for limit in (1, 2, 4):
            assert subjects(store, limit=limit) == subjects(store)

    def test_an_entry_shows_title_last_words_and_model(self, store: Store) -> None:
        store.add_turn("be kind", role="system", bookmark="main")
        store.add_turn("How high\nis  it?", continues="main")
        reply = {"object": "chat.completion", "id": "x", "model": "m-1", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "8849 m"}}]}  # fmt: skip
        store.reply("main", "openai", reply)
        [entry] = listed(store)
        assert (entry.title, entry.last, entry.role, entry.model) == ("How high is it?", "8849 m", "assistant", "m-1")
        assert (entry.branches, entry.conversation.turn) == (None, store.bookmarks["main"])
        store.conversations.set("main", title="Everest", tags=["heights"])
        [entry] = listed(store)
        assert (entry.title, entry.conversation.record.tags) == ("Everest", ("heights",))

    def test_the_last_words_are_those_of_a_person_or_a_model(self, store: Store) -> None:
        """A client lists an instruction behind the messages: where the call fails, it is the last turn."""
        asked = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "q"}]
        told = [{"role": "system", "content": "be brief"}, {"role": "developer", "content": "or not"}]
        store.record([*asked, {"role": "assistant", "content": "a"}, *told], bookmark="named")
        fork = store.add_turn("again", continues="named~3").id  # a fork, so that the instructions are a chain of theirs
        store.add_turn("be quick", role="system", continues=fork, bookmark="forked")
        store.add_turn("be slow", role="system", continues=store.add_turn("be slow", role="system").id, bookmark="none")
        store.add_turn("behind", role="developer", continues=store.add_turn("nameless").id)
        found = {entry.conversation.name: (entry.last, entry.role) for entry in listed(store)}
        assert found == {
            "named": ("a", "assistant"), "forked": ("again", "user"), "none": ("be slow", "system"),
            None: ("nameless", "user"),
        }  # fmt: skip
        assert [entry.conversation.name for entry in listed(store, role="assistant")] == ["named"]
        store.hide("named~2", continues="named", viewer="model")
        [named] = listed(store, names="named")
        assert named.last.startswith("(overlay: hides")

    def test_one_without_a_name_is_listed_once_with_its_branches(self, store: Store) -> None:
        root = store.add_turn("sys", role="system")
        first = store.add_turn("q", continues=root.id)
        for index in range(3):
            store.add_turn(f"a{index}", role="assistant", continues=first.id)
        [entry] = listed(store)
        assert (entry.conversation.first, entry.branches, entry.title, entry.last) == (first.id, 3, "q", "a2")

    def test_one_is_listed_beside_a_name_that_left_it_or_lies_before_it(self, store: Store) -> None:
        """A name that moved along with the last turn of a chain has what is said there, wherever that turn is."""
        system = store.add_turn("sys", role="system", bookmark="before")
        before = store.add_turn("q1", continues="before")
        store.bookmarks.set("before", system.id)
        left = store.add_turn("q2", bookmark="left")
        store.bookmarks.set("left", store.add_turn("q3", bookmark="other").id)
        kept = store.add_turn("q4", bookmark="kept")
        store.add_turn("a4", role="assistant", continues=kept.id, moves=False)
        removed = store.add_turn("q5", bookmark="removed")
        store.bookmarks.remove("removed")
        store.add_turn("q6", bookmark="old")
        store.bookmarks.rename("old", "new")
        without = [before.id, left.id, removed.id]
        assert sorted(subjects(store)) == sorted(["before", "kept", "left", "new", "other", *without])

    def test_where_every_name_moved_along_no_other_statement_looks_for_those_without_one(self, store: Store) -> None:
        store.add_turn("a", role="assistant", continues=store.add_turn("q", bookmark="one").id)
        store.add_turn("q", bookmark="two")
        with counted_statements() as named:
            assert subjects(store) == ["two", "one"]
        assert named.count == 3  # the names, their records, and the chains

    def test_the_first_words_come_through_forks(self, store: Store) -> None:
        grown = grow(store, "q? <- a <- r?, q? <- b <- s?")
        store.bookmarks.set("one", grown["r?"].id)
        store.bookmarks.set("two", store.add_turn("end", continues=grown["s?"].id).id)
        assert {entry.title for entry in listed(store)} == {"q?"}

    def test_long_and_odd_turns_have_short_words(self, store: Store) -> None:
        long = "é\\\n" * PREVIEW_BYTES
        for index, content in enumerate((long, "x" * 3000, "y" * (PREVIEW_BYTES - 100))):
            store.add_turn(content, bookmark=f"long{index}")
        store.add_document(b"\x00" * 5000, name="book.pdf", bookmark="document")
        store.add_turn([{"type": "tool_use", "name": "f", "input": {}}], role="assistant", bookmark="call")
        found = {entry.conversation.name: entry for entry in listed(store)}
        assert found["long0"].title.startswith("é\\ é\\ é\\")
        assert (found["long1"].title, found["long2"].last) == ("x" * 200, "y" * 200)
        assert max(len(entry.title) for entry in found.values()) == 200
        assert (found["document"].last, found["call"].last, found["call"].title) == ("book.pdf", "(call f)", "")

    def test_leaves_out_what_is_gone_unless_it_is_asked_for(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c?, d? <- e, f? <- g <- h?, i? <- j")
        store.bookmarks.set("left", grown["c?"].id)
        store.bookmarks.set("gone", grown["e"].id)
        for erased in ("a?", "c?", "d?", "e", "f?", "h?", "i?", "j"):  # of the first and the third one is left
            store.erase(grown[erased].id, reason="asked", scrub=False)
        assert subjects(store) == ["left", grown["f?"].id]
        assert sorted(subjects(store, erased=True)) == sorted(["left", "gone", grown["f?"].id, grown["i?"].id])
        assert [each.id for by in ("start", "tip") for each in store.heads(by=by)] == []  # type: ignore[arg-type]
        assert len(store.heads(erased=True)) == len(store.heads(by="tip", erased=True)) == 4

    @pytest.mark.parametrize("beside", ["an answer", "an older question"])
    def test_a_name_is_listed_while_a_branch_without_one_is_left_beside_what_is_gone(
        self, store: Store, beside: str
    ) -> None:
        asked = store.add_turn("q", bookmark="main").id
        left = store.add_turn("a", role="assistant", continues="main").id
        if beside == "an answer":
            store.add_turn("b", role="assistant", continues=asked, bookmark="main", force=True)
        else:
            store.edit("main~1", "other q")
        store.erase("main", scope="thread", reason="asked", keep_name=True, scrub=False)
        assert subjects(store) == ["main"]
        store.bookmarks.set("left", left)  # what has a name is listed by it, and need not be listed by another
        assert subjects(store) == ["left"]
        store.erase("left", scope="thread", reason="asked", keep_name=True, scrub=False)
        assert subjects(store) == []

    def test_a_last_turn_without_words_is_told_by_what_it_is(self, store: Store) -> None:
        for name in ("hidden", "replaced", "erased", "result", "large"):
            store.add_turn(f"the words of {name}", bookmark=name)
        store.hide("hidden", viewer="model")
        store.replace("replaced", "better words")
        store.erase("erased", reason="asked")
        for name, said in (("result", "42"), ("large", "x" * 2 * PREVIEW_BYTES)):
            result = {"type": "tool_result", "tool_use_id": "1", "name": "f", "content": said}
            store.add_turn([result], role="tool", continues=name)
        nameless = store.hide(store.add_turn("nameless").id)
        told = {entry.conversation.name: (entry.title, entry.last) for entry in listed(store, erased=True)}
        assert nameless is not None
        assert told == {
            "hidden": ("the words of hidden", "(overlay: hides 1 turn from the model)"),
            "replaced": ("the words of replaced", "(overlay: replaces 1 turn) better words"),
            "erased": ("(erased)", "(erased)"),
            "result": ("the words of result", "(result of f) 42"),
            "large": ("the words of large", "(result …)"),
            None: ("nameless", "(overlay: hides 1 turn from the model and people)"),
        }

    def test_archived_and_pinned_ones(self, store: Store) -> None:
        for name in ("a", "b", "c"):
            store.add_turn(name, bookmark=name)
        nameless = [store.add_turn(text).id for text in "de"]
        for subject in ("a", nameless[0]):
            store.conversations.set(subject, archived=True)
        for subject in ("b", nameless[1]):
            store.conversations.set(subject, pinned=True)
        for limit in (1, 50):
            assert set(subjects(store, limit=limit)) == {"b", "c", nameless[1]}
            assert set(subjects(store, limit=limit, archived=True)) == {"a", nameless[0]}
            assert set(subjects(store, limit=limit, archived=None)) == {"a", "b", "c", *nameless}
            assert set(subjects(store, limit=limit, pinned=True)) == {"b", nameless[1]}

    def test_those_that_use_a_tool(self, store: Store) -> None:
        call = [{"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}]
        store.add_turn("hi", bookmark="before")
        store.add_turn(call, role="assistant", continues="before", bookmark="used")
        store.add_turn("more", continues="used")
        store.add_turn("elsewhere", continues="before~0", bookmark="other")
        nameless = store.add_turn("alone")
        store.add_turn(call, role="assistant", continues=nameless.id)
        listed = [entry.conversation for entry in store.conversations.list(tool="Look_Up").entries]
        assert [(each.name, each.first) for each in listed] == [("used", None), (None, nameless.id)]
        assert not store.conversations.list(tool="nothing").entries

    def test_a_tool_before_a_fork_is_used_by_both_branches_and_one_behind_it_by_one(self, store: Store) -> None:
        call = [{"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}]
        late = [{"type": "tool_use", "id": "c2", "name": "late", "input": {}}]
        grown = grow(store, "before? <- after?")
        early = store.add_turn(call, role="assistant", continues=grown["after?"].id)
        store.bookmarks.set("early", grown["after?"].id)
        for name in ("one", "two", "three"):
            store.add_turn(f"in {name}", continues=early.id, bookmark=name)
        store.add_turn(late, role="assistant", continues="two")
        store.add_turn(late, role="assistant", bookmark="alone")
        store.bookmarks.set("three", grown["before?"].id)
        for limit in (1, 2, 50):
            assert set(subjects(store, limit=limit, tool="look_up")) == {"one", "two"}
            assert set(subjects(store, limit=limit, tool="late")) == {"two", "alone"}

    def test_a_page_of_those_that_use_a_tool_reads_no_turns_of_others(self, store: Store) -> None:
        call = [{"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}]
        read = []
        for _ in range(2):
            store.add_turns({"content": call, "role": "assistant"} for _ in range(200))
            for number in range(3):
                store.add_turn(call, role="assistant", bookmark=f"name{len(read)}-{number}")
            store.conversations.list(limit=3, tool="look_up")
            with counted_rows() as rows:
                page = store.conversations.list(limit=3, tool="look_up")
            assert len(page.entries) == 3
            read.append(rows[0])
        assert read[1] <= read[0] < 100

    def test_an_empty_space_has_none(self, store: Store) -> None:
        assert (store.conversations.list().entries, store.conversations.list().after) == ((), None)

    @pytest.mark.parametrize("given", [{"limit": 0}, {"limit": True}, {"limit": 1001}, {"after": "x"}, {"after": 5},
                                       {"after": "c99999999999999999999"}], ids=str)  # fmt: skip
    def test_what_is_no_page_is_refused(self, store: Store, given: Any) -> None:
        with pytest.raises(InvalidArgument):
            store.conversations.list(**given)


class TestCost:
    def test_a_list_runs_as_many_statements_in_a_full_space(self, place: Place) -> None:
        counts = []
        for others in (3, 120):
            with place.fresh() as store:
                store.add_turns({"content": f"{index}", "bookmark": f"n{index:04}"} for index in range(others))
                store.add_turns(f"nameless {index}" for index in range(others))
                with counted_statements() as counted:
                    page = store.conversations.list(limit=2)
                    store.conversations.list(limit=5, after=f"n0.{b'n'.hex()}")
                    store.conversations.get("n0001")
                    store.conversations.set("n0001", title="T")
                assert len(page.entries) == 2
                counts.append(counted.count)
        assert counts[0] >= counts[1] > 0

    def test_a_page_looks_at_few_chains_and_says_where_to_go_on(self, store: Store) -> None:
        first = store.add_turn("first").id
        store.add_turn("root", bookmark="main")
        for index in range(30):
            store.add_turn(f"fork {index}", continues="main", bookmark=f"fork{index}")
        page = store.conversations.list(limit=2, after="c1000000")
        assert (page.entries, page.after) == ((), "c17")
        assert [each for each in subjects(store, limit=2) if each == first] == [first]
