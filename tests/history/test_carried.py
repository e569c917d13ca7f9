"""Edits and overlays go wherever turns go: into a backup, into another space, and past an erasure."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store, restore
from headish.errors import InputError
from support.overlays import MESSAGES, OVERLAYS, grown

FEW = settings(max_examples=10)
EDITS = st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=3)


def changed(kinds: list[str], overlays: list[Any], edits: list[tuple[int, bool]]) -> Store:
    """A thread with overlays, some turns of which were edited; what it was before each edit keeps a name."""
    store = grown(kinds, overlays)
    for number, (back, keep) in enumerate(edits):
        store.bookmarks.set(f"before{number}", "main")
        try:
            store.edit(f"main~{back}", f"said otherwise {number}", keep=keep)
        except InputError:
            continue
    return store


def seen(store: Store) -> dict[str, Any]:
    """What a model and what people see of each name, and the versions of its turn."""
    return {
        bookmark.name: (
            store.resolve(bookmark.name),
            store.render(bookmark.name, "html"),
            store.siblings(bookmark.name),
        )
        for bookmark in store.bookmarks.list()
    }


@FEW
@given(MESSAGES, OVERLAYS, EDITS)
def test_a_backup_and_a_copy_are_seen_as_what_they_are_of(
    kinds: list[str], overlays: list[Any], edits: list[tuple[int, bool]]
) -> None:
    with changed(kinds, overlays, edits) as store, tempfile.TemporaryDirectory() as folder:
        expected = seen(store)
        with Store.open(":memory:") as copy:
            store.copy_to(copy, list(expected))
            assert seen(copy) == expected
            assert not copy.verify().problems
        kept, restored = Path(folder, "kept.hbackup"), Path(folder, "restored.db")
        store.backup(kept)
        restore(kept, restored)
        with Store.open(restored) as again:
            assert seen(again) == expected
            assert not again.verify().problems


@FEW
@given(MESSAGES, OVERLAYS, EDITS, st.integers(0, 12))
def test_what_is_erased_is_a_tombstone_in_what_is_seen(
    kinds: list[str], overlays: list[Any], edits: list[tuple[int, bool]], back: int
) -> None:
    with changed(kinds, overlays, edits) as store:
        turns = [turn.id for turn in store.log("main")]
        before = store.resolve("main", raw=True).messages
        store.erase(turns[back % len(turns)], reason="asked for", repeats=True)
        assert [turn.id for turn in store.log("main")] == turns
        after = store.resolve("main", raw=True).messages
        assert [message for message in before if message in after] == list(after)
        assert seen(store).keys() >= {"main"}
        assert not store.verify().problems
