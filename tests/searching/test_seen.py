"""A search reads turns as they were stored: what overlays hide or reword, and what edits supersede, is found."""

from __future__ import annotations

import pytest

from headish import Store
from headish.values.messages import VIEWERS


def found(store: Store, query: str) -> set[str]:
    return {hit.turn.id for hit in store.search(query)}


class TestHiddenTurns:
    @pytest.mark.parametrize("viewer", VIEWERS)
    def test_a_turn_that_is_stored_hidden_is_found_and_says_so(self, store: Store, viewer: str) -> None:
        turn = store.add_turn("a secret cat", attributes={"hidden": viewer}, bookmark="main")
        [hit] = store.search("cat")
        assert (hit.turn.id, hit.turn.meta.attributes.hidden, hit.names) == (turn.id, viewer, ("main",))
        assert hit.to_dict()["meta"]["attributes"]["hidden"] == viewer

    @pytest.mark.parametrize("viewer", VIEWERS)
    def test_a_turn_that_an_overlay_hides_is_found(self, store: Store, viewer: str) -> None:
        turn = store.add_turn("a secret cat", bookmark="main")
        assert found(store, "cat") == {turn.id}
        store.hide("main", viewer=viewer)
        assert found(store, "cat") == {turn.id}
        store.unhide(turn.id, continues="main")
        assert found(store, "cat") == {turn.id}
        assert store.verify().problems == ()


class TestOtherWords:
    def test_of_a_replaced_turn_both_words_are_found_each_where_it_stands(self, store: Store) -> None:
        turn = store.add_turn("the cat from Vienna", bookmark="main")
        overlay = store.replace("main", "the cat from Zagreb")
        assert found(store, "vienna") == {turn.id}
        assert found(store, "zagreb") == {overlay.id}
        assert found(store, "cat") == {turn.id, overlay.id}

    def test_a_summary_is_found_and_so_is_what_it_stands_for(self, store: Store) -> None:
        asked = store.add_turn("where is the cat?", bookmark="main")
        store.add_turn("on the roof", continues="main", role="assistant")
        summary = store.summarize("main~1", "main", "a cat was looked for")
        assert found(store, "cat") == {asked.id, summary.id}
        [hit] = store.search("looked")
        assert (hit.turn.meta.type, hit.names) == ("overlay", ("main",))


class TestVersions:
    def test_a_version_that_was_superseded_is_found_and_no_name_reaches_it(self, store: Store) -> None:
        old = store.add_turn("a cat from Vienna", bookmark="main")
        new = store.edit("main", "a cat from Zagreb").turn
        hits = {hit.turn.id: hit for hit in store.search("cat")}
        assert {id: hit.names for id, hit in hits.items()} == {old.id: (), new.id: ("main",)}
        assert hits[old.id].heads == (old.id,)
        assert found(store, "vienna") == {old.id}
        assert {hit.turn.id for hit in store.search("cat", name="main")} == {new.id}

    def test_what_an_edit_keeps_is_found_in_both_branches(self, store: Store) -> None:
        store.add_turn("which animal?", bookmark="main")
        answer = store.add_turn("a cat", continues="main", role="assistant")
        edited = store.edit("main~1", "which pet?", keep=True)
        assert found(store, "cat") == {answer.id, store.get("main").id}
        assert edited.turn.id in found(store, "pet")
        assert {hit.turn.id for hit in store.search("cat", name="main")} == {store.get("main").id}
