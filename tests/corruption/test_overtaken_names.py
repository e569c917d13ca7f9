"""A bookmark whose row disagrees with its log cannot move, and whoever moves it is told which one it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headish import Store
from headish.database import postgresql
from headish.database.query import Connection, Query
from headish.errors import CorruptRecord
from support.insides import unchanged
from support.places import Place

WRITES: dict[str, Callable[[Store], object]] = {
    "continued": lambda store: store.add_turn("more", continues="main"),
    "set": lambda store: store.bookmarks.set("main", "main~1"),
    "removed": lambda store: store.bookmarks.remove("main"),
    "recorded": lambda store: store.record([{"role": "user", "content": "other"}], bookmark="main"),
}


def set_back(store: Store) -> None:
    """The row of the name as it was before its last move, the log as it is."""
    back = Query(
        "set a name back",
        "UPDATE bookmark SET move = l.move, chain = l.chain, pos = l.pos, running = l.running FROM bookmark_log l "
        "WHERE bookmark.space = :space AND l.space = bookmark.space AND l.name = bookmark.name "
        "AND l.move = bookmark.move - 1",
    )

    def work(connection: Connection) -> None:
        assert connection.run(back, space=store._number) == 1

    store._backend.write(work)


@pytest.mark.parametrize("write", WRITES)
def test_it_is_named_whatever_moves_it(durable_place: Place, write: str) -> None:
    store = durable_place.open()
    for text in "abc":
        store.add_turn(text, continues="main" if text != "a" else None, bookmark="main")
    set_back(store)
    with (
        unchanged(store),
        pytest.raises(CorruptRecord, match=r"bookmark 'main'.*its log goes on behind"),
    ):
        WRITES[write](store)
    assert any("main" in problem.subject for problem in store.verify().problems)
    store.add_turn("elsewhere", bookmark="other")


def test_it_is_named_at_once(durable_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server calls it a lost race, and whoever loses one tries again; this one nobody can win."""
    store = durable_place.open()
    store.add_turn("a", bookmark="main")
    store.add_turn("b", continues="main")
    set_back(store)
    pauses: list[float] = []
    monkeypatch.setattr(postgresql, "pause", lambda *seconds: pauses.append(seconds[-1]))
    with pytest.raises(CorruptRecord, match="bookmark 'main'"):
        store.bookmarks.set("main", "main")
    assert len(pauses) <= 1


def test_it_is_named_where_the_store_remembers_the_name(durable_place: Place) -> None:
    """A log alone that has a row too many: what the store remembers of the name still holds."""
    store = durable_place.open()
    store.add_turn("a", bookmark="main")
    store.add_turn("b", continues="main")
    more = Query(
        "one more move",
        "INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds, seq, change, running) "
        "SELECT space, name, move + 1, chain, pos, milliseconds, seq, change, running "
        "FROM bookmark_log WHERE space = :space AND move = 2",
    )
    store._backend.write(lambda connection: connection.run(more, space=store._number))
    with unchanged(store), pytest.raises(CorruptRecord, match="bookmark 'main'"):
        store.add_turn("c", continues="main")
