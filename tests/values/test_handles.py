"""Handles: the letters that lists show for a turn, taken wherever a headish is (rule R25, handles)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import Ambiguous, UnknownTurn
from headish.values.handles import as_handle, letters_of
from headish.values.ids import TurnId
from support.places import Place


def handle_of(store: Store, headish: str) -> str:
    turn_id = store.get(headish).id
    return store.abbreviate([turn_id])[turn_id]


class TestHandles:
    def test_it_is_the_beginning_of_the_digest_in_letters(self, store: Store) -> None:
        turn = store.add_turn("a")
        handle = handle_of(store, turn.id)
        assert re.fullmatch("[k-z]{6}", handle)
        assert letters_of(bytes.fromhex(turn.digest)).startswith(handle)
        for text in (handle, handle.upper(), f"{handle}~0", letters_of(bytes.fromhex(turn.digest))):
            assert store.get(text).id == turn.id
        assert store.add_turn("b", continues=handle).meta.continues == (turn.id,)

    def test_it_has_as_many_letters_as_are_unique(self, store: Store) -> None:
        """4,000 digests: a few share six letters."""
        digests = {turn.id: turn.digest for turn in store.add_turns(str(number) for number in range(4000))}
        shared: dict[str, list[TurnId]] = {}
        for turn_id, digest in digests.items():
            shared.setdefault(digest[:5], []).append(turn_id)
        close = [turn_id for alike in shared.values() if len(alike) > 1 for turn_id in alike][:40]
        handles = store.abbreviate(close)
        assert len(close) > 2
        for turn_id, handle in handles.items():
            assert store.get(handle).id == turn_id
            same = [other for other, digest in digests.items() if digest[:6] == digests[turn_id][:6]]
            assert (len(handle) > 6) is (len(same) > 1)

    def test_a_space_of_its_own_does_not_lengthen_them(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        turn = one.add_turn("a")
        other.add_turn("a")
        assert len(handle_of(one, turn.id)) == 6
        other.add_turn("b")
        with pytest.raises(UnknownTurn):
            other.get(handle_of(one, one.add_turn("c").id))

    def test_an_id_that_is_not_stored_stands_for_itself(self, store: Store) -> None:
        known = store.add_turn("a").id
        unknown = known[:-1] + ("z" if known[-1] != "z" else "y")
        assert store.abbreviate([TurnId(unknown)]) == {unknown: unknown}

    def test_what_is_no_handle_is_unknown(self, store: Store) -> None:
        turn = store.add_turn("a")
        handle = handle_of(store, turn.id)
        for text in (handle[:5], "kkkkkk", f"{handle}:{'0' * 25}"):
            with pytest.raises(UnknownTurn):
                store.get(text)


class TestTwins:
    def test_they_are_told_apart_by_the_last_digits_of_their_ids(self, store: Store) -> None:
        twins = [store.add_turn("hi") for _ in range(3)]
        handles = store.abbreviate([turn.id for turn in twins])
        assert len(set(handles.values())) == 3
        for turn in twins:
            assert re.fullmatch("[k-z]{6}:[0-9a-z]{2,}", handles[turn.id])
            assert turn.id.endswith(handles[turn.id].partition(":")[2])
            assert store.get(handles[turn.id]).id == turn.id
            assert store.get(handles[turn.id] + "~0").id == turn.id

    def test_of_hundreds_each_handle_names_one(self, store: Store) -> None:
        ids = [turn.id for turn in store.add_turns(["hi"] * 300)]
        handles = store.abbreviate(ids)
        assert len(set(handles.values())) == 300
        assert [store.get(handle).id for handle in handles.values()] == ids

    def test_a_bare_one_is_ambiguous_and_says_what_each_is(self, store: Store) -> None:
        twins = [store.add_turn("What is it?", bookmark="main"), store.add_turn("What is it?")]
        handles = store.abbreviate([turn.id for turn in twins])
        bare = handles[twins[0].id].partition(":")[0]
        with pytest.raises(Ambiguous) as refused:
            store.add_turn("x", continues=bare)
        assert refused.value.candidates == tuple(turn.id for turn in twins)
        for turn, described in zip(twins, refused.value.described, strict=True):
            assert described.startswith(f"{handles[turn.id]} {turn.id} ")
            assert described.endswith("'What is it?'")
            assert ("[main]" in described) is (turn == twins[0])
            assert described in str(refused.value)


class TestNames:
    def test_a_name_wins_over_a_handle_even_when_it_was_removed(self, store: Store) -> None:
        turn, other = store.add_turn("a"), store.add_turn("b")
        handle = handle_of(store, turn.id)
        store.bookmarks.set(handle, other.id)
        assert store.get(handle).id == other.id
        longer = handle_of(store, turn.id)
        assert len(longer) == 7
        assert store.get(longer).id == turn.id
        store.bookmarks.remove(handle)
        with pytest.raises(UnknownTurn):
            store.get(handle)
        assert store.get(longer).id == turn.id


@given(text=st.text(alphabet="klmz:09KZ~", max_size=30))
def test_a_text_is_a_handle_or_not_and_never_half(text: str) -> None:
    handle = as_handle(text)
    if handle is not None:
        low, high = handle.bounds
        assert letters_of(low).startswith(handle.letters)
        assert letters_of(high).startswith(handle.letters)
        assert text.lower() == handle.letters + (f":{handle.end}" if handle.end else "")
