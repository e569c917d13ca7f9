"""A backup holds no index, and a space whose turns were put back finds all of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headish import Database, Store, restore
from headish.database.query import Query
from headish.history.searching import candidates
from headish.rows.searching import indexing, matches
from headish.rows.upkeep.whole import begin_restore
from support.insides import database_of, read
from support.places import FilePlace, Place


def found(store: Store, query: str) -> set[str]:
    return {hit.turn.id for hit in store.search(query)}


def position(store: Store) -> int | None:
    known = read(store, lambda connection: indexing.indexed(connection, store._number))
    return None if known is None else known.seq


def test_a_restored_space_makes_its_index_at_its_first_search(durable_place: Place, tmp_path: Path) -> None:
    store = durable_place.open()
    turns = {store.add_turn(f"cat {number}").id for number in range(5)}
    assert found(store, "cat") == turns
    restore(store.backup(tmp_path / "a.hbackup").path, tmp_path / "again.db")
    with Store.open(tmp_path / "again.db", space=store.space, create=False) as again:
        assert position(again) is None
        assert again.verify().problems == ()
        assert found(again, "cat") == turns
        assert (position(again), again.verify().problems) == (5, ())


def test_a_backup_that_is_a_database_takes_the_index_along(file_place: FilePlace, tmp_path: Path) -> None:
    with Database.open(file_place.target) as database:
        turn = database.store().add_turn("a cat")
        assert found(database.store(), "cat") == {turn.id}
        database.backup(tmp_path / "copy.db")
    with Store.open(tmp_path / "copy.db", create=False) as copy:
        assert (position(copy), copy.verify().problems) == (1, ())
        assert found(copy, "cat") == {turn.id}


def test_a_restore_that_begins_anew_leaves_no_words_of_the_one_before(store: Store) -> None:
    """As where a store that was open all along has searched what a failed restore then left behind."""
    store.add_turn("a cat")
    found(store, "cat")

    mark = Query("mark", "UPDATE counter SET state = 'restoring:cut off' WHERE space = :space")
    database_of(store).write(lambda connection: connection.run(mark, space=store._number))
    assert database_of(store).write(lambda connection: begin_restore(connection, store._number)) is not None
    question = f'"{store._number},cat"'
    words = read(store, lambda connection: matches.matching(connection, store._number, question, 0, 99, 9))
    assert (position(store), words) == (0, [])


def test_a_space_whose_empty_index_was_made_can_be_removed(file_place: FilePlace) -> None:
    with Database.open(file_place.target) as database:
        database.store("gone").reindex()
        database.spaces.remove("gone")
        assert all(report.problems == () for report in database.verify().values())


def test_what_was_said_here_is_newer_than_what_arrived_behind_it(durable_place: Place, tmp_path: Path) -> None:
    """Turns of a bundle keep their ids, and are stored when they arrive: more of them than one page of matches."""
    with Store.open(tmp_path / "there.db") as there:
        there.add_turns([{"content": f"cat {number}"} for number in range(600)])
        there.bundles.create(tmp_path / "old.hbundle")
    store = durable_place.open()
    said = store.add_turn("a cat of mine")
    store.bundles.apply(tmp_path / "old.hbundle")
    assert store.search("cat", order="time", limit=2)[0].turn.id == said.id
    assert store.search(since=datetime.fromtimestamp(0, UTC), limit=2)[0].turn.id == said.id


@pytest.mark.parametrize("keep", [True, False], ids=["copied", "moved"])
def test_what_was_said_here_is_newer_than_what_was_copied_behind_it(durable_place: Place, keep: bool) -> None:
    """Copies keep their ids, and are stored when they are copied: more of them than one page of matches."""
    here, there = durable_place.open("here"), durable_place.open("there")
    here.add_turns(
        {"content": f"cat {number}", "continues": [number - 1][:number], "bookmark": "old"} for number in range(1100)
    )
    said = there.add_turn("a cat of mine")
    here.copy_to(there if keep else there.space, "old", keep=keep)
    assert there.search("cat", order="time", limit=2)[0].turn.id == said.id
    assert there.search(since=datetime.fromtimestamp(0, UTC), limit=2)[0].turn.id == said.id


def test_what_is_newer_and_stored_first_leaves_a_search_of_many_pages_an_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page asks for twice as many ids, and the newest one stays below all of them."""
    monkeypatch.setattr(candidates, "PAGE", 4)
    monkeypatch.setattr(candidates, "READ_PAGE", 4)
    old, newest, there = (place.open(name) for name in ("old", "newest", "there"))
    turns = old.add_turns(
        {"content": f"cat {number}", "continues": [number - 1][:number], "bookmark": "old"} for number in range(300)
    )
    newest.add_turn("a dog", bookmark="newest")
    newest.copy_to(there.space, "newest")
    old.copy_to(there.space, "old")
    for _ in range(2):  # once without an index, and once with it
        assert [hit.turn.id for hit in there.search("cat", order="time", limit=2)] == [turns[-1].id, turns[-2].id]
