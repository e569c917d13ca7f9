"""What PostgreSQL's planner makes of the statements: an append touches as many rows in a grown store as in a young one.

Rows, not time: the server counts what it reads. A connection keeps the plans that it made while the tables were empty,
so the store is grown by the connection that is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headish import Store
from support.loops import failing

ROWS_READ = (
    "SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) "
    "FROM pg_stat_user_tables"
)
CALLS: dict[str, Callable[[Store, int], Any]] = {
    "append to a name": lambda store, index: store.add_turn(f"more {index}", continues="main"),
    "append by id": lambda store, index: store.add_turn(f"more {index}", continues=store.get("main").id),
    "fork": lambda store, index: store.add_turn(f"fork {index}", continues="main~1"),
    "fork by id": lambda store, index: store.add_turn(f"fork {index}", continues=store.get("main~1").id),
    "append with a key": lambda store, index: store.add_turn(f"more {index}", key=f"k{store.stats().turns} {index}"),
    "find by key": lambda store, index: store.find("first"),
    "list of conversations": lambda store, index: store.conversations.list(limit=1),
    "object": lambda store, index: store.objects.put("kind", f"{index}", b"data"),
    "find a bookmark": lambda store, index: store.get("main"),
    "children": lambda store, index: store.children("main~1"),
    "options": lambda store, index: store.options("main"),
    "heads": lambda store, index: store.heads(limit=3),
    "bookmarks": lambda store, index: store.bookmarks.list(limit=3, by="recency"),
    "a part of a tree": lambda store, index: store.tree("main", limit=3),
    "names": lambda store, index: store.bookmarks.at([store.get("main").id]),
    "log": lambda store, index: store.log("main", limit=3),
    "follow": lambda store, index: follow_a_turn(store, index),
}


READING = CALLS.keys() - {
    "append to a name",
    "append by id",
    "fork",
    "fork by id",
    "append with a key",
    "object",
    "follow",
}
"""Those that leave the store as it is, so that one store serves all of them."""


def follow_a_turn(store: Store, index: int) -> list[Any]:
    before = store.position()
    store.add_turn(f"more {index}", continues="main")
    return list(store.follow(before, wait=False, bookmark="main"))


def rows_read(store: Store, work: Callable[[], object]) -> int:
    """How many rows and index entries the server read for a piece of work on the store's one connection."""
    database: Any = store._backend

    def total() -> int:
        pooled = database._pool.take()
        try:
            cursor = pooled.cursor()
            cursor.execute("SELECT pg_stat_force_next_flush()", prepare=False)
            pooled.commit()
            cursor.execute("SELECT pg_stat_clear_snapshot()", prepare=False)
            [(count,)] = cursor.execute(ROWS_READ, prepare=False).fetchall()
            pooled.commit()
            return int(count)
        finally:
            database._pool.give_back(pooled)

    before = total()
    work()
    return total() - before


@pytest.mark.parametrize(
    "calls",
    [sorted(READING), *([call] for call in CALLS if call not in READING)],
    ids=lambda calls: calls[0] if len(calls) == 1 else "reading",
)
def test_a_call_reads_as_much_in_a_grown_store_as_in_a_young_one(new_postgresql: str, calls: list[str]) -> None:
    with Store.open(new_postgresql) as store:
        store.add_turn("first", bookmark="main", key="first")

        def grow(turns: int) -> None:
            for index in range(turns):
                store.add_turn(f"{store.space} {turns} {index}", continues="main")

        def measured(call: str) -> int:
            return rows_read(store, lambda: [CALLS[call](store, index) for index in range(8)])

        def hold(call: str) -> None:
            measured(call)  # moves leave stale entries in the indexes of names; who meets them first clears them away
            assert measured(call) <= young[call] + 60

        grow(150)
        # The first time makes the statement's own plan.
        young = {call: (measured(call), measured(call))[1] for call in calls}
        grow(700)
        assert failing(calls, hold) == {}
