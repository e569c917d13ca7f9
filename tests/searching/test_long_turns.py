"""Turns of many megabytes: their words are cut in portions, and those with too many are read by each search."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.content.searching.pieces import FieldText
from headish.history.searching import entries
from headish.history.searching.entries import SearchableTurn, entry_of, unread_fact
from headish.rows.searching.matches import SearchedTurn
from headish.values.ids import TurnId

SPACE = 7


def said(*pieces: tuple[str, str]) -> SearchableTurn:
    source = SearchedTurn(1, 1, 0, TurnId("0" * 25), "user", None, None, None, None, b"")
    return SearchableTurn(source, [FieldText(*each) for each in pieces], frozenset({"read"}))


@given(st.lists(st.tuples(st.sampled_from(["text", "reasoning"]), st.text("abÉ天気 ", max_size=40)), max_size=3))
def test_an_entry_has_the_same_words_either_way(pieces: list[tuple[str, str]]) -> None:
    turn = said(*pieces)
    with pytest.MonkeyPatch.context() as patch:
        for limit in (60, 90, 900):
            patch.setattr(entries, "ENTRY_BYTES", limit)
            patch.setattr(entries, "LONG", 10_000)
            at_once = entry_of(SPACE, turn)
            patch.setattr(entries, "LONG", 5)
            assert set(entry_of(SPACE, turn).split()) == set(at_once.split())


def test_a_book_is_found_by_every_word(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "LONG", 100)
    monkeypatch.setattr(entries, "ENTRY_BYTES", 5000)
    few = store.add_turn("cat dog bird " * 500 + "fish")
    many = store.add_turn(" ".join(f"word{number}" for number in range(1000)) + " fish", continues=few.id)
    for word, ids in (("bird", [few.id]), ("word777", [many.id]), ('"dog bird" OR word5', [many.id, few.id])):
        assert [hit.turn.id for hit in store.search(word, order="time")] == ids
    assert [hit.turn.id for hit in store.search("fish", order="time")] == [many.id, few.id]
    assert store.verify().problems == ()


def test_its_words_are_not_all_in_memory_at_once() -> None:
    turn = said(("text", " ".join(f"word{number}" for number in range(400_000))))
    tracemalloc.start()
    try:
        entry = entry_of(SPACE, turn)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entry.split()[-1] == unread_fact(SPACE)
    assert peak < 30_000_000  # cut at once, they take 60 MB
