"""Ranges as git means them, and what differs between two branches."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store, Turn
from headish.errors import InvalidArgument, InvalidHeadish, InvalidName, UnknownTurn
from headish.history.edits import words
from headish.history.edits.differences import Diff
from headish.history.edits.words import align, diff_words
from support.dags import Parents, dags, reference_walk
from support.growing import grow, names_of
from support.places import Place

FORK = "q? <- a <- r?, q? <- b <- s? <- c"


def forked(store: Store) -> dict[str, Turn]:
    grown = grow(store, FORK)
    store.bookmarks.set("one", grown["r?"].id)
    store.bookmarks.set("two", grown["c"].id)
    return grown


def shown(diff: Diff) -> list[tuple[str, str, str]]:
    """Each change: its kind, what was said before, what is said now."""
    return [
        (
            change.kind,
            "".join(piece.text for piece in change.pieces if piece.kind != "added"),
            "".join(piece.text for piece in change.pieces if piece.kind != "removed"),
        )
        for change in diff.changes
    ]


class TestRanges:
    @pytest.mark.parametrize(
        ("asked", "names"),
        [
            ("one..two", ["c", "s?", "b"]),
            ("two..one", ["r?", "a"]),
            ("one..", ["c", "s?", "b"]),
            ("..one", ["r?", "a"]),
            ("one...two", ["c", "s?", "b", "r?", "a"]),
            ("two~2..two", ["c", "s?"]),
            ("two..two~1", []),
        ],
    )
    def test_a_log_takes_them(self, store: Store, asked: str, names: list[str]) -> None:
        grown = forked(store)
        assert names_of(store.log(asked), grown) == names
        assert names_of(store.log(asked, limit=1), grown) == names[:1]

    @pytest.mark.parametrize("asked", ["one....two", "a..b..c", "..."])
    def test_what_is_no_range_is_refused(self, store: Store, asked: str) -> None:
        forked(store)
        if asked == "...":
            assert store.log(asked) == []
            return
        with pytest.raises((InvalidHeadish, UnknownTurn)):
            store.log(asked)

    def test_a_new_name_holds_none_and_an_old_one_is_found(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        grown = forked(store)
        with pytest.raises(InvalidName, match=r"holds `\.\.`"):
            store.bookmarks.set("one..two", "one")
        with monkeypatch.context() as patched:
            patched.setattr("headish.values.names.new_refusal", lambda name: None)
            store.bookmarks.set("one..two", "two~1")
        assert names_of(store.log("one..two"), grown) == ["s?", "b", "q?"]

    @settings(max_examples=12)
    @given(dags(largest=14), st.data())
    def test_over_any_history_it_is_what_leads_to_one_and_not_to_the_other(
        self, place: Place, parents: Parents, data: st.DataObject
    ) -> None:
        store = place.reuse()
        ids: list[str] = []
        for index, before in enumerate(parents):
            ids.append(store.add_turn(str(index), continues=[ids[each] for each in before] or None).id)
        one, other = (data.draw(st.integers(0, len(ids) - 1)) for _ in range(2))
        walk, left_out = reference_walk(parents, [other]), set(reference_walk(parents, [one]))
        expected = [ids[index] for index in reversed(walk) if index not in left_out]
        assert [turn.id for turn in store.log(f"{ids[one]}..{ids[other]}")] == expected


class TestDiff:
    def test_two_branches_are_compared_from_their_fork_on(self, store: Store) -> None:
        grown = forked(store)
        diff = store.diff("one", "two")
        assert diff.fork == grown["q?"].id
        assert shown(diff) == [("changed", "a", "b"), ("changed", "r?", "s?"), ("added", "", "c")]
        assert shown(store.diff("one..two")) == shown(diff)

    def test_what_an_edit_kept_is_the_same(self, store: Store) -> None:
        forked(store)
        store.edit("two~2", "the other b", keep=True)
        diff = store.diff("two@{1}", "two")
        assert [change.kind for change in diff.changes] == ["changed", "same", "same"]
        assert (diff.stat.words_removed, diff.stat.words_added) == (0, 2)

    def test_branches_without_a_shared_turn_have_no_fork(self, store: Store) -> None:
        grown = grow(store, "q? <- a, r? <- b")
        diff = store.diff(grown["a"].id, grown["b"].id)
        assert (diff.fork, [change.kind for change in diff.changes]) == (None, ["changed", "changed"])

    def test_the_same_branch_and_one_that_leads_to_the_other(self, store: Store) -> None:
        grown = forked(store)
        assert store.diff("one", "one").changes == ()
        diff = store.diff("two~1", "two")
        assert (diff.fork, [change.kind for change in diff.changes]) == (grown["s?"].id, ["added"])

    @pytest.mark.parametrize(("arguments", "why"), [
        (("one",), "give A and B"), (("one...two",), "write A..B"), (("one..two", "one"), "names both"),
    ])  # fmt: skip
    def test_what_is_no_pair_is_refused(self, store: Store, arguments: Any, why: str) -> None:
        forked(store)
        with pytest.raises(InvalidArgument, match=why):
            store.diff(*arguments)

    def test_calls_results_and_documents_are_compared_in_words(self, store: Store) -> None:
        store.add_turn("q?", bookmark="main")
        call = {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}}
        store.add_turn([call], role="assistant", continues="main")
        store.edit("main", [{**call, "input": {"at": 2}}])
        assert shown(store.diff("main@{1}", "main")) == [("changed", '(call look) {"at":1}', '(call look) {"at":2}')]
        store.add_document(b"a b", name="n.txt", continues="main")
        store.edit("main", "a c")
        assert shown(store.diff("main@{1}", "main")) == [("changed", "a b", "a c")]

    def test_an_overlay_is_told_by_what_it_does(self, store: Store) -> None:
        grown = forked(store)
        store.hide(grown["a"].id, continues="one", viewer="people")
        store.replace(grown["c"].id, "better", continues="two")
        told = [
            ("added", "", "(hides 1 turn from people)"),
            ("changed", "(hides 1 turn from people)", "(replaces 1 turn)\nbetter"),
        ]
        assert shown(store.diff("one~1", "one"))[-1] == told[0]
        assert shown(store.diff("one", "two"))[-1] == told[1]

    def test_turns_of_other_roles_stand_alone(self, store: Store) -> None:
        root = store.add_turn("root")
        one = store.add_turn("x y", continues=root.id)
        other = store.add_turn("x z", continues=root.id, role="assistant")
        assert shown(store.diff(one.id, other.id)) == [("removed", "x y", ""), ("added", "", "x z")]


class TestWords:
    @given(st.text("ab \n.一二", max_size=60), st.text("ab \n.一二", max_size=60))
    def test_the_pieces_make_up_both_texts(self, before: str, after: str) -> None:
        pieces = diff_words(before, after)
        assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
        assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after

    @given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=40), st.booleans())
    def test_what_corresponds_is_equal_and_nothing_is_left_out(
        self, one: list[int], other: list[int], is_bounded: bool
    ) -> None:
        limit, words.STRETCH_LIMIT = words.STRETCH_LIMIT, 4 if is_bounded else words.STRETCH_LIMIT
        try:
            stretches = align(one, other)
        finally:
            words.STRETCH_LIMIT = limit
        for is_same, low, high, other_low, other_high in stretches:
            assert not is_same or one[low:high] == other[other_low:other_high]
        assert [index for each in stretches for index in range(each.low, each.high)] == list(range(len(one)))
        assert [i for each in stretches for i in range(each.other_low, each.other_high)] == list(range(len(other)))

    def test_words_that_both_changed_are_read_together(self) -> None:
        pieces = diff_words("the quick brown fox", "a slow brown fox")
        assert [(piece.kind, piece.text) for piece in pieces] == [
            ("removed", "the quick"), ("added", "a slow"), ("same", " brown fox")]  # fmt: skip

    def test_a_character_of_chinese_is_a_word_and_a_number_is_one(self) -> None:
        assert [piece.text for piece in diff_words("日本語です", "日本人です")] == ["日本", "語", "人", "です"]
        assert [piece.text for piece in diff_words("8,848 m", "8,849 m")] == ["8,848", "8,849", " m"]

    def test_long_texts_of_few_different_words_take_few_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The matcher is given no more than its limit, however long the texts are."""
        given_sizes: list[int] = []
        whole = words.SequenceMatcher

        def counted(_: None, one: Any, other: Any, autojunk: bool) -> Any:
            given_sizes.append(len(one) * len(other))
            return whole(None, one, other, autojunk=autojunk)

        monkeypatch.setattr(words, "SequenceMatcher", counted)
        chosen = random.Random(1)
        texts = ["".join(chosen.choices("ab ", k=60_000)) for _ in range(2)]
        pieces = diff_words(*texts)
        assert "".join(piece.text for piece in pieces if piece.kind != "added") == texts[0]
        assert sum(given_sizes) <= words.WORK_LIMIT
