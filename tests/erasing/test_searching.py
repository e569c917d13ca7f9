"""What was erased is found by no search, and its words are in no file."""

from __future__ import annotations

from pathlib import Path

from headish import Store

WORD = "quintessence"


def test_a_search_finds_it_no_more_and_the_index_holds_no_word_of_it(store: Store) -> None:
    stays = store.add_turn("the rest stays", bookmark="main")
    turn = store.add_turn(f"a {WORD} of words", continues="main")
    assert [hit.turn.id for hit in store.search(WORD)] == [turn.id]
    store.erase(turn.id, reason="asked for")
    assert list(store.search(WORD)) == []
    assert [hit.turn.id for hit in store.search("stays")] == [stays.id]
    assert store.verify().problems == ()


def test_no_file_holds_the_word(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        turn = store.add_turn(f"a {WORD} of words", bookmark="main")
        assert list(store.search(WORD))
        assert store.erase(turn.id, reason="asked for").scrubbed
        assert not [path for path in tmp_path.iterdir() if WORD.encode() in path.read_bytes().lower()]


def test_a_space_takes_its_index_along(store: Store) -> None:
    store.add_turn(f"a {WORD} of words", bookmark="main")
    other = store._database.store(f"{store.space}-other")
    other.add_turn(f"another {WORD}", bookmark="main")
    assert len(list(store.search(WORD))) == len(list(other.search(WORD))) == 1
    store._database.spaces.erase(store.space, reason="asked for")
    assert len(list(other.search(WORD))) == 1
    assert other.verify().problems == ()
