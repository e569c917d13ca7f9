"""What was erased is found by no search, and its words are in no file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Database, Store
from headish.history.searching import index
from headish.values.limits import INLINE_BYTES
from support.insides import run_sql

WORD, OWN = "quintessence", "perspicacity"


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
    other = Database(store._database).store(f"{store.space}-other")
    other.add_turn(f"another {WORD}", bookmark="main")
    assert len(list(store.search(WORD))) == len(list(other.search(WORD))) == 1
    Database(store._database).spaces.erase(store.space, reason="asked for")
    assert len(list(other.search(WORD))) == 1
    assert other.verify().problems == ()


class TestTheIndexOfOneFile:
    """SQLite keeps one index for all spaces."""

    @pytest.fixture
    def spaces(self, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
        """Two spaces whose turns are indexed: both say the word, and one a word of its own."""
        with Database.open(tmp_path / "chat.db") as database:
            gone, other = database.store("gone"), database.store("other")
            gone.add_turn(f"a {WORD} of {OWN}", bookmark="main")
            gone.add_turns([f"turn {number} {'x' * INLINE_BYTES if number == 7 else ''}" for number in range(40)])
            other.add_turn(f"another {WORD}", bookmark="main")
            assert len(list(gone.search(WORD))) == len(list(other.search(WORD))) == 1
            yield gone, other

    def test_that_of_the_others_stays_as_it_is(
        self, spaces: tuple[Store, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index, "PORTION_TURNS", 10)
        gone, other = spaces
        assert Database(gone._database).spaces.erase("gone", reason="asked for").scrubbed
        assert run_sql(other, "SELECT space, seq FROM search") == [(other._number, 1)]
        left = [term for (term,) in run_sql(other, "SELECT term FROM search_word")]
        assert left
        assert all(term.startswith(f"{other._number}") for term in left)
        assert all(not report.problems for report in Database(other._database).verify().values())
        assert len(list(other.search(WORD))) == 1
        assert not [path for path in tmp_path.iterdir() if OWN.encode() in path.read_bytes().lower()]

    def test_words_that_cannot_be_derived_any_more_take_the_whole_index(
        self, spaces: tuple[Store, Store], tmp_path: Path
    ) -> None:
        gone, other = spaces
        run_sql(gone, f"UPDATE turn SET data = NULL WHERE space = {gone._number} AND chain = 1")
        Database(gone._database).spaces.erase("gone", reason="asked for")
        assert run_sql(other, "SELECT term FROM search_word") == []
        assert len(list(other.search(WORD))) == 1
        assert not [path for path in tmp_path.iterdir() if OWN.encode() in path.read_bytes().lower()]
