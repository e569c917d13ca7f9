"""Versions: which turns stand in one place of a conversation, and which of them is shown."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store
from support.growing import grow, names_of
from support.places import Place


def versions_of(store: Store, headish: str) -> list[str]:
    return [store.text(turn.id) for turn in store.siblings(headish).turns]


class TestSiblings:
    def test_turns_that_continue_the_same_turns_are_versions(self, store: Store) -> None:
        grown = grow(store, "q? <- a, q? <- b <- r?, q? <- c")
        found = store.siblings(grown["b"].id)
        assert (names_of(found.turns, grown), found.current, str(found.version)) == (["a", "b", "c"], 1, "2/3")
        assert versions_of(store, grown["r?"].id) == ["r?"]
        aside = store.add_turn("an aside", continues=grown["q?"].id)
        assert versions_of(store, aside.id) == ["an aside"]

    def test_an_edited_first_message_is_a_version_of_it(self, store: Store) -> None:
        first = store.add_turn("q?", bookmark="main")
        store.edit("main", "Q?")
        store.edit("main", "QQ?")
        store.add_turn("unrelated")
        assert versions_of(store, first.id) == ["q?", "Q?", "QQ?"]
        assert str(store.siblings("main").version) == "3/3"

    def test_conversations_behind_one_system_turn_are_no_versions_of_one_another(self, store: Store) -> None:
        root = store.add_turn("be brief", role="system")
        first, other = (store.add_turn(text, continues=root.id) for text in ("one", "two"))
        assert versions_of(store, first.id) == ["one"]
        store.edit(first.id, "ONE")
        assert versions_of(store, first.id) == ["one", "ONE"]
        assert versions_of(store, other.id) == ["two"]

    def test_a_merge_is_a_version_of_what_merges_the_same_turns(self, store: Store) -> None:
        grown = grow(store, "q? <- a, q? <- b, a + b <- one, a + b <- two, b + a <- three, a <- four")
        assert versions_of(store, grown["one"].id) == ["one", "two"]
        assert versions_of(store, grown["four"].id) == ["four"]

    def test_an_overlay_is_no_version_of_an_answer(self, store: Store) -> None:
        grown = grow(store, "q? <- a")
        from headish.history.reading import versions

        overlay = store.add_document(b"x", continues=grown["q?"].id, role="assistant", moves=False)
        assert len(store.siblings(overlay.id).turns) == 2
        versions.OVERLAY, kept = "document", versions.OVERLAY
        try:
            assert len(store.siblings(overlay.id).turns) == 1
            assert len(store.siblings(grown["a"].id).turns) == 1
        finally:
            versions.OVERLAY = kept


class TestLists:
    def test_versions_of_many_turns_are_looked_up_together(self, store: Store) -> None:
        grown = grow(store, "q? <- a, q? <- b <- r?")
        found = store.versions([turn.id for turn in grown.values()])
        assert {name: str(found[turn.id]) for name, turn in grown.items() if turn.id in found} == {
            "a": "1/2",
            "b": "2/2",
        }
        assert store.versions([]) == {}

    def test_a_tree_holds_the_other_versions_of_its_root(self, store: Store) -> None:
        first = store.add_turn("q?", bookmark="main")
        store.add_turn("a", continues="main", role="assistant")
        store.edit("main~1", "Q?", keep=True)
        for headish in (first.id, "main"):
            drawn = [(turn.text, turn.version, turn.versions) for turn in store.tree(headish)]
            assert drawn == [("q?", 1, 2), ("a", 1, 1), ("Q?", 2, 2), ("a", 1, 1)]
        store.add_turns(
            {"content": str(number), "continues": "main" if number == 0 else [number - 1]} for number in range(9)
        )
        part = {turn.text: turn.versions for turn in store.tree("main~9", limit=4)}
        assert (part["Q?"], part["a"]) == (2, 1)

    def test_pages_say_which_version_they_show_and_that_an_answer_was_edited(self, store: Store) -> None:
        store.add_turn("q?", bookmark="main")
        answer = {"object": "chat.completion", "id": "r", "model": "m-1", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a"}}]}  # fmt: skip
        store.reply("main", "openai", answer)
        store.edit("main", "A")
        assert '<span class="version" title="Version">2/2</span>' in store.render("main", "html")
        assert " · m-1 · edited · 2/2" in store.render("main", "markdown")
        assert "Assistant (m-1, edited, 2/2):" in store.render("main", "text")
        assert "1/2" in store.render("main@{1}", "text")
        assert "/" not in store.render("main~1", "text")


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["edit", "keep", "add", "system"])), max_size=12))
def test_a_tree_a_list_and_siblings_say_the_same(place: Place, steps: list[tuple[int, str]]) -> None:
    """Over any sequence of edits and turns, of one conversation."""
    store = place.open() if place.target == ":memory:" else place.fresh()
    ids = [store.add_turn("root", role="system").id]
    for index, (at, what) in enumerate(steps):
        chosen = ids[at % len(ids)]
        if what in ("edit", "keep"):
            single = what == "keep" and len(store.children(chosen)) < 2 and not store.children(chosen)
            ids.append(store.edit(chosen, f"edit {index}", keep=single).turn.id)
        else:
            role = "system" if what == "system" else "user"
            ids.append(store.add_turn(f"turn {index}", role=role, continues=chosen).id)
    listed = {turn_id: str(version) for turn_id, version in store.versions(ids).items()}
    siblings = {each: store.siblings(each) for each in ids}
    assert listed == {each: str(found.version) for each, found in siblings.items() if len(found.turns) > 1}
    drawn = {turn.id: f"{turn.version}/{turn.versions}" for turn in store.tree(ids[0]) if turn.versions > 1}
    assert drawn == listed
    for each, found in siblings.items():
        assert found.turns[found.current].id == each
        assert all(one.id != other.id for one, other in pairwise(found.turns))
    assert len(store.conversations.list().entries) <= sum(what == "add" for _, what in steps)
