"""Editing: a sibling that is like the turn in all but its content, and the rest of the branch behind it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headish import ABSENT, Store, Turn
from headish.content.drafts import make_draft
from headish.errors import BookmarkMoved, InvalidArgument, InvalidContent, TooLarge
from headish.history.edits.branches import HEADS_SHOWN
from headish.history.edits.edit import Edited
from headish.history.writing.append import append
from support.dags import Parents, dags, reference_walk
from support.growing import grow, texts
from support.insides import counted_statements
from support.places import Place

LINE = "q? <- a <- r? <- b"
SAID = datetime(2020, 5, 1, tzinfo=UTC)
ANSWER = {
    "object": "chat.completion", "id": "r1", "model": "m-1", "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "an answer"}}],
}  # fmt: skip


def line(store: Store, **common: Any) -> dict[str, Turn]:
    grown = grow(store, LINE, **common)
    store.bookmarks.set("main", grown["b"].id)
    return grown


class TestOneTurn:
    def test_it_is_a_sibling_that_supersedes_the_old_one(self, store: Store) -> None:
        grown = line(store)
        done = store.edit("main~2", "A")
        assert done.turn.meta.continues == grown["a"].meta.continues
        assert done.turn.meta.system == {"supersedes": grown["a"].id}
        assert (texts(store, "main"), texts(store, grown["b"].id)) == (["q?", "A"], ["q?", "a", "r?", "b"])
        assert store.verify().problems == ()

    def test_all_but_the_content_stays_as_it_was(self, store: Store) -> None:
        old = store.add_turn(
            "a", role="developer", attributes={"speaker": "Ann"}, inherited={"x": {"y": 1}}, meta={"mine": [1]},
            cache=True, said_at=SAID, key="k",
        )  # fmt: skip
        new = store.edit(old.id, "b").turn
        for field in ("role", "attributes", "inherited", "app", "cache", "type", "content_type"):
            assert getattr(new.meta, field) == getattr(old.meta, field)
        assert new.meta.system == {"supersedes": old.id}
        assert new.said_at == new.time

    def test_a_text_takes_the_place_of_the_text_and_leaves_other_blocks(self, store: Store) -> None:
        call = {"type": "tool_use", "id": "c", "name": "f", "input": {"b": 1, "a": 2}}
        old = store.add_turn([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, call], role="assistant")
        new = store.edit(old.id, "three").turn
        assert store.text(new.id) == "three"
        assert store.blocks(new.id)[1:] == store.blocks(old.id)[2:]

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ([{"type": "tool_use", "id": "c", "name": "f", "input": {}}], "holds no text"),
            (["one", {"type": "tool_use", "id": "c", "name": "f", "input": {}}, "two"], "several texts"),
        ],
    )
    def test_a_text_is_refused_where_it_is_not_clear_what_it_replaces(
        self, store: Store, content: Any, why: str
    ) -> None:
        old = store.add_turn(content, role="assistant")
        with pytest.raises(InvalidArgument, match=why):
            store.edit(old.id, "x")
        assert store.text(store.edit(old.id, ["x"]).turn.id) == "x"

    def test_blocks_and_their_json_take_the_place_of_all(self, store: Store) -> None:
        old = store.add_turn("a", bookmark="main")
        store.edit("main", ["b", "c"])
        store.edit("main", '[{"type":"text","text":"d"}]', json=True)
        assert [store.text(turn.id) for turn in store.siblings(old.id).turns] == ["a", "bc", "d"]

    def test_a_document_keeps_its_name_and_type(self, store: Store) -> None:
        old = store.add_document(b"one", name="notes.txt", bookmark="main")
        new = store.edit("main", b"longer").turn
        assert (new.meta.document_name, new.meta.content_type) == ("notes.txt", old.meta.content_type)
        assert (store.payload(new.id), new.meta.system["file_size"]) == (b"longer", 6)
        assert store.payload(store.edit("main", "text").turn.id) == b"text"
        with pytest.raises(InvalidArgument, match="is a document"):
            store.edit("main", ["blocks"])

    def test_an_edited_answer_says_so_and_its_tokens_count_once(self, store: Store) -> None:
        store.add_turn("q?", bookmark="main")
        store.reply("main", "openai", ANSWER)
        store.add_turn("and?", continues="main")
        store.reply("main", "openai", {**ANSWER, "id": "r2"})
        edited = store.edit("main~2", "better", keep=True)
        assert edited.turn.meta.reply == {"provider": "openai", "model": "m-1", "edited": True}
        copy = store.get("main").meta.reply
        assert (copy["model"], copy["stop_reason"], "usage" in copy) == ("m-1", "end_turn", False)
        [count] = store.usage(None)
        assert (count.replies, count.silent, count.usage.output_tokens) == (2, 0, 8)
        [count] = store.usage("main")
        assert count.replies == 0

    def test_the_author_is_whoever_edits(self, place: Place) -> None:
        place.open(author="Ann").add_turn("a", bookmark="main")
        assert place.reuse().get("main").meta.system["author"] == "Ann"

    @pytest.mark.parametrize(
        ("content", "error"), [("a", InvalidArgument), (b"bytes", InvalidArgument), ("\ud800", InvalidContent)]
    )
    def test_what_is_refused_stores_nothing(self, store: Store, content: Any, error: type[Exception]) -> None:
        store.add_turn("a", bookmark="main")
        with pytest.raises(error):
            store.edit("main", content)
        assert store.stats().turns == 1

    def test_a_text_past_the_limit_is_refused(self, place: Place) -> None:
        store = place.open(payload_limit_bytes=100)
        store.add_turn("a", bookmark="main")
        with pytest.raises(TooLarge):
            store.edit("main", "x" * 100)


class TestNames:
    def test_a_name_moves_once_and_one_step_back_undoes_the_edit(self, store: Store) -> None:
        grown = line(store)
        store.edit("main~2", "A", keep=True)
        assert len(store.bookmarks.history("main")) == 2
        store.bookmarks.set("main", "main@{1}")
        assert store.bookmarks["main"] == grown["b"].id

    @pytest.mark.parametrize("keep", [False, True])
    def test_an_id_the_newest_turn_and_a_past_position_move_nothing(self, store: Store, keep: bool) -> None:
        grown = line(store)
        for headish in (grown["a"].id, "@", "main@{0}~1"):
            assert store.edit(headish, f"by {headish}", keep=keep and headish != "@").bookmark is None
            assert dict(store.bookmarks) == {"main": grown["b"].id}
            store.bookmarks.set("other", "@")
            store.bookmarks.remove("other")
            if keep:
                break  # a second branch follows now

    def test_other_names_at_the_turn_stay(self, store: Store) -> None:
        grown = line(store)
        store.bookmarks.set("mark", grown["b"].id)
        store.edit("main", "B")
        assert store.bookmarks["mark"] == grown["b"].id

    def test_expect_refuses_where_the_name_has_moved(self, store: Store) -> None:
        grown = line(store)
        for expect in (grown["a"].id, ABSENT):
            with pytest.raises(BookmarkMoved):
                store.edit("main~1", "x", expect=expect)
        with pytest.raises(InvalidArgument, match="expect needs a bookmark"):
            store.edit(grown["a"].id, "x", expect=grown["b"].id)
        assert store.edit("main~1", "x", expect=grown["b"].id).bookmark == "main"

    def test_undo_goes_back_along_the_edited_branch(self, store: Store) -> None:
        line(store)
        store.edit("main~2", "A", keep=True)
        assert [store.text(turn.id) for turn in store.bookmarks.undo("main", 2)] == ["r?", "b"]
        assert texts(store, "main") == ["q?", "A"]


class TestKeep:
    def test_copies_say_whose_they_are_and_when_it_was_said(self, store: Store) -> None:
        grown = line(store)
        late = store.add_turn("late", continues="main", said_at=SAID, key="k", meta={"mine": 1})
        done = store.edit("main~3", "A", keep=True)
        copies = store.log("main", limit=3)[::-1]
        assert [copy.meta.system["copy_of"] for copy in copies] == [grown["r?"].id, grown["b"].id, late.id]
        assert [copy.said_at for copy in copies] == [grown["r?"].said_at, grown["b"].said_at, SAID]
        assert (copies[2].meta.key, copies[2].meta.app) == (None, {"mine": 1})
        assert store.find("k") == late
        assert (done.kept, done.tip) == (3, store.bookmarks["main"])

    def test_an_id_is_refused_where_several_branches_follow(self, store: Store) -> None:
        grown = grow(store, "q? <- a <- r?, q? <- b")
        with pytest.raises(InvalidArgument, match=r"2 branches follow turn .* set a bookmark to the end of one"):
            store.edit(grown["q?"].id, "Q", keep=True)
        assert store.edit(grown["a"].id, "A", keep=True).kept == 1

    def test_the_ends_of_all_branches_are_looked_up_at_once(self, store: Store) -> None:
        """A branch that others continue is no end, and its own last turn is told from those that lead to it."""
        root = store.add_turn("q?", bookmark="main").id
        counts = []
        for branches in (2, 12):
            for _ in range(branches - len(counts) * 2):
                store.add_turns([{"content": "a", "continues": root}, {"content": "r?", "continues": 0}])
            with counted_statements() as counted, pytest.raises(InvalidArgument, match=f"^{branches} branches follow"):
                store.edit(root, "Q", keep=True)
            counts.append(counted.count - min(branches, HEADS_SHOWN))  # each that is shown is looked up
        assert counts[0] == counts[1]

    def test_a_merge_stays_a_merge(self, store: Store) -> None:
        grown = grow(store, "q? <- a, q? <- b, other <- deep, a + deep + b <- end")
        done = store.edit(grown["q?"].id, "Q", keep=True)
        assert texts(store, done.tip) == ["Q", "a", "other", "deep", "b", "end"]
        assert done.kept == 3
        assert grown["deep"].id in store.get(done.tip).meta.continues

    def test_a_branch_of_several_portions_is_one_transaction(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.history.edits.edit.BATCH_TURNS", 7)
        monkeypatch.setattr("headish.history.edits.branches.PORTION", 5)
        store.add_turns({"content": str(index), "respond": index > 0} for index in range(40))
        store.bookmarks.set("main", "@")
        done = store.edit("main~38", "new", keep=True)
        assert texts(store, "main") == ["0", "new", *map(str, range(2, 40))]
        assert (done.kept, store.stats().turns) == (38, 79)
        assert store.verify().problems == ()

    def test_a_failure_behind_many_copies_leaves_nothing(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.history.edits.edit.BATCH_TURNS", 2)
        store.add_turns({"content": str(index), "respond": index > 0} for index in range(9))
        store.bookmarks.set("main", "@")
        before = dict(store.bookmarks)

        def fail(*_: object, **__: object) -> None:
            raise InvalidArgument("as if a turn were damaged")

        with monkeypatch.context() as patched:
            made = iter(range(6))
            from headish.history.edits import edit

            whole = edit.copied_draft
            patched.setattr(edit, "copied_draft", lambda *a, **k: whole(*a, **k) if next(made) < 5 else fail())
            with pytest.raises(InvalidArgument, match="as if"):
                store.edit("main~7", "new", keep=True)
        assert (store.stats().turns, dict(store.bookmarks)) == (9, before)

    def test_the_copy_of_an_overlay_covers_the_copies(self, store: Store) -> None:
        """An overlay names the turns that it covers by their digests; those before the edit keep theirs."""
        grown = line(store)
        covered = {"speaker": grown["a"].digest, "recipient": grown["r?"].digest}
        draft = make_draft("in short", {"role": "system", "continues": "main", "attributes": covered}, 1000)
        overlay = replace(draft, said=replace(draft.said, type="overlay"))
        store._store(lambda connection, mint: append(connection, store._number, [overlay], mint))
        store.add_turn("later", continues="main")
        store.edit("main~3", "R", keep=True)
        copies = store.log("main")
        assert [store.text(turn.id) for turn in copies][:3] == ["later", "in short", "b"]
        now = copies[1].meta.attributes
        assert (now.speaker, now.recipient) == (grown["a"].digest, copies[3].digest)
        assert store.text(copies[3].id) == "R"

    def test_large_documents_on_the_branch_are_stored_once(self, store: Store) -> None:
        store.add_turn("q?", bookmark="main")
        store.add_document(b"x" * 10_000, name="d.txt", continues="main")
        store.edit("main~1", "Q", keep=True)
        assert store.payload("main") == b"x" * 10_000
        assert store.verify().problems == ()


class TestAfterwards:
    def test_a_list_that_is_sent_again_is_recognised_on_both_branches(self, store: Store) -> None:
        old = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
        store.record(old, bookmark="main")
        edited = store.edit("main~1", "Q", keep=True)
        new = [{"role": "user", "content": "Q"}, old[1]]
        assert store.record(new, bookmark="main").added == 0
        assert store.bookmarks["main"] == edited.tip
        assert store.record([*old, {"role": "user", "content": "more"}], bookmark="main").added == 1
        assert store.record(new).tip.id == edited.tip

    def test_a_copy_of_the_thread_carries_its_edits(self, durable_place: Place) -> None:
        store = durable_place.open()
        line(store)
        store.edit("main~2", "A", keep=True)
        other = durable_place.open("elsewhere")
        store.copy_to(other.space, "main")
        assert texts(other, "main") == texts(store, "main")
        assert other.get("main").meta.system == store.get("main").meta.system
        assert other.verify().problems == ()

    def test_an_export_of_an_edited_import_has_the_new_words(self, store: Store) -> None:
        text = "<|start|>user<|message|>one<|end|>\n<|start|>assistant<|message|>two<|end|>\n"
        tip = store.import_file(io.BytesIO(text.encode()), "2.0", bookmark="main").tips[0]
        store.edit("main~1", "uno", keep=True)
        assert store.export("main", "2.0") == store.export(tip, "2.0").replace("one", "uno")
        assert "one" in store.export(tip, "2.0")

    def test_what_is_said_of_a_conversation_goes_on_with_it(self, store: Store) -> None:
        first = store.add_turn("q?")
        store.conversations.set(first.id, title="T")
        edited = store.edit(first.id, "Q?").turn
        assert store.conversations.get(edited.id).record.title == "T"
        [entry] = store.conversations.list().entries
        assert (entry.conversation.first, entry.title, entry.branches, entry.last) == (first.id, "T", 2, "Q?")
        store.bookmarks.set("named", edited.id)
        assert [entry.conversation.name for entry in store.conversations.list().entries] == ["named"]
        assert store.conversations.get("named").record.title == "T"
        assert store.conversations.get(first.id).name == "named"

    def test_an_edited_system_turn_keeps_the_conversation_one(self, store: Store) -> None:
        grown = grow(store, "q? <- a")
        root = store.add_turn("be brief", role="system")
        first = store.add_turn("q?", continues=root.id)
        other = store.add_turn("another talk", continues=root.id)
        tip = store.add_turn("a", continues=first.id, role="assistant", bookmark="main").id
        store.edit("main~2", "be long", keep=True)
        assert texts(store, "main") == ["be long", "q?", "a"]
        assert store.siblings("main~1").turns[0].id == first.id
        names = [(entry.conversation.name, entry.conversation.first) for entry in store.conversations.list().entries]
        assert names == [("main", None), (None, other.id), (None, grown["q?"].id)]
        assert tip in {turn.id for turn in store.tree("main")}


def expected_texts(parents: Parents, walk: list[int], target: int) -> list[str]:
    return ["edited" if index == target else str(index) for index in walk]


@settings(max_examples=12)
@given(dags(largest=14), st.data())
def test_the_edited_thread_is_the_old_one_but_for_the_edit(place: Place, parents: Parents, data: st.DataObject) -> None:
    """Over any history: ids and other branches are unchanged, and what is kept is walked in the same order."""
    store = place.reuse() if place.target != ":memory:" else place.open()
    ids: list[str] = []
    for index, before in enumerate(parents):
        ids.append(store.add_turn(str(index), continues=[ids[each] for each in before] or None).id)
    head = data.draw(st.integers(0, len(ids) - 1))
    walk = reference_walk(parents, [head])
    back = [head]
    while parents[back[-1]]:
        back.append(parents[back[-1]][0])
    steps = data.draw(st.integers(0, len(back) - 1))
    name = f"name{head}-{ids[0]}"[:40]
    store.bookmarks.set(name, ids[head])
    before = {each: (store.get(each).seal, texts(store, each)) for each in ids}
    done: Edited = store.edit(f"{name}~{steps}", "edited", keep=True)
    assert texts(store, name) == expected_texts(parents, walk, back[steps])
    assert {each: (store.get(each).seal, texts(store, each)) for each in ids} == before
    assert store.bookmarks[name] == done.tip
    assert done.turn.id in {turn.id for turn in store.siblings(ids[back[steps]]).turns}
    assert store.verify().problems == ()
