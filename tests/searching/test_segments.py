"""SQLite's index has a segment for each portion, until they are merged: a search asks all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from headish.history.searching import index
from support.insides import run_sql
from support.places import FilePlace


def segments(store: Store) -> int:
    [(count,)] = run_sql(store, "SELECT count(DISTINCT segid) FROM search_text_idx")
    return int(count)


@pytest.fixture
def store(file_place: FilePlace, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(index, "PORTION_TURNS", 1)
    return file_place.open()


def test_a_large_fill_leaves_few(store: Store) -> None:
    store.add_turns(f"cat {number}" for number in range(60))
    assert len(store.search("cat", limit=100)) == 60
    assert segments(store) <= 2  # the last portion is merged by the next fill
    assert store.verify().problems == ()


def test_searches_that_index_a_turn_each_leave_few(store: Store) -> None:
    for number in range(60):
        store.add_turn(f"cat {number}")
        assert len(store.search("cat", limit=100)) == number + 1
    assert segments(store) <= 9  # three of each level: 1, 4 and 16 turns
    assert store.verify().problems == ()


def test_a_very_large_fill_merges_on_its_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MERGED_AFTER", 5)
    store.add_turns(f"cat {number}" for number in range(60))
    counts: list[int] = []
    assert len(store.search("cat", limit=100, progress=lambda _: counts.append(segments(store)))) == 60
    assert max(counts) < 15
    assert store.verify().problems == ()


def test_what_a_fill_that_was_cut_short_left_is_merged_by_the_next(store: Store) -> None:
    store.add_turns(f"cat {number}" for number in range(60))

    class Enough(Exception):
        pass

    def stop(_: int) -> None:
        if segments(store) == 30:
            raise Enough

    with pytest.raises(Enough):
        store.search("cat", progress=stop)
    assert segments(store) == 30
    assert len(store.search("cat", limit=100)) == 60
    assert segments(store) <= 2  # the last portion is merged by the next fill


def test_a_word_that_was_merged_and_erased_is_in_no_file(store: Store, tmp_path: Path) -> None:
    for number in range(40):
        store.add_turn(f"cat {number}" + (" xylophone42" if number == 7 else ""))
        store.search("cat")
    turn = store.search("xylophone42")[0].turn
    store.erase(turn.id, reason="asked for")
    assert store.search("xylophone42") == []
    store.add_turns(f"dog {number}" for number in range(10))
    assert len(store.search("cat OR dog", limit=100)) == 49
    assert not [path for path in tmp_path.iterdir() if b"xylophone42" in path.read_bytes().lower()]
