"""Twins: what two stores hold of one session is listed once, and all of it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from support.places import Place


def imported(store: Store, name: str | None = None) -> None:
    first = store.add_turn("what is a monad", key="s:1")
    store.add_turn("a monoid", role="assistant", continues=first.id, key="s:2")
    if name is not None:
        store.bookmarks.set(name, store.find("s:2").id)


def carry(here: Store, there: Store, path: Path) -> None:
    here.bundles.create(path)
    there.bundles.apply(path)


def test_they_are_listed_once(place: Place, tmp_path: Path) -> None:
    here, there = place.open(), place.fresh()
    for store in (here, there):
        imported(store)
    carry(here, there, tmp_path / "a")
    [head] = there.heads()
    assert head.id == there.find("s:2").id
    assert len(there.heads(twins=True)) == 2
    assert len(there.conversations.list().entries) == 1
    assert len(there.conversations.list(twins=True).entries) == 2
    assert [hit.turn.id for hit in there.search("monoid")] == [head.id]
    assert len(there.search("monoid", twins=True)) == 2
    assert [head.id for head in there.heads(by="tip")] == [head.id]
    assert there.stats().turns == 4


def test_the_one_that_went_on_is_shown(place: Place, tmp_path: Path) -> None:
    here, there = place.open(), place.fresh()
    for store in (here, there):
        imported(store)
    more = here.add_turn("go on", continues=here.find("s:2").id)
    carry(here, there, tmp_path / "a")
    assert [head.id for head in there.heads()] == [more.id]
    assert len(there.conversations.list().entries) == 1


def test_what_was_said_here_twice_is_listed_twice(place: Place, tmp_path: Path) -> None:
    here, there = place.open(), place.fresh()
    for _ in range(2):
        there.add_turn("hello")
    here.add_turn("other")
    carry(here, there, tmp_path / "a")
    assert len(there.heads()) == 3
    assert len(there.search("hello")) == 2


@pytest.mark.parametrize("order", ["rank", "time"])
def test_a_page_of_hits_is_full_however_many_twins_arrived(place: Place, tmp_path: Path, order: str) -> None:
    here, there = place.open(), place.fresh()
    for store in (there, here):
        store.add_turns([{"content": f"monad {number}"} for number in range(12)])
    carry(here, there, tmp_path / "a")
    for limit in (1, 2, 5, 12):
        found = there.search("monad", order=order, limit=limit)
        assert len(found) == limit
        assert not {hit.turn.id for hit in found} & {turn.id for turn in here.turns()}
    assert len(there.search("monad", order=order, limit=13)) == 12


def test_a_twin_is_shown_when_the_one_that_was_here_is_erased(place: Place, tmp_path: Path) -> None:
    here, there = place.open(), place.fresh()
    for store in (there, here):
        store.add_turn("a monoid")
    [theirs] = here.heads()
    carry(here, there, tmp_path / "a")
    [ours] = there.heads()
    there.erase(ours.id, reason="wrong")
    assert [head.id for head in there.heads()] == [theirs.id]
    assert [hit.turn.id for hit in there.search("monoid")] == [theirs.id]
    [entry] = there.conversations.list().entries
    assert entry.conversation.turn == theirs.id
