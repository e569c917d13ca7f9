"""What is erased is in the index no more."""

from __future__ import annotations

from headish import Store
from headish.rows import searches
from support.insides import read


def test_words_of_an_erased_turn_leave_the_index(store: Store) -> None:
    kept, gone = store.add_turn("a cat", bookmark="kept"), store.add_turn("a cat and a xylophone", bookmark="gone")
    assert {hit.turn.id for hit in store.search("cat")} == {kept.id, gone.id}
    store.erase("gone", reason="asked")
    assert [hit.turn.id for hit in store.search("cat")] == [kept.id]
    question = f'"{store._number},xylophone"'
    assert read(store, lambda connection: searches.matching(connection, store._number, question, 0, 99, 9)) == []
    assert store.verify().problems == ()
