"""A turn is gone from the middle of a chain: what copies, edits, erases or follows the chain says so, and goes no
further."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headish import Database, Store, Turn
from headish.errors import CorruptTurn
from support.growing import grow
from support.insides import run_sql
from support.places import FilePlace

Grown = dict[str, Turn]


def _copy(store: Store, grown: Grown) -> None:
    store.copy_to(Database(store._database).store("there"), grown["e?"].id)


def _edit(store: Store, grown: Grown) -> None:
    store.edit(grown["a?"].id, "A?", keep=True)


def _erase(store: Store, grown: Grown) -> None:
    store.erase(grown["e?"].id, scope="thread", reason="asked for")


def _follow(store: Store, grown: Grown) -> None:
    before = store.position()
    store.bookmarks.set("main", grown["e?"].id)
    list(store.follow(before, wait=False, bookmark="main"))


@pytest.mark.parametrize("use", [_copy, _edit, _erase, _follow])
def test_a_range_with_a_gap_is_refused(file_place: FilePlace, use: Callable[[Store, Grown], None]) -> None:
    store = file_place.open()
    grown = grow(store, "a? <- b <- c? <- d <- e?")
    store.bookmarks.set("main", grown["a?"].id)
    run_sql(store, f"DELETE FROM turn WHERE id = '{grown['c?'].id}'")
    with pytest.raises(CorruptTurn, match="one before it in its chain is missing"):
        use(store, grown)
